/* Answers in every framing and every split, and which connections are kept after them. */
#include "base/check.h"
#include "base/fd.h"
#include "upstream/bench.h"
#include <string.h>
#include <unistd.h>

/* ---- reading one answer ---------------------------------------------------------------------- */

struct answer {
	struct link *link;
	enum method to;
	bool head_is_done;
	enum link_result result; /* of the last call */
	unsigned status;
	char body[4000];
	size_t body_length;
};

/* Reads on; true when the answer ended one way or another. */
static bool read_on(struct bench *b, void *argument)
{
	struct answer *a = argument;
	struct field fields[LINK_HEAD_FIELDS];
	struct response_head head = {.fields = {.items = fields, .capacity = LINK_HEAD_FIELDS}};
	struct slice bytes;
	size_t length;
	(void)b;
	while (!a->head_is_done && (a->result = link_head(a->link, a->to, &head, &length)) == LINK_DONE) {
		link_take_head(a->link, a->to, &head, length);
		a->status = head.status;
		a->head_is_done = head.status >= 200;
	}
	if (!a->head_is_done)
		return a->result == LINK_FAILED;
	while ((a->result = link_body(a->link, &bytes)) == LINK_DONE) {
		/* Taken in two steps, as a slow client does. */
		size_t part = bytes.length > 1 ? bytes.length / 2 : 1;
		assert_true(a->body_length + part <= sizeof a->body);
		memcpy(a->body + a->body_length, bytes.data, part);
		a->body_length += part;
		link_take_body(a->link, part);
	}
	return a->result != LINK_AGAIN;
}

struct expected {
	const char *bytes;
	bool close; /* after the bytes */
	enum method to;
	enum link_result result;
	unsigned status;
	const char *body;
	bool kept;
};

static bool is_read(struct bench *b, void *argument)
{
	struct answer *a = argument;
	(void)b;
	/* What was sent so far is looked at before more is sent. */
	return read_on(b, a) || a->link->stream.readable == false;
}

/* Sends the answer split at `split`, and holds that all is as expected. */
static void expect_split(struct bench *b, const struct expected *e, size_t split)
{
	struct answer a = {.link = bench_begin(b, 0), .to = e->to};
	size_t length = strlen(e->bytes);
	int fd = bench_accept(b, 0);
	bench_say(fd, e->bytes, split);
	bench_settle(b);
	bench_turn_until(b, is_read, &a);
	if (length > split)
		bench_say(fd, e->bytes + split, length - split);
	if (e->close)
		fd_close(&fd);
	bench_settle(b);
	if (a.result == LINK_AGAIN)
		bench_turn_until(b, read_on, &a);
	assert_int_equal(a.result, e->result);
	assert_int_equal(a.status, e->status);
	assert_int_equal(a.body_length, strlen(e->body));
	assert_memory_equal(a.body, e->body, a.body_length);
	if (a.result == LINK_FAILED) {
		assert_non_null(a.link->reason);
		link_drop_failed(a.link, "test");
	} else {
		link_release(a.link);
	}
	assert_int_equal(bench_figures(b, 0).idle, e->kept);
	pool_close(b->pool);
	if (fd >= 0)
		fd_close(&fd);
}

static void expect(const struct expected *e)
{
	struct bench b;
	bench_open(&b, 1, "");
	for (size_t split = 0; split <= strlen(e->bytes); split++)
		expect_split(&b, e, split);
	bench_close(&b);
}

#define OK "HTTP/1.1 200 OK\r\n"

static void test_link_reads_bodies_of_every_framing(void **state)
{
	(void)state;
	static const struct expected rows[] = {
	        {OK "Content-Length: 5\r\n\r\nhello", false, METHOD_GET, LINK_END, 200, "hello", true},
	        {OK "Content-Length: 0\r\n\r\n", false, METHOD_GET, LINK_END, 200, "", true},
	        {OK "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nX-T: 1\r\n\r\n", false,
	                METHOD_GET, LINK_END, 200, "abcd", true},
	        {OK "\r\nuntil the end", true, METHOD_GET, LINK_END, 200, "until the end", false},
	        {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false, METHOD_GET, LINK_END, 200, "ok", false},
	        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", false, METHOD_GET,
	                LINK_END, 200, "ok", true},
	        {OK "Connection: close\r\nContent-Length: 2\r\n\r\nok", false, METHOD_GET, LINK_END, 200, "ok", false},
	        {OK "Content-Length: 5\r\n\r\n", false, METHOD_HEAD, LINK_END, 200, "", true},
	        {"HTTP/1.1 204 No Content\r\n\r\n", false, METHOD_GET, LINK_END, 204, "", true},
	        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false, METHOD_GET, LINK_END, 304, "", true},
	        {"HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 100 C\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", false,
	                METHOD_GET, LINK_END, 200, "x", true},
	};
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		expect(&rows[i]);
}

static void test_link_tells_truncated_and_broken_answers(void **state)
{
	(void)state;
	static const struct expected rows[] = {
	        {"", true, METHOD_GET, LINK_FAILED, 0, "", false},
	        {"HTTP/1.1 20", true, METHOD_GET, LINK_FAILED, 0, "", false},
	        {OK "Content-Length: 5\r\n\r\nhell", true, METHOD_GET, LINK_FAILED, 200, "hell", false},
	        {OK "Content-Length: 5\r\n\r\n", true, METHOD_GET, LINK_FAILED, 200, "", false},
	        {OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true, METHOD_GET, LINK_FAILED, 200, "hello",
	                false},
	        {OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", true, METHOD_GET, LINK_FAILED, 200,
	                "hello", false},
	        {OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX", false, METHOD_GET, LINK_FAILED, 200, "hello",
	                false},
	        {OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", false, METHOD_GET, LINK_FAILED, 0, "",
	                false},
	        {OK "Content-Length: +5\r\n\r\nhello", false, METHOD_GET, LINK_FAILED, 0, "", false},
	        {"\x15\x03\x01", false, METHOD_GET, LINK_FAILED, 0, "", false},
	};
	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		expect(&rows[i]);
}

static void test_link_is_not_kept_with_bytes_behind_its_answer(void **state)
{
	(void)state;
	static const char *const answers[] = {
	        OK "Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray",
	        OK "Content-Length: 0\r\n\r\n\r\n",
	        OK "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nx",
	        "HTTP/1.1 204 No Content\r\n\r\n" OK "Content-Length: 0\r\n\r\n",
	};
	struct bench b;
	bench_open(&b, 1, "");
	for (size_t i = 0; i < ARRAY_COUNT(answers); i++) {
		struct answer a = {.link = bench_begin(&b, 0), .to = METHOD_GET};
		int fd = bench_accept(&b, 0);
		bench_say(fd, answers[i], strlen(answers[i]));
		bench_turn_until(&b, read_on, &a);
		assert_int_equal(a.result, LINK_END);
		link_release(a.link);
		assert_int_equal(bench_figures(&b, 0).idle, 0);
		fd_close(&fd);
	}
	bench_close(&b);
}

static void test_link_takes_heads_up_to_its_limit(void **state)
{
	(void)state;
	static char text[LINK_HEAD_BYTES + 1000];
	struct bench b;
	bench_open(&b, 1, "");
	static const size_t sizes[] = {3000, 16000, 17000, 65000, LINK_HEAD_BYTES + 500};
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		size_t length = sizeof(OK "X: ") - 1, end = sizeof("\r\nContent-Length: 0\r\n\r\n") - 1;
		memcpy(text, OK "X: ", length);
		memset(text + length, 'x', sizes[i] - length - end);
		memcpy(text + sizes[i] - end, "\r\nContent-Length: 0\r\n\r\n", end);
		struct answer a = {.link = bench_begin(&b, 0), .to = METHOD_GET};
		int fd = bench_accept(&b, 0);
		bench_say(fd, text, sizes[i]);
		bench_turn_until(&b, read_on, &a);
		assert_int_equal(a.result, sizes[i] > LINK_HEAD_BYTES ? LINK_FAILED : LINK_END);
		if (a.result == LINK_FAILED)
			assert_non_null(strstr(a.link->reason, "65536"));
		link_drop(a.link);
		fd_close(&fd);
	}
	bench_close(&b);
}

static void test_link_says_why_it_cannot_connect(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, "");
	fd_close(&b.listeners[0]);
	struct link *l = bench_begin(&b, 0);
	assert_int_equal(link_connected(l), LINK_FAILED);
	assert_non_null(strstr(l->reason, "refused"));
	link_drop_failed(l, "test");
	assert_int_equal(bench_figures(&b, 0).failures, 1);
	assert_int_equal(bench_figures(&b, 0).state, MEMBER_DOWN);
	bench_close(&b);
}

static bool has_expired(struct bench *b, void *argument)
{
	(void)argument;
	return b->expired_count > 0;
}

static void test_link_tells_its_owner_of_deadlines_and_asks_again(void **state)
{
	(void)state;
	struct bench b;
	bench_open(&b, 1, "");
	struct link *l = bench_begin(&b, 0);
	int fd = bench_accept(&b, 0);
	bench_settle(&b);
	unsigned ready = b.ready_count;
	link_again(l);
	bench_settle(&b);
	assert_int_equal(b.ready_count, ready + 1);
	link_deadline(l, clock_now_ns());
	bench_turn_until(&b, has_expired, NULL);
	assert_int_equal(b.expired_count, 1);
	link_again(l);
	link_drop(l); /* and is not asked again */
	bench_settle(&b);
	assert_int_equal(b.ready_count, ready + 1);
	fd_close(&fd);
	bench_close(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_link_reads_bodies_of_every_framing),
	        cmocka_unit_test(test_link_tells_truncated_and_broken_answers),
	        cmocka_unit_test(test_link_is_not_kept_with_bytes_behind_its_answer),
	        cmocka_unit_test(test_link_takes_heads_up_to_its_limit),
	        cmocka_unit_test(test_link_says_why_it_cannot_connect),
	        cmocka_unit_test(test_link_tells_its_owner_of_deadlines_and_asks_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
