/*
 * Statistics of one loop: counters and gauges of counters.def, windows of the last
 * ten seconds (busy time, lag, latency, requests), and the status line by which others
 * see what the loop is doing right now. Written by one thread, read by any, without locks.
 */
#ifndef STATS_STATS_H
#define STATS_STATS_H

#include "base/clock.h"
#include "stats/histogram.h"
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum stat_id {
#define COUNTER(name, help) STAT_##name,
#define GAUGE(name, help) STAT_##name,
#include "stats/counters.def"
#undef COUNTER
#undef GAUGE
	STAT_COUNT
};

enum loop_state {
	LOOP_STARTING,
	LOOP_RUNNING,
	LOOP_DRAINING,
	LOOP_STOPPED
}; /* `stalled` is seen by readers, from busy_since */

enum { STATS_WINDOW_S = 10, STATS_SECONDS = STATS_WINDOW_S + 2 };

/* One second of figures that are shown over the last ten. */
struct stats_second {
	atomic_int_least64_t second; /* which one, monotonic; others are stale */
	atomic_int_least64_t busy_ns, requests;
	struct histogram lag, latency; /* microseconds */
};

/* Read by acceptor and watchdog all the time: a line of its own. */
struct loop_status {
	alignas(64) atomic_int state; /* enum loop_state */
	atomic_int tid;
	atomic_int_least64_t busy_since_ns; /* this turn's begin; 0 while the loop waits for events */
	atomic_uintptr_t route, handler;    /* const char *, interned: what runs now, or 0 */
};

struct stats {
	struct loop_status status;
	alignas(64) atomic_int_least64_t values[STAT_COUNT];
	struct stats_second seconds[STATS_SECONDS];
};

/* All figures of the last ten seconds added up. */
struct stats_recent {
	double busy; /* share of the time, 0..1 */
	int64_t requests;
	struct histogram_view lag, latency;
};

void stats_init(struct stats *);

static inline void stat_add(struct stats *s, enum stat_id which, int64_t amount)
{
	/* One writer: a plain add, made atomic only so that readers see no torn value. */
	atomic_int_least64_t *value = &s->values[which];
	atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + amount, memory_order_relaxed);
}

static inline int64_t stat_get(const struct stats *s, enum stat_id which)
{
	return atomic_load_explicit(&s->values[which], memory_order_relaxed);
}

static inline void stat_max(struct stats *s, enum stat_id which, int64_t value)
{
	if (value > stat_get(s, which))
		atomic_store_explicit(&s->values[which], value, memory_order_relaxed);
}

/* The current second, emptied when it begins. Writer only. */
struct stats_second *stats_second(struct stats *, int64_t now_ns);

/* Any thread. */
void stats_recent(const struct stats *, int64_t now_ns, struct stats_recent *ret);
const char *stat_name(enum stat_id);
const char *stat_help(enum stat_id);
bool stat_is_gauge(enum stat_id);

#endif
