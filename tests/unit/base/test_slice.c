/* Slices: comparing, trimming, lists, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/slice.h"
#include <stdlib.h>

static void assert_slice(struct slice given, const char *text)
{
	assert_int_equal(given.length, strlen(text));
	if (given.length)
		assert_memory_equal(given.data, text, given.length);
}

static void test_slice_equal_compares_lengths_and_bytes(void **state)
{
	(void)state;
	assert_true(slice_equal(SLICE("a\0b"), SLICE("a\0b")));
	assert_false(slice_equal(SLICE("a\0b"), SLICE("a\0c")));
	assert_false(slice_equal(SLICE("ab"), SLICE("abc")));
	assert_false(slice_equal(SLICE("a"), SLICE("A")));
	assert_true(slice_equal(SLICE_NONE, SLICE("")));
}

static void test_slice_equal_nocase_minds_no_case_of_letters(void **state)
{
	(void)state;
	assert_true(slice_equal_nocase(SLICE("Chunked"), SLICE("cHUNKED")));
	assert_false(slice_equal_nocase(SLICE("chunked"), SLICE("chunke")));
	assert_false(slice_equal_nocase(SLICE("@"), SLICE("`")));
	assert_true(slice_equal_nocase(SLICE_NONE, SLICE("")));
}

static void test_slice_starts_with_a_prefix(void **state)
{
	(void)state;
	assert_true(slice_starts(SLICE("abc"), SLICE("ab")));
	assert_true(slice_starts(SLICE("abc"), SLICE("abc")));
	assert_true(slice_starts(SLICE_NONE, SLICE_NONE));
	assert_false(slice_starts(SLICE("abc"), SLICE("abcd")));
	assert_false(slice_starts(SLICE("abc"), SLICE("b")));
}

static void test_slice_trim_takes_blanks_and_tabs_off_both_ends(void **state)
{
	(void)state;
	assert_slice(slice_trim(SLICE(" \t a b\t ")), "a b");
	assert_slice(slice_trim(SLICE(" \t ")), "");
	assert_slice(slice_trim(SLICE("\ra\n")), "\ra\n");
	assert_slice(slice_trim(SLICE("")), "");
}

static void gives_members(const char *list, const char *const *expected)
{
	struct slice rest = slice_of(list), member = SLICE("untouched");
	for (; *expected; expected++) {
		assert_true(slice_next_member(&rest, &member));
		assert_slice(member, *expected);
	}
	member = SLICE("untouched");
	assert_false(slice_next_member(&rest, &member));
	assert_slice(member, "untouched");
}

#define MEMBERS(...) ((const char *const[]){__VA_ARGS__})

static void test_slice_next_member_skips_empty_members(void **state)
{
	(void)state;
	gives_members("", MEMBERS(NULL));
	gives_members(" , ,\t,", MEMBERS(NULL));
	gives_members("a", MEMBERS("a", NULL));
	gives_members(",a , b c,,d\t", MEMBERS("a", "b c", "d", NULL));
}

static void test_slice_next_member_leaves_quoted_strings_whole(void **state)
{
	(void)state;
	gives_members("a=\"x,y\", b", MEMBERS("a=\"x,y\"", "b", NULL));
	gives_members("\"a\\\",b\",c", MEMBERS("\"a\\\",b\"", "c", NULL));
	gives_members("\"open, b", MEMBERS("\"open, b", NULL));
	gives_members("\"a\\", MEMBERS("\"a\\", NULL));
}

static void refuses_number(struct slice s)
{
	int64_t number = 4711;
	assert_false(slice_to_number(s, &number));
	assert_int_equal(number, 4711);
}

static void test_slice_to_number_takes_plain_digits_only(void **state)
{
	(void)state;
	int64_t number = -1;
	assert_true(slice_to_number(SLICE("0"), &number) && number == 0);
	assert_true(slice_to_number(SLICE("00123"), &number) && number == 123);
	assert_true(slice_to_number(SLICE("9223372036854775807"), &number) && number == INT64_MAX);
	refuses_number(SLICE(""));
	refuses_number(SLICE("9223372036854775808"));
	refuses_number(SLICE("18446744073709551619"));
	refuses_number(SLICE("+1"));
	refuses_number(SLICE("-1"));
	refuses_number(SLICE(" 1"));
	refuses_number(SLICE("1 "));
	refuses_number(SLICE("1_0"));
	refuses_number(SLICE("0x1"));
	refuses_number(SLICE("1\0"));
	refuses_number(SLICE("\xb2"));
}

static void test_slice_copy_ends_with_a_zero(void **state)
{
	(void)state;
	char *copy = slice_copy((struct slice){"abcdef", 3});
	assert_string_equal(copy, "abc");
	free(copy);
	copy = slice_copy(SLICE_NONE);
	assert_string_equal(copy, "");
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_slice_equal_compares_lengths_and_bytes),
	        cmocka_unit_test(test_slice_equal_nocase_minds_no_case_of_letters),
	        cmocka_unit_test(test_slice_starts_with_a_prefix),
	        cmocka_unit_test(test_slice_trim_takes_blanks_and_tabs_off_both_ends),
	        cmocka_unit_test(test_slice_next_member_skips_empty_members),
	        cmocka_unit_test(test_slice_next_member_leaves_quoted_strings_whole),
	        cmocka_unit_test(test_slice_to_number_takes_plain_digits_only),
	        cmocka_unit_test(test_slice_copy_ends_with_a_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
