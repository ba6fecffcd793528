/* Buckets of growing width, and quantiles over them. */
#include "stats/histogram.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct histogram_view view_of(const struct histogram *h)
{
	struct histogram_view v;
	memset(&v, 0, sizeof v);
	histogram_view_add(&v, h);
	return v;
}

static struct histogram *made(void)
{
	struct histogram *h = calloc(1, sizeof *h);
	assert_non_null(h);
	return h;
}

static void test_histogram_puts_each_value_into_a_bucket_near_it(void **state)
{
	struct histogram *h = made();
	(void)state;
	for (uint64_t value = 0; value < UINT64_C(1) << 29; value += 1 + value / 50) {
		histogram_clear(h);
		histogram_add(h, value);
		struct histogram_view v = view_of(h);
		uint64_t low = histogram_view_quantile(&v, 0.5);
		assert_true(low <= value);
		assert_true(value - low <= value / 8);
		assert_int_equal(v.count, 1);
		assert_int_equal(v.sum, value);
		assert_int_equal(v.max, value);
	}
	free(h);
}

static void test_histogram_buckets_rise(void **state)
{
	(void)state;
	for (unsigned i = 1; i < HISTOGRAM_BUCKETS; i++)
		assert_true(histogram_bucket_low(i) > histogram_bucket_low(i - 1));
}

static void test_histogram_keeps_the_largest_values_in_its_last_bucket(void **state)
{
	struct histogram *h = made();
	(void)state;
	histogram_add(h, UINT64_MAX);
	struct histogram_view v = view_of(h);
	assert_int_equal(v.buckets[HISTOGRAM_BUCKETS - 1], 1);
	assert_true(v.max == UINT64_MAX);
	free(h);
}

static void test_histogram_quantiles_are_ranks(void **state)
{
	struct histogram *h = made();
	(void)state;
	for (uint64_t value = 1; value <= 1000; value++)
		histogram_add(h, value);
	struct histogram_view v = view_of(h);
	assert_in_range(histogram_view_quantile(&v, 0.5), 500 - 500 / 8, 501);
	assert_in_range(histogram_view_quantile(&v, 0.99), 990 - 990 / 8, 991);
	assert_in_range(histogram_view_quantile(&v, 0), 0, 1);
	assert_int_equal(histogram_view_quantile(&v, 1), 1000);
	free(h);
}

static void test_histogram_views_add_up(void **state)
{
	struct histogram *a = made(), *b = made();
	(void)state;
	histogram_add(a, 3);
	histogram_add(b, 100);
	histogram_add(b, 5);
	struct histogram_view v = view_of(a);
	histogram_view_add(&v, b);
	assert_int_equal(v.count, 3);
	assert_int_equal(v.sum, 108);
	assert_int_equal(v.max, 100);
	assert_int_equal(histogram_view_quantile(&v, 0.5), 5);
	free(a);
	free(b);
}

static void test_histogram_quantile_of_nothing_is_zero(void **state)
{
	struct histogram_view v;
	(void)state;
	memset(&v, 0, sizeof v);
	assert_int_equal(histogram_view_quantile(&v, 0.99), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_histogram_puts_each_value_into_a_bucket_near_it),
	        cmocka_unit_test(test_histogram_buckets_rise),
	        cmocka_unit_test(test_histogram_keeps_the_largest_values_in_its_last_bucket),
	        cmocka_unit_test(test_histogram_quantiles_are_ranks),
	        cmocka_unit_test(test_histogram_views_add_up),
	        cmocka_unit_test(test_histogram_quantile_of_nothing_is_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
