/*
 * What one loop keeps for one group: idle kept-alive connections, free link objects, its
 * share of the servers' figures. Used by its loop's thread only, but for the figures.
 *
 * Connections are lent newest first, so that the surplus of a quiet hour grows old and
 * goes. An idle one is watched: it is dropped at once when its server closes it, resets
 * it or sends anything.
 */
#ifndef UPSTREAM_POOL_H
#define UPSTREAM_POOL_H

#include "base/list.h"
#include "upstream/group.h"
#include "upstream/link.h"

/* One server, as this loop knows it. */
struct server_share {
	struct list idle; /* newest first */
	atomic_int_least64_t idle_count, requests, failures;
	int64_t log_second; /* in which log_lines failures got a line */
	unsigned log_lines, unlogged;
};

struct pool {
	struct group *group;
	struct loop *loop;
	struct blocks *blocks;
	struct list by_age; /* idle connections of all servers, oldest first */
	unsigned idle_count;
	struct link *free_links;
	unsigned free_count;
	struct server_share shares[];
};

/* The loop's pool of the group, made on first use. NULL: no memory. */
struct pool *pool_get(struct group *, struct loop *, struct blocks *);
/* Closes what is idle; before the loop ends. */
void pool_close(struct pool *);
/* Control thread, after the loop ended. NULL is fine. */
void pool_free(struct pool *);

/* An idle connection to the server, or NULL. With `probe` one system call makes sure that it was not closed since the
 * loop last looked: for requests that could not be repeated. */
struct link *pool_take(struct pool *, uint16_t server, bool probe);
/* Keeps an open connection with nothing to read or write; the oldest one is closed when there are enough. */
void pool_put(struct pool *, struct link *);
/* Takes an idle connection out; the link is the caller's. */
void pool_remove(struct pool *, struct link *);

/* A link object, zeroed but for what link_open sets anyway. NULL: no memory. */
struct link *pool_link(struct pool *);
void pool_give_link(struct pool *, struct link *);

/* Any thread. */
void pool_add_figures(const struct pool *, size_t server, struct server_figures *);

static inline void figure_add(atomic_int_least64_t *figure, int64_t amount)
{
	/* One writer: atomic only so that readers see no torn value. */
	int64_t value = atomic_load_explicit(figure, memory_order_relaxed);
	atomic_store_explicit(figure, value + amount, memory_order_relaxed);
}

#endif
