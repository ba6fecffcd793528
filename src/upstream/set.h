/*
 * The servers of a group at one time: what requests are spread over. Immutable and
 * reference-counted. The control thread makes a new set when names resolve to other
 * addresses; each loop goes over to it between two turns of its own.
 */
#ifndef UPSTREAM_SET_H
#define UPSTREAM_SET_H

#include "upstream/member.h"

struct set_entry {
	struct member *server;
	unsigned weight;
	bool is_backup, is_draining;
};

/* Entries [begin, end) of a set, which are asked before those of the next tier. */
struct set_tier {
	size_t begin, end;
	uint16_t *turns; /* entries in weighted turns */
	size_t turn_count;
};

enum { SET_MEMBERS = 1024, SET_TIERS = 2 };

struct member_set {
	atomic_uint references;
	struct set_tier tiers[SET_TIERS]; /* primaries, backups */
	bool is_pending;                  /* a name was not looked up yet, so there may soon be more */
	char **unresolved;                /* names without an address */
	size_t unresolved_count;
	size_t taker_count; /* servers that are not draining */
	size_t count;
	struct set_entry entries[]; /* primaries first */
};

/* Control thread. A copy of the entries, sorted into tiers; takes a reference to each server. The names are copied.
 * NULL: no memory. */
struct member_set *set_create(const struct set_entry *, size_t count, const char *const *unresolved,
        size_t unresolved_count, bool is_pending);
/* Whether it is one of its servers. */
bool set_names(const struct member_set *, const struct member *);
/* There is no server, but there may soon be some. */
static inline bool set_awaits_names(const struct member_set *s)
{
	return s->count == 0 && s->is_pending;
}
/* Any thread. */
static inline void set_hold(struct member_set *s)
{
	atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
}
/* Any thread. Gives a reference back; NULL is fine. */
void set_release(struct member_set *);
#endif
