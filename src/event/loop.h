/*
 * One event loop: one epoll set of ours, which holds every socket and the mailbox of this loop, and a libev loop that
 * runs timers and whatever else is watched by libev.
 *
 * Why a set of ours: a socket is registered once, edge-triggered for both directions,
 * and then costs no epoll_ctl until it is closed; and a set of ours can be read by
 * another loop while this one is stuck, which libev's cannot.
 *
 * Deadlines stand in one dense array by slot, so setting one is a store, and one sweep
 * serves all connections; no timer a connection. They come up to 20 ms late, never early.
 *
 * All functions belong to the loop's own thread but those marked "any thread".
 */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include "base/clock.h"
#include "base/list.h"
#include "event/mailbox.h"
#include "stats/stats.h"
#include <ev.h>

struct watch {
	struct loop *loop;                              /* set by loop_adopt */
	void (*ready)(struct watch *, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR */
	void (*expired)(struct watch *);                /* its deadline passed and was cleared */
	uint32_t slot;
	bool registered; /* in the epoll set */
};

/* Something to run at the end of this turn. */
struct task {
	struct list node;
	void (*run)(struct task *);
};

/* Something another thread wants run here. Unlike mail it needs no room, so it cannot be refused. */
struct post {
	struct post *next;
	void (*run)(struct loop *, struct post *);
};

struct timer {
	ev_timer ev;
	void (*fire)(struct timer *);
};

struct loop {
	struct ev_loop *ev;
	unsigned id;
	int set_fd;
	int64_t now_ns; /* stamp of this turn's begin */
	uint64_t epoch; /* grows whenever input may have come that was not there before: what was looked at in the
	                   same epoch need not be looked at again */
	struct stats *stats;
	struct stats_second *second;
	struct mailbox mailbox;
	_Atomic(struct post *) posts; /* newest first */
	void *owner;                  /* the worker's own; not used here */

	struct watch **watches;
	uint32_t *generations;
	int64_t *deadlines_ns; /* INT64_MAX: none */
	uint32_t *free_slots;
	uint32_t capacity, free_count;
	int64_t sweep_at_ns;

	struct watch mail_watch;
	struct list tasks;
	void (*turn_end)(struct loop *); /* may be NULL; before the loop sleeps */
	int64_t stall_threshold_ns;
	ev_io set_watch;
	ev_timer sweep_timer;
	ev_check after_sleep;
	unsigned ev_watchers; /* libev's that run, beside the sweep and the set */
	int sleep_ms;         /* how long the next turn may sleep; -1: without end */
	int error;
	bool in_turn, stopping;
};

#define NO_DEADLINE INT64_MAX

/* Returns 0 or a negative errno. `stats` outlives the loop. The control thread may make the loop of another thread. */
int loop_init(struct loop *, unsigned id, struct stats *, size_t mailbox_capacity);
void loop_fini(struct loop *);
/* Runs until loop_stop. Returns 0, or a negative errno when the loop cannot go on. */
int loop_run(struct loop *);
void loop_stop(struct loop *);
/* One turn, which sleeps first if it may and nothing is left from the one before. For loop_run and tests. */
void loop_turn(struct loop *, bool may_sleep);
/* Whoever starts or stops a watcher on `ev` by himself says so, by 1 or -1: libev is not asked while it has none. */
static inline void loop_count_watcher(struct loop *, int change);

/* Gives the watch a slot; ready and expired are set by the caller before. false: no memory. */
bool loop_adopt(struct loop *, struct watch *);
/* Registers fd edge-triggered for reading and writing; the watch was adopted. 0 or a negative errno. */
int loop_register(struct watch *, int fd);
/* The same, level-triggered for reading: listening sockets. */
int loop_register_listener(struct watch *, int fd);
/* Takes fd out of the set while it stays open. */
void loop_unregister(struct watch *, int fd);
/* Any thread: takes fd out of that loop's set; its watch is told by other means. Events that the loop has fetched
 * already still come. */
void loop_unregister_from(struct loop *, int fd);
/* Gives the slot back; events of this turn that are still to come do not reach the watch. The descriptor is closed by
 * the caller, which also takes it out of the set. */
void loop_release(struct watch *);

/* Instant in ns of clock_now_ns, or NO_DEADLINE. */
static inline void watch_deadline(struct watch *w, int64_t at_ns);

static inline void loop_count_watcher(struct loop *l, int change)
{
	l->ev_watchers += (unsigned)change;
}

/* Any thread: mail for this loop. false: its mailbox is full; nothing was taken. */
static inline bool loop_post(struct loop *l, const struct mail *mail)
{
	return mailbox_post(&l->mailbox, mail);
}

/* Any thread: several letters and one wake-up. */
static inline bool loop_put(struct loop *l, const struct mail *mail)
{
	return mailbox_put(&l->mailbox, mail);
}
static inline void loop_wake(struct loop *l)
{
	mailbox_wake(&l->mailbox);
}

/* Any thread: runs post->run in the loop's thread, in the order of posting. The post belongs to the loop until then. */
void loop_post_always(struct loop *, struct post *);

/* Runs what was posted so far, for an owner that waits for a post before it ends. */
void loop_run_posts(struct loop *);
/* Runs the task once at the end of this turn, before the loop sleeps. A task that is queued already stays where it is.
 */
void loop_defer(struct loop *, struct task *);
static inline void task_init(struct task *t, void (*run)(struct task *))
{
	list_init(&t->node);
	t->run = run;
}
static inline void task_cancel(struct task *t)
{
	list_remove(&t->node);
}

void timer_init(struct timer *, void (*fire)(struct timer *));
/* One shot, `us` microseconds from now; a running one is started anew. */
void timer_start(struct loop *, struct timer *, int64_t us);
void timer_stop(struct loop *, struct timer *);
/* libev stops a timer when it is due, but calls it only after what else the turn brought. */
static inline bool timer_is_running(const struct timer *t)
{
	return ev_is_active(&t->ev) || ev_is_pending(&t->ev);
}

/* What runs now, for the status line: interned names that outlive every configuration, or NULL. */
static inline void loop_label(struct loop *l, const char *route, const char *handler)
{
	atomic_store_explicit(&l->stats->status.handler, (uintptr_t)handler, memory_order_relaxed);
	atomic_store_explicit(&l->stats->status.route, (uintptr_t)route, memory_order_relaxed);
}

void loop_sweep_by(struct loop *, int64_t at_ns); /* for watch_deadline only */

static inline void watch_deadline(struct watch *w, int64_t at_ns)
{
	struct loop *l = w->loop;
	l->deadlines_ns[w->slot] = at_ns;
	if (at_ns < l->sweep_at_ns)
		loop_sweep_by(l, at_ns);
}

#endif
