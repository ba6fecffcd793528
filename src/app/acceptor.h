/* The acceptor thread: accepts, decides which loop gets the connection, and hands it over. Nothing else. */
#ifndef APP_ACCEPTOR_H
#define APP_ACCEPTOR_H

#include "app/accept_set.h"
#include "app/dispatch.h"
#include "app/worker.h"

struct acceptor {
	struct loop loop;
	struct stats *stats; /* of its own loop: not shown */
	struct accept_set accepts;
	struct dispatch dispatch;
	struct worker *workers;
	unsigned worker_count;
	struct server_view *server;
	bool *skip;  /* loops that refused the present connection */
	bool *given; /* loops that got one and are not yet woken */
	unsigned given_count;
	struct loop *control;
	void (*finished)(
	        struct loop *control, struct post *); /* in the control thread: all that was queued is handed over */
	struct post finish_post, close_post, finished_post, wake_post;
	atomic_bool wake_posted;
	pthread_t thread;
	bool made, joinable;
	bool waits_for_limit; /* see connection_limit.h */
};

/* Control thread; workers, server, control and finished are set before. 0 or a negative errno. */
int acceptor_init(struct acceptor *, enum dispatch_policy, const struct listeners *);
int acceptor_start(struct acceptor *);
/* Any thread: a loop took or closed something, so there may be room again. */
void acceptor_wake(struct acceptor *);
/* Control thread: accepts what the kernel has queued and ends the thread; `finished` follows. */
void acceptor_finish(struct acceptor *);
/* Ends the thread whatever the kernel has queued, and frees. */
void acceptor_fini(struct acceptor *);

#endif
