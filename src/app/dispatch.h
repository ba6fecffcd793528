/* Which loop gets the next connection: by measured load, or by the simpler policies it is compared with. The acceptor's
 * thread only. */
#ifndef APP_DISPATCH_H
#define APP_DISPATCH_H

#include "serve/view.h"

enum dispatch_policy { /* in the order of the option's choices */
	DISPATCH_LEAST_LOAD,
	DISPATCH_LEAST_CONNECTIONS,
	DISPATCH_ROUND_ROBIN,
	DISPATCH_TWO_CHOICES,
	DISPATCH_RANDOM,
};

struct dispatch {
	enum dispatch_policy policy;
	struct loop_view *views;
	unsigned count, next;
	uint64_t decisions, random;
	uint64_t *chosen; /* by loop: number of the decision that chose it last */
	int64_t now_ns;   /* of the present batch */
};

enum { DISPATCH_NONE = -1 };

bool dispatch_init(struct dispatch *, enum dispatch_policy, struct loop_view *views, unsigned count);
void dispatch_fini(struct dispatch *);
/* At the begin of a batch. */
void dispatch_look(struct dispatch *, int64_t now_ns);
/* A running loop, but none for which skip[i] is set; DISPATCH_NONE: there is none. The decision is counted at once. */
int dispatch_pick(struct dispatch *, const bool *skip);
/* The decision could not be carried out: takes it back. */
void dispatch_undo(struct dispatch *, int loop);

#endif
