/* See streaming.h. */
#include "streaming.h"
#include "base/fd.h"
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

static struct stats stats;
struct loop loop;
struct blocks blocks;
struct stream s;
int peer = -1, done_count;
char *big;

static void ignore(struct watch *w)
{
	(void)w;
}

static void note(struct watch *w, uint32_t events)
{
	stream_note(CONTAINER_OF(w, struct stream, watch), events);
	loop_stop(w->loop);
}

int streaming_setup(void **state)
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
	blocks_init(&blocks, BLOCK_BYTES);
	done_count = 0;
	memset(&s, 0xa5, sizeof s); /* stream_open sets what it needs */
	s.watch.loop = NULL;
	return loop_init(&loop, 0, &stats, 4);
}

void use_pair(int send_bytes)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	if (send_bytes)
		assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes), 0);
	fd_close(&peer);
	peer = fds[1];
	s.watch = (struct watch){.ready = note, .expired = ignore};
	assert_true(stream_open(&s, &loop, &blocks, fds[0]));
}

void use_tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof to;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd_close(&peer);
	peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&to, sizeof to), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&to, &length), 0);
	assert_int_equal(connect(peer, (struct sockaddr *)&to, sizeof to), 0);
	int fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	close(listening);
	fcntl(peer, F_SETFL, O_NONBLOCK);
	s.watch = (struct watch){.ready = note, .expired = ignore};
	assert_true(stream_open(&s, &loop, &blocks, fd));
}

int streaming_teardown(void **state)
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

void peer_sends(const void *bytes, size_t length)
{
	assert_int_equal(send(peer, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

void wait_ready(void)
{
	assert_int_equal(stream_wait(&s), 0);
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
}

void expect_bytes(const char *text)
{
	struct slice bytes = stream_bytes(&s);
	assert_int_equal(bytes.length, strlen(text));
	assert_memory_equal(bytes.data, text, bytes.length);
}

void on_done(void *argument)
{
	assert_ptr_equal(argument, &done_count);
	done_count++;
}
