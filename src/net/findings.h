/* The addresses that a lookup gathers from several answers, made one set at its end. */
#ifndef NET_FINDINGS_H
#define NET_FINDINGS_H

#include "net/resolver.h"

/* What all addresses of one target have. */
struct terms {
	unsigned weight;
	uint16_t port, priority;
};

struct findings {
	struct resolver_address *addresses;
	size_t count, room;
	int64_t ttl_s; /* the smallest noted; -1: none */
};

void findings_init(struct findings *);
void findings_fini(struct findings *);
/* false: no memory. Beyond a bound far above RESOLVER_ADDRESSES more are not kept. */
bool findings_add(struct findings *, const struct address *, const struct terms *);
void findings_note_ttl(struct findings *, int64_t ttl_s);
/* Sorts, leaves out doubles and what this machine has no way to, and cuts to RESOLVER_ADDRESSES. */
void findings_settle(struct findings *);

#endif
