/* Which loop gets the next connection, policy by policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/dispatch.h"
#include "base/check.h"
#include <string.h>

enum { LOOPS = 4 };

static struct stats stats[LOOPS];
static struct loop_view views[LOOPS];
static struct dispatch d;
static bool skip[LOOPS];
static const int64_t NOW_NS = 100 * NS_PER_S;

static const enum dispatch_policy policies[] = {
        DISPATCH_LEAST_LOAD, DISPATCH_LEAST_CONNECTIONS, DISPATCH_ROUND_ROBIN, DISPATCH_TWO_CHOICES, DISPATCH_RANDOM};

static void start(enum dispatch_policy policy)
{
	memset(views, 0, sizeof views);
	memset(skip, 0, sizeof skip);
	for (int i = 0; i < LOOPS; i++) {
		stats_init(&stats[i]);
		atomic_store(&stats[i].status.state, LOOP_RUNNING);
		views[i].stats = &stats[i];
	}
	assert_true(dispatch_init(&d, policy, views, LOOPS));
	dispatch_look(&d, NOW_NS);
}

/* Picks so often; how often each loop was picked. */
static void pick_many(int times, int counts[LOOPS])
{
	memset(counts, 0, LOOPS * sizeof counts[0]);
	for (int i = 0; i < times; i++) {
		int loop = dispatch_pick(&d, skip);
		assert_in_range(loop, 0, LOOPS - 1);
		counts[loop]++;
	}
}

/* The loop takes and closes all that it was given. */
static void settle(int loop)
{
	atomic_store(&views[loop].taken, atomic_load(&views[loop].assigned));
	atomic_store(&views[loop].closed, atomic_load(&views[loop].assigned));
}

static void test_dispatch_spreads_a_burst_exactly(void **state)
{
	static const enum dispatch_policy exact[] = {
	        DISPATCH_LEAST_LOAD, DISPATCH_LEAST_CONNECTIONS, DISPATCH_ROUND_ROBIN};
	int counts[LOOPS];
	(void)state;
	for (size_t p = 0; p < ARRAY_COUNT(exact); p++) {
		start(exact[p]);
		pick_many(400, counts); /* nobody has taken or closed any yet */
		for (int i = 0; i < LOOPS; i++) {
			assert_int_equal(counts[i], 100);
			assert_int_equal(atomic_load(&views[i].assigned), 100);
		}
		dispatch_fini(&d);
	}
}

/* Connections that come one at a time and close at once must not all go to the first loop. */
static void test_dispatch_takes_turns_among_equals(void **state)
{
	(void)state;
	start(DISPATCH_LEAST_LOAD);
	for (int i = 0; i < 3 * LOOPS; i++) {
		int loop = dispatch_pick(&d, skip);
		assert_int_equal(loop, i % LOOPS);
		settle(loop);
	}
	dispatch_fini(&d);
}

static void test_dispatch_random_ones_spread_roughly(void **state)
{
	static const enum dispatch_policy rough[] = {DISPATCH_TWO_CHOICES, DISPATCH_RANDOM};
	int counts[LOOPS];
	(void)state;
	for (size_t p = 0; p < ARRAY_COUNT(rough); p++) {
		start(rough[p]);
		pick_many(40000, counts);
		for (int i = 0; i < LOOPS; i++)
			assert_in_range(counts[i], 9000, 11000);
		dispatch_fini(&d);
	}
}

static void test_dispatch_least_load_follows_requests_in_progress(void **state)
{
	int counts[LOOPS];
	(void)state;
	start(DISPATCH_LEAST_LOAD);
	for (int i = 0; i < LOOPS; i++)
		stat_add(&stats[i], STAT_active_requests, i == 2 ? 1 : 5);
	pick_many(100, counts);
	assert_int_equal(counts[2], 100);
	dispatch_fini(&d);
	/* And two choices never takes the busiest while another was drawn beside it. */
	start(DISPATCH_TWO_CHOICES);
	stat_add(&stats[1], STAT_active_requests, 50);
	pick_many(1000, counts);
	assert_int_equal(counts[1], 0);
	dispatch_fini(&d);
}

static void test_dispatch_least_connections_ignores_requests(void **state)
{
	(void)state;
	start(DISPATCH_LEAST_CONNECTIONS);
	for (int i = 0; i < LOOPS; i++)
		atomic_store(&views[i].assigned, i == 3 ? 2 : 3);
	stat_add(&stats[3], STAT_active_requests, 100);
	assert_int_equal(dispatch_pick(&d, skip), 3);
	/* A close counts at once, one that the loop accepted by itself as well. */
	atomic_store(&views[1].closed, 2);
	assert_int_equal(dispatch_pick(&d, skip), 1);
	atomic_store(&views[1].opened, 5);
	assert_int_equal(dispatch_pick(&d, skip), 0);
	dispatch_fini(&d);
}

/* A queue says nothing while the loop is being woken; it is load when the loop has not come round for long. */
static void test_dispatch_queue_is_load_only_of_a_loop_that_does_not_come_round(void **state)
{
	(void)state;
	start(DISPATCH_LEAST_LOAD);
	for (int i = 0; i < LOOPS; i++)
		stat_add(&stats[i], STAT_active_requests, i == 0 ? 1 : 4);
	atomic_store(&views[0].assigned, 10);
	assert_int_equal(dispatch_pick(&d, skip), 0); /* asleep */
	atomic_store(&stats[0].status.busy_since_ns, NOW_NS - 5 * NS_PER_MS);
	assert_int_equal(dispatch_pick(&d, skip), 0); /* a turn of usual length */
	dispatch_look(&d, NOW_NS + 50 * NS_PER_MS);
	assert_int_not_equal(dispatch_pick(&d, skip), 0); /* stuck */
	atomic_store(&views[0].taken, atomic_load(&views[0].assigned));
	assert_int_not_equal(dispatch_pick(&d, skip), 0); /* stuck, with nothing waiting: still the last choice */
	atomic_store(&stats[0].status.busy_since_ns, 0);
	assert_int_equal(dispatch_pick(&d, skip), 0); /* it came round */
	dispatch_fini(&d);
}

static void test_dispatch_gives_nothing_to_loops_that_do_not_run_or_are_skipped(void **state)
{
	int counts[LOOPS];
	(void)state;
	for (size_t p = 0; p < ARRAY_COUNT(policies); p++) {
		start(policies[p]);
		atomic_store(&stats[0].status.state, LOOP_STARTING);
		atomic_store(&stats[1].status.state, LOOP_DRAINING);
		skip[2] = true;
		pick_many(100, counts);
		assert_int_equal(counts[3], 100);
		atomic_store(&stats[3].status.state, LOOP_STOPPED);
		assert_int_equal(dispatch_pick(&d, skip), DISPATCH_NONE);
		assert_int_equal(atomic_load(&views[3].assigned), 100); /* no decision, nothing counted */
		skip[2] = false;
		pick_many(100, counts);
		assert_int_equal(counts[2], 100);
		dispatch_fini(&d);
	}
}

static void test_dispatch_undo_takes_a_decision_back(void **state)
{
	(void)state;
	start(DISPATCH_LEAST_CONNECTIONS);
	int loop = dispatch_pick(&d, skip);
	assert_int_equal(loop_view_connections(&views[loop]), 1);
	assert_int_equal(loop_view_queued(&views[loop]), 1);
	dispatch_undo(&d, loop);
	assert_int_equal(loop_view_connections(&views[loop]), 0);
	assert_int_equal(loop_view_queued(&views[loop]), 0);
	dispatch_fini(&d);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_dispatch_spreads_a_burst_exactly),
	        TEST(test_dispatch_takes_turns_among_equals),
	        TEST(test_dispatch_random_ones_spread_roughly),
	        TEST(test_dispatch_least_load_follows_requests_in_progress),
	        TEST(test_dispatch_least_connections_ignores_requests),
	        TEST(test_dispatch_queue_is_load_only_of_a_loop_that_does_not_come_round),
	        TEST(test_dispatch_gives_nothing_to_loops_that_do_not_run_or_are_skipped),
	        TEST(test_dispatch_undo_takes_a_decision_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
