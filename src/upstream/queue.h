/*
 * Requests of one loop that wait for a server: because each that could serve has as many
 * connections as it may, or because names are being looked up for the first time. First
 * come, first served, within a loop and about so between loops.
 *
 * Whoever frees a place wakes the loop whose first waiter is the oldest, and that loop
 * passes the wake-up on when it has nobody left. A slow tick sees what no wake-up tells:
 * deadlines, a loop that was woken and is stuck.
 */
#ifndef UPSTREAM_QUEUE_H
#define UPSTREAM_QUEUE_H

#include "event/loop.h"

struct group;
struct pool;

struct waiter {
	struct list node;
	int64_t since_ns, deadline_ns;
	/* Looks for a server and a connection again; the waiter is in no list meanwhile. true: it was served or
	 * answered and must not be touched any more; false: it waits on, at its place. */
	bool (*retry)(struct waiter *);
	/* Its deadline passed; it does not wait any more. */
	void (*expired)(struct waiter *);
	bool is_picky; /* some servers are none for it: when it cannot be served others may */
};

struct queue {
	struct list waiters;
	atomic_int_least64_t oldest_ns; /* since when the first one waits; INT64_MAX: none */
	struct post wake_post;
	atomic_bool wake_is_queued;
	struct task again;
	struct timer tick;
};

/* Before the loop uses it. */
void queue_init(struct pool *);
/* Before the loop ends; nobody waits any more. */
void queue_fini(struct pool *);
/* The waiter's retry and expired are set. It is retried before the loop sleeps, whatever happened meanwhile. false: as
 * many wait as may. */
bool queue_add(struct pool *, struct waiter *, int64_t timeout_ns);
/* It waits no more. */
void queue_remove(struct pool *, struct waiter *);
/* Retries those that wait. */
void queue_serve(struct pool *);
/* Any loop's thread: a place at a server of the group became free. Cheap when nobody waits. */
void queue_wake(struct group *);

#endif
