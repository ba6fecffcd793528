/* The ends of a connection: clients that leave, draining, cutting, lingering. */
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

/* A body that ends by close: with bytes of the client unread too, the first thing it sees must not be an end. */
static void test_connection_that_cuts_by_a_reset_does_not_linger_before(void **state)
{
	(void)state;
	client_open_tcp();
	client_send("GET /torn?chunked HTTP/1.0\r\n\r\nGET /whole HTTP/1.0\r\n\r\n");
	client_until_closed();
	assert_true(client.reset);
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

/* The first answer had promised to go on when the drain came. */
static void test_connection_drain_serves_the_request_behind_an_answer_that_has_begun(void **state)
{
	(void)state;
	client_open_narrow();
	client_send("GET /pulled?n=300000 HTTP/1.1\r\nHost: a\r\n\r\nGET /whole HTTP/1.1\r\nHost: a\r\n\r\n");
	serving_turns(3);
	assert_int_equal(serving_stat(STAT_active_requests), 1);
	connections_drain(&serving.context);
	client_until_closed();
	assert_true(client_has("\r\nConnection: close\r\n"));
	assert_true(client_has("hello"));
	assert_false(client.reset);
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
	        TEST(test_connection_cancels_the_handler_when_the_client_resets),
	        TEST(test_connection_stops_the_timer_of_a_client_that_left),
	        TEST(test_connection_stops_pulling_when_writes_fail),
	        TEST(test_connection_stops_pulling_when_the_client_left_before_it_was_opened),
	        TEST(test_connection_answers_a_client_that_has_ended_its_side),
	        TEST(test_connection_closes_when_the_client_does),
	        TEST(test_connection_lingers_so_that_the_refusal_arrives),
	        TEST(test_connection_that_cuts_by_a_reset_does_not_linger_before),
	        TEST(test_connection_does_not_linger_when_nothing_can_come),
	        TEST(test_connection_drains_idle_ones_now_and_others_after_their_answer),
	        TEST(test_connection_drain_serves_the_request_that_is_already_here),
	        TEST(test_connection_drain_serves_the_request_behind_an_answer_that_has_begun),
	        TEST(test_connection_cut_ends_all_and_counts_requests),
	        TEST(test_connection_tells_a_waiting_acceptor_when_it_closes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
