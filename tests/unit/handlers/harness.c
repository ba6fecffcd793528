/* Turns the loop by hand, a millisecond at a time, until the answer is there or patience ends. */
#include "handlers/harness.h"
#include "base/fd.h"
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000 };

/* ---- starting ------------------------------------------------------------------------------ */

static void load(struct harness *h, const char *format, va_list args)
{
	char path[] = "/tmp/harness-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_true(vdprintf(fd, format, args) > 0);
	close(fd);
	parser_setup();
	faults_init(&h->faults);
	handlers_init(&h->handlers);
	struct config_source source = {.path = path, .handlers = handlers_for_config(&h->handlers)};
	h->config = config_load(&source, &h->faults);
	unlink(path);
	if (h->config)
		h->routes = routes_create(h->config, handlers_find, &h->handlers, &h->faults);
}

static void unload(struct harness *h)
{
	routes_free(&h->routes);
	config_free(&h->config);
	faults_fini(&h->faults);
	handlers_fini(&h->handlers);
}

char *harness_faults(const char *format, ...)
{
	struct harness h = {.client = -1};
	char *text = NULL;
	size_t length = 0;
	va_list args;
	va_start(args, format);
	load(&h, format, args);
	va_end(args);
	FILE *to = open_memstream(&text, &length);
	assert_non_null(to);
	faults_print(&h.faults, to);
	fclose(to);
	unload(&h);
	return text;
}

static void set_up_server(struct harness *h)
{
	int error = 0;
	stats_init(&h->stats);
	assert_int_equal(loop_init(&h->loop, 0, &h->stats, 16), 0);
	h->self.stats = &h->stats;
	h->listener = (struct listener_settings){
	        .name = "test",
	        .header_timeout_ns = 60 * NS_PER_S,
	        .body_timeout_ns = 60 * NS_PER_S,
	        .send_timeout_ns = 60 * NS_PER_S,
	        .keepalive_timeout_ns = 60 * NS_PER_S,
	        .max_header_bytes = 32768,
	        .max_fields = 100,
	        .max_body_bytes = 1 << 20,
	};
	h->view.version = "0.0-test";
	h->view.started_ns = clock_now_ns();
	h->view.generation = 1;
	h->view.loop_count = h->view.cpus_available = 1;
	h->view.loops = &h->self;
	h->view.phase = SERVER_READY;
	h->view.accept = "central";
	h->view.dispatch = "least-load";
	h->view.stall_threshold_ns = 100 * NS_PER_MS;
	h->view.executor = executor_create(2, 16, &error);
	assert_non_null(h->view.executor);
	atomic_store(&h->stats.status.state, LOOP_RUNNING);
	assert_true(context_init(&h->context, &h->loop, h->routes, &h->view, &h->self, 100));
}

void harness_start(struct harness *h, const char *format, ...)
{
	va_list args;
	*h = (struct harness){.client = -1};
	va_start(args, format);
	load(h, format, args);
	va_end(args);
	faults_print(&h->faults, stderr);
	assert_int_equal(h->faults.count, 0);
	assert_non_null(h->routes);
	set_up_server(h);
	harness_connect(h, "127.0.0.1");
}

void harness_stop(struct harness *h)
{
	harness_close(h);
	connections_cut(&h->context);
	assert_true(executor_free(&h->view.executor, 10 * NS_PER_S));
	harness_turn(h); /* jobs that came back */
	context_fini(&h->context);
	loop_fini(&h->loop);
	unload(h);
	free(h->answer);
	h->answer = NULL;
}

/* ---- talking -------------------------------------------------------------------------------- */

void harness_turn(struct harness *h)
{
	struct pollfd set = {.fd = h->loop.set_fd, .events = POLLIN};
	do
		loop_turn(&h->loop, false);
	while (poll(&set, 1, 0) == 1);
}

void harness_connect(struct harness *h, const char *peer)
{
	int pair[2];
	struct network network;
	harness_close(h);
	assert_true(network_parse(slice_of(peer), &network));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	h->client = pair[0];
	h->answer_length = 0;
	h->loop.now_ns = clock_now_ns();
	h->loop.second = stats_second(&h->stats, h->loop.now_ns);
	connection_open(&h->context, &h->listener, pair[1], &network.address);
}

void harness_close(struct harness *h)
{
	fd_close(&h->client);
}

void harness_send(struct harness *h, const char *line, const char *fields)
{
	char text[16384];
	int length = snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: t.test\r\n%s\r\n", line, fields);
	assert_true((size_t)length < sizeof text);
	assert_int_equal(send(h->client, text, (size_t)length, MSG_NOSIGNAL), length);
}

static bool parse_answer(const struct harness *h, bool to_head, struct answer *ret)
{
	const char *end = h->answer_length ? memmem(h->answer, h->answer_length, "\r\n\r\n", 4) : NULL;
	if (!end)
		return false;
	ret->status = (unsigned)atoi(h->answer + sizeof "HTTP/1.1");
	ret->head = (struct slice){h->answer, (size_t)(end - h->answer) + 2};
	size_t body = ret->head.length + 2, there = h->answer_length - body;
	const char *length = answer_field(ret, "Content-Length");
	bool bodyless = to_head || ret->status == 204 || ret->status == 304;
	size_t announced = bodyless ? 0 : *length ? (size_t)atoll(length) : SIZE_MAX;
	ret->is_whole = there >= announced;
	ret->body = (struct slice){h->answer + body, there < announced ? there : announced};
	return true;
}

/* Reads what is there. false: the connection ended. */
static bool receive_some(struct harness *h)
{
	for (;;) {
		if (h->answer_room - h->answer_length < 65536) {
			h->answer_room += 1 << 20;
			h->answer = realloc(h->answer, h->answer_room);
			assert_non_null(h->answer);
		}
		ssize_t n = recv(h->client, h->answer + h->answer_length, h->answer_room - h->answer_length - 1, 0);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		h->answer_length += (size_t)n;
	}
}

static void drop_answer(struct harness *h, const struct answer *a)
{
	size_t used = a->head.length + 2 + a->body.length;
	memmove(h->answer, h->answer + used, h->answer_length - used);
	h->answer_length -= used;
}

struct answer harness_receive(struct harness *h, bool to_head)
{
	static struct answer last;
	static char *copy;
	struct answer a = {0};
	int64_t until_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
	bool open = true;
	while (open && !(parse_answer(h, to_head, &a) && a.is_whole)) {
		assert_true(clock_now_ns() < until_ns);
		harness_turn(h);
		struct pollfd ready = {.fd = h->client, .events = POLLIN};
		poll(&ready, 1, 1);
		open = receive_some(h);
	}
	if (!parse_answer(h, to_head, &a))
		return (struct answer){0};
	/* A body that ends with the connection. */
	if (!open && !to_head && !*answer_field(&a, "Content-Length"))
		a.is_whole = true;
	size_t used = a.head.length + 2 + a.body.length;
	copy = realloc(copy, used + 1);
	assert_non_null(copy);
	memcpy(copy, h->answer, used);
	last = a;
	last.head.data = copy;
	last.body.data = copy + a.head.length + 2;
	drop_answer(h, &a);
	return last;
}

struct answer harness_ask(struct harness *h, const char *line, const char *fields)
{
	harness_send(h, line, fields);
	return harness_receive(h, strncmp(line, "HEAD ", 5) == 0);
}

const char *answer_field(const struct answer *a, const char *name)
{
	static char value[4096];
	char wanted[128];
	int length = snprintf(wanted, sizeof wanted, "\r\n%s: ", name);
	const char *at = memmem(a->head.data, a->head.length, wanted, (size_t)length);
	value[0] = 0;
	if (!at)
		return value;
	at += length;
	size_t left = a->head.length - (size_t)(at - a->head.data);
	const char *end = memmem(at, left, "\r\n", 2);
	assert_non_null(end);
	assert_true((size_t)(end - at) < sizeof value);
	memcpy(value, at, (size_t)(end - at));
	value[end - at] = 0;
	return value;
}
