/* Status codes and methods. */
#include "http/status.h"
#include "pieces.h"
#include <stdio.h>

static void test_status_line_is_whole_for_every_known_code(void **state)
{
	(void)state;
	static const struct {
		unsigned code;
		const char *reason;
	} codes[] = {
#define STATUS(code, reason) {code, reason},
#include "http/statuses.def"
#undef STATUS
	};
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		char line[100];
		snprintf(line, sizeof line, "HTTP/1.1 %u %s\r\n", codes[i].code, codes[i].reason);
		assert_slice(status_line(codes[i].code), line);
		assert_slice(status_reason(codes[i].code), codes[i].reason);
	}
}

static void test_status_line_is_empty_for_unknown_codes(void **state)
{
	(void)state;
	static const unsigned codes[] = {0, 99, 104, 299, 418, 599, 600, 999, 4294967295u};
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		assert_slice(status_line(codes[i]), "");
		assert_slice(status_reason(codes[i]), "Unknown");
	}
}

static void test_method_of_minds_the_case(void **state)
{
	(void)state;
	assert_int_equal(method_of(SLICE("GET")), METHOD_GET);
	assert_int_equal(method_of(SLICE("PROPFIND")), METHOD_OTHER);
	assert_int_equal(method_of(SLICE("get")), METHOD_UNKNOWN);
	assert_int_equal(method_of(SLICE("GETS")), METHOD_UNKNOWN);
	assert_int_equal(method_of(SLICE("GE")), METHOD_UNKNOWN);
	assert_int_equal(method_of(SLICE("")), METHOD_UNKNOWN);
}

static void test_method_name_is_what_method_of_takes(void **state)
{
	(void)state;
	for (enum method method = METHOD_GET; method < METHOD_OTHER; method++)
		assert_int_equal(method_of(method_name(method)), method);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_status_line_is_whole_for_every_known_code),
	        cmocka_unit_test(test_status_line_is_empty_for_unknown_codes),
	        cmocka_unit_test(test_method_of_minds_the_case),
	        cmocka_unit_test(test_method_name_is_what_method_of_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
