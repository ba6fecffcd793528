/*
 * Keeps the servers of all groups in step with the world: looks their names up again and
 * again, checks them, frees those that are gone. All in the control thread, on its loop.
 */
#ifndef UPSTREAM_UPKEEP_H
#define UPSTREAM_UPKEEP_H

#include "net/resolver.h"
#include "upstream/group.h"

struct blocks;
struct upkeep;

/* Whether any group names servers that have to be looked up. */
bool upkeep_needs_resolver(const struct groups *);
/* After the loops were started. `resolver` may be NULL when none is needed. NULL: no memory. */
struct upkeep *upkeep_start(struct groups *, struct loop *, struct blocks *, struct resolver *);
/* Before the loop and the resolver go; the servers stay as they are. NULL is fine. */
void upkeep_stop(struct upkeep **);

#endif
