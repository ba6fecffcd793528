/* Ranges; STA-01, STA-03 and STA-11 are the cases behind most of them. */
#include "http/range.h"
#include "pieces.h"
#include <stdlib.h>

static void gives_part(const char *value, int64_t size, int64_t expected_first, int64_t expected_length)
{
	int64_t first = -1, length = -1;
	assert_int_equal(range_parse(slice_of(value), size, &first, &length), RANGE_PART);
	assert_int_equal(first, expected_first);
	assert_int_equal(length, expected_length);
}

static void gives(const char *value, int64_t size, enum range_result expected)
{
	int64_t first = 4711, length = 4711;
	assert_int_equal(range_parse(slice_of(value), size, &first, &length), expected);
	assert_int_equal(first, 4711);
	assert_int_equal(length, 4711);
}

static void test_range_parse_gives_one_part(void **state)
{
	(void)state;
	gives_part("bytes=0-0", 10, 0, 1);
	gives_part("bytes=9-", 10, 9, 1);
	gives_part("bytes=2-5", 10, 2, 4);
	gives_part("bytes=0-", 10, 0, 10);
	gives_part("bytes=5-99", 10, 5, 5);
	gives_part("bytes=-3", 10, 7, 3);
	gives_part("bytes=-99", 10, 0, 10);
	gives_part("Bytes= 1-2 ", 10, 1, 2);
	gives_part("bytes=,1-2,", 10, 1, 2);
	gives_part("bytes=0-99999999999999999999999", 10, 0, 10);
	gives_part("bytes=-99999999999999999999999", 10, 0, 10);
}

static void test_range_parse_counts_beyond_32_bits(void **state)
{
	(void)state;
	const int64_t size = INT64_C(5368709120);
	gives_part("bytes=2147483640-2147483659", size, 2147483640, 20);
	gives_part("bytes=4294967290-4294967309", size, INT64_C(4294967290), 20);
	gives_part("bytes=-16", size, size - 16, 16);
}

static void test_range_parse_knows_what_cannot_be_satisfied(void **state)
{
	(void)state;
	gives("bytes=10-", 10, RANGE_UNSATISFIABLE);
	gives("bytes=10-20", 10, RANGE_UNSATISFIABLE);
	gives("bytes=-0", 10, RANGE_UNSATISFIABLE);
	gives("bytes=99999999999999999999999-", 10, RANGE_UNSATISFIABLE);
	gives("bytes=0-", 0, RANGE_UNSATISFIABLE);
	gives("bytes=0-0", 0, RANGE_UNSATISFIABLE);
	gives("bytes=-0", 0, RANGE_UNSATISFIABLE);
	gives("bytes=-5", 0, RANGE_NONE);
}

static void test_range_parse_leaves_the_whole_when_malformed_or_several(void **state)
{
	(void)state;
	static const char *const values[] = {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=1", "bytes=5-2",
	        "bytes=1-2x", "bytes=--1", "bytes=1--2", "bytes=+1-2", "bytes=1 -2", "bytes=0x1-2", "bytes =1-2",
	        "lines=1-2", "bytes=0-1,3-4", "bytes=0-0,0-0", "bytes=0-,0-", "bytes 0-1"};
	for (size_t i = 0; i < ARRAY_COUNT(values); i++)
		gives(values[i], 10, RANGE_NONE);
}

static void test_range_parse_leaves_the_whole_for_thousands_of_ranges(void **state)
{
	(void)state;
	enum { COUNT = 10000 };
	char *value = malloc(COUNT * 3 + 8);
	assert_non_null(value);
	memcpy(value, "bytes=", 6);
	for (size_t i = 0; i < COUNT; i++)
		memcpy(value + 6 + i * 3, "0-,", 4);
	gives(value, 1 << 20, RANGE_NONE);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_range_parse_gives_one_part),
	        cmocka_unit_test(test_range_parse_counts_beyond_32_bits),
	        cmocka_unit_test(test_range_parse_knows_what_cannot_be_satisfied),
	        cmocka_unit_test(test_range_parse_leaves_the_whole_when_malformed_or_several),
	        cmocka_unit_test(test_range_parse_leaves_the_whole_for_thousands_of_ranges),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
