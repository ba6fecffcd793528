/* The health document: its shape, what it says of loops that do not come round, and who sees it. */
#include "handlers/harness.h"
#include "handlers/health_document.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char conf[] = "[route health]\npath = /healthz\nhandler = health\n"
                           "[route livez]\npath = = /livez\nhandler = health\nshow = live\n"
                           "[route readyz]\npath = = /readyz\nhandler = health\nshow = ready\n"
                           "[route exact]\npath = = /status\nhandler = health\n"
                           "[route lan]\npath = /lan\nhandler = health\ndetail_to = 192.0.2.0/24\n";

enum { LOOPS = 3 };

/* A server whose loops 1 and 2 exist as figures only. */
struct fixture {
	struct harness h;
	struct loop_view views[LOOPS];
	struct stats *others;
};

static int set_up(void **state)
{
	struct fixture *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
	assert_non_null(f);
	memset(f, 0, sizeof *f);
	harness_start(&f->h, "%s", conf);
	f->others = aligned_alloc(64, LOOPS * sizeof *f->others);
	assert_non_null(f->others);
	f->views[0].stats = &f->h.stats;
	for (int i = 1; i < LOOPS; i++) {
		stats_init(&f->others[i]);
		atomic_store(&f->others[i].status.state, LOOP_RUNNING);
		f->views[i].stats = &f->others[i];
	}
	f->h.view.loops = f->views;
	f->h.view.loop_count = f->h.view.cpus_available = LOOPS;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	harness_stop(&f->h);
	free(f->others);
	free(f);
	return 0;
}

static struct answer get(struct fixture *f, const char *path)
{
	char line[64];
	snprintf(line, sizeof line, "GET %s", path);
	return harness_ask(&f->h, line, "");
}

static bool has(const struct answer *a, const char *text)
{
	return memmem(a->body.data, a->body.length, text, strlen(text)) != NULL;
}

static void assert_has(const struct answer *a, const char *text)
{
	if (!has(a, text))
		fail_msg("%s is not in %.*s", text, SLICE_ARGS(a->body));
}

/* The document with every number as 0 and every string value as "": what is left is its shape. */
static size_t shape_of(struct slice s, char *to)
{
	char *at = to;
	for (size_t i = 0; i < s.length; i++) {
		if (s.data[i] == '"') {
			const char *end = memchr(s.data + i + 1, '"', s.length - i - 1);
			size_t length = (size_t)(end - (s.data + i)) + 1;
			bool is_key = i + length < s.length && s.data[i + length] == ':';
			at += is_key ? sprintf(at, "%.*s", (int)length, s.data + i) : sprintf(at, "\"\"");
			i += length - 1;
		} else if (strchr("-.0123456789", s.data[i])) {
			if (at == to || at[-1] != '0')
				*at++ = '0';
		} else {
			*at++ = s.data[i];
		}
	}
	*at = 0;
	return (size_t)(at - to);
}

static const char loop_shape[] =
        "{\"id\":0,\"state\":\"\",\"connections\":0,\"idle\":0,\"parked\":0,\"active_requests\":0,\"pending_tasks\":0,"
        "\"queue_depth\":0,\"accepted\":0,\"requests\":0,\"moved_in\":0,\"moved_out\":0,\"busy\":0,"
        "\"lag_ms\":{\"mean\":0,\"p99\":0,\"max\":0},\"latency_ms\":{\"p50\":0,\"p95\":0,\"p99\":0},"
        "\"stalls\":0,\"longest_stall_ms\":0,\"stall\":null,\"bytes_in\":0,\"bytes_out\":0}";

static void test_health_document_has_every_key_in_its_order(void **state)
{
	struct fixture *f = *state;
	char shape[8192], wanted[8192];
	struct answer a = get(f, "/healthz");
	assert_int_equal(a.status, 200);
	assert_string_equal(answer_field(&a, "Content-Type"), "application/json");
	assert_string_equal(answer_field(&a, "Cache-Control"), "no-store");
	shape_of(a.body, shape);
	snprintf(wanted, sizeof wanted,
	        "{\"status\":\"\",\"warnings\":[],\"version\":\"\",\"pid\":0,\"uptime_s\":0,\"generation\":0,"
	        "\"loops_configured\":0,\"loops_running\":0,\"cpus_available\":0,"
	        "\"acceptor\":{\"accept\":\"\",\"dispatch\":\"\",\"accepted\":0,\"errors\":0,\"refused\":0,\"queue_"
	        "full\":0},\"control\":{\"accepted\":0,\"errors\":0,\"refused\":0},"
	        "\"loops\":[%s,%s,%s],\"imbalance\":{\"requests\":0,\"busy\":0},"
	        "\"executor\":{\"threads\":0,\"active\":0,\"queued\":0,\"rejected\":0},\"upstreams\":{}}",
	        loop_shape, loop_shape, loop_shape);
	assert_string_equal(shape, wanted);
	assert_has(&a, "{\"status\":\"ok\",\"warnings\":[],\"version\":\"0.0-test\",");
	assert_has(&a, "\"loops_configured\":3,\"loops_running\":3,\"cpus_available\":3,");
}

static void test_health_shows_one_loop(void **state)
{
	struct fixture *f = *state;
	char shape[2048];
	struct answer a = get(f, "/healthz/loops/2");
	assert_int_equal(a.status, 200);
	shape_of(a.body, shape);
	assert_string_equal(shape, loop_shape);
	assert_has(&a, "{\"id\":2,\"state\":\"running\",");
	assert_int_equal(get(f, "/healthz/loops/3").status, 404);
	assert_int_equal(get(f, "/healthz/loops/-1").status, 404);
	assert_int_equal(get(f, "/healthz/loops/99999999999999999999").status, 404);
	assert_int_equal(get(f, "/healthz/loops/").status, 404);
	assert_int_equal(get(f, "/healthz/loops/1x").status, 404);
	assert_int_equal(get(f, "/healthz/loops/01").status, 404);
	assert_int_equal(get(f, "/healthz/other").status, 404);
}

static void test_health_counts_this_request_and_its_connection(void **state)
{
	struct fixture *f = *state;
	get(f, "/livez");
	struct answer a = get(f, "/healthz/loops/0");
	assert_has(&a, "\"connections\":1,\"idle\":0,");
	assert_has(&a, "\"active_requests\":1,");
	assert_has(&a, "\"requests\":2,");
}

static void test_health_shows_what_was_assigned_and_not_yet_taken(void **state)
{
	struct fixture *f = *state;
	atomic_store(&f->views[1].assigned, 5);
	atomic_store(&f->views[1].taken, 3);
	struct answer a = get(f, "/healthz/loops/1");
	assert_has(&a, "\"queue_depth\":2,");
}

static void test_health_of_a_fresh_server_is_balanced(void **state)
{
	struct fixture *f = *state;
	f->h.view.loop_count = 1;
	f->views[0].stats = &f->others[1];
	struct answer a = get(f, "/healthz");
	assert_has(&a, "\"imbalance\":{\"requests\":1.0,\"busy\":1.0}");
}

static void test_health_shows_imbalance(void **state)
{
	struct fixture *f = *state;
	int64_t now_ns = clock_now_ns();
	atomic_store(&stats_second(&f->others[1], now_ns)->requests, 300000);
	atomic_store(&stats_second(&f->others[2], now_ns)->requests, 100000);
	struct answer a = get(f, "/healthz");
	assert_has(&a, "\"imbalance\":{\"requests\":2.25,"); /* 300000 over a mean of 133333 */
}

static void stall(struct fixture *f, int loop, int64_t ms)
{
	atomic_store(&f->others[loop].status.busy_since_ns, clock_now_ns() - ms * NS_PER_MS);
	atomic_store(&f->others[loop].status.route, (uintptr_t) "slow");
	atomic_store(&f->others[loop].status.handler, (uintptr_t) "work");
}

static void test_health_sees_a_stalled_loop(void **state)
{
	struct fixture *f = *state;
	stall(f, 1, 250);
	stat_add(&f->others[1], STAT_stalls, 4);
	struct answer a = get(f, "/healthz");
	assert_int_equal(a.status, 200);
	assert_has(&a, "\"status\":\"degraded\",\"warnings\":[\"loop 1 has been stalled for 2");
	assert_has(&a, "in route slow (handler work)\"]");
	assert_has(&a, "{\"id\":1,\"state\":\"stalled\",");
	assert_has(&a, "\"stalls\":5,\"longest_stall_ms\":2");
	/* No such thread: what it does is not known, and says so. */
	assert_has(&a, ",\"kind\":null,\"syscall\":null,\"route\":\"slow\",\"handler\":\"work\"},");
	assert_has(&a, "\"loops_running\":3,");
	a = get(f, "/readyz");
	assert_int_equal(a.status, 200);
	assert_true(slice_equal(a.body, SLICE("{\"status\":\"degraded\"}")));
}

static void test_health_does_not_call_a_short_turn_a_stall(void **state)
{
	struct fixture *f = *state;
	stall(f, 1, 50);
	struct answer a = get(f, "/healthz");
	assert_has(&a, "\"status\":\"ok\"");
	assert_has(&a, "{\"id\":1,\"state\":\"running\",");
}

static void test_health_fails_when_no_loop_can_take_work(void **state)
{
	struct fixture *f = *state;
	/* Asked on a loop that is not one of the three, as the control thread's is. */
	struct stats control;
	stats_init(&control);
	f->views[0].stats = &control;
	atomic_store(&control.status.state, LOOP_STOPPED);
	f->views[0].error = "Cannot allocate memory";
	stall(f, 1, 150);
	stall(f, 2, 150);
	struct answer a = get(f, "/healthz");
	assert_int_equal(a.status, 503);
	assert_has(&a, "\"status\":\"failing\",\"warnings\":[\"loop 0 has stopped: Cannot allocate memory\",");
	assert_has(&a, "{\"id\":0,\"state\":\"stopped\",");
	assert_has(&a, "\"loops_running\":2,");
	assert_int_equal(get(f, "/healthz/ready").status, 503);
	assert_int_equal(get(f, "/healthz/live").status, 200);
	assert_int_equal(get(f, "/livez").status, 200);
}

static void test_health_is_not_ready_while_starting_or_draining(void **state)
{
	struct fixture *f = *state;
	atomic_store(&f->h.view.phase, SERVER_STARTING);
	struct answer a = get(f, "/readyz");
	assert_int_equal(a.status, 503);
	assert_true(slice_equal(a.body, SLICE("{\"status\":\"starting\"}")));
	atomic_store(&f->h.view.phase, SERVER_DRAINING);
	a = get(f, "/healthz");
	assert_int_equal(a.status, 503);
	assert_has(&a, "{\"status\":\"draining\",");
	assert_int_equal(get(f, "/livez").status, 200);
	atomic_store(&f->h.view.phase, SERVER_READY);
	assert_int_equal(get(f, "/readyz").status, 200);
}

static void test_health_of_a_loop_that_still_starts_is_no_trouble(void **state)
{
	struct fixture *f = *state;
	atomic_store(&f->others[1].status.state, LOOP_STARTING);
	struct answer a = get(f, "/healthz");
	assert_has(&a, "\"status\":\"ok\",");
	assert_has(&a, "\"loops_running\":2,");
	assert_has(&a, "{\"id\":1,\"state\":\"starting\",");
}

static void test_health_warns_of_more_loops_than_cpus(void **state)
{
	struct fixture *f = *state;
	f->h.view.cpus_available = 1;
	struct answer a = get(f, "/healthz");
	assert_has(&a, "\"status\":\"ok\",\"warnings\":[\"3 loops share 1 available CPU\"],");
}

static void test_health_warns_while_connections_wait_for_the_limit(void **state)
{
	struct fixture *f = *state;
	atomic_store(&f->views[1].opened, 7);
	f->h.view.max_connections = 7;
	struct answer a = get(f, "/healthz");
	assert_has(&a, "\"status\":\"ok\",\"warnings\":[],");
	atomic_store(&f->h.view.limit_waits, 1);
	a = get(f, "/healthz");
	assert_has(&a,
	        "\"status\":\"ok\",\"warnings\":[\"all 7 connections of max_connections are open: new ones wait\"],");
	atomic_store(&f->views[1].closed, 2);
	a = get(f, "/healthz");
	assert_has(&a, "\"status\":\"ok\",\"warnings\":[],");
}

static void test_health_shows_detail_to_those_it_is_for(void **state)
{
	struct fixture *f = *state;
	harness_connect(&f->h, "198.51.100.7");
	struct answer a = get(f, "/healthz");
	assert_int_equal(a.status, 200);
	assert_true(slice_equal(a.body, SLICE("{\"status\":\"ok\"}")));
	a = get(f, "/healthz/loops/1");
	assert_true(slice_equal(a.body, SLICE("{\"status\":\"ok\"}")));
	harness_connect(&f->h, "unix");
	a = get(f, "/status");
	assert_has(&a, "\"loops\":[");
	a = get(f, "/lan");
	assert_true(slice_equal(a.body, SLICE("{\"status\":\"ok\"}")));
	harness_connect(&f->h, "192.0.2.9");
	a = get(f, "/lan/");
	assert_has(&a, "\"loops\":[");
	harness_connect(&f->h, "::1");
	a = get(f, "/healthz");
	assert_has(&a, "\"loops\":[");
}

static void test_health_answers_head(void **state)
{
	struct fixture *f = *state;
	struct answer a = harness_ask(&f->h, "HEAD /healthz", "");
	assert_int_equal(a.status, 200);
	assert_true(atoi(answer_field(&a, "Content-Length")) > 1000);
	assert_int_equal(harness_ask(&f->h, "HEAD /livez", "").status, 200);
	assert_int_equal(harness_ask(&f->h, "POST /healthz", "Content-Length: 0\r\n").status, 405);
}

static void test_health_document_grows_with_its_loops(void **state)
{
	struct fixture *f = *state;
	enum { MANY = 600 };
	struct loop_view *many = aligned_alloc(64, MANY * sizeof *many);
	assert_non_null(many);
	memset(many, 0, MANY * sizeof *many);
	for (int i = 0; i < MANY; i++) {
		many[i].stats = f->views[1].stats;
		many[i].error = "a long reason that makes each of these warnings as long as it can be, or longer";
	}
	atomic_store(&f->others[1].status.state, LOOP_STOPPED);
	f->h.view.loops = many;
	f->h.view.loop_count = MANY;
	struct answer a = get(f, "/healthz");
	assert_int_equal(a.status, 503);
	assert_has(&a, "{\"id\":599,");
	assert_int_equal(a.body.data[a.body.length - 1], '}');
	f->h.view.loop_count = LOOPS;
	free(many);
}

static void test_health_refuses_networks_that_are_none(void **state)
{
	(void)state;
	char *text = harness_faults("[route h]\npath = /\nhandler = health\ndetail_to = loopback 10.0.0.0/99\n");
	assert_non_null(strstr(text, ":4: [route h] detail_to: \"10.0.0.0/99\" is no network"));
	free(text);
}

/* ---- what a stuck thread does ---------------------------------------------------------------------- */

struct stuck {
	atomic_int tid;
	atomic_bool stop;
	int pipe[2];
};

static void *block(void *argument)
{
	struct stuck *s = argument;
	char byte;
	atomic_store(&s->tid, gettid());
	return read(s->pipe[0], &byte, 1) == 1 ? NULL : s;
}

static void *burn(void *argument)
{
	struct stuck *s = argument;
	atomic_store(&s->tid, gettid());
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed))
		;
	return NULL;
}

/* Looks until it is told what is expected: a thread needs a moment to get where it will stay. */
static void assert_explained(struct stuck *s, const char *kind, const char *syscall)
{
	struct stall stall = {.kind = NULL};
	int64_t until_ns = clock_now_ns() + 10 * NS_PER_S;
	while (!stall.kind || strcmp(stall.kind, kind) != 0 || strcmp(stall.syscall, syscall) != 0) {
		int64_t before_ns = clock_now_ns(), cpu_ns = stall_cpu_ns(atomic_load(&s->tid));
		if (before_ns > until_ns)
			fail_msg("%s %s, not %s", stall.kind ? stall.kind : "-", stall.syscall, kind);
		usleep(20000);
		stall_explain(atomic_load(&s->tid), cpu_ns, clock_now_ns() - before_ns, &stall);
	}
}

static void test_stall_tells_a_blocked_thread_and_its_call(void **state)
{
	struct stuck s = {0};
	pthread_t thread;
	(void)state;
	assert_int_equal(pipe(s.pipe), 0);
	assert_int_equal(pthread_create(&thread, NULL, block, &s), 0);
	assert_explained(&s, "blocked", "read");
	assert_int_equal(write(s.pipe[1], "x", 1), 1);
	pthread_join(thread, NULL);
	close(s.pipe[0]);
	close(s.pipe[1]);
}

static void test_stall_tells_a_burning_thread(void **state)
{
	struct stuck s = {0};
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, burn, &s), 0);
	assert_explained(&s, "burn", "");
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
}

static void test_stall_knows_nothing_of_a_thread_that_is_gone(void **state)
{
	struct stall stall = {.kind = "x"};
	(void)state;
	assert_int_equal(stall_cpu_ns(0), -1);
	assert_int_equal(stall_cpu_ns(0x3ffffff), -1);
	stall_explain(0x3ffffff, -1, 0, &stall);
	assert_null(stall.kind);
	assert_string_equal(stall.syscall, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_health_document_has_every_key_in_its_order),
	        TEST(test_health_shows_one_loop),
	        TEST(test_health_counts_this_request_and_its_connection),
	        TEST(test_health_shows_what_was_assigned_and_not_yet_taken),
	        TEST(test_health_of_a_fresh_server_is_balanced),
	        TEST(test_health_shows_imbalance),
	        TEST(test_health_sees_a_stalled_loop),
	        TEST(test_health_does_not_call_a_short_turn_a_stall),
	        TEST(test_health_fails_when_no_loop_can_take_work),
	        TEST(test_health_is_not_ready_while_starting_or_draining),
	        TEST(test_health_of_a_loop_that_still_starts_is_no_trouble),
	        TEST(test_health_warns_of_more_loops_than_cpus),
	        TEST(test_health_warns_while_connections_wait_for_the_limit),
	        TEST(test_health_shows_detail_to_those_it_is_for),
	        TEST(test_health_answers_head),
	        TEST(test_health_document_grows_with_its_loops),
	        cmocka_unit_test(test_health_refuses_networks_that_are_none),
	        cmocka_unit_test(test_stall_tells_a_blocked_thread_and_its_call),
	        cmocka_unit_test(test_stall_tells_a_burning_thread),
	        cmocka_unit_test(test_stall_knows_nothing_of_a_thread_that_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
