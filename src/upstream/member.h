/*
 * One upstream server: an address, how it is doing, and what each loop keeps for it.
 * Made and freed by the control thread; all loops share its figures, which are atomic.
 *
 * Lifetime: server sets (upstream/set.h) name servers and hold references. A server that
 * no set names any more cannot be picked; it is freed once its last exchange and its last
 * connection are gone. So a loop may use a server that its set names until the end of the
 * turn, and longer while a link of that loop is connected to it.
 */
#ifndef UPSTREAM_MEMBER_H
#define UPSTREAM_MEMBER_H

#include "base/list.h"
#include "net/address.h"
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct group;
struct link;

enum { SHARE_OFFERS = 4 };

/* One server in one loop. Its loop's thread writes it, but for the offers; figures are read by any thread. */
struct member_share {
	alignas(64) struct list idle; /* kept-alive connections, newest first */
	atomic_int_least64_t idle_count, requests, failures;
	atomic_int_least64_t taken_ns; /* when the last one was lent */
	int64_t log_second;            /* in which log_lines failures got a line */
	unsigned log_lines, unlogged;
	alignas(64) _Atomic(struct link *) offers[SHARE_OFFERS]; /* see upstream/offer.h */
};

struct member {
	char *name;     /* ADDRESS:PORT or unix:/PATH */
	char *found_by; /* the name that led to it, or NULL */
	struct endpoint endpoint;
	int64_t limit; /* connections; 0: none */
	uint64_t id;   /* a hash of its name: the same in every process with this configuration */
	struct group *group;
	struct list node; /* of the control thread: all servers of the group */
	size_t line;      /* which `server` value it comes from */
	bool is_listed;   /* of the control thread: while a set is made, that this one names it */
	void *probe;      /* of the control thread: struct probe, or NULL */
	atomic_uint set_count;

	alignas(64) atomic_int_least64_t active; /* exchanges in progress */
	atomic_int_least64_t connections;        /* open sockets, idle ones included */

	/* Read at every pick, seldom written. */
	alignas(64) atomic_bool is_failing; /* its health checks say so */
	atomic_bool is_unreachable;         /* the last attempt to connect failed */
	atomic_bool is_retired;             /* the newest set does not name it: its connections are not kept */
	atomic_uint failures_in_a_row;
	atomic_int_least64_t ejected_until_ns; /* 0: not ejected; past: one trial is due */
	atomic_int_least64_t ejected_at_ns;    /* what began before says nothing new */
	atomic_int_least64_t up_since_ns;      /* slow start counts from here; 0: long ago */

	unsigned share_count;
	struct member_share shares[]; /* by loop id */
};

/* Control thread. `found_by` may be NULL. NULL: no memory. */
struct member *member_create(struct group *, const char *name, const char *found_by, const struct endpoint *);
void member_free(struct member **);
/* No set names it, and nothing of it is in use: it may be freed. Stays so. */
bool member_is_unused(const struct member *);

/* ---- any loop's thread -------------------------------------------------------------------- */

/* Takes one of the connections that the limit allows. false: there are enough. */
bool member_reserve(struct member *);
/* Gives it back, after the socket was closed; the server may be gone after this. */
void member_unreserve(struct member *);

/* An answer came to a try that began then. */
void member_note_success(struct member *, int64_t begun_ns, int64_t now_ns);
/* A try failed, for a reason that is the server's; `connecting`: there was no connection. */
void member_note_failure(struct member *, int64_t begun_ns, int64_t now_ns, bool connecting, const char *reason);
/* It is ejected still, and this is not the one request that tries it again. Claims that trial, so: only for a server
 * that was chosen. */
bool member_claim_trial(struct member *, int64_t now_ns);

/* ---- any thread ----------------------------------------------------------------------------- */

static inline bool member_is_ejected(const struct member *s, int64_t now_ns)
{
	return atomic_load_explicit(&s->ejected_until_ns, memory_order_relaxed) > now_ns;
}
static inline bool member_is_full(const struct member *s)
{
	return s->limit && atomic_load_explicit(&s->active, memory_order_relaxed) >= s->limit;
}

/* It has as many connections as it may, idle ones included. */
static inline bool member_is_crowded(const struct member *s)
{
	return s->limit && atomic_load_explicit(&s->connections, memory_order_relaxed) >= s->limit;
}

enum member_state { MEMBER_UP, MEMBER_DOWN, MEMBER_DRAINING, MEMBER_UNRESOLVED };

struct member_figures {
	const char *server;   /* its address, or the name that has none */
	const char *found_by; /* the name that led to it, or NULL */
	enum member_state state;
	int64_t active;   /* exchanges in progress */
	int64_t idle;     /* kept-alive connections that wait for one */
	int64_t requests; /* sent, retries included */
	int64_t failures; /* tries that failed: no connection, no answer in time, or a broken one */
};

void member_figures(const struct member *, int64_t now_ns, struct member_figures *ret);
const char *member_state_text(enum member_state);

static inline void figure_add(atomic_int_least64_t *figure, int64_t amount)
{
	/* One writer: atomic only so that readers see no torn value. */
	int64_t value = atomic_load_explicit(figure, memory_order_relaxed);
	atomic_store_explicit(figure, value + amount, memory_order_relaxed);
}

#endif
