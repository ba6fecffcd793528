/*
 * A bounded pool of threads for handler work that blocks or burns. Jobs come from
 * loops and go back to the loop that asked; nothing else is shared.
 */
#ifndef EVENT_EXECUTOR_H
#define EVENT_EXECUTOR_H

#include "event/loop.h"

struct executor;

/* Owned by the submitter; must live until `done` runs in the loop that submitted it. */
struct job {
	struct post post; /* how it comes back */
	struct list node;
	struct loop *home;
	void (*work)(void *argument); /* in a thread of the executor */
	void *argument;
	void (*done)(struct loop *, struct job *);
	bool is_release; /* gives something back: it is neither refused nor dropped at the end */
};

struct executor_figures {
	unsigned threads, active;
	uint64_t queued, rejected;
};

/* Control thread. NULL and a negative errno in *ret_error when it cannot be made. */
struct executor *executor_create(unsigned threads, size_t queue_limit, int *ret_error);
/* Control thread, after every loop ended: drops the queue but for releases, waits at most so long for what runs, and
 * frees it. false: a job still runs, nothing was freed, and the process can only exit. */
bool executor_free(struct executor **, int64_t most_ns);

/* Any loop's thread. job->work, argument and done are set. false: the queue is full; the job stays the caller's. */
bool executor_submit(struct executor *, struct loop *home, struct job *);
/* The submitter's thread: takes a job that has not begun out of the queue. true: it is the caller's again, done will
 * not run; false: it runs or ran, done will. */
bool executor_withdraw(struct executor *, struct job *);

/* Any thread. */
struct executor_figures executor_figures(struct executor *);

#endif
