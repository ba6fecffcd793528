/* Paths made of captures: what comes out, and what is wrong with such a text. */
#include "base/check.h"
#include "routing.h"
#include "serve/route_match.h"
#include "serve/route_rewrite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A table of one route, of which only the path matters. */
static const struct mlserve_settings *build(const char *path)
{
	char text[512];
	snprintf(text, sizeof text, "[route a]\npath = %s\nhandler = getter\n", path);
	routing_build(text);
	return config_at(routing.config, CONFIG_ROUTE, 0);
}

static void expect(const char *expression, const char *text, const char *path, const char *wanted)
{
	char whole[256];
	struct route_rewrite *r = NULL;
	snprintf(whole, sizeof whole, "~ %s", expression);
	assert_true(route_rewrite_read(build(whole), "path", slice_of(text), &r));
	assert_string_equal(routing_find(0, "h", path, "GET"), "a");
	struct slice asked = slice_of(path);
	size_t length = route_rewrite_length(r, routing.match, asked);
	char *to = malloc(length + 1);
	route_rewrite_write(r, routing.match, asked, to);
	to[length] = 0;
	assert_string_equal(to, wanted);
	free(to);
	route_rewrite_free(&r);
	assert_null(r);
	routing_drop();
}

static void test_rewrite_puts_captures_where_they_are_named(void **state)
{
	(void)state;
	expect("^/old/([^/]*)/(.*)", "/new/$2/x/$1", "/old/a/b/c", "/new/b/c/x/a");
	expect("^/(?<user>[^/]+)/(?P<page>\\d+)", "/${page}/${user}-${page}", "/ann/12", "/12/ann-12");
	expect("^/(?<user>[^/]+)/(\\d+)", "/$2/$1", "/ann/12", "/12/ann"); /* a named one has a number too */
	expect("^(/.*)$", "$1", "/a/b", "/a/b");
	expect("^/(.*)$", "/$1$1", "/ab", "/abab");
	expect("^/a", "/fixed", "/abc", "/fixed");
}

static void test_rewrite_numbers_have_one_digit(void **state)
{
	(void)state;
	expect("^/(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "/$9$1$10", "/abcdefghij", "/iaa0");
}

static void test_rewrite_dollars_are_doubled(void **state)
{
	(void)state;
	expect("^/(.)", "/$$1$$$1$$", "/a", "/$1$a$");
	expect("^/(.)", "/$$$$", "/a", "/$$");
	expect("^/(?<a>.)", "/$${a}", "/x", "/${a}");
}

static void test_rewrite_unset_groups_are_empty(void **state)
{
	(void)state;
	expect("^/a(/x)?(/y)?(/z)?", "/$1.$2.$3", "/a/y", "/./y.");
	expect("^/(?:(a)|b)", "/n$1", "/b", "/n");
	expect("^/(a*)", "/n$1", "/b", "/n");
}

static void test_rewrite_takes_captures_as_they_stand_in_the_path(void **state)
{
	(void)state;
	expect("^/x/(.*)", "/$1", "/x/%2F%20%C3%A9", "/%2F%20%C3%A9");
	expect("^/x/(..)(.*)", "/$2$1", "/x/%20", "/0%2"); /* what comes of it is looked at later */
}

/* Conditions, and paths of routes that are passed over, leave the captures of the one that serves. */
static void test_rewrite_captures_are_those_of_the_route_that_serves(void **state)
{
	(void)state;
	struct route_rewrite *r = NULL;
	struct field agent = {SLICE("X"), SLICE("zz"), FIELD_OTHER};
	struct fields fields = {&agent, 1, 1, 1};
	char to[64] = "";
	routing_build("[route exact]\npath = = /a/b\nif_header = X~^(y+)$\nhandler = getter\n"
	              "[route passed]\npath = ~ ^/(.)(.*)\nif_header = !X\nhandler = getter\n"
	              "[route serves]\npath = ~ ^/a/(.)\nif_header = X~^(z+)$\nhandler = getter\n"
	              "[route later]\npath = ~ ^/(a)\nhandler = getter\n");
	assert_true(route_rewrite_read(config_at(routing.config, CONFIG_ROUTE, 2), "path", SLICE("/$1"), &r));
	struct route_request request = {.path = SLICE("/a/b"), .method = SLICE("GET"), .fields = &fields};
	assert_string_equal(routing_ask(0, &request), "serves");
	assert_int_equal(route_rewrite_length(r, routing.match, request.path), 2);
	route_rewrite_write(r, routing.match, request.path, to);
	assert_string_equal(to, "/b");
	route_rewrite_free(&r);
	routing_drop();
}

static void test_rewrite_tells_whether_it_has_captures_and_what_is_before(void **state)
{
	static const struct {
		const char *text, *start;
		bool has;
	} cases[] = {{"/a$$b", "/a$b", false}, {"/a$$b$1", "/a$b", true}, {"$1", "", true}, {"/", "/", false}};
	(void)state;
	const struct mlserve_settings *s = build("~ ^(/.)");
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct route_rewrite *r = NULL;
		assert_true(route_rewrite_read(s, "path", slice_of(cases[i].text), &r));
		assert_true(route_rewrite_has_captures(r) == cases[i].has);
		assert_true(slice_equal(route_rewrite_start(r), slice_of(cases[i].start)));
		route_rewrite_free(&r);
	}
	routing_drop();
}

static void expect_fault(const char *path, const char *text, const char *wanted)
{
	struct route_rewrite *r = NULL;
	const struct mlserve_settings *s = build(path);
	assert_false(route_rewrite_read(s, "path", slice_of(text), &r));
	assert_null(r);
	char *told = routing_told();
	if (routing.faults.count != 1 || !strstr(told, wanted))
		fail_msg("for \"%s\" no \"%s\" but: %s", text, wanted, told);
	free(told);
	routing_drop();
}

static void test_rewrite_faults_name_what_is_wrong(void **state)
{
	(void)state;
	static const char *const no_captures[] = {"$x", "$", "$0", "${", "${a", "${}", "$-1", "$ "};
	for (size_t i = 0; i < ARRAY_COUNT(no_captures); i++) {
		char text[16], told[128];
		snprintf(text, sizeof text, "/%s", no_captures[i]);
		snprintf(told, sizeof told, "\"%s\" is no capture; allowed: $1 to $9, ${name}, and $$ for a dollar\n",
		        no_captures[i]);
		expect_fault("~ ^/(a)", text, told);
		expect_fault("/a", text, told);
	}
	expect_fault("~ ^/(a)", "/$abcdefghijklmnop/", "\"$abcdefghijk\" is no capture");
	expect_fault(
	        "~ ^/(a)(?<n>b)", "/$3", "path: $3 is no group of the path's expression; allowed: groups that it has");
	expect_fault("~ ^/(a)(?<n>b)", "/${m}", "${m} is no group of the path's expression");
	expect_fault("~ ^/(a)(?<n>b)", "/${2}", "${2} is no group of the path's expression");
	expect_fault("~ (?J)^/(?<n>a)|(?<n>b)", "/${n}", "${n} is no group of the path's expression");
	expect_fault("~ ^/", "/$1", "$1 is no group");
	expect_fault("~ ^/(a)", "/${a23456789012345678901234567890123}", "is no group");
	expect_fault("/a", "/$1/x",
	        "$1 is a capture, but the path of this route is no regular expression; allowed: path = ");
	expect_fault("= /a", "/${n}", "${n} is a capture, but the path");
	expect_fault("~ ^/(a)", "new/$1", "does not begin with /; allowed: a path such as /new/$1\n");
	expect_fault("~ ^/(a)", "$$/$1", "does not begin with /");
	expect_fault("~ ^/(a)", "", "does not begin with /");
	expect_fault("~ ^/(a)", "/$1?x", "holds a '?', but the query goes on as it came");
	expect_fault("~ ^/(a)", "$1?", "holds a '?'");
	expect_fault("~ ^/(a)", "/a b", "holds a byte that a path cannot; allowed: escapes such as %20\n");
	expect_fault("~ ^/(a)", "/a#$1", "holds a byte that a path cannot");
	expect_fault("~ ^/(a)", "/$1\\", "holds a byte that a path cannot");
	expect_fault("~ ^/(a)", "/$1\xc3\xa4", "holds a byte that a path cannot");
	expect_fault("~ ^/(a)", "/100%/$1", "has a bad escape; allowed: a path, and %25 for '%' itself\n");
	expect_fault("~ ^/(a)", "/%2$1", "has a bad escape");
	expect_fault("~ ^/(a)", "/%00", "has a bad escape");
	expect_fault("~ ^/(a)", "/a/../b", "holds a dot segment");
	expect_fault("~ ^/(a)", "/$1/..", "holds a dot segment");
	expect_fault("~ ^/(a)", "/%2e%2e/$1", "holds a dot segment");
	expect_fault("/a", "/%2e%2e", "holds a dot segment");
}

/* An expression that is wrong is told where the path is read, and only there. */
static void test_rewrite_leaves_a_bad_expression_to_the_path(void **state)
{
	(void)state;
	routing_expect_faults("[route a]\npath = ~ (\nhandler = rewriter\n", 1,
	        (const char *const[]){"[route a] path: regular expression is wrong at byte ", NULL});
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_rewrite_puts_captures_where_they_are_named),
	        TEST(test_rewrite_numbers_have_one_digit),
	        TEST(test_rewrite_dollars_are_doubled),
	        TEST(test_rewrite_unset_groups_are_empty),
	        TEST(test_rewrite_takes_captures_as_they_stand_in_the_path),
	        TEST(test_rewrite_captures_are_those_of_the_route_that_serves),
	        TEST(test_rewrite_tells_whether_it_has_captures_and_what_is_before),
	        TEST(test_rewrite_faults_name_what_is_wrong),
	        TEST(test_rewrite_leaves_a_bad_expression_to_the_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
