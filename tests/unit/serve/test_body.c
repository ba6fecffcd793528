/* Request bodies: in pieces, refused, unread, and waited for. */
#include "serving.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The request at every split gets the same answer. */
static void expect_at_every_split(const char *request, const char *body)
{
	size_t length = strlen(request);
	for (size_t split = 1; split <= length; split++) {
		client_open(SOCK_STREAM);
		client_send_bytes(request, split);
		serving_turns(2);
		client_send(request + split);
		client_until_has("HTTP/1.1 200 OK");
		client_until(body);
		assert_string_equal(client_body(), body);
	}
}

static void test_body_with_length_arrives_at_every_split(void **state)
{
	(void)state;
	expect_at_every_split("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789", "=0123456789");
	assert_int_equal(serving.handled.last_body, MLSERVE_BODY_END);
}

static void test_body_in_chunks_arrives_at_every_split(void **state)
{
	(void)state;
	expect_at_every_split("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	                      "3;x=y\r\nabc\r\n7\r\ndefghij\r\n0\r\nT: 1\r\n\r\n",
	        "=abcdefghij");
}

static void test_body_is_followed_by_the_next_request_at_every_split(void **state)
{
	static const char *const pairs[] = {
	        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbodyGET /whole HTTP/1.1\r\nHost: a\r\n\r\n",
	        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
	        "GET /whole HTTP/1.1\r\nHost: a\r\n\r\n",
	        "POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbodyGET /whole HTTP/1.1\r\nHost: "
	        "a\r\n\r\n"};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
		for (size_t split = 1; split < strlen(pairs[i]); split++) {
			client_open(SOCK_STREAM);
			client_send_bytes(pairs[i], split);
			serving_turns(2);
			client_send(pairs[i] + split);
			client_until("\r\n\r\nhello");
			assert_true(client_has(i < 2 ? "\r\n\r\n=body" : "\r\n\r\ndeaf"));
			assert_int_equal(client_count("HTTP/1.1 200 OK"), 2);
		}
	}
}

static void test_body_larger_than_any_buffer_arrives_whole(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
	client_send_bytes(test_pattern(), PATTERN_BYTES);
	client_until_has("\r\n\r\n=");
	client_until_length((size_t)(client_body() - client.in) + 1 + PATTERN_BYTES);
	assert_memory_equal(client_body() + 1, test_pattern(), PATTERN_BYTES);
}

static void test_body_of_no_bytes_ends_at_once(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
	client_until("\r\n\r\n=");
	client_clear();
	client_send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	client_until("\r\n\r\n=");
	client_clear();
	client_send("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n");
	client_until("\r\n\r\n=");
}

/* ---- refused ------------------------------------------------------------------------------ */

static void expect_refused(const char *request, const char *status)
{
	client_open(SOCK_STREAM);
	client_send(request);
	client_until_has("</html>");
	assert_int_equal(strncmp(client.in, "HTTP/1.1 ", 9), 0);
	assert_memory_equal(client.in + 9, status, 3);
	assert_true(client_has("\r\nConnection: close\r\n"));
	client_until_closed();
	assert_int_equal(client_count("HTTP/1.1"), 1);
}

static void test_body_that_is_announced_too_large_is_refused_unread(void **state)
{
	(void)state;
	expect_refused("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n", "413");
	expect_refused("POST /small HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n", "413");
	expect_refused("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n", "413");
	assert_int_equal(serving.handled.served, 0);
}

static void test_body_in_chunks_that_becomes_too_large_is_refused(void **state)
{
	(void)state;
	expect_refused(
	        "POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789x\r\n0\r\n\r\n",
	        "413");
	expect_refused("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
	               "chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n1\r\nx",
	        "413");
	assert_int_equal(serving.handled.last_body, MLSERVE_BODY_FAILED);
	expect_at_every_split("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n"
	                      "0\r\n\r\n",
	        "=0123456789"); /* just within */
}

static void test_body_in_malformed_chunks_is_refused(void **state)
{
	(void)state;
	expect_refused("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "400");
	expect_refused("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd", "400");
	expect_refused(
	        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", "400");
}

static void test_body_that_ends_early_is_refused(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		client_open(SOCK_STREAM);
		client_send(i ? "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"
		              : "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123");
		serving_turns(2);
		client_end();
		client_until_closed();
		assert_true(client_has("HTTP/1.1 400 "));
		assert_true(client_has("ended early"));
	}
}

static void test_body_that_does_not_come_in_time_gets_408(void **state)
{
	(void)state;
	serving.listener.body_timeout_ns = 30 * NS_PER_MS;
	client_open(SOCK_STREAM);
	client_send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123");
	client_until_has("</html>");
	assert_true(client_has("HTTP/1.1 408 "));
	assert_true(client_has("\r\nConnection: close\r\n"));
	client_until_closed();
	assert_int_equal(serving.handled.cancelled, 0); /* the handler itself answered */
	assert_int_equal(serving_stat(STAT_timeouts), 1);
}

/* Each byte begins the time anew. */
static void test_body_that_keeps_coming_is_waited_for(void **state)
{
	int64_t begin_ns = clock_now_ns();
	int sent = 0;
	(void)state;
	serving.listener.body_timeout_ns = 200 * NS_PER_MS;
	client_open(SOCK_STREAM);
	client_send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
	while (clock_now_ns() - begin_ns < 500 * NS_PER_MS) {
		client_send("1\r\nx\r\n");
		sent++;
		serving_turns(5);
	}
	client_send("0\r\n\r\n");
	client_until_has("\r\n\r\n=");
	client_until_length((size_t)(client_body() - client.in) + 1 + (size_t)sent);
	assert_true(client_has("HTTP/1.1 200 OK"));
}

/* ---- 100 (Continue) -------------------------------------------------------------------------- */

static const char waiting[] = "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";

static void test_body_is_asked_for_when_the_client_waits(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send(waiting);
	client_until("HTTP/1.1 100 Continue\r\n\r\n");
	client_send("body");
	client_until("\r\n\r\n=body");
	assert_int_equal(client_count("100 Continue"), 1);
	client_clear();
	client_send(waiting);
	client_send("body"); /* did not wait */
	client_until("\r\n\r\n=body");
	assert_false(client_has("100 Continue"));
}

static void test_body_that_nobody_reads_is_not_asked_for(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("POST /deaf HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	client_until("deaf");
	assert_false(client_has("100 Continue"));
	/* Whether the client now sends it or not cannot be known (RFC 9110 10.1.1). */
	assert_true(client_has("\r\nConnection: close\r\n"));
	client_until_closed();
}

static void test_body_is_not_asked_for_on_http_1_0(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	serving_turns(3);
	assert_int_equal(client.length, 0);
	client_send("body");
	client_until("\r\n\r\n=body");
}

/* ---- unread -------------------------------------------------------------------------------------- */

static void test_body_that_is_short_and_unread_is_dropped_and_the_connection_kept(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n");
	client_until("deaf");
	assert_false(client_has("Connection: close"));
	client_send_bytes(test_pattern(), 65536);
	client_send("GET /whole HTTP/1.1\r\nHost: a\r\n\r\n");
	client_until("hello");
	assert_int_equal(client_count("HTTP/1.1 200 OK"), 2);
}

static void test_body_that_is_long_or_of_unknown_length_and_unread_ends_the_connection(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		client_open_tcp();
		client_send(i ? "POST /deaf HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		              : "POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n");
		client_until("deaf");
		assert_true(client_has("\r\nConnection: close\r\n"));
		client_send_bytes(test_pattern(), 65000); /* lingering: no reset */
		client_until_closed();
		assert_false(client.reset);
	}
}

static void test_body_that_is_unread_and_never_comes_ends_the_connection(void **state)
{
	(void)state;
	serving.listener.body_timeout_ns = 30 * NS_PER_MS;
	client_open(SOCK_STREAM);
	client_send("POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
	client_until_closed();
	assert_true(client_has("\r\n\r\ndeaf"));
	assert_int_equal(client_count("HTTP/1.1"), 1);
	assert_int_equal(serving_stat(STAT_finished), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, serving_setup, serving_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_body_with_length_arrives_at_every_split),
	        TEST(test_body_in_chunks_arrives_at_every_split),
	        TEST(test_body_is_followed_by_the_next_request_at_every_split),
	        TEST(test_body_larger_than_any_buffer_arrives_whole),
	        TEST(test_body_of_no_bytes_ends_at_once),
	        TEST(test_body_that_is_announced_too_large_is_refused_unread),
	        TEST(test_body_in_chunks_that_becomes_too_large_is_refused),
	        TEST(test_body_in_malformed_chunks_is_refused),
	        TEST(test_body_that_ends_early_is_refused),
	        TEST(test_body_that_does_not_come_in_time_gets_408),
	        TEST(test_body_that_keeps_coming_is_waited_for),
	        TEST(test_body_is_asked_for_when_the_client_waits),
	        TEST(test_body_that_nobody_reads_is_not_asked_for),
	        TEST(test_body_is_not_asked_for_on_http_1_0),
	        TEST(test_body_that_is_short_and_unread_is_dropped_and_the_connection_kept),
	        TEST(test_body_that_is_long_or_of_unknown_length_and_unread_ends_the_connection),
	        TEST(test_body_that_is_unread_and_never_comes_ends_the_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
