/* See resolving.h. */
#include "resolving.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct loop loop;
struct resolver *resolver;
struct lookup lookup;
struct resolver_answer answer;
char found[65536];

static struct stats stats;
static enum resolver_kind kind;
static bool has_server, is_done;

static void done(struct lookup *l, const struct resolver_answer *a)
{
	size_t length = 0;
	assert_ptr_equal(l, &lookup);
	assert_false(lookup_is_running(l));
	assert_false(is_done);
	is_done = true;
	answer = *a;
	answer.addresses = NULL;
	found[0] = 0;
	for (size_t i = 0; i < a->count; i++) {
		char text[ENDPOINT_TEXT_BYTES];
		endpoint_format(&a->addresses[i].endpoint, text);
		length += (size_t)snprintf(found + length, sizeof found - length, "%s%s", length ? " " : "", text);
		if (kind == RESOLVER_SRV)
			length += (size_t)snprintf(found + length, sizeof found - length, " %u/%u",
			        a->addresses[i].priority, a->addresses[i].weight);
		assert_true(length < sizeof found);
	}
	loop_stop(&loop);
}

int resolving_setup(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	alarm(240);
	stats_init(&stats);
	lookup_init(&lookup, done);
	return loop_init(&loop, 0, &stats, 4);
}

int resolving_teardown(void **state)
{
	(void)state;
	resolver_free(&resolver);
	assert_null(resolver);
	resolver_free(&resolver);
	assert_int_equal(loop.ev_watchers, 0);
	assert_true(list_is_empty(&loop.tasks));
	if (has_server)
		dns_server_close();
	has_server = false;
	loop_fini(&loop);
	return 0;
}

void use_server(const char *server)
{
	const char *reason = NULL;
	resolver = resolver_create(&loop, &server, 1, &reason);
	assert_non_null(resolver);
}

void use_script(dns_script *script)
{
	char server[32];
	snprintf(server, sizeof server, "127.0.0.1:%u", dns_server_open(&loop, false, script));
	has_server = true;
	use_server(server);
}

void run_loop(void)
{
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
}

void look_up(const char *name, uint16_t port, enum resolver_kind of)
{
	kind = of;
	is_done = false;
	resolver_start(resolver, &lookup, name, port, kind);
	assert_false(is_done);
	assert_true(lookup_is_running(&lookup));
	run_loop();
	assert_true(is_done);
	assert_non_null(answer.reason);
}

void look_up_host(const char *name)
{
	look_up(name, 80, RESOLVER_HOST);
}

void look_up_service(const char *name)
{
	look_up(name, 0, RESOLVER_SRV);
}

void expect_found(const char *texts, int64_t ttl_s)
{
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_string_equal(found, texts);
	assert_int_equal(answer.ttl_s, ttl_s);
}

void expect_error(enum resolver_error error)
{
	if (answer.error != error)
		print_error("%s\n", answer.reason);
	assert_int_equal(answer.error, error);
	assert_int_equal(answer.count, 0);
	assert_int_equal(answer.ttl_s, -1);
}
