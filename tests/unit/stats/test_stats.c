/* Counters, gauges, and windows of ten seconds that forget. */
#include "stats/stats.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const int64_t BEGIN_NS = 1000 * NS_PER_S;

static int set_up(void **state)
{
	struct stats *s = aligned_alloc(64, sizeof *s);
	assert_non_null(s);
	stats_init(s);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void work(struct stats *s, int64_t at_ns, int64_t busy_ns, int64_t requests, uint64_t latency_us)
{
	struct stats_second *second = stats_second(s, at_ns);
	atomic_fetch_add(&second->busy_ns, busy_ns);
	atomic_fetch_add(&second->requests, requests);
	for (int64_t i = 0; i < requests; i++)
		histogram_add(&second->latency, latency_us);
}

static void test_stats_count_and_gauge(void **state)
{
	struct stats *s = *state;
	stat_add(s, STAT_requests, 2);
	stat_add(s, STAT_requests, 3);
	stat_add(s, STAT_connections, 1);
	stat_add(s, STAT_connections, -1);
	stat_max(s, STAT_longest_stall_us, 7);
	stat_max(s, STAT_longest_stall_us, 5);
	assert_int_equal(stat_get(s, STAT_requests), 5);
	assert_int_equal(stat_get(s, STAT_connections), 0);
	assert_int_equal(stat_get(s, STAT_longest_stall_us), 7);
}

static void test_stats_know_their_names(void **state)
{
	(void)state;
	assert_string_equal(stat_name(STAT_bytes_in), "bytes_in");
	assert_false(stat_is_gauge(STAT_bytes_in));
	assert_true(stat_is_gauge(STAT_idle));
	for (unsigned i = 0; i < STAT_COUNT; i++)
		assert_true(strlen(stat_help((enum stat_id)i)) > 0);
}

static void test_stats_show_the_last_ten_seconds(void **state)
{
	struct stats *s = *state;
	struct stats_recent r;
	for (int i = 0; i < 10; i++)
		work(s, BEGIN_NS + i * NS_PER_S, NS_PER_S / 2, 4, 100);
	stats_recent(s, BEGIN_NS + 9 * NS_PER_S + NS_PER_S * 9 / 10, &r);
	assert_int_equal(r.requests, 40);
	assert_int_equal(r.latency.count, 40);
	assert_true(r.busy > 0.49 && r.busy < 0.52);
}

static void test_stats_forget_what_is_older(void **state)
{
	struct stats *s = *state;
	struct stats_recent r;
	work(s, BEGIN_NS, NS_PER_S, 4, 100);
	work(s, BEGIN_NS + 5 * NS_PER_S, NS_PER_S, 2, 100);
	stats_recent(s, BEGIN_NS + 9 * NS_PER_S, &r);
	assert_int_equal(r.requests, 6);
	stats_recent(s, BEGIN_NS + 10 * NS_PER_S, &r);
	assert_int_equal(r.requests, 2);
	stats_recent(s, BEGIN_NS + 60 * NS_PER_S, &r);
	assert_int_equal(r.requests, 0);
	assert_int_equal(r.latency.count, 0);
	assert_true(r.busy == 0);
}

static void test_stats_empty_a_second_before_it_is_used_again(void **state)
{
	struct stats *s = *state;
	struct stats_recent r;
	work(s, BEGIN_NS, NS_PER_S, 4, 100);
	work(s, BEGIN_NS + STATS_SECONDS * NS_PER_S, 0, 1, 200);
	stats_recent(s, BEGIN_NS + STATS_SECONDS * NS_PER_S, &r);
	assert_int_equal(r.requests, 1);
	assert_int_equal(r.latency.max, 200);
}

static void test_stats_count_the_turn_that_has_not_ended(void **state)
{
	struct stats *s = *state;
	struct stats_recent r;
	atomic_store(&s->status.busy_since_ns, BEGIN_NS);
	stats_recent(s, BEGIN_NS + 5 * NS_PER_S, &r);
	assert_true(r.busy > 0.5);
	/* However long it lasts, the share is at most the whole. */
	stats_recent(s, BEGIN_NS + 500 * NS_PER_S, &r);
	assert_true(r.busy == 1);
	/* A begin in the reader's future counts nothing. */
	stats_recent(s, BEGIN_NS - NS_PER_S, &r);
	assert_true(r.busy == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_stats_count_and_gauge),
	        TEST(test_stats_know_their_names),
	        TEST(test_stats_show_the_last_ten_seconds),
	        TEST(test_stats_forget_what_is_older),
	        TEST(test_stats_empty_a_second_before_it_is_used_again),
	        TEST(test_stats_count_the_turn_that_has_not_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
