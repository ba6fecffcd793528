/* A loop turned by hand, a group made from a text, and scripted servers on real sockets. */
#ifndef TESTS_UNIT_UPSTREAM_BENCH_H
#define TESTS_UNIT_UPSTREAM_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "upstream/pool.h"

enum { BENCH_SERVERS = 3 };

struct bench {
	struct loop loop;
	struct stats stats;
	struct blocks blocks;
	struct config *config;
	struct groups *groups;
	struct group *group; /* "app" */
	struct pool *pool;
	int listeners[BENCH_SERVERS];
	unsigned ports[BENCH_SERVERS];
	unsigned ready_count, expired_count;
};

/* `settings` are lines of [upstream app] besides its servers, which are the bench's. */
void bench_open(struct bench *, unsigned server_count, const char *settings);
void bench_close(struct bench *);

/* Begins an exchange on a new connection, and waits until that is made or refused. */
struct link *bench_begin(struct bench *, uint16_t server);
/* The same on an idle one from pool_take. */
void bench_begin_on(struct bench *, struct link *);
/* The server's end of the next connection made to it. */
int bench_accept(struct bench *, uint16_t server);
void bench_say(int fd, const char *bytes, size_t length);
void bench_reset(int *fd);

/* Turns the loop until `holds` says so; fails when it takes too long. */
void bench_turn_until(struct bench *, bool (*holds)(struct bench *, void *), void *argument);
/* Turns the loop until the kernel has nothing more to tell it. */
void bench_settle(struct bench *);

/* Server number `server` of the group. */
struct member *bench_member(struct bench *, size_t server);
struct member_figures bench_figures(struct bench *, size_t server);

#endif
