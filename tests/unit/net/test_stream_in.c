/* Reading: appended, pinned, consumed; full, closed, failed. */
#include "base/fd.h"
#include "streaming.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static void test_stream_reads_appends_and_consumes(void **state)
{
	(void)state;
	use_pair(0);
	assert_int_equal(stream_read(&s), STREAM_AGAIN);
	assert_false(s.readable);
	assert_null(s.in); /* an empty buffer is not kept */
	assert_int_equal(stream_read(&s), STREAM_AGAIN);
	peer_sends("abc", 3);
	wait_ready();
	assert_true(s.readable);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	expect_bytes("abc");
	assert_false(s.readable); /* a short read took all there was */
	peer_sends("def", 3);
	wait_ready();
	assert_int_equal(stream_read(&s), STREAM_DONE);
	expect_bytes("abcdef");
	stream_consume(&s, 4);
	expect_bytes("ef");
	stream_consume(&s, 2);
	expect_bytes("");
	assert_null(s.in);
	assert_int_equal(s.bytes_in, 6);
	assert_int_equal(blocks.free_count, 1);
}

static void test_stream_is_full_until_bytes_are_consumed_or_it_grows(void **state)
{
	(void)state;
	use_pair(0);
	peer_sends(big, 40000);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	assert_int_equal(stream_bytes(&s).length, BLOCK_BYTES);
	assert_int_equal(stream_read(&s), STREAM_FULL);
	stream_consume(&s, 1000);
	assert_int_equal(stream_read(&s), STREAM_DONE); /* moved to the front, to use what was consumed */
	assert_int_equal(stream_bytes(&s).length, BLOCK_BYTES);
	assert_memory_equal(stream_bytes(&s).data, big + 1000, BLOCK_BYTES);
	assert_int_equal(stream_read(&s), STREAM_FULL);
	assert_true(stream_grow(&s, 30000));
	assert_int_equal(stream_read(&s), STREAM_DONE);
	assert_int_equal(stream_bytes(&s).length, 30000);
	assert_memory_equal(stream_bytes(&s).data, big + 1000, 30000);
	assert_int_equal(stream_read(&s), STREAM_FULL);
	stream_consume(&s, 30000);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	assert_memory_equal(stream_bytes(&s).data, big + 31000, 9000);
}

static void test_stream_pinned_bytes_stay_where_they_are(void **state)
{
	const char *head;
	(void)state;
	use_pair(0);
	peer_sends(big, 60000);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	stream_consume(&s, 100);
	assert_true(stream_pin(&s, 5000, &head));
	assert_memory_equal(head, big + 100, 5000);
	for (size_t at = 5100; at < 60000;) {
		enum stream_result result = stream_read(&s);
		struct slice bytes = stream_bytes(&s);
		size_t some = result != STREAM_AGAIN && bytes.length > 3 ? bytes.length - 3 : bytes.length;
		assert_true(some > 0);
		assert_memory_equal(bytes.data, big + at, bytes.length);
		stream_consume(&s, some);
		at += some;
		assert_memory_equal(head, big + 100, 5000);
	}
	stream_unpin(&s);
	assert_null(s.in);
}

/* The pinned head ends where the buffer ends: it has to be moved so that a body can be read behind it. */
static void test_stream_pin_keeps_room_behind_the_pinned_bytes(void **state)
{
	const char *head;
	(void)state;
	use_pair(0);
	peer_sends(big, BLOCK_BYTES + 10);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	assert_true(stream_pin(&s, BLOCK_BYTES, &head));
	assert_memory_equal(head, big, BLOCK_BYTES);
	assert_true(s.in_capacity - s.in_start >= BLOCK_BYTES / 4);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	assert_int_equal(stream_bytes(&s).length, 10);
	assert_memory_equal(head, big, BLOCK_BYTES);
	stream_unpin(&s);
	stream_consume(&s, 10);
	assert_null(s.in);
	/* And a short head behind consumed bytes at the block's end. */
	peer_sends(big, BLOCK_BYTES);
	stream_note(&s, EPOLLIN);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	stream_consume(&s, BLOCK_BYTES - 50);
	assert_true(stream_pin(&s, 20, &head));
	assert_memory_equal(head, big + BLOCK_BYTES - 50, 20);
	assert_memory_equal(stream_bytes(&s).data, big + BLOCK_BYTES - 30, 30);
	assert_true(s.in_capacity - s.in_end >= BLOCK_BYTES / 4);
	stream_unpin(&s);
	stream_consume(&s, 30);
}

static void test_stream_says_closed_after_the_last_bytes(void **state)
{
	(void)state;
	use_pair(0);
	peer_sends("last", 4);
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	wait_ready();
	assert_true(s.hung_up);
	assert_int_equal(stream_read(&s), STREAM_DONE);
	expect_bytes("last");
	assert_int_equal(stream_read(&s), STREAM_CLOSED);
	expect_bytes("last"); /* is not lost by it */
	stream_consume(&s, 4);
	assert_int_equal(stream_read(&s), STREAM_CLOSED);
	/* Its other direction still works. */
	assert_int_equal(stream_put(&s, "bye", 3), 3);
	assert_int_equal(stream_flush(&s), STREAM_DONE);
}

static void test_stream_tells_an_end_that_comes_after_a_short_read(void **state)
{
	(void)state;
	use_pair(0);
	peer_sends("a", 1);
	wait_ready();
	assert_int_equal(stream_read(&s), STREAM_DONE);
	assert_false(s.readable);
	shutdown(peer, SHUT_WR);
	wait_ready();
	assert_int_equal(stream_read(&s), STREAM_CLOSED);
}

static void test_stream_fails_when_the_peer_resets(void **state)
{
	struct linger now = {.l_onoff = 1};
	(void)state;
	use_tcp();
	assert_int_equal(stream_read(&s), STREAM_AGAIN);
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	fd_close(&peer);
	wait_ready();
	while (!s.hung_up)
		wait_ready();
	assert_int_equal(stream_read(&s), STREAM_FAILED);
	assert_int_equal(s.error, ECONNRESET);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, streaming_setup, streaming_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_stream_reads_appends_and_consumes),
	        TEST(test_stream_is_full_until_bytes_are_consumed_or_it_grows),
	        TEST(test_stream_pinned_bytes_stay_where_they_are),
	        TEST(test_stream_pin_keeps_room_behind_the_pinned_bytes),
	        TEST(test_stream_says_closed_after_the_last_bytes),
	        TEST(test_stream_tells_an_end_that_comes_after_a_short_read),
	        TEST(test_stream_fails_when_the_peer_resets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
