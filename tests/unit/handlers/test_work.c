/* The work handler: exact results, where and how long it runs, overrides. Figures were computed elsewhere. */
#include "handlers/burst.h"
#include "handlers/harness.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t result_of(enum config_work work, int64_t iterations, unsigned times)
{
	struct burst b = {.work = work, .iterations = iterations, .value = 1};
	for (unsigned i = 0; i < times; i++)
		burst_run(&b);
	return burst_result(&b);
}

static void test_burst_computes_lcg_exactly(void **state)
{
	(void)state;
	assert_int_equal(result_of(CONFIG_WORK_LCG, 0, 1), 1);
	assert_int_equal(result_of(CONFIG_WORK_LCG, 1, 1), 1015568748);
	assert_int_equal(result_of(CONFIG_WORK_LCG, 5, 1), 3942015858);
	assert_int_equal(result_of(CONFIG_WORK_LCG, 20000, 1), 2063114769);
	/* The value carries over, i begins anew. */
	assert_int_equal(result_of(CONFIG_WORK_LCG, 100, 2), 3117727253);
}

static void test_burst_computes_sqrt_exactly(void **state)
{
	(void)state;
	assert_int_equal(result_of(CONFIG_WORK_SQRT, 0, 1), 0);
	assert_int_equal(result_of(CONFIG_WORK_SQRT, 1000, 1), 21065);
	assert_int_equal(result_of(CONFIG_WORK_SQRT, 1000, 2), 42131);
}

static void test_burst_takes_longer_the_more_steps_it_has(void **state)
{
	(void)state;
	int64_t begin_ns = clock_now_ns();
	result_of(CONFIG_WORK_LCG, 1000000, 1);
	int64_t middle_ns = clock_now_ns();
	result_of(CONFIG_WORK_LCG, 20000000, 1);
	assert_true(clock_now_ns() - middle_ns > 3 * (middle_ns - begin_ns));
	/* A multiplication takes about a nanosecond on any machine: a folded loop would take none. */
	assert_true(middle_ns - begin_ns > 300 * NS_PER_US);
}

static void assert_body(struct harness *h, const char *line, const char *body)
{
	struct answer a = harness_ask(h, line, "");
	assert_int_equal(a.status, 200);
	assert_true(slice_equal(a.body, slice_of(body)));
}

static void test_work_counts_the_requests_of_a_connection(void **state)
{
	struct harness h;
	char body[32];
	(void)state;
	harness_start(&h, "[route w]\npath = /w\nhandler = work\niterations = 5\nio_delay = 0\n");
	snprintf(body, sizeof body, "00%06x", (unsigned)(3942015858 & 0xffffff));
	assert_body(&h, "GET /w", body);
	snprintf(body, sizeof body, "00%06x", (unsigned)(2509499343 & 0xffffff));
	assert_body(&h, "GET /w", body);
	harness_connect(&h, "127.0.0.1");
	snprintf(body, sizeof body, "00%06x", (unsigned)(3942015858 & 0xffffff));
	assert_body(&h, "GET /w", body);
	harness_stop(&h);
}

static void test_work_waits_before_each_burst(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "[route w]\npath = /w\nhandler = work\niterations = 0\nio_delay = 10ms\nsteps = 3\n");
	int64_t begin_ns = clock_now_ns();
	assert_body(&h, "GET /w", "00000001");
	assert_true(clock_now_ns() - begin_ns >= 30 * NS_PER_MS);
	harness_stop(&h);
}

static void test_work_blocks_once_a_step(void **state)
{
	struct harness h;
	(void)state;
	harness_start(
	        &h, "[route w]\npath = /w\nhandler = work\niterations = 0\nio_delay = 0\nsteps = 3\nblock = 5ms\n");
	int64_t begin_ns = clock_now_ns();
	assert_body(&h, "GET /w", "00000001");
	assert_true(clock_now_ns() - begin_ns >= 15 * NS_PER_MS);
	harness_stop(&h);
}

static void test_work_gives_the_same_result_wherever_it_runs(void **state)
{
	static const char *const places[] = {"loop", "executor"};
	char body[16];
	(void)state;
	snprintf(body, sizeof body, "00%06x", (unsigned)(3117727253 & 0xffffff));
	for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
		struct harness h;
		harness_start(&h,
		        "[route w]\npath = /w\nhandler = work\niterations = 100\nio_delay = 0\nsteps = 2\nlock = "
		        "on\nrun_on = %s\n",
		        places[i]);
		assert_body(&h, "GET /w", body);
		harness_stop(&h);
	}
}

static void test_work_survives_a_client_that_leaves_while_the_executor_works(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "[route w]\npath = /w\nhandler = work\niterations = 0\nio_delay = 0\nblock = 50ms\nrun_on = "
	                  "executor\n");
	for (int i = 0; i < 4; i++) {
		harness_send(&h, "GET /w", "");
		harness_turn(&h);
		harness_connect(&h, "127.0.0.1");
	}
	assert_body(&h, "GET /w", "00000001");
	harness_stop(&h);
}

static void test_work_is_refused_when_the_executor_is_full(void **state)
{
	struct harness h;
	int error = 0;
	(void)state;
	harness_start(&h, "[route w]\npath = /w\nhandler = work\nio_delay = 0\nrun_on = executor\n");
	assert_true(executor_free(&h.view.executor, 10 * NS_PER_S));
	h.view.executor = executor_create(1, 0, &error);
	assert_non_null(h.view.executor);
	struct answer a = harness_ask(&h, "GET /w", "");
	assert_int_equal(a.status, 503);
	assert_string_equal(answer_field(&a, "Retry-After"), "1");
	harness_stop(&h);
}

static void assert_has(struct harness *h, const char *line, const char *wanted)
{
	struct answer a = harness_ask(h, line, "");
	assert_int_equal(a.status, 200);
	if (!memmem(a.body.data, a.body.length, wanted, strlen(wanted)))
		fail_msg("%s: %s is not in %.*s", line, wanted, SLICE_ARGS(a.body));
}

static void test_work_takes_overrides_up_to_the_cap(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h,
	        "[route w]\npath = /w\nhandler = work\niterations = 10\nio_delay = 0\nsteps = 2\nformat = json\n"
	        "allow_override = on\n");
	assert_has(&h, "GET /w?iterations=7&steps=1", "\"iterations\":7,\"io_delay_us\":0,\"steps\":1,");
	assert_has(&h, "GET /w?iterations=0", "\"iterations\":0,");
	assert_has(&h, "GET /w?iterations=1000", "\"iterations\":1000,");
	assert_has(&h, "GET /w?iterations=1001", "\"iterations\":1000,");
	assert_has(&h, "GET /w?iterations=99999999999999999999999", "\"iterations\":1000,");
	assert_has(&h, "GET /w?steps=100000", "\"steps\":200,");
	assert_has(&h, "GET /w?io_delay=1ms&x=1", "\"io_delay_us\":1000,");
	assert_has(&h, "GET /w?block=300us&steps=1", "\"block_us\":300,");
	assert_has(&h, "GET /w?run_on=executor", "\"run_on\":\"executor\"");
	/* Where nothing is configured the cap is a second: not reached here, but it is not a multiple of 0 either. */
	assert_has(&h, "GET /w?io_delay=20ms&steps=1", "\"io_delay_us\":20000,");
	harness_stop(&h);
}

static void test_work_refuses_overrides_that_are_no_numbers(void **state)
{
	static const char *const lines[] = {"GET /w?iterations=x", "GET /w?iterations=", "GET /w?iterations=-1",
	        "GET /w?steps=0", "GET /w?io_delay=5", "GET /w?block=1d", "GET /w?run_on=moon", "GET /w?steps=1.5"};
	struct harness h;
	(void)state;
	harness_start(&h, "[route w]\npath = /w\nhandler = work\nio_delay = 0\nallow_override = on\n");
	for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
		assert_int_equal(harness_ask(&h, lines[i], "").status, 400);
	harness_stop(&h);
}

static void test_work_ignores_overrides_unless_allowed(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "[route w]\npath = /w\nhandler = work\niterations = 0\nio_delay = 0\n");
	assert_body(&h, "GET /w?iterations=5&steps=bad", "00000001");
	harness_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_burst_computes_lcg_exactly),
	        cmocka_unit_test(test_burst_computes_sqrt_exactly),
	        cmocka_unit_test(test_burst_takes_longer_the_more_steps_it_has),
	        cmocka_unit_test(test_work_counts_the_requests_of_a_connection),
	        cmocka_unit_test(test_work_waits_before_each_burst),
	        cmocka_unit_test(test_work_blocks_once_a_step),
	        cmocka_unit_test(test_work_gives_the_same_result_wherever_it_runs),
	        cmocka_unit_test(test_work_survives_a_client_that_leaves_while_the_executor_works),
	        cmocka_unit_test(test_work_is_refused_when_the_executor_is_full),
	        cmocka_unit_test(test_work_takes_overrides_up_to_the_cap),
	        cmocka_unit_test(test_work_refuses_overrides_that_are_no_numbers),
	        cmocka_unit_test(test_work_ignores_overrides_unless_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
