/* Connections that became tunnels: bytes, ends, what they keep, and what is not about them. */
#include "serve/exchange.h"
#include "serving.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define REQUEST "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"

static void open_tunnel(void)
{
	client_open_tcp();
	client_send(REQUEST);
	client_until("\r\n\r\n");
	assert_true(client_has("HTTP/1.1 101 "));
	client_clear();
}

static void test_tunnel_says_what_it_is_and_nothing_of_a_body(void **state)
{
	(void)state;
	client_open_tcp();
	client_send(REQUEST);
	client_until("\r\n\r\n");
	assert_true(client_has("\r\nConnection: Upgrade\r\n"));
	assert_true(client_has("\r\nUpgrade: echo\r\n"));
	assert_false(client_has("Content-Length"));
	assert_false(client_has("Transfer-Encoding"));
}

static void test_tunnel_passes_all_bytes_at_every_split_of_the_head_and_them(void **state)
{
	static const char bytes[] = REQUEST "0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
	(void)state;
	for (size_t first = 1; first < sizeof bytes - 1; first++) {
		client_open(SOCK_STREAM);
		client_send_bytes(bytes, first);
		serving_turns(2);
		client_send_bytes(bytes + first, sizeof bytes - 1 - first);
		client_end();
		client_until_closed();
		assert_string_equal(client_body(), bytes + sizeof REQUEST - 1);
	}
}

static void test_tunnel_passes_much(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send(REQUEST);
	client_until("\r\n\r\n");
	client_clear();
	for (size_t at = 0; at < PATTERN_BYTES; at += 50000) {
		size_t length = PATTERN_BYTES - at < 50000 ? PATTERN_BYTES - at : 50000;
		client_send_bytes(test_pattern() + at, length);
		client_until_length(at + length);
	}
	assert_memory_equal(client.in, test_pattern(), PATTERN_BYTES);
}

static void test_tunnel_ends_cleanly_when_both_sides_have(void **state)
{
	(void)state;
	open_tunnel();
	client_send("abc");
	client_end();
	client_until_closed();
	assert_false(client.reset);
	assert_string_equal(client.in, "abc");
	assert_int_equal(serving.handled.last_body, MLSERVE_BODY_END);
	assert_int_equal(serving.handled.cancelled, 0);
	assert_int_equal(serving_stat(STAT_finished), 1);
	assert_int_equal(serving_stat(STAT_answers_1xx), 1);
}

static bool is_gone(void)
{
	return serving.context.connections == 0;
}

static void test_tunnel_tells_a_reset_from_an_end(void **state)
{
	(void)state;
	open_tunnel();
	client_reset();
	serving_until(is_gone);
	assert_int_equal(serving.handled.last_body, MLSERVE_BODY_FAILED);
}

static void test_tunnel_is_reset_when_it_is_cut(void **state)
{
	(void)state;
	open_tunnel();
	connections_cut(&serving.context);
	client_until_closed();
	assert_true(client.reset);
	assert_int_equal(serving.handled.cancelled, 1);
	assert_int_equal(serving_stat(STAT_cut), 1);
}

/* Nothing but the connection and the exchange: buffers and the fields of the head go back. */
static void test_tunnel_keeps_neither_head_nor_buffers_while_idle(void **state)
{
	(void)state;
	open_tunnel();
	client_send("abc");
	client_until("abc");
	serving_turns(2);
	assert_int_equal(serving.context.blocks.free_count, 2);
	assert_int_equal(serving.context.free_field_count, 1);
	client_end();
	client_until_closed();
	/* Usual requests before and after find the array again. */
	client_open(SOCK_STREAM);
	client_send("GET /whole HTTP/1.1\r\nHost: a\r\n\r\n");
	client_until("hello");
	assert_int_equal(serving.context.free_field_count, 1);
}

static void test_tunnel_outlives_every_timeout_of_the_listener(void **state)
{
	(void)state;
	serving.listener.header_timeout_ns = serving.listener.body_timeout_ns = serving.listener.send_timeout_ns =
	        serving.listener.keepalive_timeout_ns = 20 * NS_PER_MS;
	serving.listener.min_rate = 1 << 20;
	open_tunnel();
	int64_t begin_ns = clock_now_ns();
	while (clock_now_ns() - begin_ns < 150 * NS_PER_MS)
		serving_turns(1);
	client_send("abc");
	client_until("abc");
}

static void test_tunnel_hears_once_that_the_server_drains(void **state)
{
	(void)state;
	open_tunnel();
	connections_drain(&serving.context);
	serving_turns(3);
	assert_int_equal(serving.handled.more, 1);
	client_send("abc");
	client_until("abc");
	assert_int_equal(serving.handled.more, 1);
}

static void test_tunnel_is_not_opened_over_a_body_that_nobody_read(void **state)
{
	(void)state;
	client_open_tcp();
	client_send("POST /tunnel HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
	client_until_closed();
	assert_false(client_has("abc"));
	assert_int_equal(serving.handled.cancelled, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, serving_setup, serving_teardown)
	const struct CMUnitTest tests[] = {
	        TEST(test_tunnel_says_what_it_is_and_nothing_of_a_body),
	        TEST(test_tunnel_passes_all_bytes_at_every_split_of_the_head_and_them),
	        TEST(test_tunnel_passes_much),
	        TEST(test_tunnel_ends_cleanly_when_both_sides_have),
	        TEST(test_tunnel_tells_a_reset_from_an_end),
	        TEST(test_tunnel_is_reset_when_it_is_cut),
	        TEST(test_tunnel_keeps_neither_head_nor_buffers_while_idle),
	        TEST(test_tunnel_outlives_every_timeout_of_the_listener),
	        TEST(test_tunnel_hears_once_that_the_server_drains),
	        TEST(test_tunnel_is_not_opened_over_a_body_that_nobody_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
