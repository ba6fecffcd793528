/*
 * Looks at every loop some times within stall_threshold and logs the one that does not
 * come round, with the route and handler that hold it: once a stall. Control thread.
 */
#ifndef APP_STALL_WATCH_H
#define APP_STALL_WATCH_H

#include "event/loop.h"
#include "serve/view.h"

struct stall_watch {
	struct loop *loop;
	const struct server_view *view;
	struct timer timer;
	int64_t *seen_ns; /* by loop: the begin of the turn that was logged last */
	int64_t period_us;
};

/* false: no memory. */
bool stall_watch_start(struct stall_watch *, struct loop *, const struct server_view *);
void stall_watch_stop(struct stall_watch *);

#endif
