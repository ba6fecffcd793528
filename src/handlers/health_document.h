/*
 * The health of the server as a value (struct health) and as JSON. Any thread may look:
 * nothing is read but relaxed atomics and what never changes, so a stuck loop holds
 * nobody up.
 */
#ifndef HANDLERS_HEALTH_DOCUMENT_H
#define HANDLERS_HEALTH_DOCUMENT_H

#include "handlers/stall.h"
#include "serve/view.h"
#include "stats/json.h"

/* A loop at the moment of the look, so that all parts of a document agree. */
struct health_loop {
	enum loop_state state;
	int64_t stalled_ms; /* 0: it comes round */
	int64_t cpu_ns;     /* used by its thread, at the first look at a stalled one; -1: not known */
	struct stall stall; /* of a stalled one */
	const char *route, *handler;
};

enum health_status { HEALTH_OK, HEALTH_DEGRADED, HEALTH_FAILING, HEALTH_DRAINING, HEALTH_STARTING };

struct health {
	const struct server_view *view;
	int64_t now_ns;
	enum health_status status;
	unsigned loop_count, stalled_count;
	struct health_loop loops[];
};

static inline size_t health_bytes(const struct server_view *view)
{
	return sizeof(struct health) + view->loop_count * sizeof(struct health_loop);
}

/* `self`: the statistics of the loop that asks, which comes round by definition; may be NULL. */
void health_look(struct health *, const struct server_view *, const struct stats *self, int64_t now_ns);
/* Some milliseconds after a look that found stalled loops: tells what they are doing. */
void health_look_again(struct health *, const struct stats *self, int64_t now_ns);

const char *health_status_text(enum health_status);
bool health_is_good(enum health_status); /* 200, not 503 */

void health_write(const struct health *, struct json *);
void health_write_loop(const struct health *, unsigned loop, struct json *);

#endif
