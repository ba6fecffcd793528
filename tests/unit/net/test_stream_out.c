/* Writing: from the buffer, directly, from memory, from files; through narrow sockets and into closed ones. */
#include "base/check.h"
#include "base/fd.h"
#include "streaming.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char received[BIG + 65536];
static size_t received_length;

static void peer_reads(void)
{
	ssize_t n;
	while ((n = recv(peer, received + received_length, sizeof received - received_length, MSG_DONTWAIT)) > 0)
		received_length += (size_t)n;
}

/* Flushes and reads by turns until all is written. */
static void flush_all(void)
{
	received_length = 0;
	for (;;) {
		enum stream_result result = stream_flush(&s);
		peer_reads();
		if (result == STREAM_DONE)
			break;
		assert_int_equal(result, STREAM_AGAIN);
		if (!s.writable)
			wait_ready();
	}
	peer_reads();
	assert_true(stream_is_drained(&s));
	assert_null(s.out);
}

static void test_stream_writes_what_was_put_through_a_narrow_socket(void **state)
{
	(void)state;
	use_pair(1);
	assert_int_equal(stream_room(&s), BLOCK_BYTES);
	size_t put = stream_put(&s, big, 10000);
	put += stream_put(&s, big + put, 20000);
	assert_int_equal(put, BLOCK_BYTES); /* takes what fits */
	assert_int_equal(stream_room(&s), 0);
	assert_int_equal(stream_put(&s, big, 1), 0);
	assert_false(stream_is_drained(&s));
	flush_all();
	assert_int_equal(received_length, BLOCK_BYTES);
	assert_memory_equal(received, big, BLOCK_BYTES);
	assert_int_equal(s.bytes_out, BLOCK_BYTES);
	assert_int_equal(stream_flush(&s), STREAM_DONE);
}

static void expect_end(void)
{
	char byte;
	assert_int_equal(recv(peer, &byte, 1, MSG_DONTWAIT), 0);
}

static void test_stream_ends_its_side_behind_the_last_byte_and_reads_on(void **state)
{
	char byte;
	(void)state;
	use_pair(1);
	size_t put = stream_put(&s, big, BLOCK_BYTES);
	stream_end(&s);
	while (stream_flush(&s) == STREAM_AGAIN && s.writable)
		;
	assert_false(stream_is_drained(&s)); /* the socket is narrow: the end waits */
	flush_all();
	assert_int_equal(received_length, put);
	expect_end();
	assert_int_equal(send(peer, "x", 1, 0), 1);
	s.readable = true;
	assert_int_equal(stream_read(&s), STREAM_DONE);
	stream_end(&s); /* again is fine */
	stream_close(&s);
	use_pair(0);
	assert_int_equal(recv(peer, &byte, 1, MSG_DONTWAIT), -1);
	stream_end(&s); /* nothing waits: at once */
	expect_end();
}

static void test_stream_reserves_more_than_a_block_for_heads(void **state)
{
	(void)state;
	use_pair(0);
	assert_int_equal(stream_put(&s, big, 10000), 10000);
	char *to = stream_reserve(&s, 50000);
	assert_non_null(to);
	memcpy(to, big + 10000, 50000);
	stream_commit(&s, 50000);
	flush_all();
	assert_int_equal(received_length, 60000);
	assert_memory_equal(received, big, 60000);
}

static void test_stream_sends_directly_and_says_how_much(void **state)
{
	(void)state;
	use_pair(1);
	assert_int_equal(stream_put(&s, big, 100), 100);
	size_t sent = stream_send(&s, big + 100, 1 << 20);
	received_length = 0;
	peer_reads();
	assert_int_equal(received_length, 100 + sent);
	assert_memory_equal(received, big, received_length);
	assert_true(sent > 0 && sent < 1 << 20);
	assert_false(s.writable);
	assert_int_equal(stream_send(&s, big, 10), 0); /* until the socket says that there is room */
	wait_ready();
	assert_true(s.writable);
	assert_int_equal(stream_send(&s, big, 10), 10);
}

static void test_stream_sends_memory_after_the_buffer_and_calls_done_once(void **state)
{
	static const size_t sizes[] = {0, 1, 5000, BIG - 10};
	(void)state;
	use_pair(1);
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		assert_int_equal(stream_put(&s, big, 10), 10);
		stream_put_memory(&s, big + 10, sizes[i], on_done, &done_count);
		assert_int_equal(stream_room(&s), 0);
		assert_null(stream_reserve(&s, 1));
		assert_int_equal(stream_put(&s, "x", 1), 0);
		assert_int_equal(stream_send(&s, "x", 1), 0);
		flush_all();
		assert_int_equal(received_length, 10 + sizes[i]);
		assert_memory_equal(received, big, received_length);
		assert_int_equal(done_count, (int)i + 1);
		assert_int_equal(stream_flush(&s), STREAM_DONE);
	}
	stream_put_memory(&s, big, 10, NULL, NULL); /* nobody wants to know */
	flush_all();
	assert_int_equal(done_count, 4);
}

static int make_file(size_t length)
{
	FILE *f = tmpfile();
	int fd = dup(fileno(f));
	fclose(f);
	for (size_t at = 0; at < length;) {
		ssize_t n = write(fd, big + at, length - at);
		assert_true(n > 0);
		at += (size_t)n;
	}
	return fd;
}

static void test_stream_sends_parts_of_files(void **state)
{
	(void)state;
	for (int tcp = 0; tcp < 2; tcp++) {
		int fd = make_file(BIG);
		done_count = 0;
		tcp ? use_tcp() : use_pair(1);
		stream_put_file(&s, fd, 0, 0, on_done, &done_count);
		flush_all();
		assert_int_equal(received_length, 0);
		stream_put_file(&s, fd, 12345, 100000, on_done, &done_count);
		flush_all();
		assert_int_equal(received_length, 100000);
		assert_memory_equal(received, big + 12345, 100000);
		assert_int_equal(stream_put(&s, big, 7), 7);
		stream_put_file(&s, fd, 7, BIG - 7, on_done, &done_count);
		flush_all();
		assert_int_equal(received_length, BIG);
		assert_memory_equal(received, big, BIG);
		assert_int_equal(done_count, 3);
		stream_close(&s);
		close(fd);
	}
}

static void test_stream_flush_gives_others_a_turn(void **state)
{
	(void)state;
	use_tcp();
	int room = BIG;
	setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	stream_put_memory(&s, big, BIG, on_done, &done_count);
	assert_int_equal(stream_flush(&s), STREAM_AGAIN);
	assert_true(s.bytes_out <= 2 << 20); /* though the peer might have taken all */
	assert_int_equal(done_count, 0);
	flush_all();
	assert_int_equal(received_length, BIG);
	assert_memory_equal(received, big, BIG);
}

static void test_stream_fails_when_a_file_became_shorter(void **state)
{
	(void)state;
	use_pair(0);
	int fd = make_file(5000);
	stream_put_file(&s, fd, 0, 6000, on_done, &done_count);
	enum stream_result result = stream_flush(&s);
	assert_int_equal(result, STREAM_FAILED);
	assert_int_equal(s.error, EIO);
	assert_int_equal(stream_flush(&s), STREAM_FAILED); /* and stays failed */
	assert_int_equal(done_count, 0);
	stream_close(&s);
	assert_int_equal(done_count, 1);
	close(fd);
}

static void test_stream_close_lets_go_of_what_was_not_written(void **state)
{
	(void)state;
	use_pair(1);
	stream_put_memory(&s, big, BIG, on_done, &done_count);
	assert_int_equal(stream_flush(&s), STREAM_AGAIN);
	assert_int_equal(done_count, 0);
	stream_close(&s);
	assert_int_equal(done_count, 1);
	int fd = make_file(BIG);
	use_pair(1);
	stream_put(&s, "head", 4);
	stream_put_file(&s, fd, 0, BIG, on_done, &done_count);
	stream_close(&s);
	assert_int_equal(done_count, 2);
	close(fd);
}

static void test_stream_fails_when_the_peer_does_not_read_any_more(void **state)
{
	(void)state;
	for (int way = 0; way < 3; way++) {
		int fd = make_file(5000);
		done_count = 0;
		use_pair(0);
		fd_close(&peer);
		if (way == 0)
			assert_int_equal(stream_put(&s, "abc", 3), 3);
		else if (way == 1)
			stream_put_memory(&s, big, 5000, on_done, &done_count);
		else
			stream_put_file(&s, fd, 0, 5000, on_done, &done_count);
		assert_int_equal(stream_flush(&s), STREAM_FAILED);
		assert_int_equal(s.error, EPIPE);
		stream_close(&s);
		assert_int_equal(done_count, way > 0);
		close(fd);
	}
	use_pair(0);
	fd_close(&peer);
	assert_int_equal(stream_send(&s, "abc", 3), 0);
	assert_int_equal(
	        stream_flush(&s), STREAM_FAILED); /* failures of direct writes show here, with nothing to flush */
	assert_int_equal(s.error, EPIPE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, streaming_setup, streaming_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_stream_writes_what_was_put_through_a_narrow_socket),
	        TEST(test_stream_ends_its_side_behind_the_last_byte_and_reads_on),
	        TEST(test_stream_reserves_more_than_a_block_for_heads),
	        TEST(test_stream_sends_directly_and_says_how_much),
	        TEST(test_stream_sends_memory_after_the_buffer_and_calls_done_once),
	        TEST(test_stream_sends_parts_of_files),
	        TEST(test_stream_flush_gives_others_a_turn),
	        TEST(test_stream_fails_when_a_file_became_shorter),
	        TEST(test_stream_close_lets_go_of_what_was_not_written),
	        TEST(test_stream_fails_when_the_peer_does_not_read_any_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
