/* respond and redirect, over a real connection. */
#include "handlers/harness.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char respond_conf[] = "[route ok]\npath = = /ok\nhandler = respond\nbody = ok\n"
                                   "[route made]\npath = /made\nhandler = respond\nstatus = 201\n"
                                   "content_type = application/json\nbody = {\"made\":true}\n"
                                   "[route none]\npath = /none\nhandler = respond\nstatus = 204\n"
                                   "[route empty]\npath = /empty\nhandler = respond\nstatus = 503\n";

static void test_respond_gives_status_type_and_body(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "%s", respond_conf);
	struct answer a = harness_ask(&h, "GET /ok", "");
	assert_int_equal(a.status, 200);
	assert_true(slice_equal(a.body, SLICE("ok")));
	assert_string_equal(answer_field(&a, "Content-Type"), "text/plain");
	a = harness_ask(&h, "GET /made/x", "");
	assert_int_equal(a.status, 201);
	assert_true(slice_equal(a.body, SLICE("{\"made\":true}")));
	assert_string_equal(answer_field(&a, "Content-Type"), "application/json");
	a = harness_ask(&h, "GET /empty", "");
	assert_int_equal(a.status, 503);
	assert_string_equal(answer_field(&a, "Content-Length"), "0");
	harness_stop(&h);
}

static void test_respond_to_head_has_the_fields_and_no_body(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "%s", respond_conf);
	struct answer a = harness_ask(&h, "HEAD /ok", "");
	assert_int_equal(a.status, 200);
	assert_string_equal(answer_field(&a, "Content-Length"), "2");
	a = harness_ask(&h, "GET /made", "");
	assert_int_equal(a.status, 201);
	harness_stop(&h);
}

static void test_respond_204_has_neither_type_nor_length(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "%s", respond_conf);
	struct answer a = harness_ask(&h, "GET /none", "");
	assert_int_equal(a.status, 204);
	assert_string_equal(answer_field(&a, "Content-Length"), "");
	assert_string_equal(answer_field(&a, "Content-Type"), "");
	harness_stop(&h);
}

static void test_respond_sends_a_body_larger_than_any_buffer(void **state)
{
	struct harness h;
	static char lines[60000], body[60000];
	size_t at = 0, length = 0;
	(void)state;
	/* One word a line; they are joined by blanks. */
	for (int i = 0; i < 6000; i++) {
		at += (size_t)sprintf(lines + at, "%sword%d\n", i ? "\t" : "", i % 10);
		length += (size_t)sprintf(body + length, "%sword%d", i ? " " : "", i % 10);
	}
	assert_true(length > 2 * BLOCK_BYTES);
	harness_start(&h, "[route r]\npath = /\nhandler = respond\nbody = %s\n", lines);
	for (int i = 0; i < 2; i++) {
		struct answer a = harness_ask(&h, "GET /", "");
		assert_true(slice_equal(a.body, slice_of(body)));
	}
	harness_stop(&h);
}

static void assert_fault(const char *conf, const char *wanted)
{
	char *text = harness_faults("%s", conf);
	if (!strstr(text, wanted))
		fail_msg("\"%s\" is not in: %s", wanted, text);
	free(text);
}

static void test_respond_refuses_a_body_where_none_may_be(void **state)
{
	(void)state;
	assert_fault("[route r]\npath = /\nhandler = respond\nstatus = 204\nbody = x\n",
	        ":5: [route r] body: an answer of status 204 has no body");
}

static const char redirect_conf[] =
        "[route old]\npath = /old/\nhandler = redirect\nto = /new/\n"
        "[route bare]\npath = /bare\nhandler = redirect\nto = /naked\nstatus = 302\n"
        "[route moved]\npath = = /moved\nhandler = redirect\nto = http://other.test/x\nstatus = 301\n"
        "[route all]\npath = ~ ^/all\nhandler = redirect\nto = https://t.test\nstatus = 307\n";

static void assert_location(struct harness *h, const char *line, unsigned status, const char *location)
{
	struct answer a = harness_ask(h, line, "");
	assert_int_equal(a.status, status);
	assert_string_equal(answer_field(&a, "Location"), location);
	assert_string_equal(answer_field(&a, "Content-Length"), "0");
}

static void test_redirect_appends_the_rest_and_the_query(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "%s", redirect_conf);
	assert_location(&h, "GET /old/a/b?x=1&y", 308, "/new/a/b?x=1&y");
	assert_location(&h, "GET /old", 308, "/new/");
	assert_location(&h, "GET /old/", 308, "/new/");
	assert_location(&h, "GET /old/?", 308, "/new/?");
	assert_location(&h, "GET /old//%2e/c%0d%0aX:%20y", 308, "/new/c%0D%0AX:%20y");
	assert_location(&h, "GET /bare/x", 302, "/naked/x");
	assert_location(&h, "GET /bare", 302, "/naked");
	assert_location(&h, "GET /moved?q", 301, "http://other.test/x?q");
	assert_location(&h, "GET /all/x", 307, "https://t.test/all/x");
	assert_location(&h, "POST /old/form", 308, "/new/form");
	harness_stop(&h);
}

static void test_redirect_refuses_targets_that_cannot_be_appended_to(void **state)
{
	(void)state;
	assert_fault(
	        "[route r]\npath = /\nhandler = redirect\nto = new\n", ":4: [route r] to: is neither a path nor a URL");
	assert_fault("[route r]\npath = /\nhandler = redirect\nto = /x?y\n", "[route r] to: holds a query");
	assert_fault(
	        "[route r]\npath = /\nhandler = redirect\nto = /x y\n", "[route r] to: holds a byte that a URL cannot");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_respond_gives_status_type_and_body),
	        cmocka_unit_test(test_respond_to_head_has_the_fields_and_no_body),
	        cmocka_unit_test(test_respond_204_has_neither_type_nor_length),
	        cmocka_unit_test(test_respond_sends_a_body_larger_than_any_buffer),
	        cmocka_unit_test(test_respond_refuses_a_body_where_none_may_be),
	        cmocka_unit_test(test_redirect_appends_the_rest_and_the_query),
	        cmocka_unit_test(test_redirect_refuses_targets_that_cannot_be_appended_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
