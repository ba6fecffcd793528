/* Routes: what is wrong with a table of them. */
#include "base/check.h"
#include "http/uri.h"
#include "routing.h"
#include <stdio.h>

static void test_route_faults_are_all_told_with_their_place(void **state)
{
	static const char *const parts[] = {
	        "t.ini:6: [route a] path: must begin with '/'", "t.ini:9: [route b] path: regular", "at byte ", NULL};
	(void)state;
	routing_expect_faults(
	        "[route a]\npath = api\nhandler = getter\n[route b]\npath = ~ ^/(a\nhandler = getter\n", 2, parts);
}

/* A prefix and an exact path: each one fault, that ends with what to write. */
static void expect_path_fault(const char *path, const char *told, const char *instead)
{
	char text[512], place[256], prefix[128], exact[128];
	snprintf(text, sizeof text,
	        "[route a]\npath = %s\nhandler = getter\n[route b]\npath = = %s\nhandler = getter\n", path, path);
	snprintf(place, sizeof place, "t.ini:6: [route a] path: %s", told);
	snprintf(prefix, sizeof prefix, "; write %s", instead ? instead : "");
	snprintf(exact, sizeof exact, "; write = %s", instead ? instead : "");
	routing_expect_faults(text, 2, (const char *const[]){place, instead ? prefix : NULL, exact, NULL});
}

static void test_route_paths_that_no_request_has_are_faults(void **state)
{
	static const char *const pairs[][2] = {{"/a//b", "/a/b\n"}, {"//", "/\n"}, {"/a/./b", "/a/b\n"},
	        {"/a/../b/", "/b/\n"}, {"/a/..", "/\n"}, {"/%61pi", "/api\n"}, {"/%2e%2E/x", NULL},
	        {"/a/%2e%2e/b", "/b\n"}, {"/caf%c3%a9", "/caf%C3%A9\n"}, {"/caf\xc3\xa9", "/caf%C3%A9\n"},
	        {"/a b", "/a%20b\n"}, {"/a\\b", "/a%5Cb\n"}, {"/a#b", "/a%23b\n"}, {"/a%2fb", "/a%2Fb\n"},
	        {"/a?b=c", "/a ("}, {"/a//b?", "/a/b ("}, {"/../x", NULL}, {"/a/../..", NULL}, {"/100%", NULL},
	        {"/%zz", NULL}, {"/%00", NULL}, {"/?/../..", "/ ("}};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
		char told[128];
		snprintf(told, sizeof told, "\"%s\" ", pairs[i][0]);
		expect_path_fault(pairs[i][0], told, pairs[i][1]);
	}
	expect_path_fault("api//x", "must begin with '/'", "/api/x\n");
	expect_path_fault("*", "must begin with '/'", NULL);
	expect_path_fault("http://a.test/x", "must begin with '/'", NULL);
	expect_path_fault("api?x", "must begin with '/'", NULL);
}

/* Every byte, as it comes and escaped: the normalised path of a request is taken as that of a route, and serves it. */
static void test_route_paths_can_be_all_that_requests_have(void **state)
{
	(void)state;
	for (int byte = 1; byte < 512; byte++) {
		char asked[16], normal[16], text[128];
		size_t length = 0;
		snprintf(asked, sizeof asked, byte < 256 ? "/a%c/" : "/a%%%02x/", byte & 255);
		if (!uri_normalise(slice_of(asked), normal, &length))
			continue;
		normal[length] = 0;
		snprintf(text, sizeof text,
		        "[route exact]\npath = = %s\nhandler = getter\n[route prefix]\npath = %s\n"
		        "handler = getter\n",
		        normal, normal);
		routing_build(text);
		assert_string_equal(routing_find(0, "h", normal, "GET"), "exact");
		normal[length - 1] = 0;
		assert_string_equal(routing_find(0, "h", normal, "GET"), "prefix");
		routing_drop();
	}
}

static void test_route_methods_that_are_never_served_are_faults(void **state)
{
	static const char *const parts[] = {"t.ini:8: [route a] methods: FLY is no method that is known",
	        "t.ini:8: [route a] methods: get is no method that is known; they are in upper case; allowed for "
	        "handler getter: GET, HEAD\n",
	        "t.ini:9: [route a] methods: TRACE is a method that is served nowhere",
	        "t.ini:9: [route a] methods: POST is not served by its handler; allowed for handler getter: GET, "
	        "HEAD\n",
	        "t.ini:13: [route b] methods: CONNECT is a method that is served nowhere; allowed for handler tracer: "
	        "GET, PURGE\n",
	        NULL};
	(void)state;
	routing_expect_faults("[route a]\npath = /\nhandler = getter\nmethods = GET FLY get\nmethods = TRACE POST\n"
	                      "[route b]\npath = /b\nhandler = tracer\nmethods = CONNECT PURGE\n",
	        5, parts);
}

static void test_route_hosts_that_no_request_has_are_faults(void **state)
{
	static const char *const wrong[] = {"a.test:80", "a.*", "*", "*.", ".", "..", "a..b", ".a", "*.*.a", "*a.test",
	        "a.test..", "http://a.test", "a.test/", "a,b", "a%41", "b\xc3\xbc.test", "2001:db8::1", "[2001:db8::1",
	        "[2001:db8::1]:80", "[::1].", "*.[::1]", "[]", "[a.test]", "u@a"};
	char text[256], told[128];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
		snprintf(text, sizeof text, "[route a]\npath = /\nhandler = getter\nhost = fine.test\nhost = %s\n",
		        wrong[i]);
		snprintf(told, sizeof told, "t.ini:9: [route a] host: \"%s\" is no host", wrong[i]);
		routing_expect_faults(text, 1, (const char *const[]){told, "[IPv6] addresses and *.example.com", NULL});
	}
	routing_build(
	        "[route a]\npath = /\nhandler = getter\nhost = localhost a_b.x-1.Test. 192.0.2.1 [::ffff:192.0.2.1] "
	        "[v1.a] "
	        "xn--bcher-kva.test *.com\n");
	routing_drop();
}

static void test_route_path_needs_a_blank_behind_its_sign(void **state)
{
	static const char *const parts[] = {
	        "[route a] path: must begin with '/'", "[route b] path: must begin with '/'", NULL};
	(void)state;
	routing_expect_faults(
	        "[route a]\npath = =/x\nhandler = getter\n[route b]\npath = = x\nhandler = getter\n", 2, parts);
}

/* Two routes of these settings; path is / unless it is set. */
static void expect_same(const char *first, const char *second)
{
	char text[512];
	snprintf(text, sizeof text,
	        "[route a]\nhandler = getter\n%s\n[route other]\npath = /other\nhandler = getter\n"
	        "[route b]\nhandler = poster\n%s\n",
	        first, second);
	routing_expect_faults(
	        text, 1, (const char *const[]){"[route b] path: is never reached: [route a] at t.ini:5 has", NULL});
}

static void expect_different(const char *first, const char *second)
{
	char text[512];
	snprintf(
	        text, sizeof text, "[route a]\nhandler = getter\n%s\n[route b]\nhandler = getter\n%s\n", first, second);
	routing_build(text);
	routing_drop();
}

static void test_route_that_is_the_same_as_an_earlier_one_is_a_fault(void **state)
{
	(void)state;
	expect_same("path = /x", "path = /x/");
	expect_same("path = /", "");
	expect_same("path = = /x/", "path = =  /x/");
	expect_same("path = ~ ^/x", "path = ~  ^/x");
	expect_same("host = a.test B.test [::A]", "host = b.TEST. [::a]\nhost = a.test a.test");
	expect_same("host = *.a.test", "host = *.A.test.");
	expect_same("listener = main admin", "");
	expect_same("listener = admin", "listener = admin");
	expect_same("max_body_size = 1k", "debug_headers = on");
}

static void test_route_methods_make_the_same_one_too(void **state)
{
	static const char text[] = "[route a]\npath = /\nmethods = GET HEAD\nhandler = getter\n"
	                           "[route b]\npath = /\nmethods = HEAD GET GET\nhandler = getter\n"
	                           "[route c]\npath = /\nhandler = getter\n";
	(void)state;
	routing_expect_faults(text, 2,
	        (const char *const[]){"t.ini:10: [route b] path: is never reached: [route a] at t.ini:5 has",
	                "t.ini:14: [route c] path: is never reached: [route a] at t.ini:5 has", NULL});
}

static void test_route_that_only_overlaps_an_earlier_one_is_fine(void **state)
{
	(void)state;
	expect_different("path = /x", "path = = /x");
	expect_different("path = = /x", "path = = /x/");
	expect_different("path = ~ /x", "path = = /x");
	expect_different("path = /x", "path = /X");
	expect_different("host = a", "");
	expect_different("", "host = a");
	expect_different("host = a.b", "host = *.a.b");
	expect_different("host = a b", "host = b");
	expect_different("host = a", "host = b a");
	expect_different("listener = main", "");
	expect_different("listener = main", "listener = admin");
	expect_different("methods = GET", "methods = HEAD");
	expect_different("methods = GET", "");
}

static void test_route_with_faults_is_not_the_same_as_another(void **state)
{
	(void)state;
	routing_expect_faults(
	        "[route a]\npath = /\nhost = *\nhandler = getter\n[route b]\npath = /\nhandler = getter\n", 1,
	        (const char *const[]){"[route a] host: ", NULL});
}

static void test_route_handlers_fault_refuses_the_table(void **state)
{
	(void)state;
	routing_expect_faults("[route a]\npath = /\nhandler = moody\n", 1,
	        (const char *const[]){"t.ini:6: [route a] path: the handler does not like it", NULL});
	assert_int_equal(routing.configured, 1);
	assert_int_equal(routing.released, 1); /* what it made in spite of that is given back */
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_route_faults_are_all_told_with_their_place),
	        TEST(test_route_paths_that_no_request_has_are_faults),
	        TEST(test_route_paths_can_be_all_that_requests_have),
	        TEST(test_route_methods_that_are_never_served_are_faults),
	        TEST(test_route_hosts_that_no_request_has_are_faults),
	        TEST(test_route_path_needs_a_blank_behind_its_sign),
	        TEST(test_route_that_is_the_same_as_an_earlier_one_is_a_fault),
	        TEST(test_route_methods_make_the_same_one_too),
	        TEST(test_route_that_only_overlaps_an_earlier_one_is_fine),
	        TEST(test_route_with_faults_is_not_the_same_as_another),
	        TEST(test_route_handlers_fault_refuses_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
