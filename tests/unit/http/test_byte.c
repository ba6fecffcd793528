/* Byte classes against their definitions, and the check of eight bytes at a time against the table. */
#include "http/byte.h"
#include "pieces.h"
#include <stdlib.h>

static bool is_in(int c, const char *set)
{
	return c != 0 && strchr(set, c);
}

#define ALPHANUMERIC "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static void test_byte_is_follows_the_rfcs(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char byte = (char)c;
		assert_int_equal(byte_is(byte, BYTE_TOKEN), is_in(c, ALPHANUMERIC "!#$%&'*+-.^_`|~"));
		assert_int_equal(byte_is(byte, BYTE_TARGET), c >= 0x21 && c <= 0x7e && c != '#');
		assert_int_equal(byte_is(byte, BYTE_VALUE), c == '\t' || (c >= 0x20 && c <= 0x7e) || c >= 0x80);
		assert_int_equal(byte_is(byte, BYTE_HEX), is_in(c, "0123456789abcdefABCDEF"));
		assert_int_equal(byte_is(byte, BYTE_DIGIT), is_in(c, "0123456789"));
		assert_int_equal(byte_is(byte, BYTE_UNRESERVED), is_in(c, ALPHANUMERIC "-._~"));
		assert_int_equal(byte_is(byte, BYTE_NAME), is_in(c, ALPHANUMERIC "-._~!$&'()*+,;="));
		assert_int_equal(byte_is(byte, BYTE_PLAIN), c >= 0x21 && c <= 0x7e && !is_in(c, "#%/?\\"));
	}
}

static void test_byte_hex_value_and_lower(void **state)
{
	(void)state;
	assert_int_equal(byte_hex_value('0'), 0);
	assert_int_equal(byte_hex_value('9'), 9);
	assert_int_equal(byte_hex_value('a'), 10);
	assert_int_equal(byte_hex_value('F'), 15);
	assert_int_equal(byte_lower('A'), 'a');
	assert_int_equal(byte_lower('Z'), 'z');
	assert_int_equal(byte_lower('@'), '@');
	assert_int_equal(byte_lower('['), '[');
	assert_int_equal(byte_lower('z'), 'z');
}

static void test_byte_all_value_sees_every_byte_at_every_place(void **state)
{
	(void)state;
	for (size_t length = 1; length <= 40; length++) {
		char *bytes = malloc(length);
		assert_non_null(bytes);
		for (size_t at = 0; at < length; at++) {
			memset(bytes, at % 2 ? 'x' : 0xff, length);
			for (int c = 0; c < 256; c++) {
				bytes[at] = (char)c;
				assert_int_equal(
				        byte_all_value((struct slice){bytes, length}), byte_is((char)c, BYTE_VALUE));
			}
		}
		free(bytes);
	}
	assert_true(byte_all_value((struct slice){"", 0}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_byte_is_follows_the_rfcs),
	        cmocka_unit_test(test_byte_hex_value_and_lower),
	        cmocka_unit_test(test_byte_all_value_sees_every_byte_at_every_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
