/* See bench.h. */
#include "upstream/bench.h"
#include "base/fd.h"
#include "config/load.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

static void open_server(struct bench *b, unsigned i)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof at;
	b->listeners[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b->listeners[i], (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(b->listeners[i], 16), 0);
	assert_int_equal(getsockname(b->listeners[i], (struct sockaddr *)&at, &length), 0);
	b->ports[i] = ntohs(at.sin_port);
}

void bench_open(struct bench *b, unsigned server_count, const char *settings)
{
	char text[1000];
	size_t used = (size_t)snprintf(text, sizeof text, "[upstream app]\n%s\n", settings);
	memset(b, 0, sizeof *b);
	parser_setup();
	for (unsigned i = 0; i < BENCH_SERVERS; i++)
		b->listeners[i] = -1;
	for (unsigned i = 0; i < server_count; i++) {
		open_server(b, i);
		used += (size_t)snprintf(text + used, sizeof text - used, "server = 127.0.0.1:%u\n", b->ports[i]);
	}
	b->config = load_good(text);
	b->groups = groups_create(b->config, 1);
	assert_non_null(b->groups);
	b->group = groups_find(b->groups, "app");
	assert_non_null(b->group);
	stats_init(&b->stats);
	assert_int_equal(loop_init(&b->loop, 0, &b->stats, 16), 0);
	/* As loop_run begins. */
	b->loop.now_ns = clock_now_ns();
	b->loop.second = stats_second(&b->stats, b->loop.now_ns);
	blocks_init(&b->blocks, BLOCK_BYTES);
	b->pool = pool_get(b->group, &b->loop, &b->blocks);
	assert_non_null(b->pool);
	assert_ptr_equal(pool_get(b->group, &b->loop, &b->blocks), b->pool);
}

void bench_close(struct bench *b)
{
	for (unsigned i = 0; i < BENCH_SERVERS; i++)
		fd_close(&b->listeners[i]);
	pool_close(b->pool);
	/* Every slot but the mailbox's has come back. */
	assert_int_equal(b->loop.free_count, b->loop.capacity - 1);
	for (size_t i = 0; i < b->pool->set->count; i++) {
		assert_int_equal(bench_member(b, i)->active, 0);
		assert_int_equal(bench_member(b, i)->connections, 0);
	}
	loop_fini(&b->loop);
	groups_free(&b->groups);
	blocks_fini(&b->blocks);
	config_free(&b->config);
}

void bench_turn_until(struct bench *b, bool (*holds)(struct bench *, void *), void *argument)
{
	int64_t until_ns = clock_now_ns() + PATIENCE_MS * NS_PER_MS;
	while (!holds(b, argument)) {
		assert_true(clock_now_ns() < until_ns);
		loop_turn(&b->loop, false);
	}
}

void bench_settle(struct bench *b)
{
	struct pollfd set = {.fd = b->loop.set_fd, .events = POLLIN};
	do
		loop_turn(&b->loop, false);
	while (poll(&set, 1, 0) == 1);
}

static void on_ready(struct link *l)
{
	struct bench *b = l->owner;
	b->ready_count++;
}

static void on_expired(struct link *l)
{
	struct bench *b = l->owner;
	b->expired_count++;
}

static bool is_connected(struct bench *b, void *link)
{
	(void)b;
	return link_connected(link) != LINK_AGAIN;
}

void bench_begin_on(struct bench *b, struct link *l)
{
	link_begin(l, on_ready, on_expired, b);
}

struct link *bench_begin(struct bench *b, uint16_t server)
{
	int error = 0;
	struct link *l = link_open(b->pool, bench_member(b, server), &error);
	assert_non_null(l);
	bench_begin_on(b, l);
	bench_turn_until(b, is_connected, l);
	return l;
}

int bench_accept(struct bench *b, uint16_t server)
{
	int fd = accept4(b->listeners[server], NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

void bench_say(int fd, const char *bytes, size_t length)
{
	assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), length);
}

void bench_reset(int *fd)
{
	struct linger now = {1, 0};
	assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	fd_close(fd);
}

struct member *bench_member(struct bench *b, size_t server)
{
	assert_true(server < b->pool->set->count);
	return b->pool->set->entries[server].server;
}

struct member_figures bench_figures(struct bench *b, size_t server)
{
	struct member_figures figures;
	member_figures(bench_member(b, server), clock_now_ns(), &figures);
	return figures;
}
