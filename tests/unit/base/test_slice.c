/* Slices: comparing, trimming, splitting of lists, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/slice.h"
#include <cmocka.h>
#include <stdlib.h>

static void assert_slice(struct slice s, const char *wanted)
{
	assert_int_equal(s.length, strlen(wanted));
	assert_memory_equal(s.data, wanted, s.length);
}

static void test_slice_compares_letters_without_case_and_bytes_exactly(void **state)
{
	(void)state;
	assert_true(slice_equal_nocase(SLICE("Content-Length"), SLICE("content-LENGTH")));
	assert_false(slice_equal_nocase(SLICE("Content-Length"), SLICE("Content-Lengt")));
	assert_false(slice_equal_nocase(SLICE("a@"), SLICE("a`")));
	assert_false(slice_equal_nocase(SLICE("a["), SLICE("a{")));
	assert_true(slice_equal_nocase(SLICE_NONE, SLICE("")));
	assert_true(slice_equal(SLICE_NONE, SLICE("")));
	assert_false(slice_equal(SLICE("a"), SLICE("A")));
}

static void test_slice_comparison_goes_on_after_a_zero_byte(void **state)
{
	(void)state;
	assert_false(slice_equal_nocase(SLICE("a\0b"), SLICE("a\0c")));
	assert_true(slice_equal_nocase(SLICE("a\0b"), SLICE("A\0B")));
}

static void test_slice_starts_with_its_prefixes_only(void **state)
{
	(void)state;
	assert_true(slice_starts(SLICE("/api/x"), SLICE("/api")));
	assert_true(slice_starts(SLICE("/api"), SLICE("/api")));
	assert_true(slice_starts(SLICE("/api"), SLICE_NONE));
	assert_false(slice_starts(SLICE("/ap"), SLICE("/api")));
}

static void test_slice_trim_takes_blanks_and_tabs_only(void **state)
{
	(void)state;
	assert_slice(slice_trim(SLICE(" \t a b\t ")), "a b");
	assert_slice(slice_trim(SLICE("\r\n")), "\r\n");
	assert_slice(slice_trim(SLICE(" \t ")), "");
}

static void test_slice_members_skip_empty_ones_and_keep_quoted_commas(void **state)
{
	(void)state;
	struct slice rest = SLICE(" ,a , \"b,\\\",c\" ,,\td=\"x\" ,"), member;
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "a");
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "\"b,\\\",c\"");
	assert_true(slice_next_member(&rest, &member));
	assert_slice(member, "d=\"x\"");
	assert_false(slice_next_member(&rest, &member));
}

static void test_slice_member_ends_at_the_end_inside_quotes(void **state)
{
	(void)state;
	static const char *const texts[] = {"\"a,b", "\"a,b\\", "\""};
	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		struct slice rest = slice_of(texts[i]), member;
		assert_true(slice_next_member(&rest, &member));
		assert_slice(member, texts[i]);
		assert_false(slice_next_member(&rest, &member));
	}
}

static void test_slice_words_are_cut_at_blanks_and_tabs(void **state)
{
	(void)state;
	struct slice rest = SLICE(" \tapp weight=9\t, \t"), word;
	assert_true(slice_next_word(&rest, &word));
	assert_slice(word, "app");
	assert_true(slice_next_word(&rest, &word));
	assert_slice(word, "weight=9");
	assert_true(slice_next_word(&rest, &word));
	assert_slice(word, ",");
	assert_false(slice_next_word(&rest, &word));
	rest = SLICE_NONE;
	assert_false(slice_next_word(&rest, &word));
}

static void test_slice_number_takes_plain_digits_up_to_the_largest(void **state)
{
	(void)state;
	int64_t number = -1;
	assert_true(slice_to_number(SLICE("0"), &number));
	assert_int_equal(number, 0);
	assert_true(slice_to_number(SLICE("9223372036854775807"), &number));
	assert_true(number == INT64_MAX);
	assert_true(slice_to_number(SLICE("007"), &number));
	assert_int_equal(number, 7);
}

static void test_slice_number_refuses_all_else_and_leaves_the_result(void **state)
{
	(void)state;
	static const char *const texts[] = {
	        "", "+1", "-1", " 1", "1 ", "1a", "0x1", "1.0", "9223372036854775808", "99999999999999999999999"};
	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		int64_t number = -1;
		assert_false(slice_to_number(slice_of(texts[i]), &number));
		assert_int_equal(number, -1);
	}
}

static void test_slice_copy_ends_with_zero(void **state)
{
	(void)state;
	char *copy = slice_copy((struct slice){"abcdef", 3}), *empty = slice_copy(SLICE_NONE);
	assert_string_equal(copy, "abc");
	assert_string_equal(empty, "");
	free(copy);
	free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_slice_compares_letters_without_case_and_bytes_exactly),
	        cmocka_unit_test(test_slice_comparison_goes_on_after_a_zero_byte),
	        cmocka_unit_test(test_slice_starts_with_its_prefixes_only),
	        cmocka_unit_test(test_slice_trim_takes_blanks_and_tabs_only),
	        cmocka_unit_test(test_slice_members_skip_empty_ones_and_keep_quoted_commas),
	        cmocka_unit_test(test_slice_member_ends_at_the_end_inside_quotes),
	        cmocka_unit_test(test_slice_words_are_cut_at_blanks_and_tabs),
	        cmocka_unit_test(test_slice_number_takes_plain_digits_up_to_the_largest),
	        cmocka_unit_test(test_slice_number_refuses_all_else_and_leaves_the_result),
	        cmocka_unit_test(test_slice_copy_ends_with_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
