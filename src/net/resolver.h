/*
 * Looks names up without blocking, on one loop (the control thread's): /etc/hosts and localhost first, then DNS. What
 * comes back is a set: the same addresses in the same order whatever the order of the answers. It keeps nothing: who
 * wants to know again asks again, and the TTL says when.
 */
#ifndef NET_RESOLVER_H
#define NET_RESOLVER_H

#include "base/list.h"
#include "event/loop.h"
#include "mlserve/handler.h"
#include "net/address.h"

enum { RESOLVER_ADDRESSES = 1024, RESOLVER_MAX_WEIGHT = 256 };

enum resolver_kind {
	RESOLVER_HOST, /* A and AAAA of the name */
	RESOLVER_SRV,  /* the name's SRV records, then the addresses of their targets */
};

/* The later is what is said when several parts of a lookup went wrong. */
enum resolver_error {
	RESOLVER_FINE,
	RESOLVER_NO_NAME,    /* there is no such name */
	RESOLVER_NO_ADDRESS, /* the name has no addresses, or says that there is no such service */
	RESOLVER_FAILED,     /* the servers fail, refuse, cannot be reached or send nonsense */
	RESOLVER_TIMEOUT,
	RESOLVER_NO_MEMORY,
};

struct resolver_address {
	struct endpoint endpoint;
	unsigned weight;   /* 1..RESOLVER_MAX_WEIGHT; 1 but for SRV */
	uint16_t priority; /* the lowest first; 0 but for SRV */
};

struct resolver_answer {
	enum resolver_error error;
	const char *reason; /* for logs; static */
	const struct resolver_address
	        *addresses; /* valid during the callback; by family, address and port; no doubles */
	size_t count;       /* at most RESOLVER_ADDRESSES */
	int64_t ttl_s;      /* the smallest of all records that led to the answer; -1: none known (hosts file) */
};

/* The caller's own; it stays where it is until done() came or it was cancelled. */
struct lookup {
	void (*done)(struct lookup *, const struct resolver_answer *);
	struct list node;      /* of the resolver's */
	struct search *search; /* NULL: memory was short at the start */
	struct task refused;
};

struct resolver;

/* `servers`: ADDRESS:PORT texts, asked for whole names; none: as /etc/resolv.conf says, also when it changes. NULL:
 * *ret_reason says why. */
struct resolver *resolver_create(
        struct loop *, const char *const *servers, size_t server_count, const char **ret_reason);
/* Lookups that run end without their callbacks. */
void resolver_free(struct resolver **);

void lookup_init(struct lookup *, void (*done)(struct lookup *, const struct resolver_answer *));
static inline bool lookup_is_running(const struct lookup *l)
{
	return !list_is_empty(&l->node);
}
/* done() comes once, from the end of a turn and never from here; it may do anything, also free the resolver. The
 * endpoints of a host get this port, those of a service the ports that its records say. */
void resolver_start(struct resolver *, struct lookup *, const char *name, uint16_t port, enum resolver_kind);
/* done() will not come. Nothing happens when it is not running. */
void resolver_cancel(struct lookup *);

/* Reads `resolver` of [server]: none for auto. The texts are the configuration's. false: faults were reported. */
bool resolver_read_servers(const struct mlserve_settings *, const char *const **ret_servers, size_t *ret_server_count);

#endif
