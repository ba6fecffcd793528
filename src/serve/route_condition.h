/* Conditions of a route: what a request must have besides host and path. */
#ifndef SERVE_ROUTE_CONDITION_H
#define SERVE_ROUTE_CONDITION_H

#include "base/arena.h"
#include "serve/route_match.h"
#include "serve/route_methods.h"

struct route_condition;
struct route_request;

struct route_conditions {
	struct route_methods methods;  /* any of them; none: every method */
	struct route_condition *items; /* each of them */
	size_t count;
};

/* if_method, if_header and if_query of the section, in the arena. false: a fault was reported, or memory is short; what
 * there is must be given back all the same. */
bool route_conditions_read(struct arena *, const struct mlserve_settings *, struct route_conditions *ret);
void route_conditions_fini(struct route_conditions *);
static inline bool route_conditions_are_none(const struct route_conditions *c)
{
	return c->count == 0 && c->methods.count == 0;
}
/* Whether all that `a` asks for is asked for by `b` too, so that a request that fits `b` fits `a`. */
bool route_conditions_within(const struct route_conditions *a, const struct route_conditions *b);
/* *ret_failure is set when unsure. */
enum route_answer route_conditions_hold(const struct route_conditions *, struct route_match *,
        const struct route_request *, struct route_failure *ret_failure);

#endif
