/* See serving.h. */
#include "serving.h"
#include "base/fd.h"
#include "base/log.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct serving serving;
struct client client = {.fd = -1};

static bool (*is_done)(void);
static int turns_left;
static bool gave_up;
static struct task keep_turning;

/* ---- the client's side ---------------------------------------------------------------- */

static void pull(void)
{
	static char piece[65536];
	ssize_t n;
	while (client.fd >= 0 && (n = recv(client.fd, piece, sizeof piece, MSG_DONTWAIT)) > 0) {
		client.in = realloc(client.in, client.length + (size_t)n + 1);
		memcpy(client.in + client.length, piece, (size_t)n);
		client.length += (size_t)n;
		client.in[client.length] = 0;
		client.pieces++;
	}
	client.closed |= client.fd >= 0 && n == 0;
	client.reset |= client.fd >= 0 && n < 0 && errno != EAGAIN;
}

void client_clear(void)
{
	free(client.in);
	client.in = calloc(1, 1);
	client.length = 0;
	client.pieces = 0;
}

static void take_over(int server_fd, int client_fd, sa_family_t family)
{
	struct address peer = {.family = (uint8_t)family, .bytes = {127, 0, 0, 1}};
	client_close();
	client_clear();
	client.fd = client_fd;
	client.closed = client.reset = false;
	assert_int_equal(fcntl(server_fd, F_SETFL, O_NONBLOCK), 0);
	serving.loop.now_ns = clock_now_ns();
	connection_open(&serving.context, &serving.listener, server_fd, &peer);
}

void client_open(int type)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
	take_over(fds[0], fds[1], AF_UNIX);
}

void client_open_narrow(void)
{
	int fds[2], least = 1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
	take_over(fds[0], fds[1], AF_UNIX);
}

void client_open_tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof to;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&to, sizeof to), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&to, &length), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	int accepted = accept(listening, NULL, NULL);
	assert_true(accepted >= 0);
	close(listening);
	take_over(accepted, fd, AF_INET);
}

void client_close(void)
{
	fd_close(&client.fd);
}

void client_reset(void)
{
	struct linger now = {.l_onoff = 1};
	setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	client_close();
}

void client_end(void)
{
	assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
}

/* What does not fit into the socket waits until the server has taken some. */
void client_send_bytes(const char *bytes, size_t length)
{
	while (length) {
		ssize_t n = send(client.fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN) {
			serving_turns(2);
			continue;
		}
		assert_true(n > 0);
		bytes += n;
		length -= (size_t)n;
	}
}

void client_send(const char *text)
{
	client_send_bytes(text, strlen(text));
}

bool client_has(const char *text)
{
	return strstr(client.in, text) != NULL;
}

int client_count(const char *text)
{
	int count = 0;
	for (const char *at = client.in; (at = strstr(at, text)); at++)
		count++;
	return count;
}

const char *client_body(void)
{
	const char *end = strstr(client.in, "\r\n\r\n");
	assert_non_null(end);
	return end + 4;
}

/* ---- the loop ------------------------------------------------------------------------------ */

static void on_turn_end(struct loop *l)
{
	pull();
	if (turns_left > 0 && --turns_left > 0)
		loop_defer(l, &keep_turning);
	if ((turns_left == 0 && !is_done) || (is_done && is_done()))
		loop_stop(l);
}

static void on_give_up(struct timer *t)
{
	(void)t;
	gave_up = true;
	loop_stop(&serving.loop);
}

static void run(int turns, bool (*done)(void))
{
	struct timer give_up;
	turns_left = turns;
	is_done = done;
	gave_up = false;
	serving.loop.stopping = false;
	timer_init(&give_up, on_give_up);
	timer_start(&serving.loop, &give_up, 10 * 1000 * 1000);
	assert_int_equal(loop_run(&serving.loop), 0);
	timer_stop(&serving.loop, &give_up);
	if (gave_up)
		print_error("what came so far (closed %d, reset %d): %.400s\n", client.closed, client.reset, client.in);
	assert_false(gave_up);
}

void serving_turns(int turns)
{
	run(turns + 1, NULL);
}

void serving_until(bool (*done)(void))
{
	run(0, done);
}

static const char *awaited;
static size_t awaited_length;

static bool ends_with_awaited(void)
{
	size_t length = strlen(awaited);
	return client.length >= length && memcmp(client.in + client.length - length, awaited, length) == 0;
}

static bool has_awaited(void)
{
	return client_has(awaited);
}

static bool is_closed(void)
{
	return client.closed || client.reset;
}

static bool is_long_enough(void)
{
	return client.length >= awaited_length;
}

void client_until(const char *end)
{
	awaited = end;
	serving_until(ends_with_awaited);
}

void client_until_has(const char *text)
{
	awaited = text;
	serving_until(has_awaited);
}

void client_until_closed(void)
{
	serving_until(is_closed);
}

void client_until_length(size_t length)
{
	awaited_length = length;
	serving_until(is_long_enough);
}

int64_t serving_stat(enum stat_id which)
{
	return stat_get(&serving.stats, which);
}

/* ---- life ------------------------------------------------------------------------------------- */

static void ignore(struct task *t)
{
	(void)t;
}

/* One route for each handler, by its name. */
static struct config *make_config(void)
{
	char text[4096];
	size_t length = (size_t)sprintf(text, "[listener main]\nbind = 127.0.0.1:8080\n");
	for (size_t i = 0; test_handlers[i]; i++)
		length += (size_t)sprintf(text + length, "[route %s]\npath = /%s\nhandler = %s\n",
		        test_handlers[i]->name, test_handlers[i]->name, test_handlers[i]->name);
	length += (size_t)sprintf(text + length, "[route small]\npath = /small\nhandler = echo\nmax_body_size = 10\n");
	struct config_source source = {
	        .path = "t.ini", .handlers = {.find = test_handler_options, .names = test_handler_names}};
	FILE *stream = fmemopen(text, length, "r");
	struct config *config = config_load_stream(&source, stream, &serving.faults);
	fclose(stream);
	if (!config)
		faults_print(&serving.faults, stderr);
	return config;
}

int serving_setup(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN); /* as the server does: sendfile(2) takes no MSG_NOSIGNAL */
	alarm(120);               /* a loop that spins would never give up by itself */
	memset(&serving, 0, sizeof serving);
	parser_setup();
	log_set_level(LOG_LEVEL_ERROR);
	faults_init(&serving.faults);
	stats_init(&serving.stats);
	serving.listener = (struct listener_settings){.name = "main",
	        .header_timeout_ns = 10 * NS_PER_S,
	        .body_timeout_ns = 30 * NS_PER_S,
	        .send_timeout_ns = 30 * NS_PER_S,
	        .keepalive_timeout_ns = 60 * NS_PER_S,
	        .max_header_bytes = 32768,
	        .max_fields = 100,
	        .max_body_bytes = 8 << 20};
	serving.config = make_config();
	assert_non_null(serving.config);
	serving.routes = routes_create(serving.config, test_handler_find, NULL, &serving.faults);
	assert_non_null(serving.routes);
	assert_int_equal(loop_init(&serving.loop, 7, &serving.stats, 64), 0);
	serving.loop.turn_end = on_turn_end;
	serving.loop.now_ns = clock_now_ns();
	serving.loop.second = stats_second(&serving.stats, serving.loop.now_ns);
	task_init(&keep_turning, ignore);
	serving.loop_view.stats = &serving.stats;
	serving.view.loops = &serving.loop_view;
	assert_true(context_init(&serving.context, &serving.loop, serving.routes, &serving.view, &serving.loop_view,
	        serving.listener.max_fields));
	client_clear();
	return 0;
}

int serving_teardown(void **state)
{
	(void)state;
	client_close();
	connections_cut(&serving.context);
	assert_int_equal(serving.context.connections, 0);
	assert_int_equal(serving_stat(STAT_connections), 0);
	assert_int_equal(serving_stat(STAT_idle), 0);
	assert_int_equal(serving_stat(STAT_active_requests), 0);
	context_fini(&serving.context);
	assert_true(executor_free(&serving.view.executor, 10 * NS_PER_S));
	loop_fini(&serving.loop);
	assert_int_equal(serving_stat(STAT_pending_tasks), 0);
	assert_int_equal(serving.handled.attached, serving.handled.detached);
	routes_free(&serving.routes);
	config_free(&serving.config);
	faults_fini(&serving.faults);
	free(client.in);
	client.in = NULL;
	return 0;
}
