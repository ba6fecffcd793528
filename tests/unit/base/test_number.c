/* Numbers of a configuration: what is accepted, what is refused and why, and the normal form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/number.h"
#include <cmocka.h>

struct wanted {
	const char *text;
	enum number_result result;
	int64_t number;
	const char *normal;
};

typedef enum number_result parse_function(struct slice, int64_t *);
typedef const char *print_function(char *, int64_t);

static void expect_all(const struct wanted *wanted, size_t count, parse_function *parse, print_function *print)
{
	for (size_t i = 0; i < count; i++) {
		int64_t number = -77;
		char buffer[NUMBER_TEXT_BYTES];
		enum number_result result = parse(slice_of(wanted[i].text), &number);
		if (result != wanted[i].result)
			fail_msg("'%s' gives '%s', not '%s'", wanted[i].text, number_result_text(result),
			        number_result_text(wanted[i].result));
		assert_int_equal(number, result == NUMBER_FINE ? wanted[i].number : -77);
		if (result == NUMBER_FINE)
			assert_string_equal(print(buffer, number), wanted[i].normal);
	}
}

static void test_number_count_takes_plain_decimals_only(void **state)
{
	(void)state;
	static const struct wanted wanted[] = {
	        {"0", NUMBER_FINE, 0, "0"},
	        {"7", NUMBER_FINE, 7, "7"},
	        {"1024", NUMBER_FINE, 1024, "1024"},
	        {"9223372036854775807", NUMBER_FINE, INT64_MAX, "9223372036854775807"},
	        {"9223372036854775808", NUMBER_TOO_LARGE, 0, NULL},
	        {"99999999999999999999", NUMBER_TOO_LARGE, 0, NULL},
	        {"", NUMBER_EMPTY, 0, NULL},
	        {"-1", NUMBER_MALFORMED, 0, NULL},
	        {"+1", NUMBER_MALFORMED, 0, NULL},
	        {"010", NUMBER_MALFORMED, 0, NULL},
	        {"00", NUMBER_MALFORMED, 0, NULL},
	        {"0x10", NUMBER_MALFORMED, 0, NULL},
	        {"1e3", NUMBER_MALFORMED, 0, NULL},
	        {"1.5", NUMBER_MALFORMED, 0, NULL},
	        {"1k", NUMBER_MALFORMED, 0, NULL},
	        {" 1", NUMBER_MALFORMED, 0, NULL},
	        {"1 ", NUMBER_MALFORMED, 0, NULL},
	};
	expect_all(wanted, ARRAY_COUNT(wanted), number_parse_count, number_print_count);
}

static void test_number_size_takes_bytes_or_binary_units(void **state)
{
	(void)state;
	static const struct wanted wanted[] = {
	        {"0", NUMBER_FINE, 0, "0"},
	        {"0k", NUMBER_FINE, 0, "0"},
	        {"10", NUMBER_FINE, 10, "10"},
	        {"1536", NUMBER_FINE, 1536, "1536"},
	        {"64k", NUMBER_FINE, 65536, "64k"},
	        {"65536", NUMBER_FINE, 65536, "64k"},
	        {"1024k", NUMBER_FINE, 1048576, "1m"},
	        {"8m", NUMBER_FINE, 8388608, "8m"},
	        {"2g", NUMBER_FINE, INT64_C(2147483648), "2g"},
	        {"8589934591g", NUMBER_FINE, INT64_C(9223372035781033984), "8589934591g"},
	        {"8589934592g", NUMBER_TOO_LARGE, 0, NULL},
	        {"99999999999999999999g", NUMBER_TOO_LARGE, 0, NULL},
	        {"", NUMBER_EMPTY, 0, NULL},
	        {"k", NUMBER_MALFORMED, 0, NULL},
	        {"10KB", NUMBER_UNIT_UNKNOWN, 0, NULL},
	        {"10kib", NUMBER_UNIT_UNKNOWN, 0, NULL},
	        {"10K", NUMBER_UNIT_UNKNOWN, 0, NULL},
	        {"10k m", NUMBER_MALFORMED, 0, NULL},
	        {"10 k", NUMBER_MALFORMED, 0, NULL},
	        {"010k", NUMBER_MALFORMED, 0, NULL},
	        {"0x10", NUMBER_MALFORMED, 0, NULL},
	        {"-1k", NUMBER_MALFORMED, 0, NULL},
	        {"1.5m", NUMBER_MALFORMED, 0, NULL},
	        {"1e3", NUMBER_MALFORMED, 0, NULL},
	};
	expect_all(wanted, ARRAY_COUNT(wanted), number_parse_size, number_print_size);
}

static void test_number_duration_needs_its_unit(void **state)
{
	(void)state;
	static const struct wanted wanted[] = {
	        {"0", NUMBER_FINE, 0, "0"},
	        {"0s", NUMBER_FINE, 0, "0"},
	        {"500us", NUMBER_FINE, 500, "500us"},
	        {"1000us", NUMBER_FINE, 1000, "1ms"},
	        {"100ms", NUMBER_FINE, 100000, "100ms"},
	        {"1500ms", NUMBER_FINE, 1500000, "1500ms"},
	        {"5s", NUMBER_FINE, 5000000, "5s"},
	        {"60s", NUMBER_FINE, 60000000, "1m"},
	        {"90s", NUMBER_FINE, 90000000, "90s"},
	        {"1h", NUMBER_FINE, INT64_C(3600000000), "1h"},
	        {"2147483648ms", NUMBER_FINE, INT64_C(2147483648000), "2147483648ms"},
	        {"9223372036854775807us", NUMBER_FINE, INT64_MAX, "9223372036854775807us"},
	        {"9223372036854775807s", NUMBER_TOO_LARGE, 0, NULL},
	        {"99999999999999999999us", NUMBER_TOO_LARGE, 0, NULL},
	        {"10", NUMBER_UNIT_MISSING, 0, NULL},
	        {"99999999999999999999", NUMBER_UNIT_MISSING, 0, NULL},
	        {"25d", NUMBER_UNIT_UNKNOWN, 0, NULL},
	        {"10S", NUMBER_UNIT_UNKNOWN, 0, NULL},
	        {"10 s", NUMBER_MALFORMED, 0, NULL},
	        {"0.5s", NUMBER_MALFORMED, 0, NULL},
	        {"-1", NUMBER_MALFORMED, 0, NULL},
	        {"-1s", NUMBER_MALFORMED, 0, NULL},
	        {"+1s", NUMBER_MALFORMED, 0, NULL},
	        {"010s", NUMBER_MALFORMED, 0, NULL},
	        {"1e3", NUMBER_MALFORMED, 0, NULL},
	        {"1h30m", NUMBER_MALFORMED, 0, NULL},
	        {"s", NUMBER_MALFORMED, 0, NULL},
	        {"", NUMBER_EMPTY, 0, NULL},
	};
	expect_all(wanted, ARRAY_COUNT(wanted), number_parse_duration, number_print_duration);
}

static void test_number_normal_form_reads_back_as_the_same(void **state)
{
	(void)state;
	for (int64_t number = 1; number > 0 && number < INT64_MAX / 7; number = number * 5 / 2 + 1) {
		char buffer[NUMBER_TEXT_BYTES];
		int64_t again = -1;
		assert_int_equal(number_parse_size(slice_of(number_print_size(buffer, number)), &again), NUMBER_FINE);
		assert_int_equal(again, number);
		assert_int_equal(
		        number_parse_duration(slice_of(number_print_duration(buffer, number)), &again), NUMBER_FINE);
		assert_int_equal(again, number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_number_count_takes_plain_decimals_only),
	        cmocka_unit_test(test_number_size_takes_bytes_or_binary_units),
	        cmocka_unit_test(test_number_duration_needs_its_unit),
	        cmocka_unit_test(test_number_normal_form_reads_back_as_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
