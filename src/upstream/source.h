/*
 * One `server` value that is a name: the addresses that it led to last, and when it is
 * looked up again. Control thread.
 *
 * The last good answer stays while lookups fail. A name is asked for again when the TTL of
 * its answer ends, bounded by resolve_min_ttl and resolve_max_ttl, or every
 * resolve_interval; after a failure soon, then less and less often.
 */
#ifndef UPSTREAM_SOURCE_H
#define UPSTREAM_SOURCE_H

#include "net/resolver.h"
#include "upstream/group.h"

struct source {
	struct group *group;
	size_t line; /* of the group's */
	void *owner;
	void (*changed)(struct source *);
	struct loop *loop;
	struct resolver *resolver;
	struct lookup lookup;
	struct timer timer;
	struct resolver_address *found;
	size_t found_count;
	bool is_known;      /* a lookup has come to an end */
	bool was_published; /* its servers of the first lookup are in use */
	unsigned failures;  /* in a row */
	const char *reason; /* of the last failure that was logged, or NULL */
};

/* `changed` is called when the addresses changed, or the first lookup failed. */
void source_init(struct source *, struct group *, size_t line, void (*changed)(struct source *), void *owner);
void source_start(struct source *, struct loop *, struct resolver *);
void source_stop(struct source *);

/* The sources of one group, in the order of its lines. */
struct sources_of {
	struct source *first;
	size_t count;
};

/* Makes the group's servers those that its lines say and its names led to. false: no memory, nothing changed. */
bool source_publish(struct group *, struct sources_of, int64_t now_ns);

#endif
