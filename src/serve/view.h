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
	atomic_uint_least64_t assigned; /* connections given to this loop, counted when decided; by the acceptor */
	const char *error; /* why it stopped or never started, or NULL; set before state becomes LOOP_STOPPED */
};

struct server_view {
	const char *version;
	int64_t started_ns;
	unsigned generation, loop_count, cpus_available;
	struct loop_view *loops;
	struct stats *control; /* of the control thread's own loop */
	atomic_int phase;      /* enum server_phase; by the control thread */
	const char *accept, *dispatch;
	struct acceptor_figures acceptor;
	struct executor *executor;
	int64_t stall_threshold_ns;
	void *upstreams; /* struct groups of upstream/group.h: this room does not know it */
};

/* Any thread: connections assigned to the loop that it has not taken yet. */
static inline int64_t loop_view_queued(const struct loop_view *v)
{
	uint64_t taken = atomic_load_explicit(&v->stats->status.taken, memory_order_relaxed);
	int64_t queued = (int64_t)(atomic_load_explicit(&v->assigned, memory_order_relaxed) - taken);
	return queued > 0 ? queued : 0;
}

#endif
