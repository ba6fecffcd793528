/* Preconditions; STA-05 and STA-06 are the cases behind most of them. The resource is "e1" of 06 Nov 1994 08:49:37. */
#include "heads.h"

#include "http/conditional.h"
#include <stdio.h>

#define MODIFIED "Sun, 06 Nov 1994 08:49:37 GMT"
#define EARLIER "Sun, 06 Nov 1994 08:49:36 GMT"
#define LATER "Sun, 06 Nov 1994 08:49:38 GMT"

static const struct validators strong = {.etag = {"\"e1\"", 4}, .modified = 784111777, .modified_is_strong = true};
static const struct validators weak = {.etag = {"W/\"e1\"", 6}, .modified = 784111777};
static const struct validators no_etag = {.modified = 784111777, .modified_is_strong = true};

static const struct request_head *request(const char *method, const char *lines)
{
	char head[2000];
	int length = snprintf(head, sizeof head, "%s / HTTP/1.1\r\nHost: t.test\r\n%s\r\n", method, lines);
	assert_int_equal(heads_request(head, (size_t)length, &heads_limits).result, HEAD_READY);
	return &heads_last_request;
}

static unsigned get(const struct validators *v, const char *lines)
{
	return conditional_evaluate(request("GET", lines), v);
}

static void test_conditional_evaluate_goes_on_without_conditions(void **state)
{
	(void)state;
	assert_int_equal(get(&strong, ""), 0);
	assert_int_equal(get(&no_etag, "X: \"e1\"\r\n"), 0);
}

static void test_conditional_evaluate_compares_if_none_match_weakly(void **state)
{
	(void)state;
	assert_int_equal(get(&strong, "If-None-Match: \"e1\"\r\n"), 304);
	assert_int_equal(get(&strong, "If-None-Match: W/\"e1\"\r\n"), 304);
	assert_int_equal(get(&weak, "If-None-Match: \"e1\"\r\n"), 304);
	assert_int_equal(get(&strong, "If-None-Match: \"a,b\" , ,W/\"\\\",\"e1\"\r\n"), 304);
	assert_int_equal(get(&strong, "If-None-Match: \"no\"\r\nIf-None-Match: \"e1\"\r\n"), 304);
	assert_int_equal(get(&strong, "If-None-Match: *\r\n"), 304);
	assert_int_equal(get(&no_etag, "If-None-Match: *\r\n"), 304);
	assert_int_equal(get(&strong, "If-None-Match: \"nope\"\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match: \"e1x\"\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match: \"xe1\"\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match: e1\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match: \"e1\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match: \"e1\"x\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match: w/\"e1\"\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match:\r\n"), 0);
	assert_int_equal(get(&no_etag, "If-None-Match: \"e1\"\r\n"), 0);
}

static void test_conditional_evaluate_lets_the_tag_win_over_the_date(void **state)
{
	(void)state;
	assert_int_equal(
	        get(&strong, "If-None-Match: \"nope\"\r\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n"), 0);
	assert_int_equal(get(&strong, "If-None-Match: \"e1\"\r\nIf-Modified-Since: " EARLIER "\r\n"), 304);
	assert_int_equal(get(&strong, "If-Match: \"e1\"\r\nIf-Unmodified-Since: " EARLIER "\r\n"), 0);
}

static void test_conditional_evaluate_reads_if_modified_since(void **state)
{
	(void)state;
	assert_int_equal(get(&strong, "If-Modified-Since: " MODIFIED "\r\n"), 304);
	assert_int_equal(get(&strong, "If-Modified-Since: " LATER "\r\n"), 304);
	assert_int_equal(get(&strong, "If-Modified-Since: " EARLIER "\r\n"), 0);
	assert_int_equal(get(&strong, "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT\r\n"), 304);
	assert_int_equal(get(&strong, "If-Modified-Since: yesterday\r\n"), 0);
	assert_int_equal(conditional_evaluate(request("HEAD", "If-Modified-Since: " MODIFIED "\r\n"), &strong), 304);
	assert_int_equal(conditional_evaluate(request("POST", "If-Modified-Since: " MODIFIED "\r\n"), &strong), 0);
}

static void test_conditional_evaluate_answers_412_to_other_methods(void **state)
{
	(void)state;
	assert_int_equal(conditional_evaluate(request("PUT", "If-None-Match: *\r\n"), &strong), 412);
	assert_int_equal(conditional_evaluate(request("DELETE", "If-None-Match: \"e1\"\r\n"), &strong), 412);
	assert_int_equal(conditional_evaluate(request("HEAD", "If-None-Match: \"e1\"\r\n"), &strong), 304);
}

static void test_conditional_evaluate_compares_if_match_strongly(void **state)
{
	(void)state;
	assert_int_equal(get(&strong, "If-Match: \"x\", \"e1\"\r\n"), 0);
	assert_int_equal(get(&strong, "If-Match: *\r\n"), 0);
	assert_int_equal(get(&strong, "If-Match: W/\"e1\"\r\n"), 412);
	assert_int_equal(get(&weak, "If-Match: W/\"e1\"\r\n"), 412);
	assert_int_equal(get(&strong, "If-Match: \"x\"\r\n"), 412);
	assert_int_equal(get(&no_etag, "If-Match: \"e1\"\r\n"), 412);
	assert_int_equal(get(&strong, "If-Match: \"e1\"\r\nIf-None-Match: \"e1\"\r\n"), 304);
}

static void test_conditional_evaluate_reads_if_unmodified_since(void **state)
{
	(void)state;
	assert_int_equal(get(&strong, "If-Unmodified-Since: " MODIFIED "\r\n"), 0);
	assert_int_equal(get(&strong, "If-Unmodified-Since: " EARLIER "\r\n"), 412);
	assert_int_equal(get(&strong, "If-Unmodified-Since: nonsense\r\n"), 0);
}

static bool holds(const struct validators *v, const char *lines)
{
	return conditional_range_holds(request("GET", lines), v);
}

static void test_conditional_range_holds_for_a_strong_match_only(void **state)
{
	(void)state;
	struct validators recent = strong;
	recent.modified_is_strong = false;
	assert_true(holds(&strong, ""));
	assert_true(holds(&strong, "If-Range: \"e1\"\r\n"));
	assert_false(holds(&strong, "If-Range: W/\"e1\"\r\n"));
	assert_false(holds(&weak, "If-Range: W/\"e1\"\r\n"));
	assert_false(holds(&weak, "If-Range: \"e1\"\r\n"));
	assert_false(holds(&strong, "If-Range: \"old\"\r\n"));
	assert_false(holds(&strong, "If-Range: \"e1x\"\r\n"));
	assert_false(holds(&strong, "If-Range: \"e1\"x\r\n"));
	assert_false(holds(&strong, "If-Range: \"e1\", \"e2\"\r\n"));
	assert_false(holds(&no_etag, "If-Range: \"e1\"\r\n"));
	assert_true(holds(&strong, "If-Range: " MODIFIED "\r\n"));
	assert_false(holds(&strong, "If-Range: " EARLIER "\r\n"));
	assert_false(holds(&strong, "If-Range: " LATER "\r\n"));
	assert_false(holds(&recent, "If-Range: " MODIFIED "\r\n"));
	assert_false(holds(&strong, "If-Range: nonsense\r\n"));
	assert_false(holds(&strong, "If-Range:\r\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_conditional_evaluate_goes_on_without_conditions),
	        cmocka_unit_test(test_conditional_evaluate_compares_if_none_match_weakly),
	        cmocka_unit_test(test_conditional_evaluate_lets_the_tag_win_over_the_date),
	        cmocka_unit_test(test_conditional_evaluate_reads_if_modified_since),
	        cmocka_unit_test(test_conditional_evaluate_answers_412_to_other_methods),
	        cmocka_unit_test(test_conditional_evaluate_compares_if_match_strongly),
	        cmocka_unit_test(test_conditional_evaluate_reads_if_unmodified_since),
	        cmocka_unit_test(test_conditional_range_holds_for_a_strong_match_only),
	};
	return cmocka_run_group_tests(tests, heads_setup, NULL);
}
