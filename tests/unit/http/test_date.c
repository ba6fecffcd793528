/* HTTP dates; the C library is the measure. */
#include "http/date.h"
#include "pieces.h"
#include <stdio.h>

static void assert_formats_like_the_library(time_t time)
{
	char ours[DATE_BYTES], theirs[64];
	struct tm parts;
	time_t back = -1;
	date_format(time, ours);
	assert_int_equal(
	        strftime(theirs, sizeof theirs, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&time, &parts)), DATE_BYTES);
	assert_slice(((struct slice){ours, DATE_BYTES}), theirs);
	assert_true(date_parse((struct slice){ours, DATE_BYTES}, &back));
	assert_int_equal(back, time);
}

static void test_date_format_agrees_with_the_library(void **state)
{
	(void)state;
	static const time_t times[] = {0, 1, -1, 784111777, 951782400, 951868799, 951868800, 1709164800, 1709251200,
	        4107542400, -86400, -86401, 253402300799, -2208988800};
	for (size_t i = 0; i < ARRAY_COUNT(times); i++)
		assert_formats_like_the_library(times[i]);
	for (time_t time = -2208988800; time < 253402300799; time += 86400 * 11 + 3607)
		assert_formats_like_the_library(time);
}

static void parses_to(const char *text, time_t expected)
{
	time_t time = -1;
	assert_true(date_parse(slice_of(text), &time));
	assert_int_equal(time, expected);
}

static void test_date_parse_takes_all_three_formats(void **state)
{
	(void)state;
	parses_to("Sun, 06 Nov 1994 08:49:37 GMT", 784111777);
	parses_to("Sunday, 06-Nov-94 08:49:37 GMT", 784111777);
	parses_to("Sun Nov  6 08:49:37 1994", 784111777);
	parses_to("Wed Nov 16 08:49:37 1994", 784975777);
	parses_to("Thu, 29 Feb 2024 23:59:60 GMT", 1709251200);
}

static void test_date_parse_takes_two_digits_of_more_than_fifty_years_ahead_as_past(void **state)
{
	(void)state;
	time_t now = time(NULL), parsed;
	struct tm parts;
	gmtime_r(&now, &parts);
	for (int ahead = 49; ahead <= 52; ahead++) {
		char text[64];
		int year = 1900 + parts.tm_year + ahead;
		snprintf(text, sizeof text, "Monday, 01-Mar-%02d 00:00:00 GMT", year % 100);
		assert_true(date_parse(slice_of(text), &parsed));
		struct tm back;
		gmtime_r(&parsed, &back);
		int expected = year % 100 + (1900 + parts.tm_year) / 100 * 100;
		if (expected > 1900 + parts.tm_year + 50)
			expected -= 100;
		assert_int_equal(back.tm_year + 1900, expected);
	}
}

static void test_date_parse_refuses_all_else(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "x", "0", "784111777", "Sun, 06 Nov 1994 08:49:37",
	        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT",
	        "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
	        "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT",
	        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
	        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
	        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT",
	        "Sun, 06 Nov 1994 -8:49:37 GMT"};
	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		time_t time = 4711;
		assert_false(date_parse(slice_of(texts[i]), &time));
		assert_int_equal(time, 4711);
	}
}

static void test_date_parse_refuses_every_cut(void **state)
{
	(void)state;
	static const char *const texts[] = {
	        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"};
	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		time_t time;
		for (size_t length = 0; length < strlen(texts[i]); length++)
			assert_false(date_parse((struct slice){texts[i], length}, &time));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_date_format_agrees_with_the_library),
	        cmocka_unit_test(test_date_parse_takes_all_three_formats),
	        cmocka_unit_test(test_date_parse_takes_two_digits_of_more_than_fifty_years_ahead_as_past),
	        cmocka_unit_test(test_date_parse_refuses_all_else),
	        cmocka_unit_test(test_date_parse_refuses_every_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
