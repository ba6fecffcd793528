/* Heads of upstreams' answers. */
#include "heads.h"

#define OK_WITH(lines) "HTTP/1.1 200 OK\r\n" lines "\r\n"

static void test_response_parse_reads_every_part(void **state)
{
	(void)state;
	const struct response_head *head =
	        assert_response(OK_WITH("Content-Length: 2\r\nServer: x\r\nX-A:  b \r\n") "ok", METHOD_GET);
	assert_int_equal(head->status, 200);
	assert_int_equal(head->minor, 1);
	assert_slice(head->reason, "OK");
	assert_int_equal(head->body_length, 2);
	assert_false(head->chunked);
	assert_false(head->until_close);
	assert_true(head->keep_alive);
	assert_int_equal(head->fields.count, 3);
	assert_slice(head->fields.items[2].value, "b");
	assert_int_equal(head->fields.seen, 1u << FIELD_CONTENT_LENGTH | 1u << FIELD_SERVER);
}

static void test_response_parse_takes_empty_and_odd_reasons(void **state)
{
	(void)state;
	assert_slice(assert_response("HTTP/1.1 204 \r\n\r\n", METHOD_GET)->reason, "");
	assert_slice(assert_response("HTTP/1.1 204\r\n\r\n", METHOD_GET)->reason, "");
	assert_slice(
	        assert_response("HTTP/1.1 404 Nicht da: \xfc\t!\r\n\r\n", METHOD_GET)->reason, "Nicht da: \xfc\t!");
	assert_int_equal(assert_response("HTTP/1.1 999 x\r\n\r\n", METHOD_GET)->status, 999);
	assert_int_equal(assert_response("HTTP/1.5 200 OK\r\nContent-Length: 0\r\n\r\n", METHOD_GET)->minor, 1);
}

static void test_response_scan_refuses_malformed_status_lines(void **state)
{
	(void)state;
	assert_bad_response("HTTP/1.1\r\n\r\n");
	assert_bad_response("HTTP/1.1 20\r\n\r\n");
	assert_bad_response("HTTP/1.1 2000 OK\r\n\r\n");
	assert_bad_response("HTTP/1.1 099 OK\r\n\r\n");
	assert_bad_response("HTTP/1.1 2x0 OK\r\n\r\n");
	assert_bad_response("HTTP/1.1  200 OK\r\n\r\n");
	assert_bad_response("HTTP/1.1 200 O\x01K\r\n\r\n");
	assert_bad_response("HTTP/1.1 200 OK\rX\r\n\r\n");
	assert_bad_response("HTTP/1.1 200 OK\n\r\n");
	assert_bad_response("HTTP/2.0 200 OK\r\n\r\n");
	assert_bad_response("HTTP/0.9 200 OK\r\n\r\n");
	assert_bad_response("ICY 200 OK\r\n\r\n");
	assert_bad_response("<html>\r\n\r\n");
	assert_bad_response("\r\nHTTP/1.1 200 OK\r\n\r\n");
}

static void test_response_scan_refuses_malformed_fields(void **state)
{
	(void)state;
	assert_bad_response(OK_WITH("nonsense\r\n"));
	assert_bad_response(OK_WITH(": v\r\n"));
	assert_bad_response(OK_WITH("Content-Length : 2\r\n"));
	assert_bad_response(OK_WITH("X: a\0b\r\n"));
	assert_bad_response(OK_WITH("X: a\nY: b\r\n"));
	assert_bad_response(OK_WITH("X: a\rY: b\r\n"));
	assert_bad_response(OK_WITH(" folded: first\r\n"));
	assert_bad_response(OK_WITH("X: a\r\n \x01\r\n"));
}

/* SMG-08 (b) */
static void test_response_parse_unfolds_lines(void **state)
{
	(void)state;
	const struct response_head *head =
	        assert_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n \t\r\nX-After: v\r\n\r\nok", METHOD_GET);
	assert_int_equal(head->body_length, 2);
	assert_int_equal(head->fields.count, 2);
	assert_slice(head->fields.items[1].name, "X-After");
	assert_slice(head->fields.items[1].value, "v");
	assert_response(OK_WITH("X: one\r\n two\r\n\tthree\r\nTransfer-Encoding:\r\n chunked\r\n"), METHOD_GET);
	assert_slice(heads_last_response.fields.items[0].value, "one   two   three");
	assert_true(heads_last_response.chunked);
}

/* SMG-18, as an upstream would send it */
static void test_response_parse_refuses_doubtful_framing(void **state)
{
	(void)state;
	assert_bad_response(OK_WITH("Content-Length: +3\r\n"));
	assert_bad_response(OK_WITH("Content-Length: -3\r\n"));
	assert_bad_response(OK_WITH("Content-Length: 0x3\r\n"));
	assert_bad_response(OK_WITH("Content-Length: 3 3\r\n"));
	assert_bad_response(OK_WITH("Content-Length:\r\n"));
	assert_bad_response(OK_WITH("Content-Length: 18446744073709551619\r\n"));
	assert_bad_response(OK_WITH("Content-Length: 9223372036854775808\r\n"));
	assert_bad_response(OK_WITH("Content-Length: 3\r\nContent-Length: 4\r\n"));
	assert_bad_response(OK_WITH("Content-Length: 3\r\n 4\r\n"));
	assert_bad_response(OK_WITH("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"));
	assert_bad_response(OK_WITH("Transfer-Encoding: gzip\r\n"));
	assert_bad_response(OK_WITH("Transfer-Encoding: ,chunked\r\n"));
	assert_bad_response(OK_WITH("Transfer-Encoding: gzip, chunked\r\n"));
	assert_bad_response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

static void test_response_parse_finds_the_end_of_the_body(void **state)
{
	(void)state;
	assert_true(assert_response(OK_WITH("Transfer-Encoding: chunked\r\n"), METHOD_GET)->chunked);
	assert_int_equal(heads_last_response.body_length, LENGTH_UNKNOWN);
	assert_false(heads_last_response.until_close);
	assert_true(heads_last_response.keep_alive);
	assert_true(assert_response(OK_WITH(""), METHOD_GET)->until_close);
	assert_int_equal(heads_last_response.body_length, LENGTH_UNKNOWN);
	assert_false(heads_last_response.keep_alive);
	assert_int_equal(assert_response(OK_WITH("Content-Length: 0\r\n"), METHOD_GET)->body_length, 0);
	assert_false(heads_last_response.until_close);
}

static void assert_bodiless(const struct response_head *head)
{
	assert_int_equal(head->body_length, LENGTH_NONE);
	assert_false(head->chunked);
	assert_false(head->until_close);
	assert_true(head->keep_alive);
}

/* RFC 9112 6.3; KAL-05: what follows such a head is no body */
static void test_response_parse_knows_answers_without_body(void **state)
{
	(void)state;
	assert_bodiless(assert_response(OK_WITH("Content-Length: 5\r\n"), METHOD_HEAD));
	assert_bodiless(assert_response(OK_WITH("Transfer-Encoding: chunked\r\n"), METHOD_HEAD));
	assert_bodiless(assert_response(OK_WITH(""), METHOD_HEAD));
	assert_bodiless(assert_response("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n", METHOD_GET));
	assert_bodiless(assert_response("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", METHOD_GET));
	assert_bodiless(assert_response("HTTP/1.1 100 Continue\r\n\r\n", METHOD_POST));
	assert_bodiless(assert_response(
	        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", METHOD_GET));
	assert_bodiless(assert_response(OK_WITH(""), METHOD_CONNECT));
	assert_int_equal(
	        assert_response("HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\n", METHOD_CONNECT)->body_length, 3);
}

static void test_response_parse_reads_how_long_the_connection_lasts(void **state)
{
	(void)state;
	assert_false(assert_response(OK_WITH("Content-Length: 0\r\nConnection: close\r\n"), METHOD_GET)->keep_alive);
	assert_false(assert_response("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", METHOD_GET)->keep_alive);
	assert_int_equal(heads_last_response.minor, 0);
	assert_true(
	        assert_response("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", METHOD_GET)
	                ->keep_alive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_response_parse_reads_every_part),
	        cmocka_unit_test(test_response_parse_takes_empty_and_odd_reasons),
	        cmocka_unit_test(test_response_scan_refuses_malformed_status_lines),
	        cmocka_unit_test(test_response_scan_refuses_malformed_fields),
	        cmocka_unit_test(test_response_parse_unfolds_lines),
	        cmocka_unit_test(test_response_parse_refuses_doubtful_framing),
	        cmocka_unit_test(test_response_parse_finds_the_end_of_the_body),
	        cmocka_unit_test(test_response_parse_knows_answers_without_body),
	        cmocka_unit_test(test_response_parse_reads_how_long_the_connection_lasts),
	};
	return cmocka_run_group_tests(tests, heads_setup, NULL);
}
