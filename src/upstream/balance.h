/*
 * How a group picks the server of a request; one file a policy. Any loop's thread.
 *
 * A policy chooses among the entries of one tier of a set that pick_allows lets through;
 * group_pick does the rest: tiers, drain, sticky cookies, ejected servers that are due
 * for a trial.
 */
#ifndef UPSTREAM_BALANCE_H
#define UPSTREAM_BALANCE_H

#include "upstream/set.h"

enum pick_result {
	PICK_DONE,
	PICK_TRIED,   /* all that could serve were tried already */
	PICK_DOWN,    /* none can serve: down, ejected, draining, or there is none */
	PICK_FULL,    /* those that could serve have as many requests as they may */
	PICK_PENDING, /* there is none, but names are being looked up for the first time */
};

struct pick {
	/* Set by the caller: */
	struct member *const *tried;
	size_t tried_count;
	uint64_t key; /* of what a hash policy asks for */
	bool has_key;
	uint64_t sticky; /* the id of the server that the client's cookie names */
	bool has_sticky;
	int64_t now_ns;
	uint64_t *random; /* state of the loop's generator */

	/* Used by group_pick and the policies: */
	struct group *group;
	const struct member_set *set;
	bool saw_tried, saw_full;
	bool sticky_is_full; /* the client's own server serves it again later */
	bool lost_trial;     /* to another request: only servers that need none will do */
};

struct balance {
	const char *name;
	/* An entry of the tier, which is not empty; NULL: none is allowed. */
	const struct set_entry *(*choose)(struct pick *, const struct set_tier *);
};

extern const struct balance balance_least_requests, balance_round_robin, balance_two_choices, balance_hash;

bool pick_was_tried(const struct pick *, const struct member *);
/* Whether the server can take this request; notes why not. */
bool pick_can_serve(struct pick *, const struct set_entry *);
/* The same for a request that is no client's of a draining server. */
static inline bool pick_allows(struct pick *p, const struct set_entry *e)
{
	return !e->is_draining && pick_can_serve(p, e);
}
/* Its weight now, times 1024: less while it starts slowly. */
uint64_t pick_weight(const struct pick *, const struct set_entry *);
uint64_t pick_random(struct pick *);

#endif
