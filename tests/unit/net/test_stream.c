/* Streams over socket pairs and TCP: reading with pinned bytes, writing from buffers, memory and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fd.h"
#include "net/stream.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BIG = 3 << 20 };

static struct stats stats;
static struct loop loop;
static struct blocks blocks;
static struct stream s;
static int peer = -1, done_count;
static char *big; /* BIG bytes, each told from its neighbours */

static void ignore(struct watch *w)
{
	(void)w;
}

static void note(struct watch *w, uint32_t events)
{
	stream_note(CONTAINER_OF(w, struct stream, watch), events);
	loop_stop(w->loop);
}

static int setup(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	alarm(120);
	if (!big) {
		big = malloc(BIG);
		for (size_t i = 0; i < BIG; i++)
			big[i] = (char)(i * 31 + i / 251 + i / 65521);
	}
	stats_init(&stats);
	blocks_init(&blocks);
	done_count = 0;
	memset(&s, 0xa5, sizeof s); /* stream_open sets what it needs */
	s.watch = (struct watch){.ready = note, .expired = ignore};
	return loop_init(&loop, 0, &stats, 4);
}

static void use_pair(int send_bytes)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	if (send_bytes)
		assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes), 0);
	peer = fds[1];
	assert_true(stream_open(&s, &loop, &blocks, fds[0]));
}

static void use_tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof to;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&to, sizeof to), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&to, &length), 0);
	assert_int_equal(connect(peer, (struct sockaddr *)&to, sizeof to), 0);
	int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	close(listening);
	fcntl(peer, F_SETFL, O_NONBLOCK);
	assert_true(stream_open(&s, &loop, &blocks, fd));
}

static int teardown(void **state)
{
	(void)state;
	if (s.watch.loop)
		stream_close(&s);
	assert_int_equal(s.fd, -1);
	assert_null(s.in);
	assert_null(s.out);
	fd_close(&peer);
	loop_fini(&loop);
	blocks_fini(&blocks);
	return 0;
}

static void peer_sends(const void *bytes, size_t length)
{
	assert_int_equal(send(peer, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

/* Until the socket has something to tell. */
static void wait_ready(void)
{
	assert_int_equal(stream_wait(&s), 0);
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
}

static void expect_bytes(const char *text)
{
	struct slice bytes = stream_bytes(&s);
	assert_int_equal(bytes.length, strlen(text));
	assert_memory_equal(bytes.data, text, bytes.length);
}

static void on_done(void *argument)
{
	assert_ptr_equal(argument, &done_count);
	done_count++;
}

/* ---- in ------------------------------------------------------------------------------------ */

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

/* ---- out -------------------------------------------------------------------------------------- */

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
		s.watch = (struct watch){.ready = note, .expired = ignore};
		fd_close(&peer);
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
	s.watch = (struct watch){.ready = note, .expired = ignore};
	fd_close(&peer);
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
		s.watch = (struct watch){.ready = note, .expired = ignore};
		close(fd);
	}
	use_pair(0);
	fd_close(&peer);
	assert_int_equal(stream_send(&s, "abc", 3), 0);
	assert_int_equal(
	        stream_flush(&s), STREAM_FAILED); /* failures of direct writes show here, with nothing to flush */
	assert_int_equal(s.error, EPIPE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
	        TEST(test_stream_writes_what_was_put_through_a_narrow_socket),
	        TEST(test_stream_reserves_more_than_a_block_for_heads),
	        TEST(test_stream_sends_directly_and_says_how_much),
	        TEST(test_stream_sends_memory_after_the_buffer_and_calls_done_once),
	        TEST(test_stream_sends_parts_of_files),
	        TEST(test_stream_flush_gives_others_a_turn),
	        TEST(test_stream_fails_when_a_file_became_shorter),
	        TEST(test_stream_close_lets_go_of_what_was_not_written),
	        TEST(test_stream_fails_when_the_peer_does_not_read_any_more),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(big);
	return failed;
}
