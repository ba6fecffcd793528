/* What request and answer heads become on their way through the proxy, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "handlers/proxy_fields.h"
#include "http/parser.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 200, ROOM = 1 << 17 };

static const struct head_limits limits = {8192, 65536, FIELDS};
static struct field fields[FIELDS];
static char written[ROOM];

struct from {
	const char *peer; /* address */
	uint16_t port;
	bool trusted, secure, closes;
	const char *path, *host; /* NULL: the request's own */
	int64_t body_length;     /* 0: the request's own */
};

static const struct from client = {.peer = "192.0.2.7", .port = 4711};

static struct address address(const char *text, uint16_t port)
{
	struct network network = {.address.family = AF_UNIX};
	if (text)
		assert_true(network_parse(slice_of(text), &network));
	network.address.port = port;
	return network.address;
}

static struct request_head parse(const char *text)
{
	struct request_head head = {.fields = {.items = fields, .capacity = FIELDS}};
	struct head_scan scan = {0};
	size_t length;
	unsigned status;
	const char *reason = "";
	assert_int_equal(request_scan(&scan, text, strlen(text), &limits, &length, &status, &reason), HEAD_READY);
	if (!request_parse(&head, text, length, &status, &reason))
		fail_msg("%s", reason);
	return head;
}

static struct proxy_request describe(
        const struct request_head *head, const struct from *from, const struct address *peer)
{
	return (struct proxy_request){
	        .head = head,
	        .path = from->path ? slice_of(from->path) : head->path,
	        .host = from->host ? slice_of(from->host) : head->host,
	        .peer = peer,
	        .peer_is_trusted = from->trusted,
	        .is_secure = from->secure,
	        .instance = SLICE("mlserve-id"),
	        .body_length = from->body_length ? from->body_length : head->body_length,
	        .closes = from->closes,
	};
}

static const char *rewrite(const char *text, const struct from *from)
{
	struct request_head head = parse(text);
	struct address peer = address(from->peer, from->port);
	struct proxy_request request = describe(&head, from, &peer);
	size_t room = proxy_request_room(&request);
	assert_true(room < ROOM);
	size_t length = proxy_request_write(&request, written);
	assert_true(length <= room);
	written[length] = 0;
	return written;
}

#define WHO                                                                                                            \
	"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: t.test\r\n"                        \
	"Forwarded: for=192.0.2.7;host=t.test;proto=http\r\nVia: 1.1 mlserve-id\r\n"

static void test_request_keeps_end_to_end_lines_as_they_came(void **state)
{
	(void)state;
	assert_string_equal(
	        rewrite("GET /a?b=%41 HTTP/1.1\r\nAccept:  text/html \r\nHost: t.test\r\nX-A: 1\r\nX-B:\r\n\r\n",
	                &client),
	        "GET /a?b=%41 HTTP/1.1\r\nHost: t.test\r\nAccept:  text/html\r\nX-A: 1\r\nX-B:\r\n" WHO "\r\n");
}

static void test_request_has_the_path_and_host_that_it_is_given(void **state)
{
	(void)state;
	struct from from = client;
	from.path = "/short";
	from.host = "app.internal:81";
	from.closes = true;
	assert_string_equal(rewrite("GET http://t.test/long/short? HTTP/1.1\r\nHost: t.test\r\n\r\n", &from),
	        "GET /short? HTTP/1.1\r\nHost: app.internal:81\r\n" WHO "Connection: close\r\n\r\n");
}

static void test_request_loses_fields_of_one_hop(void **state)
{
	(void)state;
	assert_string_equal(
	        rewrite("GET / HTTP/1.1\r\nHost: t.test\r\nKeep-Alive: 5\r\nX-A: 1\r\nProxy-Connection: x\r\nTE: "
	                "gzip\r\n"
	                "Trailer: X\r\nUpgrade: foo\r\nExpect: 100-continue\r\nConnection: keep-alive, upgrade\r\n\r\n",
	                &client),
	        "GET / HTTP/1.1\r\nHost: t.test\r\nX-A: 1\r\n" WHO "\r\n");
}

static void test_request_loses_fields_that_connection_names_but_not_ours(void **state)
{
	(void)state;
	assert_string_equal(rewrite("POST / HTTP/1.1\r\nHost: t.test\r\nContent-Length: 3\r\n"
	                            "Connection: close, X-Hop, X-Forwarded-For, Via,, Host\r\nx-HOP: 1\r\nX-Ho: 2\r\n"
	                            "Connection: Content-Length , X-Two\r\nX-Two: 3\r\n\r\n",
	                            &client),
	        "POST / HTTP/1.1\r\nHost: t.test\r\nX-Ho: 2\r\n" WHO "Content-Length: 3\r\n\r\n");
}

static void test_request_has_one_framing(void **state)
{
	(void)state;
	assert_string_equal(rewrite("POST / HTTP/1.1\r\nHost: t.test\r\nTransfer-Encoding: chunked\r\n\r\n", &client),
	        "POST / HTTP/1.1\r\nHost: t.test\r\n" WHO "Transfer-Encoding: chunked\r\n\r\n");
	assert_string_equal(rewrite("POST / HTTP/1.1\r\nHost: t.test\r\nContent-Length: 0\r\n\r\n", &client),
	        "POST / HTTP/1.1\r\nHost: t.test\r\n" WHO "Content-Length: 0\r\n\r\n");
	assert_string_equal(rewrite("POST / HTTP/1.1\r\nHost: t.test\r\n\r\n", &client),
	        "POST / HTTP/1.1\r\nHost: t.test\r\n" WHO "\r\n");
}

static void test_request_whose_chunks_are_all_here_has_a_length(void **state)
{
	(void)state;
	static const char chunked[] = "POST / HTTP/1.1\r\nHost: t.test\r\nTransfer-Encoding: chunked\r\n\r\n";
	struct from from = client;
	from.body_length = 12345;
	assert_string_equal(
	        rewrite(chunked, &from), "POST / HTTP/1.1\r\nHost: t.test\r\n" WHO "Content-Length: 12345\r\n\r\n");
	/* Also when they held nothing. */
	struct request_head head = parse(chunked);
	struct address peer = address(client.peer, client.port);
	struct proxy_request request = describe(&head, &client, &peer);
	request.body_length = 0;
	written[proxy_request_write(&request, written)] = 0;
	assert_string_equal(written, "POST / HTTP/1.1\r\nHost: t.test\r\n" WHO "Content-Length: 0\r\n\r\n");
}

#define CLAIMS                                                                                                         \
	"X-Forwarded-For: 9.9.9.9, 8.8.8.8\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: a.test\r\n"                \
	"X-Forwarded-Port: 444\r\nForwarded: for=9.9.9.9\r\nX-Forwarded-For: 7.7.7.7\r\n"

static void test_request_replaces_what_a_stranger_says_of_the_client(void **state)
{
	(void)state;
	assert_string_equal(rewrite("GET / HTTP/1.1\r\nHost: t.test\r\n" CLAIMS "\r\n", &client),
	        "GET / HTTP/1.1\r\nHost: t.test\r\n" WHO "\r\n");
}

#define LOOKALIKES                                                                                                     \
	"X_Forwarded_For: 9.9.9.9\r\nx-forwarded_proto: https\r\nX_FORWARDED-HOST: a.test\r\nX_Forwarded: "            \
	"for=9.9.9.9\r\n"                                                                                              \
	"X-Forwarded: for=9.9.9.9\r\nX-Forwarded-: 1\r\n"

static void test_request_loses_a_strangers_names_that_cgi_takes_for_ours(void **state)
{
	(void)state;
	assert_string_equal(
	        rewrite("GET / HTTP/1.1\r\nHost: t.test\r\n" LOOKALIKES "X-Forwardedly: 1\r\nX_Forward: 2\r\n\r\n",
	                &client),
	        "GET / HTTP/1.1\r\nHost: t.test\r\nX-Forwardedly: 1\r\nX_Forward: 2\r\n" WHO "\r\n");
	struct from from = client;
	from.trusted = true;
	assert_non_null(strstr(rewrite("GET / HTTP/1.1\r\nHost: t.test\r\n" LOOKALIKES "\r\n", &from), LOOKALIKES));
}

static void test_request_adds_to_what_a_trusted_proxy_says(void **state)
{
	(void)state;
	struct from from = client;
	from.trusted = true;
	assert_string_equal(rewrite("GET / HTTP/1.1\r\nHost: t.test\r\nVia: 1.0 other\r\n" CLAIMS "\r\n", &from),
	        "GET / HTTP/1.1\r\nHost: t.test\r\nX-Forwarded-Port: 444\r\n"
	        "X-Forwarded-For: 9.9.9.9, 8.8.8.8, 7.7.7.7, 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"
	        "X-Forwarded-Host: a.test\r\nForwarded: for=9.9.9.9, for=192.0.2.7;host=t.test;proto=http\r\n"
	        "Via: 1.0 other, 1.1 mlserve-id\r\n\r\n");
}

static void test_request_writes_ipv6_in_brackets_and_quotes_where_grammar_wants_it(void **state)
{
	(void)state;
	struct from from = {.peer = "2001:db8::1", .port = 81, .secure = true};
	const char *head = rewrite("GET / HTTP/1.1\r\nHost: [2001:db8::2]:8080\r\n\r\n", &from);
	assert_non_null(strstr(head, "\r\nX-Forwarded-For: 2001:db8::1\r\n"));
	assert_non_null(
	        strstr(head, "\r\nForwarded: for=\"[2001:db8::1]:81\";host=\"[2001:db8::2]:8080\";proto=https\r\n"));
	assert_non_null(strstr(head, "\r\nX-Forwarded-Proto: https\r\n"));
}

static void test_request_of_a_unix_socket_or_without_host_is_well_formed(void **state)
{
	(void)state;
	struct from from = {.host = "localhost"};
	assert_string_equal(rewrite("GET / HTTP/1.0\r\n\r\n", &from),
	        "GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: unknown\r\nX-Forwarded-Proto: http\r\n"
	        "Forwarded: for=unknown;proto=http\r\nVia: 1.0 mlserve-id\r\n\r\n");
}

static void test_request_loops_when_via_names_this_instance(void **state)
{
	(void)state;
	static const struct {
		const char *via;
		bool loops;
	} rows[] = {{"Via: 1.1 other\r\n", false}, {"Via: 1.1 a, 1.1 mlserve-id\r\n", true},
	        {"X-Via: mlserve-id\r\n", false}, {"Via: 1.0 a\r\nVia: 1.1 mlserve-id (x)\r\n", true}};
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
		char text[200];
		snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: t.test\r\n%s\r\n", rows[i].via);
		struct request_head head = parse(text);
		struct address peer = address(client.peer, 0);
		struct proxy_request request = describe(&head, &client, &peer);
		assert_int_equal(proxy_request_loops(&request), rows[i].loops);
	}
}

static void test_request_with_too_many_nominations_is_absurd(void **state)
{
	(void)state;
	char text[1000] = "GET / HTTP/1.1\r\nHost: t.test\r\nConnection: ";
	struct address peer = address(client.peer, 0);
	for (int i = 0; i < 64; i++)
		strcat(text, "a,");
	size_t length = strlen(text);
	strcpy(text + length, "\r\n\r\n");
	struct request_head head = parse(text);
	struct proxy_request request = describe(&head, &client, &peer);
	assert_false(proxy_request_is_absurd(&request));
	strcpy(text + length, "a\r\n\r\n");
	head = parse(text);
	assert_true(proxy_request_is_absurd(&request));
}

static void test_request_fits_its_room_however_long_the_parts(void **state)
{
	(void)state;
	static char text[40000], value[30000];
	struct from from = {.peer = "2001:db8:1111:2222:3333:4444:5555:6666", .port = 65535, .trusted = true};
	memset(value, 'v', sizeof value - 1);
	snprintf(text, sizeof text,
	        "POST / HTTP/1.1\r\nHost: t.test\r\nContent-Length: 1\r\nX-Forwarded-For: %s\r\nForwarded: for=a\r\n"
	        "Via: 1.1 b\r\nConnection: X-C\r\nX-C: 1\r\nA:\r\nB:\r\nX-C:\r\nC:\r\n\r\n",
	        value);
	assert_non_null(strstr(rewrite(text, &from), "\r\nA:\r\nB:\r\nC:\r\n"));
}

/* ---- answers ------------------------------------------------------------------------------- */

static void expect_lines(const char *lines, const char *wanted)
{
	char text[2000];
	struct response_head head = {.fields = {.items = fields, .capacity = FIELDS}};
	struct head_scan scan = {0};
	size_t length;
	const char *reason = "";
	snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\n%s\r\nbody", lines);
	assert_int_equal(response_scan(&scan, text, strlen(text), &limits, &length, &reason), HEAD_READY);
	assert_true(response_parse(&head, text, length, METHOD_GET, &reason));
	struct slice kept = proxy_answer_lines(&head);
	assert_int_equal(kept.length, strlen(wanted));
	assert_memory_equal(kept.length ? kept.data : "", wanted, kept.length);
	assert_string_equal(text + length, "body");
}

static void test_answer_keeps_what_is_not_of_this_hop_or_ours(void **state)
{
	(void)state;
	expect_lines("", "");
	expect_lines("Content-Length: 4\r\n", "");
	expect_lines("A: 1\r\nB:  2 \r\n", "A: 1\r\nB:  2\r\n");
	expect_lines("Server: x\r\nA: 1\r\nDate: now\r\nContent-Length: 4\r\nB:\r\nSet-Cookie: c\r\n"
	             "Keep-Alive: 3\r\nConnection: keep-alive\r\nUpgrade: h2c\r\nTrailer: T\r\nC: 3\r\n",
	        "A: 1\r\nB:\r\nSet-Cookie: c\r\nC: 3\r\n");
}

static void test_answer_loses_what_its_connection_names_wherever_it_stands(void **state)
{
	(void)state;
	expect_lines("Connection: X-Hop, close, X-End\r\nA: 1\r\nX-Hop: 1\r\nB: 2\r\nX-End: 3\r\n", "A: 1\r\nB: 2\r\n");
	expect_lines("X-Hop: 1\r\nA: 1\r\nX-Hop: 2\r\nConnection: x-hop\r\n", "A: 1\r\n");
}

static void test_answer_unfolds_old_lines(void **state)
{
	(void)state;
	expect_lines("A: 1\r\n  two\r\nServer: x\r\n y\r\nB: 3\r\n", "A: 1    two\r\nB: 3\r\n");
}

static int setup(void **state)
{
	(void)state;
	parser_setup();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_request_keeps_end_to_end_lines_as_they_came),
	        cmocka_unit_test(test_request_has_the_path_and_host_that_it_is_given),
	        cmocka_unit_test(test_request_loses_fields_of_one_hop),
	        cmocka_unit_test(test_request_loses_fields_that_connection_names_but_not_ours),
	        cmocka_unit_test(test_request_has_one_framing),
	        cmocka_unit_test(test_request_whose_chunks_are_all_here_has_a_length),
	        cmocka_unit_test(test_request_replaces_what_a_stranger_says_of_the_client),
	        cmocka_unit_test(test_request_loses_a_strangers_names_that_cgi_takes_for_ours),
	        cmocka_unit_test(test_request_adds_to_what_a_trusted_proxy_says),
	        cmocka_unit_test(test_request_writes_ipv6_in_brackets_and_quotes_where_grammar_wants_it),
	        cmocka_unit_test(test_request_of_a_unix_socket_or_without_host_is_well_formed),
	        cmocka_unit_test(test_request_loops_when_via_names_this_instance),
	        cmocka_unit_test(test_request_with_too_many_nominations_is_absurd),
	        cmocka_unit_test(test_request_fits_its_room_however_long_the_parts),
	        cmocka_unit_test(test_answer_keeps_what_is_not_of_this_hop_or_ours),
	        cmocka_unit_test(test_answer_loses_what_its_connection_names_wherever_it_stands),
	        cmocka_unit_test(test_answer_unfolds_old_lines),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
