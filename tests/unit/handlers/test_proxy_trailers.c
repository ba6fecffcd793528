/* Which lines of a trailer section go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "handlers/proxy_fields.h"
#include "http/parser.h"
#include <stdio.h>
#include <string.h>

static char lines[1024];

/* Filtered where they stand. */
static const char *pass(const char *text, const struct fields *head)
{
	size_t length = (size_t)snprintf(lines, sizeof lines, "%s", text);
	lines[proxy_trailers_write((struct slice){lines, length}, head, lines)] = 0;
	return lines;
}

#define assert_passes(text) assert_string_equal(pass(text, NULL), text)
#define assert_refused(name)                                                                                           \
	assert_string_equal(pass("X-A: 1\r\n" name ": 5\r\nX-B: 2\r\n", NULL), "X-A: 1\r\nX-B: 2\r\n")

static void test_trailers_of_the_content_pass_as_they_came(void **state)
{
	(void)state;
	assert_passes("");
	assert_passes("X-Sum: 1\r\n");
	assert_passes("grpc-status: 0\r\nGRPC-Message:\r\nContent-Digest: sha-256=:x:\r\nServer-Timing: "
	              "a:b;c=1\r\nETag: \"x\"\r\n");
	assert_passes("X: \t\xff \r\nHosts: a\r\nX-Host: b\r\nIfx: c\r\nTEA: d\r\n");
}

/* SMG-20 */
static void test_trailers_that_belong_into_the_head_are_left_out(void **state)
{
	(void)state;
	assert_refused("Content-Length");
	assert_refused("transfer-encoding");
	assert_refused("Host");
	assert_refused("Connection");
	assert_refused("Keep-Alive");
	assert_refused("TE");
	assert_refused("Trailer");
	assert_refused("Upgrade");
	assert_refused("HTTP2-Settings");
	assert_refused("Authorization");
	assert_refused("Proxy-Authorization");
	assert_refused("Proxy-Connection");
	assert_refused("WWW-Authenticate");
	assert_refused("Cookie");
	assert_refused("Set-Cookie");
	assert_refused("Content-Encoding");
	assert_refused("Content-Type");
	assert_refused("Content-Range");
	assert_refused("Content-Location");
	assert_refused("Cache-Control");
	assert_refused("Pragma");
	assert_refused("Expect");
	assert_refused("Max-Forwards");
	assert_refused("If-None-Match");
	assert_refused("If-Modified-Since");
	assert_refused("Range");
	assert_refused("Via");
	assert_refused("Forwarded");
	assert_refused("X-Forwarded-For");
	assert_refused("X-Forwarded");
	assert_refused("X-Real-IP");
	assert_refused("Date");
	assert_refused("Location");
	assert_refused("Vary");
	assert_refused("Age");
	assert_refused("Expires");
	assert_refused("Retry-After");
	assert_refused("Warning");
	assert_refused("Server");
}

static void test_trailers_are_judged_as_cgi_reads_their_names(void **state)
{
	(void)state;
	assert_refused("Content_Length");
	assert_refused("X_FORWARDED_For");
	assert_refused("if_match");
}

static void test_trailers_that_connection_names_are_left_out(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: x-b, TE\r\n\r\n";
	struct field fields[8];
	struct request_head head = {.fields = {.items = fields, .capacity = ARRAY_COUNT(fields)}};
	unsigned status;
	const char *reason = "";
	(void)state;
	assert_true(request_parse(&head, text, sizeof text - 1, &status, &reason));
	assert_string_equal(pass("X-A: 1\r\nX-B: 2\r\nX-C: 3\r\n", &head.fields), "X-A: 1\r\nX-C: 3\r\n");
	assert_true(proxy_nominates(&head.fields));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_trailers_of_the_content_pass_as_they_came),
	        cmocka_unit_test(test_trailers_that_belong_into_the_head_are_left_out),
	        cmocka_unit_test(test_trailers_are_judged_as_cgi_reads_their_names),
	        cmocka_unit_test(test_trailers_that_connection_names_are_left_out),
	};
	parser_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
