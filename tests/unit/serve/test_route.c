/* Routes: which one serves a request. */
#include "routing.h"
#include <string.h>

#define expect(path, name) assert_string_equal(routing_find(0, "h", path, "GET"), name)
#define expect_host(host, name) assert_string_equal(routing_find(0, host, "/", "GET"), name)

static void test_route_prefix_ends_at_segment_borders(void **state)
{
	(void)state;
	routing_build("[route api]\npath = /api\nhandler = getter\n[route b]\npath = /b/\nhandler = getter\n");
	expect("/api", "api");
	expect("/api/", "api");
	expect("/api/x/y", "api");
	expect("/apix", "-");
	expect("/ap", "-");
	expect("/API", "-");
	expect("/", "-");
	expect("/b", "b"); /* /b and /b/ are one */
	expect("/b/", "b");
	expect("/b/c", "b");
	expect("/bc", "-");
	assert_int_equal(routes_at(routing.routes, 0)->prefix.length, 4);
	assert_int_equal(routes_at(routing.routes, 1)->prefix.length, 2);
	routing_drop();
}

static void test_route_root_prefix_takes_everything_else(void **state)
{
	(void)state;
	routing_build("[route root]\npath = /\nhandler = getter\n[route deep]\npath = /a/b\nhandler = getter\n"
	              "[route mid]\npath = /a\nhandler = getter\n");
	expect("/", "root");
	expect("/x", "root");
	expect("/a", "mid");
	expect("/a/b", "deep"); /* the longest, wherever it stands */
	expect("/a/b/c", "deep");
	expect("/a/bc", "mid");
	assert_int_equal(routes_at(routing.routes, 0)->prefix.length, 0);
	routing_drop();
}

static void test_route_exact_comes_before_regex_before_prefix(void **state)
{
	(void)state;
	routing_build(
	        "[route long]\npath = /a/b/c\nhandler = getter\n[route first]\npath = ~ ^/a/.*\nhandler = getter\n"
	        "[route second]\npath = ~ c$\nhandler = getter\n[route exact]\npath = = /a/b/c\nhandler = getter\n");
	expect("/a/b/c", "exact");
	expect("/a/b/c/", "first");
	expect("/a/b/x", "first"); /* as they stand in the file */
	expect("/z/c", "second");
	expect("/z", "-");
	assert_int_equal(routes_at(routing.routes, 1)->prefix.length, 0);
	routing_drop();
}

static void test_route_regex_that_gives_up_is_no_mismatch(void **state)
{
	(void)state;
	routing_build("[route evil]\npath = ~ ^/evil/((a+)+$|.*!$)\nhandler = getter\n"
	              "[route later]\npath = ~ ^/evil/\nhandler = getter\n"
	              "[route exact]\npath = = /evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\nhandler = getter\n"
	              "[route all]\npath = /\nhandler = getter\n");
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "?evil");
	assert_string_equal(routing.failure, "path: match limit exceeded");
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "exact"); /* comes before expressions */
	expect("/evil/aaa", "evil");
	expect("/evil/aaac", "later");
	expect("/", "all"); /* nothing of it is left for the next request */
	routing_drop();
}

static void test_route_regex_before_one_that_gives_up_serves(void **state)
{
	(void)state;
	routing_build("[route earlier]\npath = ~ c$\nhandler = getter\n"
	              "[route evil]\npath = ~ ^/evil/(a+)+$\nhandler = getter\n"
	              "[route host]\npath = ~ ^/evil/(a+)+$\nhost = h2\nhandler = getter\n");
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "earlier");
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "?evil");
	assert_string_equal(routing_find(0, "h2", "/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "GET"), "?host");
	routing_drop();
}

static void test_route_regex_has_room_for_long_paths(void **state)
{
	static char path[8000];
	(void)state;
	memset(path, 'a', sizeof path - 1);
	path[0] = '/';
	routing_build("[route long]\npath = ~ ^/(?:(a|b)|[^/ab])*$\nhandler = getter\n[route all]\npath = /\nhandler = "
	              "getter\n");
	expect(path, "long");
	path[7000] = '/';
	expect(path, "all");
	routing_drop();
}

static void test_route_equal_ones_are_taken_as_they_stand(void **state)
{
	(void)state;
	routing_build(
	        "[route one]\npath = /x\nhost = a\nhandler = getter\n[route two]\npath = /x/\nhost = a b\nhandler = "
	        "getter\n");
	assert_string_equal(routing_find(0, "a", "/x", "GET"), "one");
	assert_string_equal(routing_find(0, "b", "/x", "GET"), "two");
	routing_drop();
}

static void test_route_hosts_are_exact_then_wildcard_then_any(void **state)
{
	(void)state;
	routing_build("[route any]\npath = = /\nhandler = getter\n"
	              "[route wild]\npath = /\nhost = *.example.com\nhandler = getter\n"
	              "[route www]\npath = /\nhost = www.example.com Other.Org\nhandler = getter\n");
	expect_host("www.example.com", "www");
	expect_host("WWW.Example.COM", "www");
	expect_host("other.org", "www");
	expect_host("a.example.com", "wild");
	expect_host("a.b.EXAMPLE.com", "wild");
	expect_host("example.com", "any"); /* not below itself */
	expect_host(".example.com", "any");
	expect_host("badexample.com", "any");
	expect_host("www.example.com.evil.org", "any");
	expect_host("", "any");
	/* A host that fits but has no route for the path falls through to the others. */
	assert_string_equal(routing_find(0, "www.example.com", "/", "GET"), "www");
	routing_drop();
	routing_build(
	        "[route host]\npath = /only\nhost = a\nhandler = getter\n[route any]\npath = /\nhandler = getter\n");
	assert_string_equal(routing_find(0, "a", "/only", "GET"), "host");
	assert_string_equal(routing_find(0, "a", "/else", "GET"), "any");
	assert_string_equal(routing_find(0, "b", "/only", "GET"), "any");
	routing_drop();
}

static void test_route_hosts_may_end_in_a_dot(void **state)
{
	(void)state;
	routing_build("[route any]\npath = = /\nhandler = getter\n"
	              "[route dotless]\npath = /\nhost = a.test *.wild.test\nhandler = getter\n"
	              "[route dotted]\npath = /\nhost = B.test. *.low.test.\nhandler = getter\n"
	              "[route six]\npath = /\nhost = [2001:DB8::1]\nhandler = getter\n");
	expect_host("a.test.", "dotless");
	expect_host("x.wild.test.", "dotless");
	expect_host("b.test", "dotted");
	expect_host("b.test.", "dotted");
	expect_host("x.low.test", "dotted");
	expect_host("2001:db8::1", "six");
	expect_host("a.test..", "any");
	expect_host("wild.test.", "any");
	expect_host(".wild.test", "any");
	expect_host(".", "any");
	routing_drop();
}

static void test_route_keeps_to_its_listeners(void **state)
{
	(void)state;
	routing_build("[route admin]\npath = /\nlistener = admin\nhandler = getter\n"
	              "[route both]\npath = /both\nlistener = main admin\nhandler = getter\n"
	              "[route all]\npath = /all\nhandler = getter\n");
	assert_string_equal(routing_find(0, "h", "/x", "GET"), "-");
	assert_string_equal(routing_find(1, "h", "/x", "GET"), "admin");
	for (unsigned listener = 0; listener < 2; listener++) {
		assert_string_equal(routing_find(listener, "h", "/both", "GET"), "both");
		assert_string_equal(routing_find(listener, "h", "/all", "GET"), "all");
	}
	routing_drop();
}

static void test_route_takes_methods_of_its_handler_or_fewer_and_says_which(void **state)
{
	(void)state;
	routing_build("[route get]\npath = /get\nhandler = getter\n[route post]\npath = /post\nhandler = poster\n"
	              "[route fewer]\npath = /fewer\nmethods = GET\nhandler = getter\n");
	assert_string_equal(routing_find(0, "h", "/get", "HEAD"), "get");
	assert_string_equal(routing_find(0, "h", "/get", "POST"), "!get");
	assert_string_equal(routing_find(0, "h", "/get", "get"), "!get"); /* methods are case-sensitive */
	assert_string_equal(routing_find(0, "h", "/post", "POST"), "post");
	assert_string_equal(routing_find(0, "h", "/fewer", "GET"), "fewer");
	assert_string_equal(routing_find(0, "h", "/fewer", "HEAD"), "!fewer");
	assert_true(slice_equal(routes_at(routing.routes, 0)->allow, SLICE("Allow: GET, HEAD\r\n")));
	assert_true(slice_equal(routes_at(routing.routes, 1)->allow, SLICE("Allow: POST\r\n")));
	assert_true(slice_equal(routes_at(routing.routes, 2)->allow, SLICE("Allow: GET\r\n")));
	routing_drop();
}

static void test_route_methods_are_told_once_and_never_those_served_nowhere(void **state)
{
	(void)state;
	routing_build("[route own]\npath = /own\nhandler = tracer\n"
	              "[route twice]\npath = /twice\nmethods = HEAD GET HEAD\nhandler = getter\n");
	assert_true(slice_equal(routes_at(routing.routes, 0)->allow, SLICE("Allow: GET, PURGE\r\n")));
	assert_true(slice_equal(routes_at(routing.routes, 1)->allow, SLICE("Allow: HEAD, GET\r\n")));
	routing_drop();
}

static void test_route_names_outlive_their_configuration(void **state)
{
	const char *name, *handler;
	(void)state;
	routing_build("[route lasting]\npath = /\nhandler = getter\n");
	name = routes_at(routing.routes, 0)->name;
	handler = routes_at(routing.routes, 0)->handler_name;
	routing_drop();
	assert_string_equal(name, "lasting");
	assert_string_equal(handler, "getter");
	routing_build("[route lasting]\npath = /\nhandler = getter\n");
	assert_ptr_equal(routes_at(routing.routes, 0)->name, name); /* the same text, not one more */
	routing_drop();
}

static void test_route_carries_its_settings(void **state)
{
	(void)state;
	routing_build("[route a]\npath = /\nhandler = getter\nmax_body_size = 5k\ndebug_headers = on\n"
	              "[route b]\npath = /b\nhandler = getter\n");
	assert_int_equal(routes_count(routing.routes), 2);
	assert_int_equal(routes_at(routing.routes, 0)->max_body_size, 5120);
	assert_true(routes_at(routing.routes, 0)->debug_headers);
	assert_int_equal(routes_at(routing.routes, 1)->max_body_size, -1);
	assert_false(routes_at(routing.routes, 1)->debug_headers);
	assert_int_equal(routes_at(routing.routes, 1)->index, 1);
	assert_int_equal(routing.configured, 2);
	routing_drop();
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_route_prefix_ends_at_segment_borders),
	        TEST(test_route_root_prefix_takes_everything_else),
	        TEST(test_route_exact_comes_before_regex_before_prefix),
	        TEST(test_route_regex_that_gives_up_is_no_mismatch),
	        TEST(test_route_regex_before_one_that_gives_up_serves),
	        TEST(test_route_regex_has_room_for_long_paths),
	        TEST(test_route_equal_ones_are_taken_as_they_stand),
	        TEST(test_route_hosts_are_exact_then_wildcard_then_any),
	        TEST(test_route_hosts_may_end_in_a_dot),
	        TEST(test_route_keeps_to_its_listeners),
	        TEST(test_route_takes_methods_of_its_handler_or_fewer_and_says_which),
	        TEST(test_route_methods_are_told_once_and_never_those_served_nowhere),
	        TEST(test_route_names_outlive_their_configuration),
	        TEST(test_route_carries_its_settings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
