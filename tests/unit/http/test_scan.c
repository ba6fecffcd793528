/* The strict scan: what is refused, with which status, and what the limits are. */
#include "heads.h"
#include <stdio.h>
#include <stdlib.h>

#define HEAD(line) line "\r\nHost: t.test\r\n\r\n"

static void test_scan_takes_the_smallest_head_and_nothing_behind_it(void **state)
{
	(void)state;
	struct head_outcome outcome = heads_request("GET / HTTP/1.0\r\n\r\nGET /next", 27, &heads_limits);
	assert_int_equal(outcome.result, HEAD_READY);
	assert_int_equal(outcome.length, 18);
}

static void test_scan_wants_more_until_the_blank_line(void **state)
{
	(void)state;
	static const char head[] = "GET / HTTP/1.1\r\nHost: t.test\r\n\r";
	for (size_t length = 0; length < sizeof head; length++)
		assert_int_equal(heads_request(head, length, &heads_limits).result, HEAD_MORE);
}

static void test_scan_skips_four_empty_lines_and_no_more(void **state)
{
	(void)state;
	assert_taken("\r\n\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n");
	assert_int_equal(heads_last_request.method, METHOD_GET);
	assert_refused("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.0\r\n\r\n", 400);
	assert_refused("\n\nGET / HTTP/1.0\r\n\r\n", 400);
	assert_refused("\r\rGET / HTTP/1.0\r\n\r\n", 400);
}

static void test_scan_refuses_a_tls_hello_at_its_first_byte(void **state)
{
	(void)state;
	assert_refused("\x16", 400);
	assert_refused("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400);
	assert_refused("\x80", 400);
	assert_refused("GET\t/", 400);
	assert_refused(" GET / HTTP/1.1\r\n\r\n", 400);
	assert_refused("{\"json\": 1}", 400);
}

static void test_scan_refuses_malformed_request_lines(void **state)
{
	(void)state;
	assert_refused(HEAD("GET"), 400);
	assert_refused(HEAD("GET "), 400);
	assert_refused(HEAD("GET  / HTTP/1.1"), 400);
	assert_refused(HEAD("GET /  HTTP/1.1"), 400);
	assert_refused(HEAD("GET / HTTP/1.1 "), 400);
	assert_refused(HEAD("GET / x HTTP/1.1"), 400);
	assert_refused(HEAD("GET /\tHTTP/1.1"), 400);
	assert_refused(HEAD("GE(T / HTTP/1.1"), 400);
	assert_refused("GET / HTTP/1.1\rHost: t.test\r\n\r\n", 400);
}

static void test_scan_refuses_target_bytes_that_must_be_escaped(void **state)
{
	(void)state;
	assert_refused(HEAD("GET /a#b HTTP/1.1"), 400);
	assert_refused(HEAD("GET /\xc3\xa4 HTTP/1.1"), 400);
	assert_refused(HEAD("GET /\x7f HTTP/1.1"), 400);
	assert_refused(HEAD("GET /a\0b HTTP/1.1"), 400);
	assert_refused(HEAD("GET /a\x01 HTTP/1.1"), 400);
	assert_taken(HEAD("GET /!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~ HTTP/1.1"));
}

static void test_scan_tells_malformed_versions_from_later_ones(void **state)
{
	(void)state;
	assert_refused(HEAD("GET / HTTP/2.0"), 505);
	assert_refused(HEAD("GET / HTTP/2"), 505);
	assert_refused(HEAD("GET / HTTP/3.0"), 505);
	assert_refused(HEAD("GET / HTTP/9.9"), 505);
	assert_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
	assert_refused(HEAD("GET / HTTP/0.9"), 400);
	assert_refused(HEAD("GET / http/1.1"), 400);
	assert_refused(HEAD("GET / HTTP/1"), 400);
	assert_refused(HEAD("GET / HTTP/1."), 400);
	assert_refused(HEAD("GET / HTTP/1.10"), 400);
	assert_refused(HEAD("GET / HTTP/11.1"), 400);
	assert_refused(HEAD("GET / HTTP/1,1"), 400);
	assert_refused(HEAD("GET / ICE/1.0"), 400);
	assert_refused(HEAD("GET / RTSP/1.0"), 400);
}

static void test_scan_answers_501_to_unknown_methods(void **state)
{
	(void)state;
	assert_refused(HEAD("BREW / HTTP/1.1"), 501);
	assert_refused(HEAD("get / HTTP/1.1"), 501);
	assert_refused(HEAD("GETX / HTTP/1.1"), 501);
	assert_refused(HEAD("PLAY / HTTP/1.1"), 501);
	assert_refused(HEAD("PRI / HTTP/1.1"), 501);
	assert_refused(HEAD("SOURCE / HTTP/1.1"), 501);
	assert_refused("BREW / HTTP/1.1\r\n", 501);
}

/* SMG-06 */
static void test_scan_refuses_blanks_before_the_colon(void **state)
{
	(void)state;
	assert_refused("POST /a HTTP/1.1\r\nHost: t.test\r\nContent-Length: 6\r\nTransfer-Encoding : "
	               "chunked\r\n\r\n0\r\n\r\nX",
	        400);
	assert_refused("POST /a HTTP/1.1\r\nHost: t.test\r\nTransfer-Encoding\t: chunked\r\n\r\n", 400);
	assert_refused("POST /a HTTP/1.1\r\nHost: t.test\r\nContent-Length : 6\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost : t.test\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost\t: t.test\r\n\r\n", 400);
}

/* SMG-08 (a) */
static void test_scan_refuses_folded_request_lines(void **state)
{
	(void)state;
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX-A: one\r\n Content-Length: 9\r\nX-B: two\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX-A: one\r\n\tmore\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\n Host: t.test\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\n \r\nX-B: 1\r\n\r\n", 400);
}

/* SMG-10 */
static void test_scan_refuses_a_lone_lf_in_the_head(void **state)
{
	(void)state;
	assert_refused("POST /a HTTP/1.1\r\nHost: t.test\r\nX-A: 1\nContent-Length: 38\r\n\r\nGET /hidden HTTP/1.1\r\n"
	               "Host: t.test\r\n\r\n",
	        400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\n\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\n\r\n", 400);
}

static void test_scan_refuses_a_lone_cr_in_the_head(void **state)
{
	(void)state;
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX-A: 1\rX-B: 2\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX-A: 1\r\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\n\rX\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\n\r\r\n", 400);
}

/* SMG-11 */
static void test_scan_refuses_lines_ended_by_lf_or_without_version(void **state)
{
	(void)state;
	assert_refused("GET /a\nHost: t.test\r\nContent-Length: 3\r\n\r\nabc", 400);
	assert_refused("GET /a HTTP/1.1\nHost: t.test\r\n\r\n", 400);
	assert_refused("GET /a\r\n", 400);
}

/* SMG-21 */
static void test_scan_refuses_lines_without_colon_or_name(void **state)
{
	(void)state;
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nnonsense\r\nX-B: 1\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\n: v\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX A: v\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX\001A: v\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX\xe4: v\r\n\r\n", 400);
	assert_refused("GET /a HTTP/1.1\r\nHost: t.test\r\nX\0A: v\r\n\r\n", 400);
}

static void test_scan_refuses_control_bytes_in_values(void **state)
{
	(void)state;
	assert_refused("GET / HTTP/1.1\r\nHost: t.test\r\nX: a\0b\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: t.test\r\nX: \x01\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: t.test\r\nX: long enough for whole words\x7f\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: t.test\r\nX: long enough\x1b for whole words\r\n\r\n", 400);
	assert_taken("GET / HTTP/1.1\r\nHost: t.test\r\nX: a\tb \x80\xff long enough for whole words\r\n\r\n");
	assert_slice(heads_last_request.fields.items[1].value, "a\tb \x80\xff long enough for whole words");
}

/* A head of exactly this many bytes, with that many fields beside Host. */
static char *make_head(size_t target_bytes, size_t field_count, size_t total)
{
	char *head = calloc(1, total + 1);
	assert_non_null(head);
	size_t at = (size_t)sprintf(head, "GET /");
	memset(head + at, 'a', target_bytes - 1);
	at += target_bytes - 1;
	at += (size_t)sprintf(head + at, " HTTP/1.1\r\nHost: t.test\r\n");
	for (size_t i = 1; i < field_count; i++)
		at += (size_t)sprintf(head + at, "a:\r\n");
	at += (size_t)sprintf(head + at, "b:");
	assert_true(at + 4 <= total);
	memset(head + at, 'v', total - at - 4);
	memcpy(head + total - 4, "\r\n\r\n", 4);
	return head;
}

static struct head_outcome scan_made(size_t target_bytes, size_t field_count, size_t total, struct head_limits limits)
{
	char *head = make_head(target_bytes, field_count, total);
	struct head_outcome outcome = heads_request(head, total, &limits);
	free(head);
	return outcome;
}

static void test_scan_counts_the_request_line_without_crlf(void **state)
{
	(void)state;
	const struct head_limits limits = {.line_bytes = 40, .head_bytes = 200, .fields = 10};
	const size_t rest = sizeof("GET  HTTP/1.1") - 1;
	assert_int_equal(scan_made(40 - rest, 1, 120, limits).result, HEAD_READY);
	assert_int_equal(scan_made(41 - rest, 1, 120, limits).status, 414);
	assert_int_equal(scan_made(90, 1, 150, limits).status, 414);
}

static void test_scan_refuses_a_long_first_line_before_its_end(void **state)
{
	(void)state;
	const struct head_limits limits = {.line_bytes = 16, .head_bytes = 200, .fields = 10};
	assert_int_equal(heads_request("GET /0123456789a", 16, &limits).result, HEAD_MORE);
	assert_int_equal(heads_request("GET /0123456789a\r", 17, &limits).result, HEAD_MORE);
	assert_int_equal(heads_request("GET /0123456789ab", 17, &limits).status, 414);
	assert_int_equal(heads_request("ABCDEFGHIJKLMNOPQ", 17, &limits).status, 414);
	assert_int_equal(heads_request("ABCDEFGHIJKLMNO\x01", 16, &limits).status, 400);
	assert_int_equal(heads_request("ABCDEFGHIJKLMNOPQ\x01", 18, &limits).status, 414);
}

static void test_scan_counts_the_whole_head(void **state)
{
	(void)state;
	const struct head_limits limits = {.line_bytes = 100, .head_bytes = 128, .fields = 10};
	assert_int_equal(scan_made(10, 2, 127, limits).result, HEAD_READY);
	assert_int_equal(scan_made(10, 2, 128, limits).result, HEAD_READY);
	assert_int_equal(scan_made(10, 2, 129, limits).status, 431);
	assert_int_equal(scan_made(10, 2, 180, limits).status, 431);
}

static void test_scan_refuses_a_large_head_before_what_is_wrong_behind_the_limit(void **state)
{
	(void)state;
	const struct head_limits limits = {.line_bytes = 100, .head_bytes = 40, .fields = 10};
	static const char head[] = "GET / HTTP/1.1\r\nHost: t.test\r\nX: 012345\r\nbad\r\n\r\n";
	assert_int_equal(heads_request(head, sizeof head - 1, &limits).status, 431);
}

static void test_scan_counts_fields(void **state)
{
	(void)state;
	const struct head_limits limits = {.line_bytes = 100, .head_bytes = 400, .fields = 5};
	assert_int_equal(scan_made(10, 4, 120, limits).result, HEAD_READY);
	assert_int_equal(scan_made(10, 5, 120, limits).status, 431);
	assert_int_equal(scan_made(10, 30, 300, limits).status, 431);
}

static void test_scan_takes_eight_thousand_octets_of_request_line(void **state)
{
	(void)state;
	char *head = make_head(8000, 1, 8100);
	struct head_scan scan = {0};
	size_t length = 0;
	unsigned status = 0;
	const char *reason = NULL;
	assert_int_equal(request_scan(&scan, head, 8100, &heads_limits, &length, &status, &reason), HEAD_READY);
	assert_int_equal(length, 8100);
	free(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_scan_takes_the_smallest_head_and_nothing_behind_it),
	        cmocka_unit_test(test_scan_wants_more_until_the_blank_line),
	        cmocka_unit_test(test_scan_skips_four_empty_lines_and_no_more),
	        cmocka_unit_test(test_scan_refuses_a_tls_hello_at_its_first_byte),
	        cmocka_unit_test(test_scan_refuses_malformed_request_lines),
	        cmocka_unit_test(test_scan_refuses_target_bytes_that_must_be_escaped),
	        cmocka_unit_test(test_scan_tells_malformed_versions_from_later_ones),
	        cmocka_unit_test(test_scan_answers_501_to_unknown_methods),
	        cmocka_unit_test(test_scan_refuses_blanks_before_the_colon),
	        cmocka_unit_test(test_scan_refuses_folded_request_lines),
	        cmocka_unit_test(test_scan_refuses_a_lone_lf_in_the_head),
	        cmocka_unit_test(test_scan_refuses_a_lone_cr_in_the_head),
	        cmocka_unit_test(test_scan_refuses_lines_ended_by_lf_or_without_version),
	        cmocka_unit_test(test_scan_refuses_lines_without_colon_or_name),
	        cmocka_unit_test(test_scan_refuses_control_bytes_in_values),
	        cmocka_unit_test(test_scan_counts_the_request_line_without_crlf),
	        cmocka_unit_test(test_scan_refuses_a_long_first_line_before_its_end),
	        cmocka_unit_test(test_scan_counts_the_whole_head),
	        cmocka_unit_test(test_scan_refuses_a_large_head_before_what_is_wrong_behind_the_limit),
	        cmocka_unit_test(test_scan_counts_fields),
	        cmocka_unit_test(test_scan_takes_eight_thousand_octets_of_request_line),
	};
	return cmocka_run_group_tests(tests, heads_setup, NULL);
}
