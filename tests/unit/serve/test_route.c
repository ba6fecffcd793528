/* Routes: which one serves a request, and what is wrong with a table of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "http/uri.h"
#include "serve/route.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a handler that notes who configured it --------------------------------------------------- */

static int configured, released;
static bool configure_fails;

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	configured++;
	*ret_route = malloc(1);
	if (configure_fails)
		mlserve_setting_fault(s, "path", 0, "the handler does not like it");
	return !configure_fails;
}

static void release(void *route)
{
	released++;
	free(route);
}

static const struct mlserve_option no_options[] = {{0}};
static const struct mlserve_handler getter = {
        .name = "getter", .methods = "GET HEAD", .options = no_options, .configure = configure, .release = release};
static const struct mlserve_handler poster = {
        .name = "poster", .methods = "POST", .options = no_options, .configure = configure, .release = release};

static const struct mlserve_handler *find(void *context, const char *name, const char **ret_reason)
{
	assert_ptr_equal(context, &configured);
	*ret_reason = NULL;
	return strcmp(name, "getter") == 0 ? &getter : strcmp(name, "poster") == 0 ? &poster : NULL;
}

static const struct mlserve_option *find_options(void *context, const char *name, const char **ret_reason)
{
	(void)ret_reason;
	(void)context;
	return strcmp(name, "getter") == 0 || strcmp(name, "poster") == 0 ? no_options : NULL;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static struct config *config;
static struct routes *routes;
static struct route_match *match;
static struct faults faults;

static void load(const char *text)
{
	char whole[4096];
	snprintf(whole, sizeof whole,
	        "[listener main]\nbind = 127.0.0.1:8080\n[listener admin]\nbind = 127.0.0.1:8081\n%s", text);
	struct config_source source = {.path = "t.ini", .handlers = {.find = find_options, .names = "getter poster"}};
	FILE *stream = fmemopen(whole, strlen(whole), "r");
	configured = released = 0;
	configure_fails = false;
	faults_init(&faults);
	config = config_load_stream(&source, stream, &faults);
	fclose(stream);
	if (!config)
		faults_print(&faults, stderr);
	assert_non_null(config);
}

static void build(const char *text)
{
	load(text);
	routes = routes_create(config, find, &configured, &faults);
	if (!routes)
		faults_print(&faults, stderr);
	assert_non_null(routes);
	match = route_match_create(routes);
	assert_non_null(match);
}

static void drop(void)
{
	route_match_free(&match);
	routes_free(&routes);
	assert_int_equal(configured, released);
	config_free(&config);
	faults_fini(&faults);
}

/* The name of the route for this request; "-" none, "!NAME" one that does not take the method, "?NAME" one that failed.
 */
static const char *find_on(unsigned listener, const char *host, const char *path, const char *method)
{
	static char refused[64];
	const struct route *r = NULL;
	switch (route_find(routes, match, listener, slice_of(host), slice_of(path), slice_of(method), &r)) {
	case ROUTE_FOUND:
		return r->name;
	case ROUTE_METHOD_REFUSED:
		snprintf(refused, sizeof refused, "!%s", r->name);
		return refused;
	case ROUTE_FAILED:
		snprintf(refused, sizeof refused, "?%s", r->name);
		return refused;
	default:
		return "-";
	}
}

#define expect(path, name) assert_string_equal(find_on(0, "h", path, "GET"), name)
#define expect_host(host, name) assert_string_equal(find_on(0, host, "/", "GET"), name)

static void test_route_prefix_ends_at_segment_borders(void **state)
{
	(void)state;
	build("[route api]\npath = /api\nhandler = getter\n[route b]\npath = /b/\nhandler = getter\n");
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
	assert_int_equal(routes_at(routes, 0)->prefix.length, 4);
	assert_int_equal(routes_at(routes, 1)->prefix.length, 2);
	drop();
}

static void test_route_root_prefix_takes_everything_else(void **state)
{
	(void)state;
	build("[route root]\npath = /\nhandler = getter\n[route deep]\npath = /a/b\nhandler = getter\n"
	      "[route mid]\npath = /a\nhandler = getter\n");
	expect("/", "root");
	expect("/x", "root");
	expect("/a", "mid");
	expect("/a/b", "deep"); /* the longest, wherever it stands */
	expect("/a/b/c", "deep");
	expect("/a/bc", "mid");
	assert_int_equal(routes_at(routes, 0)->prefix.length, 0);
	drop();
}

static void test_route_exact_comes_before_regex_before_prefix(void **state)
{
	(void)state;
	build("[route long]\npath = /a/b/c\nhandler = getter\n[route first]\npath = ~ ^/a/.*\nhandler = getter\n"
	      "[route second]\npath = ~ c$\nhandler = getter\n[route exact]\npath = = /a/b/c\nhandler = getter\n");
	expect("/a/b/c", "exact");
	expect("/a/b/c/", "first");
	expect("/a/b/x", "first"); /* as they stand in the file */
	expect("/z/c", "second");
	expect("/z", "-");
	assert_int_equal(routes_at(routes, 1)->prefix.length, 0);
	drop();
}

static void test_route_regex_that_gives_up_is_no_mismatch(void **state)
{
	(void)state;
	build("[route evil]\npath = ~ ^/evil/((a+)+$|.*!$)\nhandler = getter\n"
	      "[route later]\npath = ~ ^/evil/\nhandler = getter\n"
	      "[route exact]\npath = = /evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\nhandler = getter\n"
	      "[route all]\npath = /\nhandler = getter\n");
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "?evil");
	assert_non_null(strstr(route_match_reason(match), "match limit exceeded"));
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "exact"); /* comes before expressions */
	expect("/evil/aaa", "evil");
	expect("/evil/aaac", "later");
	expect("/", "all"); /* nothing of it is left for the next request */
	drop();
}

static void test_route_regex_before_one_that_gives_up_serves(void **state)
{
	(void)state;
	build("[route earlier]\npath = ~ c$\nhandler = getter\n"
	      "[route evil]\npath = ~ ^/evil/(a+)+$\nhandler = getter\n"
	      "[route host]\npath = ~ ^/evil/(a+)+$\nhost = h2\nhandler = getter\n");
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "earlier");
	expect("/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "?evil");
	assert_string_equal(find_on(0, "h2", "/evil/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "GET"), "?host");
	drop();
}

static void test_route_regex_has_room_for_long_paths(void **state)
{
	static char path[8000];
	(void)state;
	memset(path, 'a', sizeof path - 1);
	path[0] = '/';
	build("[route long]\npath = ~ ^/(?:(a|b)|[^/ab])*$\nhandler = getter\n[route all]\npath = /\nhandler = "
	      "getter\n");
	expect(path, "long");
	path[7000] = '/';
	expect(path, "all");
	drop();
}

static void test_route_equal_ones_are_taken_as_they_stand(void **state)
{
	(void)state;
	build("[route one]\npath = /x\nhost = a\nhandler = getter\n[route two]\npath = /x/\nhost = a b\nhandler = "
	      "getter\n");
	assert_string_equal(find_on(0, "a", "/x", "GET"), "one");
	assert_string_equal(find_on(0, "b", "/x", "GET"), "two");
	drop();
}

static void test_route_hosts_are_exact_then_wildcard_then_any(void **state)
{
	(void)state;
	build("[route any]\npath = = /\nhandler = getter\n"
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
	assert_string_equal(find_on(0, "www.example.com", "/", "GET"), "www");
	drop();
	build("[route host]\npath = /only\nhost = a\nhandler = getter\n[route any]\npath = /\nhandler = getter\n");
	assert_string_equal(find_on(0, "a", "/only", "GET"), "host");
	assert_string_equal(find_on(0, "a", "/else", "GET"), "any");
	assert_string_equal(find_on(0, "b", "/only", "GET"), "any");
	drop();
}

static void test_route_hosts_may_end_in_a_dot(void **state)
{
	(void)state;
	build("[route any]\npath = = /\nhandler = getter\n"
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
	drop();
}

static void test_route_keeps_to_its_listeners(void **state)
{
	(void)state;
	build("[route admin]\npath = /\nlistener = admin\nhandler = getter\n"
	      "[route both]\npath = /both\nlistener = main admin\nhandler = getter\n"
	      "[route all]\npath = /all\nhandler = getter\n");
	assert_string_equal(find_on(0, "h", "/x", "GET"), "-");
	assert_string_equal(find_on(1, "h", "/x", "GET"), "admin");
	for (unsigned listener = 0; listener < 2; listener++) {
		assert_string_equal(find_on(listener, "h", "/both", "GET"), "both");
		assert_string_equal(find_on(listener, "h", "/all", "GET"), "all");
	}
	drop();
}

static void test_route_takes_methods_of_its_handler_or_fewer_and_says_which(void **state)
{
	(void)state;
	build("[route get]\npath = /get\nhandler = getter\n[route post]\npath = /post\nhandler = poster\n"
	      "[route fewer]\npath = /fewer\nmethods = GET\nhandler = getter\n");
	assert_string_equal(find_on(0, "h", "/get", "HEAD"), "get");
	assert_string_equal(find_on(0, "h", "/get", "POST"), "!get");
	assert_string_equal(find_on(0, "h", "/get", "get"), "!get"); /* methods are case-sensitive */
	assert_string_equal(find_on(0, "h", "/post", "POST"), "post");
	assert_string_equal(find_on(0, "h", "/fewer", "GET"), "fewer");
	assert_string_equal(find_on(0, "h", "/fewer", "HEAD"), "!fewer");
	assert_true(slice_equal(routes_at(routes, 0)->allow, SLICE("Allow: GET, HEAD\r\n")));
	assert_true(slice_equal(routes_at(routes, 1)->allow, SLICE("Allow: POST\r\n")));
	assert_true(slice_equal(routes_at(routes, 2)->allow, SLICE("Allow: GET\r\n")));
	drop();
}

static void test_route_names_outlive_their_configuration(void **state)
{
	const char *name, *handler;
	(void)state;
	build("[route lasting]\npath = /\nhandler = getter\n");
	name = routes_at(routes, 0)->name;
	handler = routes_at(routes, 0)->handler_name;
	drop();
	assert_string_equal(name, "lasting");
	assert_string_equal(handler, "getter");
	build("[route lasting]\npath = /\nhandler = getter\n");
	assert_ptr_equal(routes_at(routes, 0)->name, name); /* the same text, not one more */
	drop();
}

static void test_route_carries_its_settings(void **state)
{
	(void)state;
	build("[route a]\npath = /\nhandler = getter\nmax_body_size = 5k\ndebug_headers = on\n"
	      "[route b]\npath = /b\nhandler = getter\n");
	assert_int_equal(routes_count(routes), 2);
	assert_int_equal(routes_at(routes, 0)->max_body_size, 5120);
	assert_true(routes_at(routes, 0)->debug_headers);
	assert_int_equal(routes_at(routes, 1)->max_body_size, -1);
	assert_false(routes_at(routes, 1)->debug_headers);
	assert_int_equal(routes_at(routes, 1)->index, 1);
	assert_int_equal(configured, 2);
	drop();
}

/* ---- faults ---------------------------------------------------------------------------------------- */

static void expect_faults(const char *text, size_t count, const char *const *parts)
{
	char *said = NULL;
	size_t length = 0;
	load(text);
	assert_null(routes_create(config, find, &configured, &faults));
	assert_int_equal(configured, released);
	FILE *out = open_memstream(&said, &length);
	faults_print(&faults, out);
	fclose(out);
	assert_int_equal(faults.count, count);
	for (size_t i = 0; parts[i]; i++)
		if (!strstr(said, parts[i]))
			fail_msg("no \"%s\" in: %s", parts[i], said);
	free(said);
	config_free(&config);
	faults_fini(&faults);
}

static void test_route_faults_are_all_told_with_their_place(void **state)
{
	static const char *const parts[] = {
	        "t.ini:6: [route a] path: must begin with '/'", "t.ini:9: [route b] path: regular", "at byte ", NULL};
	(void)state;
	expect_faults(
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
	expect_faults(text, 2, (const char *const[]){place, instead ? prefix : NULL, exact, NULL});
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
		build(text);
		expect(normal, "exact");
		normal[length - 1] = 0;
		expect(normal, "prefix");
		drop();
	}
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
		expect_faults(text, 1, (const char *const[]){told, "[IPv6] addresses and *.example.com", NULL});
	}
	build("[route a]\npath = /\nhandler = getter\nhost = localhost a_b.x-1.Test. 192.0.2.1 [::ffff:192.0.2.1] "
	      "[v1.a] "
	      "xn--bcher-kva.test *.com\n");
	drop();
}

static void test_route_path_needs_a_blank_behind_its_sign(void **state)
{
	static const char *const parts[] = {
	        "[route a] path: must begin with '/'", "[route b] path: must begin with '/'", NULL};
	(void)state;
	expect_faults("[route a]\npath = =/x\nhandler = getter\n[route b]\npath = = x\nhandler = getter\n", 2, parts);
}

static void test_route_handlers_fault_refuses_the_table(void **state)
{
	char *said = NULL;
	size_t length = 0;
	(void)state;
	load("[route a]\npath = /\nhandler = getter\n");
	configure_fails = true;
	assert_null(routes_create(config, find, &configured, &faults));
	assert_int_equal(configured, 1);
	assert_int_equal(released, 1); /* what it made in spite of that is given back */
	FILE *out = open_memstream(&said, &length);
	faults_print(&faults, out);
	fclose(out);
	assert_non_null(strstr(said, "the handler does not like it"));
	free(said);
	config_free(&config);
	faults_fini(&faults);
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
	        TEST(test_route_names_outlive_their_configuration),
	        TEST(test_route_carries_its_settings),
	        TEST(test_route_faults_are_all_told_with_their_place),
	        TEST(test_route_paths_that_no_request_has_are_faults),
	        TEST(test_route_paths_can_be_all_that_requests_have),
	        TEST(test_route_hosts_that_no_request_has_are_faults),
	        TEST(test_route_path_needs_a_blank_behind_its_sign),
	        TEST(test_route_handlers_fault_refuses_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
