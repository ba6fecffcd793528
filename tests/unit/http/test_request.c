/* What request_parse reads out of heads that the scan took, and what it refuses. */
#include "heads.h"
#include <stdio.h>

#define GET_WITH(lines) "GET /a HTTP/1.1\r\nHost: t.test\r\n" lines "\r\n"
#define POST_WITH(lines)                                                                                               \
	"POST /a HTTP/1.1\r\nHost: t.test\r\n" lines "\r\nabcGET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n"

static void test_request_parse_reads_every_part(void **state)
{
	(void)state;
	const struct request_head *head = assert_taken("GET /a/b?c=d?e HTTP/1.1\r\nHost: t.test:81\r\nX-One:  1 \t\r\n"
	                                               "X-Two:\r\nACCEPT:*/*\r\nx-one: again\r\n\r\n");
	assert_int_equal(head->method, METHOD_GET);
	assert_slice(head->method_text, "GET");
	assert_slice(head->target, "/a/b?c=d?e");
	assert_slice(head->path, "/a/b");
	assert_slice(head->query, "c=d?e");
	assert_slice(head->host, "t.test:81");
	assert_int_equal(head->minor, 1);
	assert_int_equal(head->body_length, LENGTH_NONE);
	assert_true(head->keep_alive);
	assert_false(head->expects_continue);
	assert_false(head->upgrades);
	assert_false(head->has_absolute_target);
	assert_int_equal(head->fields.count, 5);
	assert_slice(head->fields.items[1].name, "X-One");
	assert_slice(head->fields.items[1].value, "1");
	assert_slice(head->fields.items[2].value, "");
	assert_non_null(head->fields.items[2].value.data);
	assert_int_equal(head->fields.items[3].id, FIELD_ACCEPT);
	assert_slice(head->fields.items[3].value, "*/*");
	assert_slice(head->fields.items[4].value, "again");
	assert_int_equal(head->fields.seen, 1u << FIELD_HOST | 1u << FIELD_ACCEPT);
}

static void test_request_parse_tells_no_query_from_an_empty_one(void **state)
{
	(void)state;
	assert_null(assert_taken("GET / HTTP/1.0\r\n\r\n")->query.data);
	assert_non_null(assert_taken("GET /? HTTP/1.0\r\n\r\n")->query.data);
	assert_int_equal(heads_last_request.query.length, 0);
	assert_slice(heads_last_request.path, "/");
}

static void test_request_parse_knows_every_method_of_the_table(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum method method;
	} methods[] = {
#define METHOD(id, name) {name, METHOD_##id},
#include "http/methods.def"
#undef METHOD
	};
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		char head[100];
		bool is_connect = methods[i].method == METHOD_CONNECT;
		int length = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: t.test:1\r\n\r\n", methods[i].name,
		        is_connect ? "t.test:1" : "/");
		assert_int_equal(heads_request(head, (size_t)length, &heads_limits).result, HEAD_READY);
		assert_int_equal(heads_last_request.method, methods[i].method);
		assert_slice(heads_last_request.method_text, methods[i].name);
	}
}

static void test_request_parse_takes_later_minor_versions_as_1_1(void **state)
{
	(void)state;
	assert_int_equal(assert_taken("GET / HTTP/1.0\r\n\r\n")->minor, 0);
	assert_int_equal(assert_taken("GET / HTTP/1.2\r\nHost: t.test\r\nX: y\r\n\r\n")->minor, 1);
	assert_slice(heads_last_request.fields.items[1].value, "y");
	assert_int_equal(assert_taken("\r\nGET / HTTP/1.9\r\nHost: t.test\r\n\r\n")->minor, 1);
	assert_true(heads_last_request.keep_alive);
	assert_refused("GET / HTTP/1.2\r\n\r\n", 400);
}

static void test_request_parse_wants_exactly_one_host_on_1_1(void **state)
{
	(void)state;
	assert_refused("GET / HTTP/1.1\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.0\r\nHost: a.test\r\nHost: b.test\r\n\r\n", 400);
	assert_slice(assert_taken("GET / HTTP/1.0\r\n\r\n")->host, "");
	assert_slice(assert_taken("GET / HTTP/1.0\r\nHost: a.test\r\n\r\n")->host, "a.test");
}

/* TGT-05 */
static void test_request_parse_refuses_a_host_that_is_no_authority(void **state)
{
	(void)state;
	assert_slice(assert_taken("GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n")->host, "[2001:db8::1]");
	assert_slice(assert_taken("GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n")->host, "[2001:db8::1]:8080");
	assert_refused("GET / HTTP/1.1\r\nHost: 2001:db8::1\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: [2001:db8::1\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: a.test/x\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: user@a.test\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.1\r\nHost: a.test:99999\r\n\r\n", 400);
	assert_refused("GET / HTTP/1.0\r\nHost: a test\r\n\r\n", 400);
}

/* TGT-01 */
static void test_request_parse_refuses_a_target_that_differs_from_host(void **state)
{
	(void)state;
	assert_refused("GET http://a.test/x HTTP/1.1\r\nHost: b.test\r\n\r\n", 400);
	assert_refused("GET http://a.test:81/x HTTP/1.1\r\nHost: a.test\r\n\r\n", 400);
	assert_refused("GET http://a.test:443/x HTTP/1.1\r\nHost: a.test\r\n\r\n", 400);
	assert_refused("GET http://a.test/x HTTP/1.1\r\n\r\n", 400);
	assert_refused("GET http://a.test@b.test/x HTTP/1.1\r\nHost: b.test\r\n\r\n", 400);
	assert_refused("GET http:///x HTTP/1.1\r\nHost: b.test\r\n\r\n", 400);
	assert_refused("GET http:/x HTTP/1.1\r\nHost: b.test\r\n\r\n", 400);
	assert_refused("GET ftp://b.test/x HTTP/1.1\r\nHost: b.test\r\n\r\n", 400);
	assert_refused("GET x HTTP/1.1\r\nHost: b.test\r\n\r\n", 400);
	assert_refused("GET ?x HTTP/1.1\r\nHost: b.test\r\n\r\n", 400);
}

static void test_request_parse_takes_a_target_that_equals_host(void **state)
{
	(void)state;
	const struct request_head *head = assert_taken("GET http://a.test/x?y HTTP/1.1\r\nHost: A.Test\r\n\r\n");
	assert_true(head->has_absolute_target);
	assert_slice(head->host, "a.test");
	assert_slice(head->path, "/x");
	assert_slice(head->query, "y");
	assert_slice(head->target, "http://a.test/x?y");
	assert_taken("GET HTTP://a.test:80/x HTTP/1.1\r\nHost: a.test\r\n\r\n");
	assert_taken("GET http://a.test/x HTTP/1.1\r\nHost: a.test:80\r\n\r\n");
	assert_taken("GET https://a.test:443/x HTTP/1.1\r\nHost: a.test\r\n\r\n");
	assert_taken("GET http://a.test:/x HTTP/1.1\r\nHost: a.test\r\n\r\n");
	assert_slice(assert_taken("GET http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n")->path, "/");
	assert_slice(assert_taken("GET http://a.test?q HTTP/1.1\r\nHost: a.test\r\n\r\n")->path, "/");
	assert_slice(heads_last_request.query, "q");
	assert_slice(assert_taken("GET http://a.test/x HTTP/1.0\r\n\r\n")->host, "a.test");
	assert_slice(assert_taken("GET http://[::1]:80/x HTTP/1.1\r\nHost: [::1]\r\n\r\n")->host, "[::1]:80");
}

/* TGT-03 */
static void test_request_parse_takes_the_star_with_options_only(void **state)
{
	(void)state;
	assert_slice(assert_taken("OPTIONS * HTTP/1.1\r\nHost: t.test\r\n\r\n")->path, "*");
	assert_null(heads_last_request.query.data);
	assert_slice(assert_taken("OPTIONS http://t.test HTTP/1.1\r\nHost: t.test\r\n\r\n")->path, "*");
	assert_slice(assert_taken("OPTIONS http://t.test/ HTTP/1.1\r\nHost: t.test\r\n\r\n")->path, "/");
	assert_refused("GET * HTTP/1.1\r\nHost: t.test\r\n\r\n", 400);
	assert_refused("OPTIONS *x HTTP/1.1\r\nHost: t.test\r\n\r\n", 400);
}

static void test_request_parse_takes_an_authority_with_connect_only(void **state)
{
	(void)state;
	const struct request_head *head = assert_taken("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n");
	assert_int_equal(head->method, METHOD_CONNECT);
	assert_slice(head->path, "");
	assert_refused("CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", 400);
	assert_refused("CONNECT a.test: HTTP/1.1\r\nHost: a.test\r\n\r\n", 400);
	assert_refused("CONNECT / HTTP/1.1\r\nHost: a.test\r\n\r\n", 400);
	assert_refused("CONNECT http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 400);
	assert_refused("GET a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", 400);
}

/* SMG-01 */
static void test_request_parse_refuses_two_framings(void **state)
{
	(void)state;
	assert_refused(POST_WITH("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 43\r\nTransfer-Encoding: chunked\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 43\r\nTransfer-Encoding: gzip, chunked\r\n"), 400);
	assert_refused(POST_WITH("Content-Length:\r\nTransfer-Encoding: chunked\r\n"), 400);
}

static void test_request_parse_takes_exactly_chunked(void **state)
{
	(void)state;
	assert_int_equal(assert_taken(POST_WITH("Transfer-Encoding: chunked\r\n"))->body_length, LENGTH_UNKNOWN);
	assert_int_equal(assert_taken(POST_WITH("transfer-encoding: \t Chunked \t\r\n"))->body_length, LENGTH_UNKNOWN);
	assert_refused(POST_WITH("Transfer-Encoding: gzip, chunked\r\n"), 501);
	assert_refused(POST_WITH("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 501);
	assert_refused(POST_WITH("Transfer-Encoding: gzip\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: identity\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked, gzip\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked, chunked\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: xchunked\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunkedx\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked;q=1\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: \"chunked\"\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked\xff\r\n"), 400);
}

/* SMG-03 */
static void test_request_parse_refuses_empty_members_in_transfer_encoding(void **state)
{
	(void)state;
	assert_refused(POST_WITH("Transfer-Encoding: ,chunked\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked,\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: chunked , \r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding: gzip,,chunked\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding:\r\n"), 400);
	assert_refused(POST_WITH("Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n"), 400);
}

/* SMG-05 */
static void test_request_parse_refuses_transfer_encoding_on_1_0(void **state)
{
	(void)state;
	assert_refused(
	        "POST /a HTTP/1.0\r\nHost: t.test\r\nConnection: keep-alive\r\nContent-Length: 51\r\n"
	        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n",
	        400);
	assert_refused("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
}

/* SMG-18 */
static void test_request_parse_refuses_lengths_that_are_not_plain_digits(void **state)
{
	(void)state;
	assert_refused(POST_WITH("Content-Length: +3\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: -3\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 3_0\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 0x3\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 3 3\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: \r\n"), 400);
	assert_refused(POST_WITH("Content-Length:\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 3;\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 3.0\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 18446744073709551619\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 9223372036854775808\r\n"), 400);
	assert_int_equal(assert_taken(POST_WITH("Content-Length: 9223372036854775807\r\n"))->body_length, INT64_MAX);
	assert_int_equal(assert_taken(POST_WITH("Content-Length:\t 003 \r\n"))->body_length, 3);
	assert_refused(POST_WITH("Content-Length: 3\t\r\n"), 400); /* by llhttp, stricter than RFC 9110 5.5 */
	assert_int_equal(assert_taken(POST_WITH("Content-Length: 0\r\n"))->body_length, LENGTH_NONE);
}

static void test_request_parse_refuses_repeated_lengths(void **state)
{
	(void)state;
	assert_refused(POST_WITH("Content-Length: 5, 5\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 5,\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 5\r\nContent-Length: 5\r\n"), 400);
	assert_refused(POST_WITH("Content-Length: 5\r\ncontent-length: 6\r\n"), 400);
}

static void test_request_parse_reads_how_long_the_connection_lasts(void **state)
{
	(void)state;
	assert_false(assert_taken(GET_WITH("Connection: close\r\n"))->keep_alive);
	assert_false(assert_taken(GET_WITH("Connection: X-Hop, CLOSE\r\n"))->keep_alive);
	assert_false(assert_taken(GET_WITH("Connection: keep-alive\r\nConnection: close\r\n"))->keep_alive);
	assert_true(assert_taken(GET_WITH("Connection: closed\r\n"))->keep_alive);
	assert_true(assert_taken(GET_WITH("Connection: keep-alive\r\n"))->keep_alive);
	assert_false(assert_taken("GET / HTTP/1.0\r\n\r\n")->keep_alive);
	assert_true(assert_taken("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")->keep_alive);
	assert_false(assert_taken("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n")->keep_alive);
}

/* TGT-08 */
static void test_request_parse_keeps_what_connection_names(void **state)
{
	(void)state;
	const struct request_head *head =
	        assert_taken(GET_WITH("Connection: close, X-Hop, X-Forwarded-For, Host, Content-Length\r\n"
	                              "X-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Connection: x\r\nTE: gzip\r\n"));
	assert_true(fields_have_member(&head->fields, FIELD_CONNECTION, SLICE("x-hop")));
	assert_true(fields_have_member(&head->fields, FIELD_CONNECTION, SLICE("host")));
	assert_int_equal(head->fields.seen, 1u << FIELD_HOST | 1u << FIELD_CONNECTION | 1u << FIELD_KEEP_ALIVE |
	                                            1u << FIELD_PROXY_CONNECTION | 1u << FIELD_TE);
}

/* BDY-01 */
static void test_request_parse_reads_expectations(void **state)
{
	(void)state;
	assert_true(assert_taken(POST_WITH("Content-Length: 3\r\nExpect: 100-continue\r\n"))->expects_continue);
	assert_true(
	        assert_taken(POST_WITH("Transfer-Encoding: chunked\r\nExpect: 100-Continue\r\n"))->expects_continue);
	assert_false(assert_taken(POST_WITH("Content-Length: 0\r\nExpect: 100-continue\r\n"))->expects_continue);
	assert_false(assert_taken(GET_WITH("Expect: 100-continue\r\n"))->expects_continue);
	assert_refused(POST_WITH("Content-Length: 3\r\nExpect: 200-maybe\r\n"), 417);
	assert_refused(POST_WITH("Content-Length: 3\r\nExpect: 100-continue, 200-maybe\r\n"), 417);
	assert_refused(POST_WITH("Expect: 100-continue\r\nExpect: x\r\n"), 417);
	assert_false(
	        assert_taken("POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")->expects_continue);
	assert_false(
	        assert_taken("POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 200-maybe\r\n\r\n")->expects_continue);
}

static void test_request_parse_sees_upgrades_on_1_1(void **state)
{
	(void)state;
	assert_true(assert_taken(GET_WITH("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"))->upgrades);
	assert_false(assert_taken(GET_WITH("Upgrade: websocket\r\n"))->upgrades);
	assert_false(assert_taken(GET_WITH("Connection: upgrade\r\n"))->upgrades);
	assert_false(assert_taken("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")->upgrades);
	assert_true(assert_taken(POST_WITH("Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n"))->upgrades);
	assert_int_equal(heads_last_request.body_length, 3);
}

/* KAL-03 */
static void test_request_parse_leaves_pipelined_requests_alone(void **state)
{
	(void)state;
	static const char two[] =
	        "GET /slow HTTP/1.1\r\nHost: t.test\r\n\r\nGET /fast HTTP/1.1\r\nHost: t.test\r\n\r\n";
	struct head_outcome first = heads_request(two, sizeof two - 1, &heads_limits);
	assert_int_equal(first.result, HEAD_READY);
	assert_slice(heads_last_request.path, "/slow");
	struct head_outcome second = heads_request(two + first.length, sizeof two - 1 - first.length, &heads_limits);
	assert_int_equal(second.result, HEAD_READY);
	assert_slice(heads_last_request.path, "/fast");
	assert_int_equal(first.length + second.length, sizeof two - 1);
}

static void test_request_parse_refuses_more_fields_than_there_is_room(void **state)
{
	(void)state;
	static const char head[] = "GET / HTTP/1.1\r\nHost: t.test\r\nX: 1\r\nY: 2\r\n\r\n";
	struct field items[2];
	struct request_head request = {.fields = {.items = items, .capacity = 2}};
	unsigned status = 0;
	const char *reason = NULL;
	assert_false(request_parse(&request, head, sizeof head - 1, &status, &reason));
	assert_int_equal(status, 431);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_request_parse_reads_every_part),
	        cmocka_unit_test(test_request_parse_tells_no_query_from_an_empty_one),
	        cmocka_unit_test(test_request_parse_knows_every_method_of_the_table),
	        cmocka_unit_test(test_request_parse_takes_later_minor_versions_as_1_1),
	        cmocka_unit_test(test_request_parse_wants_exactly_one_host_on_1_1),
	        cmocka_unit_test(test_request_parse_refuses_a_host_that_is_no_authority),
	        cmocka_unit_test(test_request_parse_refuses_a_target_that_differs_from_host),
	        cmocka_unit_test(test_request_parse_takes_a_target_that_equals_host),
	        cmocka_unit_test(test_request_parse_takes_the_star_with_options_only),
	        cmocka_unit_test(test_request_parse_takes_an_authority_with_connect_only),
	        cmocka_unit_test(test_request_parse_refuses_two_framings),
	        cmocka_unit_test(test_request_parse_takes_exactly_chunked),
	        cmocka_unit_test(test_request_parse_refuses_empty_members_in_transfer_encoding),
	        cmocka_unit_test(test_request_parse_refuses_transfer_encoding_on_1_0),
	        cmocka_unit_test(test_request_parse_refuses_lengths_that_are_not_plain_digits),
	        cmocka_unit_test(test_request_parse_refuses_repeated_lengths),
	        cmocka_unit_test(test_request_parse_reads_how_long_the_connection_lasts),
	        cmocka_unit_test(test_request_parse_keeps_what_connection_names),
	        cmocka_unit_test(test_request_parse_reads_expectations),
	        cmocka_unit_test(test_request_parse_sees_upgrades_on_1_1),
	        cmocka_unit_test(test_request_parse_leaves_pipelined_requests_alone),
	        cmocka_unit_test(test_request_parse_refuses_more_fields_than_there_is_room),
	};
	return cmocka_run_group_tests(tests, heads_setup, NULL);
}
