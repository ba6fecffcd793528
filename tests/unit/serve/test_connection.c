/* The life of a connection: heads, pipelines, keep-alive, timeouts, and its several ends. */
#include "serving.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char whole[] = "GET /whole HTTP/1.1\r\nHost: a\r\n\r\n";

static bool no_connection(void)
{
	return serving.context.connections == 0;
}

static bool one_cancelled(void)
{
	return serving.handled.cancelled == 1;
}

/* ---- heads and pipelines ------------------------------------------------------------------ */

static void test_connection_answers_alike_however_its_requests_are_split(void **state)
{
	static const char two[] = "GET /whole?a HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /later HTTP/1.1\r\nHost: a\r\n\r\n";
	(void)state;
	for (size_t split = 1; split < sizeof two - 1; split++) {
		client_open(SOCK_STREAM);
		client_send_bytes(two, split);
		serving_turns(2);
		client_send(two + split);
		client_until("later");
		assert_int_equal(client_count("HTTP/1.1 200 OK\r\n"), 2);
		assert_int_equal(client_count("\r\n\r\nhello"), 1);
	}
	assert_int_equal(serving.handled.served, 2 * (int)(sizeof two - 2));
}

static void test_connection_takes_a_request_byte_by_byte(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	for (const char *at = whole; *at; at++) {
		client_send_bytes(at, 1);
		serving_turns(2);
	}
	client_until("hello");
}

static void test_connection_answers_a_pipeline_in_order_with_few_writes(void **state)
{
	char requests[4096] = "";
	(void)state;
	for (int i = 0; i < 40; i++)
		snprintf(requests + strlen(requests), sizeof requests - strlen(requests),
		        "GET /whole?status=2%02d HTTP/1.1\r\nHost: a\r\n\r\n", i + 10);
	client_open(SOCK_SEQPACKET); /* keeps the server's writes apart */
	client_send(requests);
	client_until_has("HTTP/1.1 249");
	const char *at = client.in;
	for (int i = 0; i < 40; i++) {
		char line[16];
		snprintf(line, sizeof line, "HTTP/1.1 2%02d ", i + 10);
		at = strstr(at, line);
		assert_non_null(at);
	}
	assert_in_range(client.pieces, 1, 2);
}

static void test_connection_answers_a_pipeline_of_mixed_ways_in_order(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		i == 1 ? client_open_narrow() : i == 2 ? client_open_tcp() : client_open(SOCK_STREAM);
		client_send("GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /memory?n=50000 HTTP/1.1\r\nHost: a\r\n\r\n"
		            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz"
		            "GET /pulled?n=20000 HTTP/1.1\r\nHost: a\r\n\r\nHEAD /file HTTP/1.1\r\nHost: a\r\n\r\n"
		            "GET /whole HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /whole HTTP/1.1\r\n");
		client_until("hello");
		const char *later = strstr(client.in, "\r\n\r\nlater"), *echo = strstr(client.in, "\r\n\r\n=xyz");
		assert_non_null(later);
		assert_true(echo > later + 50000);
		assert_int_equal(client_count("HTTP/1.1 200 OK"), 6);
		assert_int_equal(client_count("Connection: close"), 1);
		client_until_closed();
	}
}

static void test_connection_counts_a_waiting_client_as_idle_and_keeps_no_buffer_for_it(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	assert_int_equal(serving_stat(STAT_idle), 1);
	client_send("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n");
	serving_turns(2);
	assert_int_equal(serving_stat(STAT_idle), 0);
	assert_int_equal(serving_stat(STAT_active_requests), 1);
	client_close();
	client_open(SOCK_STREAM);
	client_send(whole);
	client_until("hello");
	assert_int_equal(serving_stat(STAT_idle), 1);
	assert_true(serving.context.blocks.free_count > 0);
}

static void test_connection_refuses_what_is_no_request(void **state)
{
	static const struct {
		const char *bytes, *status;
	} cases[] = {
	        {"GET / HTTP/1.1\r\n\r\n", "400"},
	        {"\x16\x03\x01\x02", "400"},
	        {"GET /whole HTTP/1.1\nHost: a\n\n", "400"},
	        {"GET /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"},
	        {"GET /../x HTTP/1.1\r\nHost: a\r\n\r\n", "400"},
	        {"BREW /whole HTTP/1.1\r\nHost: a\r\n\r\n", "501"},
	        {"TRACE /whole HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
	        {"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
	        {"PUT /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "405"},
	        {"GET /whole HTTP/3.0\r\nHost: a\r\n\r\n", "505"},
	};
	char line[16];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		client_open(SOCK_STREAM);
		client_send(cases[i].bytes);
		client_until_has("</html>");
		snprintf(line, sizeof line, "HTTP/1.1 %s ", cases[i].status);
		assert_int_equal(strncmp(client.in, line, strlen(line)), 0);
		assert_int_equal(client_has("\r\nAllow: "), strcmp(cases[i].status, "405") == 0);
		assert_true(client_has("\r\nX-Request-Id: "));
	}
	assert_int_equal(serving.handled.served, 0);
}

static void test_connection_refuses_heads_that_are_too_large(void **state)
{
	static char long_one[70000];
	(void)state;
	memset(long_one, 'a', sizeof long_one - 1);
	memcpy(long_one, "GET /", 5);
	client_open(SOCK_STREAM);
	client_send(long_one);
	client_until_has("</html>");
	assert_true(client_has("HTTP/1.1 414 "));
	memcpy(long_one, "GET /whole HTTP/1.1\r\nHost: a\r\nX: ", 33);
	client_open(SOCK_STREAM);
	client_send(long_one);
	client_until_has("</html>");
	assert_true(client_has("HTTP/1.1 431 "));
	/* Just within: longer than a buffer block. */
	memcpy(long_one + 30000, "\r\n\r\n", 5);
	client_open(SOCK_STREAM);
	client_send(long_one);
	client_until("hello");
	client_clear();
	client_send(long_one);
	client_send(whole);
	client_until_has("hello");
	client_until("hello");
}

static void test_connection_answers_options_of_the_server(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
	client_until("\r\n\r\n");
	assert_true(client_has("HTTP/1.1 204 "));
	assert_true(client_has("\r\nAllow: GET, "));
}

static void test_connection_makes_error_pages_of_the_kind_that_is_asked_for(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("GET /nowhere HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n");
	client_until("\"}\n");
	assert_true(client_has("\r\nContent-Type: application/json\r\n"));
	assert_int_equal(strncmp(client_body(), "{\"status\":404,", 14), 0);
	/* The id in the field is that of the page. */
	const char *field = strstr(client.in, "X-Request-Id: ") + 14,
	           *page = strstr(client_body(), "\"request_id\":\"") + 14;
	assert_memory_equal(field, page, REQUEST_ID_BYTES);
}

/* ---- how long it is kept --------------------------------------------------------------------- */

static void test_connection_closes_after_keepalive_requests(void **state)
{
	(void)state;
	serving.listener.keepalive_requests = 2;
	client_open(SOCK_STREAM);
	client_send(whole);
	client_until("hello");
	assert_false(client_has("Connection: close"));
	client_send(whole);
	client_until_closed();
	assert_int_equal(client_count("hello"), 2);
	assert_int_equal(client_count("\r\nConnection: close\r\n"), 1);
}

static void test_connection_that_sends_nothing_is_closed_without_a_word(void **state)
{
	(void)state;
	serving.listener.header_timeout_ns = 30 * NS_PER_MS;
	client_open(SOCK_STREAM);
	client_until_closed();
	assert_int_equal(client.length, 0);
	assert_int_equal(serving_stat(STAT_timeouts), 1);
}

static void test_connection_that_sends_half_a_head_gets_408(void **state)
{
	int64_t begin_ns = clock_now_ns();
	(void)state;
	serving.listener.header_timeout_ns = 30 * NS_PER_MS;
	client_open(SOCK_STREAM);
	client_send("GET /whole HTTP/1.1\r\nHo");
	client_until_has("</html>");
	assert_true(clock_now_ns() - begin_ns >= 30 * NS_PER_MS);
	assert_true(client_has("HTTP/1.1 408 "));
	assert_true(client_has("\r\nConnection: close\r\n"));
	client_until_closed();
}

/* One byte now and then does not buy more time: the head has to be whole in time. */
static void test_connection_that_drips_its_head_gets_408(void **state)
{
	int64_t begin_ns = clock_now_ns();
	(void)state;
	serving.listener.header_timeout_ns = 60 * NS_PER_MS;
	client_open(SOCK_STREAM);
	client_send("GET /whole HTTP/1.1\r\nX: ");
	while (!client_has("408") && clock_now_ns() - begin_ns < 10 * NS_PER_S) {
		client_send("a");
		serving_turns(20);
	}
	assert_true(client_has("HTTP/1.1 408 "));
}

static void test_connection_that_stays_idle_is_closed_after_keepalive_timeout(void **state)
{
	(void)state;
	serving.listener.keepalive_timeout_ns = 30 * NS_PER_MS;
	client_open(SOCK_STREAM);
	client_send(whole);
	client_until("hello");
	int64_t idle_ns = clock_now_ns();
	client_until_closed();
	assert_true(clock_now_ns() - idle_ns >= 20 * NS_PER_MS);
	assert_int_equal(client_count("HTTP/1.1"), 1);
}

static void test_connection_whose_client_does_not_read_is_closed_after_send_timeout(void **state)
{
	(void)state;
	serving.listener.send_timeout_ns = 50 * NS_PER_MS;
	client_open_narrow();
	int fd = client.fd;
	client_send("GET /pulled?n=1000000 HTTP/1.1\r\nHost: a\r\n\r\n");
	client.fd = -1;
	serving_until(no_connection);
	client.fd = fd;
	client_until_closed();
	assert_int_equal(serving.handled.cancelled, 1);
	assert_int_equal(serving_stat(STAT_timeouts), 1);
}

static void test_connection_that_reads_too_slowly_is_closed_by_min_rate(void **state)
{
	(void)state;
	serving.listener.min_rate = 1 << 20;
	client_open_narrow();
	client_send("GET /pulled?n=1000000 HTTP/1.1\r\nHost: a\r\n\r\n");
	int fd = client.fd;
	client.fd = -1;
	serving_turns(3);
	/* The window of ten seconds is over: as if it had begun ten seconds ago. */
	for (uint32_t slot = 0; slot < serving.loop.capacity; slot++)
		if (serving.loop.watches[slot] && serving.loop.watches[slot] != &serving.loop.mail_watch) {
			struct connection *c = (void *)serving.loop.watches[slot];
			c->rate_since_ns -= 10 * NS_PER_S;
			watch_deadline(&c->stream.watch, clock_now_ns());
		}
	serving_until(no_connection);
	client.fd = fd;
	assert_int_equal(serving.handled.cancelled, 1);
}

/* ---- clients that leave ------------------------------------------------------------------------ */

static void test_connection_cancels_the_handler_when_the_client_resets(void **state)
{
	(void)state;
	client_open_tcp();
	client_send("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n");
	serving_turns(3);
	assert_int_equal(serving.handled.served, 1);
	client_reset();
	serving_until(one_cancelled);
	serving_turns(1);
	assert_int_equal(serving.context.connections, 0);
	assert_int_equal(serving_stat(STAT_client_aborts), 1);
}

static void test_connection_stops_the_timer_of_a_client_that_left(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("GET /later?us=2000 HTTP/1.1\r\nHost: a\r\n\r\n");
	client_close();
	serving_until(one_cancelled);
	assert_int_equal(serving_stat(STAT_pending_tasks), 0);
	int64_t begin_ns = clock_now_ns();
	while (clock_now_ns() - begin_ns < 5 * NS_PER_MS)
		serving_turns(1);
	assert_int_equal(serving.handled.timed, 0);
}

/* The client has left before the answer's first byte, and in its midst; each write of the handler fails. */
static void test_connection_stops_pulling_when_writes_fail(void **state)
{
	static const char *const targets[] = {"/pulled?n=1000000&piece=8192", "/pulled?n=1000000&piece=100",
	        "/pulled?n=1000000&piece=8192&chunked", "/pulled?n=1000000&piece=100&chunked"};
	char request[128];
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_COUNT(targets); i++) {
		snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", targets[i / 2]);
		client_open_narrow();
		client_send(request);
		if (i % 2)
			client_until_length(20000);
		client_close();
		serving_until(no_connection);
		assert_int_equal(serving.handled.cancelled, (int)i + 1);
	}
	assert_int_equal(serving_stat(STAT_client_aborts), 2 * ARRAY_COUNT(targets));
}

/* Its request is here already when the connection is opened, and the client is gone: no event tells, only the write. */
static void test_connection_stops_pulling_when_the_client_left_before_it_was_opened(void **state)
{
	static const char request[] = "GET /pulled?n=1000000&piece=8192 HTTP/1.1\r\nHost: a\r\n\r\n";
	struct address peer = {.family = AF_UNIX};
	int fds[2];
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(send(fds[1], request, sizeof request - 1, 0), sizeof request - 1);
	client.fd = fds[1];
	client_close();
	connection_open(&serving.context, &serving.listener, fds[0], &peer);
	serving_until(no_connection);
	assert_int_equal(serving.handled.cancelled, 1);
	assert_int_equal(serving_stat(STAT_client_aborts), 1);
}

static void test_connection_answers_a_client_that_has_ended_its_side(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		i ? client_open_tcp() : client_open(SOCK_STREAM);
		client_send("GET /later?us=5000 HTTP/1.1\r\nHost: a\r\n\r\n");
		client_end();
		client_until_closed();
		assert_true(client_has("\r\n\r\nlater"));
		assert_false(client.reset);
	}
	assert_int_equal(serving_stat(STAT_client_aborts), 0);
}

static void test_connection_closes_when_the_client_does(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send(whole);
	client_until("hello");
	client_close();
	serving_until(no_connection);
	client_open(SOCK_STREAM);
	client_send("GET /who");
	client_end();
	client_until_closed();
	assert_int_equal(client.length, 0);
}

/* ---- the end ---------------------------------------------------------------------------------------- */

static void test_connection_lingers_so_that_the_refusal_arrives(void **state)
{
	static char rest[300000];
	(void)state;
	client_open_tcp();
	client_send("POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
	client_until_has("</html>");
	client_send_bytes(rest, sizeof rest); /* the server takes it all, though it has answered */
	client_until_closed();
	assert_true(client_has("HTTP/1.1 404 "));
	assert_true(client_has("Connection: close"));
	assert_false(client.reset);
	assert_int_equal(serving.context.connections, 1); /* until the client closes */
	client_close();
	serving_until(no_connection);
}

static void test_connection_does_not_linger_when_nothing_can_come(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("GET /whole HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	client_until_closed();
	assert_true(client_has("\r\nConnection: close\r\n"));
	assert_true(client_has("hello"));
	assert_int_equal(serving.context.connections, 0);
}

static void test_connection_drains_idle_ones_now_and_others_after_their_answer(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send(whole);
	client_until("hello");
	connections_drain(&serving.context);
	client_until_closed();
	client_close(); /* a request that crosses the end is not to reset the last answer */
	serving_until(no_connection);
	serving.context.draining = false;
	client_open(SOCK_STREAM);
	client_send("GET /later?us=20000 HTTP/1.1\r\nHost: a\r\n\r\n");
	serving_turns(3);
	connections_drain(&serving.context);
	client_until_closed();
	assert_true(client_has("\r\nConnection: close\r\n"));
	assert_true(client_has("\r\n\r\nlater"));
}

/* Sent before the drain, read after it: answered, not reset. */
static void test_connection_drain_serves_the_request_that_is_already_here(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send(whole);
	client_until("hello");
	client_clear();
	client_send(whole);
	connections_drain(&serving.context);
	client_until_closed();
	assert_true(client_has("hello"));
	assert_true(client_has("\r\nConnection: close\r\n"));
}

static void test_connection_cut_ends_all_and_counts_requests(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("GET /silent HTTP/1.1\r\nHost: a\r\n\r\n");
	serving_turns(3);
	int fd = client.fd;
	client.fd = -1;
	client_open(SOCK_STREAM);
	connections_cut(&serving.context);
	assert_int_equal(serving.context.connections, 0);
	assert_int_equal(serving.handled.cancelled, 1);
	assert_int_equal(serving_stat(STAT_cut), 1);
	client_until_closed();
	client_close();
	client.fd = fd;
}

static int wakes;

static void count_wake(struct server_view *view)
{
	assert_ptr_equal(view, &serving.view);
	wakes++;
}

static void test_connection_tells_a_waiting_acceptor_when_it_closes(void **state)
{
	(void)state;
	wakes = 0;
	serving.view.wake_acceptor = count_wake;
	client_open(SOCK_STREAM);
	atomic_store(&serving.view.acceptor_waits, true);
	client_close();
	serving_until(no_connection);
	assert_int_equal(wakes, 1);
	assert_false(atomic_load(&serving.view.acceptor_waits));
	assert_int_equal(atomic_load(&serving.loop_view.closed), 1);
	client_open(SOCK_STREAM);
	client_close();
	serving_until(no_connection);
	assert_int_equal(wakes, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, serving_setup, serving_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_connection_answers_alike_however_its_requests_are_split),
	        TEST(test_connection_takes_a_request_byte_by_byte),
	        TEST(test_connection_answers_a_pipeline_in_order_with_few_writes),
	        TEST(test_connection_answers_a_pipeline_of_mixed_ways_in_order),
	        TEST(test_connection_counts_a_waiting_client_as_idle_and_keeps_no_buffer_for_it),
	        TEST(test_connection_refuses_what_is_no_request),
	        TEST(test_connection_refuses_heads_that_are_too_large),
	        TEST(test_connection_answers_options_of_the_server),
	        TEST(test_connection_makes_error_pages_of_the_kind_that_is_asked_for),
	        TEST(test_connection_closes_after_keepalive_requests),
	        TEST(test_connection_that_sends_nothing_is_closed_without_a_word),
	        TEST(test_connection_that_sends_half_a_head_gets_408),
	        TEST(test_connection_that_drips_its_head_gets_408),
	        TEST(test_connection_that_stays_idle_is_closed_after_keepalive_timeout),
	        TEST(test_connection_whose_client_does_not_read_is_closed_after_send_timeout),
	        TEST(test_connection_that_reads_too_slowly_is_closed_by_min_rate),
	        TEST(test_connection_cancels_the_handler_when_the_client_resets),
	        TEST(test_connection_stops_the_timer_of_a_client_that_left),
	        TEST(test_connection_stops_pulling_when_writes_fail),
	        TEST(test_connection_stops_pulling_when_the_client_left_before_it_was_opened),
	        TEST(test_connection_answers_a_client_that_has_ended_its_side),
	        TEST(test_connection_closes_when_the_client_does),
	        TEST(test_connection_lingers_so_that_the_refusal_arrives),
	        TEST(test_connection_does_not_linger_when_nothing_can_come),
	        TEST(test_connection_drains_idle_ones_now_and_others_after_their_answer),
	        TEST(test_connection_drain_serves_the_request_that_is_already_here),
	        TEST(test_connection_cut_ends_all_and_counts_requests),
	        TEST(test_connection_tells_a_waiting_acceptor_when_it_closes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
