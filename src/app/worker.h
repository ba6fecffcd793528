/*
 * One loop and its thread: takes sockets from its mailbox, or accepts for itself, and
 * serves them until it is told to drain.
 */
#ifndef APP_WORKER_H
#define APP_WORKER_H

#include "app/accept_set.h"
#include "app/listeners.h"
#include <pthread.h>
#include <semaphore.h>

struct worker {
	struct loop loop;
	struct context context;
	struct stats *stats;
	struct loop_view *view;
	struct accept_set accepts; /* reuseport and sharded ports */
	struct server_view *server;
	const struct listeners *listeners;
	const struct routes *routes;
	struct loop *control;
	void (*ended)(
	        struct loop *control, struct post *); /* runs in the control thread when the thread is about to end */
	struct post end_post, drain_post, cut_post;
	sem_t begun; /* by the thread, once its state is no longer LOOP_STARTING */
	pthread_t thread;
	bool made, joinable, draining, cut;
	bool waits_for_limit; /* see connection_limit.h */
	int cpu;              /* with pin_loops, else -1 */
};

/* Control thread. Makes the loop; on failure it stays LOOP_STOPPED with its error in the view, and false is returned.
 */
bool worker_init(struct worker *, unsigned id, int64_t stall_threshold_ns);
/* Starts the thread. false: as above. */
bool worker_start(struct worker *);
/* Control thread, after worker_start: waits until the loop runs. false: it cannot, and its end will be told. */
bool worker_await(struct worker *);
/* Any thread: hands a connection over; loop_wake must follow soon. false: the mailbox is full. */
bool worker_give(struct worker *, const struct listener_settings *, int fd, const struct address *peer);
/* Control thread: messages; the second one cuts what is left. */
void worker_drain(struct worker *);
void worker_cut(struct worker *);
/* Control thread, after `ended` ran. */
void worker_join(struct worker *);
void worker_fini(struct worker *);

#endif
