/* The upstreams of a proxy route, and whose turn it is: `upstream = NAME weight=N`, repeated. */
#ifndef HANDLERS_PROXY_SPLIT_H
#define HANDLERS_PROXY_SPLIT_H

#include "mlserve/handler.h"

struct proxy_split {
	char **names;
	size_t count;
	uint16_t *schedule; /* weighted turns */
	size_t length;
};

/* false: a fault was reported, or memory is short; proxy_split_fini is due all the same. */
bool proxy_split_read(const struct mlserve_settings *, struct proxy_split *ret_split);
void proxy_split_fini(struct proxy_split *);

/* The upstream, by index, of the next request. *turn: how many turns were taken, which each loop counts for itself. */
static inline size_t proxy_split_next(const struct proxy_split *s, size_t *turn)
{
	size_t upstream = s->schedule[*turn];
	*turn = *turn + 1 < s->length ? *turn + 1 : 0;
	return upstream;
}

#endif
