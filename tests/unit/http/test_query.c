/* Queries: splitting into parameters, and what names and values stand for. */
#include "http/query.h"
#include "pieces.h"
#include <stdlib.h>

static void expect_next(struct slice *rest, const char *name, const char *value)
{
	struct slice got_name, got_value;
	assert_true(query_next(rest, &got_name, &got_value));
	assert_slice(got_name, name);
	assert_slice(got_value, value);
}

static void test_query_is_split_at_ampersands(void **state)
{
	(void)state;
	struct slice rest = SLICE("&a=1&&b=2=3&c=&d&=e&a=%26&"), name, value;
	expect_next(&rest, "a", "1");
	expect_next(&rest, "b", "2=3");
	expect_next(&rest, "c", "");
	expect_next(&rest, "d", "");
	expect_next(&rest, "", "e");
	expect_next(&rest, "a", "%26");
	assert_false(query_next(&rest, &name, &value));
	rest = SLICE_NONE;
	assert_false(query_next(&rest, &name, &value));
	rest = SLICE("&&");
	assert_false(query_next(&rest, &name, &value));
}

static void expect_decoded(const char *raw, struct slice text)
{
	char *exact = malloc(strlen(raw) ? strlen(raw) : 1); /* so that a sanitizer sees output that grows */
	size_t length = query_decode(slice_of(raw), exact);
	assert_int_equal(length, text.length);
	assert_memory_equal(exact, text.data, length);
	free(exact);
	assert_true(query_equals(slice_of(raw), text));
	for (size_t cut = 0; cut < text.length; cut++)
		assert_false(query_equals(slice_of(raw), (struct slice){text.data, cut}));
	assert_true(query_is_plain(slice_of(raw)) == slice_equal(slice_of(raw), text));
}

static void test_query_escapes_and_plus_are_decoded(void **state)
{
	(void)state;
	expect_decoded("", SLICE(""));
	expect_decoded("abc-._~!*'(),;:@/?", SLICE("abc-._~!*'(),;:@/?"));
	expect_decoded("a+b%20c%2Bd%2bd", SLICE("a b c+d+d"));
	expect_decoded("%00%ff%C3%a4", SLICE("\0\xff\xc3\xa4"));
	expect_decoded("%2541", SLICE("%41")); /* once */
}

static void test_query_malformed_escapes_stand_for_themselves(void **state)
{
	(void)state;
	char to[8];
	assert_int_equal(query_decode(SLICE("%+%2"), to), 4);
	assert_memory_equal(to, "% %2", 4);
	assert_true(query_equals(SLICE("100%"), SLICE("100%")));
	assert_true(query_equals(SLICE("%4"), SLICE("%4")));
	assert_true(query_equals(SLICE("%zz%"), SLICE("%zz%")));
	assert_true(query_equals(SLICE("%%41"), SLICE("%A")));
	/* It ends where the value does, whatever stands behind. */
	assert_true(query_equals((struct slice){"%41", 2}, SLICE("%4")));
	assert_true(query_equals((struct slice){"%41", 1}, SLICE("%")));
}

static void test_query_texts_that_differ_are_not_equal(void **state)
{
	(void)state;
	assert_false(query_equals(SLICE("ab"), SLICE("a")));
	assert_false(query_equals(SLICE("a"), SLICE("ab")));
	assert_false(query_equals(SLICE("a"), SLICE("A")));
	assert_false(query_equals(SLICE("%61"), SLICE("%61")));
	assert_false(query_equals(SLICE("+"), SLICE("+")));
	assert_false(query_equals(SLICE_NONE, SLICE("a")));
	assert_true(query_equals(SLICE_NONE, SLICE("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_query_is_split_at_ampersands),
	        cmocka_unit_test(test_query_escapes_and_plus_are_decoded),
	        cmocka_unit_test(test_query_malformed_escapes_stand_for_themselves),
	        cmocka_unit_test(test_query_texts_that_differ_are_not_equal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
