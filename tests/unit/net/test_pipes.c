/* Pipes that the kernel moves bytes through: lent, given back, none left, none to be had; and a stream's part in it. */
#include "base/fd.h"
#include "streaming.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct pipes pipes;

static int setup(void **state)
{
	pipes_init(&pipes);
	int result = streaming_setup(state);
	use_tcp();
	return result;
}

static int teardown(void **state)
{
	int result = streaming_teardown(state);
	pipes_fini(&pipes);
	return result;
}

static void test_pipes_are_lent_again_and_are_only_so_many(void **state)
{
	struct pipe *all[PIPES_MOST];
	(void)state;
	struct pipe *first = pipes_take(&pipes);
	assert_non_null(first);
	assert_true(first->capacity >= PIPE_LEAST_BYTES);
	assert_int_equal(fcntl(first->read_end, F_GETPIPE_SZ), first->capacity);
	pipes_give(first);
	for (int i = 0; i < PIPES_MOST; i++) {
		all[i] = pipes_take(&pipes);
		assert_non_null(all[i]);
		for (int before = 0; before < i; before++)
			assert_ptr_not_equal(all[i], all[before]);
	}
	assert_ptr_equal(all[0], first);
	assert_null(pipes_take(&pipes));
	pipes_give(all[3]);
	assert_ptr_equal(pipes_take(&pipes), all[3]);
	for (int i = 0; i < PIPES_MOST; i++)
		pipes_give(all[i]);
}

static void test_pipes_with_bytes_in_them_are_not_lent_again(void **state)
{
	char byte;
	(void)state;
	struct pipe *pipe = pipes_take(&pipes);
	assert_non_null(pipe);
	assert_int_equal(write(pipe->write_end, "abc", 3), 3);
	pipe->held = 3;
	pipes_give(pipe);
	assert_int_equal(pipe->read_end, -1);
	pipe = pipes_take(&pipes);
	assert_non_null(pipe);
	assert_int_equal(pipe->held, 0);
	assert_int_equal(read(pipe->read_end, &byte, 1), -1);
	assert_int_equal(errno, EAGAIN);
	pipes_give(pipe);
}

static void test_pipes_are_not_asked_for_at_once_again_when_there_are_no_descriptors(void **state)
{
	struct rlimit before, none;
	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_null(pipes_take(&pipes));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	/* The next calls ask nobody, and then it is tried again. */
	assert_null(pipes_take(&pipes));
	unsigned skipped = 1;
	struct pipe *pipe;
	while (!(pipe = pipes_take(&pipes)))
		assert_true(++skipped < 10000);
	pipes_give(pipe);
}

static void read_from_peer(struct pipe *pipe, size_t most, size_t expected)
{
	enum stream_result result;
	while ((result = stream_read_to(&s, pipe, most)) == STREAM_AGAIN)
		wait_ready();
	assert_int_equal(result, STREAM_DONE);
	assert_int_equal(pipe->held, expected);
}

static void test_stream_reads_into_a_pipe_no_more_than_asked(void **state)
{
	static char got[100000];
	(void)state;
	peer_sends(big, 100000);
	struct pipe *pipe = pipes_take(&pipes);
	assert_non_null(pipe);
	size_t length = 0;
	while (length < sizeof got - 10) {
		enum stream_result result = stream_read_to(&s, pipe, sizeof got - 10 - length);
		if (result == STREAM_AGAIN) {
			wait_ready();
			continue;
		}
		assert_int_equal(result, STREAM_DONE);
		assert_int_equal(read(pipe->read_end, got + length, sizeof got), pipe->held);
		length += pipe->held;
		pipe->held = 0;
	}
	assert_int_equal(length, sizeof got - 10);
	assert_int_equal(s.bytes_in, length);
	assert_null(s.in);
	/* The rest is there to be read as usual. */
	assert_int_equal(stream_read(&s), STREAM_DONE);
	assert_int_equal(stream_bytes(&s).length, 10);
	assert_memory_equal(stream_bytes(&s).data, big + sizeof got - 10, 10);
	assert_memory_equal(got, big, sizeof got - 10);
	stream_consume(&s, 10);
	/* Nothing more: an event will come. */
	assert_int_equal(stream_read_to(&s, pipe, 100), STREAM_AGAIN);
	assert_false(s.readable);
	assert_int_equal(pipe->held, 0);
	fd_close(&peer);
	wait_ready();
	assert_int_equal(stream_read_to(&s, pipe, 100), STREAM_CLOSED);
	pipes_give(pipe);
}

static void test_stream_writes_what_a_pipe_holds_and_gives_it_back(void **state)
{
	static char got[PIPE_LEAST_BYTES];
	(void)state;
	struct pipe *pipe = pipes_take(&pipes);
	assert_non_null(pipe);
	assert_int_equal(write(pipe->write_end, big, sizeof got), sizeof got);
	pipe->held = sizeof got;
	stream_put_pipe(&s, pipe);
	assert_int_equal(stream_room(&s), 0);
	size_t length = 0;
	while (!stream_is_drained(&s)) {
		enum stream_result result = stream_flush(&s);
		assert_true(result == STREAM_DONE || result == STREAM_AGAIN);
		ssize_t n = recv(peer, got + length, sizeof got - length, MSG_DONTWAIT);
		length += n > 0 ? (size_t)n : 0;
		if (result == STREAM_AGAIN && !s.writable)
			wait_ready();
	}
	while (length < sizeof got) {
		struct pollfd readable = {.fd = peer, .events = POLLIN};
		assert_int_equal(poll(&readable, 1, 10000), 1);
		ssize_t n = recv(peer, got + length, sizeof got - length, 0);
		assert_true(n > 0);
		length += (size_t)n;
	}
	assert_memory_equal(got, big, sizeof got);
	assert_int_equal(s.bytes_out, sizeof got);
	assert_false(pipe->is_taken);
	assert_int_equal(pipe->held, 0);
	assert_ptr_equal(pipes_take(&pipes), pipe);
	pipes_give(pipe);
}

static void test_stream_that_closes_gives_its_pipe_back_too(void **state)
{
	(void)state;
	struct pipe *pipe = pipes_take(&pipes);
	assert_non_null(pipe);
	peer_sends(big, 5000);
	read_from_peer(pipe, 5000, 5000);
	stream_put_pipe(&s, pipe);
	stream_close(&s);
	assert_false(pipe->is_taken);
	assert_int_equal(pipe->read_end, -1);
}

static void test_stream_says_when_the_kernel_does_not_splice_its_descriptor(void **state)
{
	(void)state;
	struct pipe *pipe = pipes_take(&pipes), *other = pipes_take(&pipes);
	assert_non_null(pipe);
	assert_non_null(other);
	int fd = s.fd;
	/* One that can be polled, and is no stream of bytes to be read: the write end of a pipe. */
	s.fd = other->write_end;
	errno = 0;
	enum stream_result result = stream_read_to(&s, pipe, 100);
	s.fd = fd;
	assert_int_equal(result, STREAM_FAILED);
	assert_int_equal(s.error, EBADF);
	/* An eventfd is not spliced at all. */
	s.error = 0;
	s.fd = loop.mailbox.event_fd;
	result = stream_read_to(&s, pipe, 100);
	s.fd = fd;
	assert_int_equal(result, STREAM_FULL);
	assert_int_equal(pipe->held, 0);
	pipes_give(pipe);
	pipes_give(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_pipes_are_lent_again_and_are_only_so_many, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_pipes_with_bytes_in_them_are_not_lent_again, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_pipes_are_not_asked_for_at_once_again_when_there_are_no_descriptors, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_stream_reads_into_a_pipe_no_more_than_asked, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_stream_writes_what_a_pipe_holds_and_gives_it_back, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_stream_that_closes_gives_its_pipe_back_too, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_stream_says_when_the_kernel_does_not_splice_its_descriptor, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
