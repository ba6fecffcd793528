/* Ways of answering, as the client sees them. */
#include "serving.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void get(const char *target)
{
	char request[512];
	snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
	client_send(request);
}

/* An answer with Content-Length and this part of the pattern as its body has come. */
static void expect_pattern(size_t from, size_t length)
{
	char field[64];
	client_until_has("\r\n\r\n");
	client_until_length((size_t)(client_body() - client.in) + length);
	assert_int_equal(client.length, (size_t)(client_body() - client.in) + length);
	snprintf(field, sizeof field, "\r\nContent-Length: %zu\r\n", length);
	assert_true(client_has(field));
	assert_memory_equal(client_body(), test_pattern() + from, length);
}

/* Takes the chunks apart in place; returns the body's length. */
static size_t dechunk(char *at)
{
	char *to = at, *begin = at;
	for (;;) {
		char *end;
		size_t size = strtoul(at, &end, 16);
		assert_true(end > at && memcmp(end, "\r\n", 2) == 0);
		at = end + 2;
		if (size == 0)
			break;
		memmove(to, at, size);
		to += size;
		assert_memory_equal(at + size, "\r\n", 2);
		at += size + 2;
	}
	return (size_t)(to - begin);
}

static void test_exchange_answers_at_once(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	get("/whole");
	client_until("hello");
	assert_int_equal(strncmp(client.in, "HTTP/1.1 200 OK\r\nServer: mlserve\r\nDate: ", 40), 0);
	assert_true(client_has("\r\nContent-Length: 5\r\n"));
	assert_true(client_has("\r\nContent-Type: text/plain\r\n"));
	assert_false(client_has("Connection:"));
	assert_string_equal(client_body(), "hello");
	get("/whole");
	client_until_length(2 * client.length);
	assert_int_equal(client_count("HTTP/1.1 200 OK"), 2);
	assert_int_equal(serving_stat(STAT_requests), 2);
	assert_int_equal(serving_stat(STAT_answers_2xx), 2);
	assert_int_equal(serving_stat(STAT_finished), 2);
	assert_int_equal(serving_stat(STAT_idle), 1);
	assert_int_equal(serving_stat(STAT_bytes_out), client.length);
	assert_int_equal(serving.handled.attached, 1);
}

static void test_exchange_answers_later_by_its_one_timer(void **state)
{
	int64_t begin_ns = clock_now_ns();
	(void)state;
	client_open(SOCK_STREAM);
	get("/later?us=20000");
	serving_turns(3);
	assert_int_equal(client.length, 0);
	assert_int_equal(serving_stat(STAT_pending_tasks), 1);
	assert_int_equal(serving_stat(STAT_active_requests), 1);
	client_until("later");
	assert_true(clock_now_ns() - begin_ns >= 20 * NS_PER_MS);
	assert_int_equal(serving.handled.timed, 1);
	assert_int_equal(serving_stat(STAT_pending_tasks), 0);
	get("/later?us=0");
	client_until_length(2 * client.length);
	assert_int_equal(serving.handled.timed, 2);
}

static void test_exchange_writes_what_is_pulled_whatever_the_pieces(void **state)
{
	static const size_t pieces[] = {1, 7, 4095, 4096, 16384, 100000};
	char target[64];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
		snprintf(target, sizeof target, "/pulled?n=100000&piece=%zu", pieces[i]);
		client_open_narrow();
		get(target);
		expect_pattern(0, 100000);
		client_clear();
		strcat(target, "&chunked");
		get(target);
		client_until("0\r\n\r\n");
		assert_true(client_has("\r\nTransfer-Encoding: chunked\r\n"));
		assert_false(client_has("Content-Length"));
		assert_int_equal(dechunk(strstr(client.in, "\r\n\r\n") + 4), 100000);
		assert_memory_equal(client_body(), test_pattern(), 100000);
	}
	assert_true(serving.handled.more > 12);
}

static void test_exchange_pulls_only_when_the_socket_has_room(void **state)
{
	(void)state;
	client_open_narrow();
	get("/pulled?n=1000000&piece=8192");
	while (serving.handled.served == 0)
		serving_turns(1);
	int fd = client.fd;
	client.fd = -1; /* the client does not read now */
	serving_turns(3);
	int more = serving.handled.more;
	serving_turns(50);
	assert_int_equal(serving.handled.more, more);
	client.fd = fd;
	expect_pattern(0, 1000000);
}

static void test_exchange_sends_memory_and_files_from_where_they_lie(void **state)
{
	static const char *const targets[] = {"/memory?n=", "/file?n="};
	static const size_t sizes[] = {0, 1, 4096, 4097, 70000, PATTERN_BYTES};
	char target[64];
	int done = 0;
	(void)state;
	for (size_t t = 0; t < ARRAY_COUNT(targets); t++) {
		for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
			snprintf(target, sizeof target, "%s%zu", targets[t], sizes[i]);
			client_open_narrow();
			get(target);
			expect_pattern(0, sizes[i]);
			serving_turns(2);
			assert_int_equal(serving.handled.done, ++done);
		}
	}
	client_open(SOCK_STREAM);
	get("/file?n=50000&from=777");
	expect_pattern(777, 50000 - 777);
}

static void test_exchange_lets_go_of_segments_when_the_client_leaves(void **state)
{
	(void)state;
	client_open_narrow();
	get("/memory?n=1000000");
	client_until_has("\r\n\r\n");
	assert_int_equal(serving.handled.done, 0);
	client_close();
	serving_turns(3);
	assert_int_equal(serving.handled.done, 1);
	client_open_narrow();
	get("/file?n=1000000");
	client_until_has("\r\n\r\n");
	client_close();
	serving_turns(3);
	assert_int_equal(serving.handled.done, 2);
	assert_int_equal(serving.context.connections, 0);
}

static void test_exchange_cuts_the_answer_of_a_file_that_became_shorter(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	get("/file?n=50000&has=20000");
	client_until_closed();
	assert_true(client_has("Content-Length: 50000"));
	assert_memory_equal(client_body(), test_pattern(), 20000);
	assert_int_equal(client.length - (size_t)(client_body() - client.in), 20000);
	assert_int_equal(serving.handled.done, 1);
	assert_int_equal(serving.context.connections, 0);
}

static void test_exchange_cuts_so_that_the_client_can_tell(void **state)
{
	static const char *const targets[] = {"/torn", "/torn?short", "/torn?chunked", "/torn?early"};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(targets); i++) {
		client_open(SOCK_STREAM);
		get(targets[i]);
		client_until_closed();
		assert_int_equal(client_has("abc"), i < 3);
		assert_int_equal(client.length > 0, i < 3);
		assert_false(i < 3 && strstr(client_body(), "0\r\n\r\n"));
		client_close();
		serving_turns(2);
		assert_int_equal(serving.context.connections, 0);
	}
	assert_int_equal(serving.handled.cancelled, 0); /* the handlers themselves ended them */
	assert_int_equal(serving_stat(STAT_failed), 4);
}

static void test_exchange_drops_what_is_written_beyond_the_announced_length(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	get("/greedy");
	expect_pattern(0, 5);
	client_clear();
	get("/whole");
	client_until("hello");
}

static void test_exchange_sends_no_body_to_head_but_the_same_head(void **state)
{
	static const char *const targets[] = {"/whole", "/pulled?n=50000", "/pulled?n=50000&chunked", "/memory?n=9999",
	        "/file?n=9999", "/later", "/torn?short", "/nowhere"};
	static const char *const lengths[] = {"5", "50000", NULL, "9999", "9999", "5", "10", NULL};
	char text[128];
	(void)state;
	client_open(SOCK_STREAM);
	for (size_t i = 0; i < ARRAY_COUNT(targets); i++) {
		client_clear();
		snprintf(text, sizeof text, "HEAD %s HTTP/1.1\r\nHost: a\r\n\r\n", targets[i]);
		client_send(text);
		client_until("\r\n\r\n");
		serving_turns(3);
		assert_string_equal(client_body(), "");
		snprintf(text, sizeof text, "\r\nContent-Length: %s\r\n", lengths[i] ? lengths[i] : "");
		assert_true(!lengths[i] || client_has(text));
		assert_false(client.closed);
	}
	assert_int_equal(serving.handled.done, 2);
}

static void test_exchange_sends_no_body_with_204_and_304(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	get("/whole?status=204");
	get("/whole?status=304");
	get("/whole");
	client_until("hello");
	assert_int_equal(client_count("HTTP/1.1 "), 3);
	assert_int_equal(client_count("hello"), 1);
	assert_int_equal(client_count("Content-Length"), 1);
}

static void test_exchange_serves_http_1_0_as_it_asks(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	client_send("GET /whole HTTP/1.0\r\n\r\n");
	client_until_closed();
	assert_true(client_has("HTTP/1.1 200 OK"));
	assert_true(client_has("\r\nConnection: close\r\n"));
	client_open(SOCK_STREAM);
	client_send("GET /whole HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	client_until("hello");
	assert_true(client_has("\r\nConnection: keep-alive\r\n"));
	client_clear();
	client_send("GET /pulled?n=30000&chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	client_until_closed(); /* length unknown: only the end can tell */
	assert_true(client_has("\r\nConnection: close\r\n"));
	assert_false(client_has("Transfer-Encoding"));
	assert_int_equal(client.length - (size_t)(client_body() - client.in), 30000);
	assert_memory_equal(client_body(), test_pattern(), 30000);
	client_open(SOCK_STREAM);
	client_send("GET /fields HTTP/1.0\r\n\r\n");
	client_until_closed();
	assert_false(client_has("103")); /* RFC 9110 15.2 */
}

static void test_exchange_refuses_fields_that_are_the_servers_own_or_split_lines(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	get("/fields");
	client_until("0\r\nX-Trailer: t\r\n\r\n");
	assert_int_equal(strncmp(client.in, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK", 54), 0);
	assert_true(client_has("\r\nX-Good: yes\r\n"));
	assert_true(client_has("\r\nX-Empty: \r\n"));
	assert_true(client_has("\r\nX-One: 1\r\nX-Two: 2\r\n"));
	assert_false(client_has("Evil"));
	assert_false(client_has("gzip"));
	assert_false(client_has("content-LENGTH"));
	assert_false(client_has("Connection"));
	assert_true(client_has("\r\n\r\n4\r\nbody\r\n"));
	assert_int_equal(serving_stat(STAT_answers_1xx), 1);
}

static void test_exchange_answers_unknown_statuses_with_a_line_of_their_own(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	get("/whole?status=299");
	client_until("hello");
	assert_int_equal(strncmp(client.in, "HTTP/1.1 299 ", 13), 0);
}

/* ---- the executor -------------------------------------------------------------------------------- */

static void test_exchange_runs_work_elsewhere_and_answers_here(void **state)
{
	int error;
	(void)state;
	serving.view.executor = executor_create(2, 64, &error);
	client_open(SOCK_STREAM);
	for (int i = 0; i < 50; i++) {
		client_clear();
		get("/run");
		client_until("\r\n\r\n42");
	}
	assert_int_equal(serving.handled.then, 50);
	assert_int_equal(serving.handled.dropped, 0);
}

static void test_exchange_drops_work_whose_client_left(void **state)
{
	int error;
	(void)state;
	serving.view.executor = executor_create(1, 64, &error);
	for (int i = 0; i < 100; i++) {
		client_open(SOCK_STREAM);
		get("/run");
		client_close();
		serving_turns(2);
	}
	while (serving_stat(STAT_pending_tasks))
		serving_turns(1);
	/* Whether it had begun or not: each piece of work comes back once, to an exchange or to nobody. */
	assert_int_equal(serving.handled.then + serving.handled.dropped, serving.handled.served);
	assert_int_equal(serving.handled.cancelled, serving.handled.dropped);
	assert_int_equal(serving.context.connections, 0);
}

static void test_exchange_says_when_the_executor_is_full(void **state)
{
	int error;
	(void)state;
	serving.view.executor = executor_create(1, 0, &error);
	client_open(SOCK_STREAM);
	get("/run");
	client_until_has("</html>");
	assert_true(client_has("HTTP/1.1 503 Service Unavailable"));
	assert_true(client_has("\r\nRetry-After: 1\r\n"));
	assert_int_equal(serving.handled.then + serving.handled.dropped, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, serving_setup, serving_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_exchange_answers_at_once),
	        TEST(test_exchange_answers_later_by_its_one_timer),
	        TEST(test_exchange_writes_what_is_pulled_whatever_the_pieces),
	        TEST(test_exchange_pulls_only_when_the_socket_has_room),
	        TEST(test_exchange_sends_memory_and_files_from_where_they_lie),
	        TEST(test_exchange_lets_go_of_segments_when_the_client_leaves),
	        TEST(test_exchange_cuts_the_answer_of_a_file_that_became_shorter),
	        TEST(test_exchange_cuts_so_that_the_client_can_tell),
	        TEST(test_exchange_drops_what_is_written_beyond_the_announced_length),
	        TEST(test_exchange_sends_no_body_to_head_but_the_same_head),
	        TEST(test_exchange_sends_no_body_with_204_and_304),
	        TEST(test_exchange_serves_http_1_0_as_it_asks),
	        TEST(test_exchange_refuses_fields_that_are_the_servers_own_or_split_lines),
	        TEST(test_exchange_answers_unknown_statuses_with_a_line_of_their_own),
	        TEST(test_exchange_runs_work_elsewhere_and_answers_here),
	        TEST(test_exchange_drops_work_whose_client_left),
	        TEST(test_exchange_says_when_the_executor_is_full),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
