/* The life of a connection: heads, pipelines, keep-alive, timeouts. */
#include "serving.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char whole[] = "GET /whole HTTP/1.1\r\nHost: a\r\n\r\n";

static bool no_connection(void)
{
	return serving.context.connections == 0;
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
	        {"TRACE /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", "405"},
	        {"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "405"},
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
		assert_true(client_has("\r\nVary: Accept\r\n"));
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

/* The one connection; NULL: it is closed. */
static struct connection *connection(void)
{
	for (uint32_t slot = 0; slot < serving.loop.capacity; slot++)
		if (serving.loop.watches[slot] && serving.loop.watches[slot] != &serving.loop.mail_watch &&
		        serving.loop.watches[slot] != &serving.context.trim)
			return (void *)serving.loop.watches[slot];
	return NULL;
}

/* As if the window of min_rate had begun ten seconds ago. */
static void end_rate_window(void)
{
	struct connection *c = connection();
	c->rate_since_ns -= 10 * NS_PER_S;
	watch_deadline(&c->stream.watch, clock_now_ns());
}

static bool rate_is_judged(void)
{
	return !connection() || connection()->rate_since_ns > clock_now_ns() - 10 * NS_PER_S;
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
	end_rate_window();
	serving_until(no_connection);
	client.fd = fd;
	assert_int_equal(serving.handled.cancelled, 1);
}

/* Of a client whose system has taken much at once nothing more is seen for long, though it reads on. */
static void test_connection_that_took_much_may_pause_longer_than_a_window_of_min_rate(void **state)
{
	int bytes = 16384;
	(void)state;
	serving.listener.min_rate = 128;
	client_open_tcp();
	assert_int_equal(setsockopt(connection()->stream.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
	assert_int_equal(setsockopt(client.fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
	client_send("GET /pulled?n=1000000 HTTP/1.1\r\nHost: a\r\n\r\n");
	int fd = client.fd;
	client.fd = -1;
	serving_turns(100);
	int windows = 0;
	for (; windows < 8 && connection(); windows++) {
		end_rate_window();
		serving_until(rate_is_judged);
	}
	/* Half a minute is paid for, from when the system took the last bytes. */
	assert_in_range(windows, 4, 6);
	client.fd = fd;
	assert_int_equal(serving_stat(STAT_cut), 1);
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
	        TEST(test_connection_that_took_much_may_pause_longer_than_a_window_of_min_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
