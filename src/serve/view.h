/* What handlers may see of the whole server. Set up by the control thread before loops start; the atomics are written
 * by whoever is named beside them and read by any thread. */
#ifndef SERVE_VIEW_H
#define SERVE_VIEW_H

#include "event/executor.h"
#include "stats/stats.h"

enum server_phase { SERVER_STARTING, SERVER_READY, SERVER_DRAINING };

struct acceptor_figures { /* written by the acceptor, or by each loop that accepts for itself */
	atomic_uint_least64_t accepted, errors, refused, queue_full;
};

struct loop_view {
	struct stats *stats;
	/* By the acceptor, when it decides: connections given to this loop. */
	alignas(64) atomic_uint_least64_t assigned;
	/* By the loop, sequentially consistent beside acceptor_waits: of those, how many it has taken, and how many of
	 * all of its connections are closed. */
	alignas(64) atomic_uint_least64_t taken, closed;
	atomic_uint_least64_t opened; /* by the loop: connections it accepted for itself */
	const char *error; /* why it stopped or never started, or NULL; set before state becomes LOOP_STOPPED */
};

struct server_view {
	const char *version;
	int64_t started_ns;
	unsigned generation, loop_count, cpus_available;
	uint64_t max_connections; /* of all loops together */
	size_t buffer_bytes;      /* of a connection, each way; 0: as usual */
	struct loop_view *loops;
	struct stats *control; /* of the control thread's own loop */
	atomic_int phase;      /* enum server_phase; by the control thread */
	const char *accept, *dispatch;
	struct acceptor_figures acceptor;
	struct acceptor_figures control_acceptor; /* of control listeners, by the control thread */
	struct executor *executor;
	int64_t stall_threshold_ns;
	/* The acceptor stopped accepting until a loop takes or closes something; whoever clears it posts acceptor_wake.
	 */
	alignas(64) atomic_bool acceptor_waits;
	void (*wake_acceptor)(struct server_view *);
	atomic_uint limit_waits;              /* threads that hold a new connection back because of max_connections */
	atomic_int_least64_t limit_warned_ns; /* when that was logged last; 0: never */
	void *upstreams;                      /* struct groups of upstream/group.h: this room does not know it */
};

/* Any thread: connections assigned to the loop that it has not taken yet. */
static inline int64_t loop_view_queued(const struct loop_view *v)
{
	uint64_t taken = atomic_load_explicit(&v->taken, memory_order_relaxed);
	int64_t queued = (int64_t)(atomic_load_explicit(&v->assigned, memory_order_relaxed) - taken);
	return queued > 0 ? queued : 0;
}

/* Sequentially consistent, for the acceptor's last look before it waits.
 * Any thread: open connections, those that were assigned and not yet taken included. Kept without messages, so that a
 * close counts as soon as an open does. */
static inline int64_t loop_view_connections(const struct loop_view *v)
{
	uint64_t closed = atomic_load_explicit(&v->closed, memory_order_seq_cst);
	uint64_t begun = atomic_load_explicit(&v->assigned, memory_order_seq_cst) +
	                 atomic_load_explicit(&v->opened, memory_order_seq_cst);
	return begun > closed ? (int64_t)(begun - closed) : 0;
}

/* Any thread: of all loops together. */
static inline uint64_t server_view_connections(const struct server_view *view)
{
	int64_t open = 0;
	for (unsigned i = 0; i < view->loop_count; i++)
		open += loop_view_connections(&view->loops[i]);
	return (uint64_t)open;
}

static inline bool server_view_is_full(const struct server_view *view)
{
	return server_view_connections(view) >= view->max_connections;
}

/* Any thread: whether new connections wait for others to be closed. Whoever waits may hear of room a little later than
 * there is some. */
static inline bool server_view_limit_holds(const struct server_view *view)
{
	return atomic_load_explicit(&view->limit_waits, memory_order_relaxed) && server_view_is_full(view);
}

/* The loop's thread, after it took or closed a connection or began to run. */
static inline void server_view_made_room(struct server_view *view)
{
	if (atomic_load_explicit(&view->acceptor_waits, memory_order_seq_cst) &&
	        atomic_exchange_explicit(&view->acceptor_waits, false, memory_order_seq_cst))
		view->wake_acceptor(view);
}

#endif
