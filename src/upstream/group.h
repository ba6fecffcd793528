/*
 * Groups of upstream servers, one for each [upstream NAME]: their settings, and which
 * server a request goes to. Shared by all loops: settings are immutable, figures atomic.
 * What belongs to one loop stands in its pool (upstream/pool.h); the servers that there
 * are now stand in a set (upstream/set.h).
 */
#ifndef UPSTREAM_GROUP_H
#define UPSTREAM_GROUP_H

#include "base/clock.h"
#include "config/config.h"
#include "upstream/balance.h"
#include "upstream/server_line.h"
#include <pthread.h>

struct pool;
struct groups;

enum { STICKY_NAME_BYTES = 64, CHECK_PATH_BYTES = 512 };

enum key_kind { KEY_NONE, KEY_CLIENT_IP, KEY_URI, KEY_HEADER, KEY_COOKIE };

/* Active health checks. */
struct check_settings {
	const char *path; /* NULL: none are made */
	int64_t interval_ns, timeout_ns;
	unsigned rise, fall;
};

struct group {
	char *name;
	int64_t connect_timeout_ns, response_timeout_ns, queue_timeout_ns, eject_ns, slow_start_ns;
	unsigned keepalive, retries, queue, eject_errors, retry_percent;
	const struct balance *balance;
	enum key_kind key;
	struct slice key_name;     /* of the header or cookie */
	const char *sticky_cookie; /* NULL: none */
	struct check_settings check;
	int64_t resolve_ns, ttl_min_ns, ttl_max_ns; /* resolve_ns 0: as the TTL says */

	struct server_line *lines; /* the `server` values */
	size_t line_count;
	struct pool **pools; /* by loop id */
	unsigned loop_count; /* with the control thread's */

	pthread_mutex_t set_lock; /* for those who look from outside; loops have their own */
	struct member_set *set;   /* the newest; changed by the control thread only */

	/* Of the control thread. */
	struct list servers; /* all that were not freed yet */
	bool is_outdated;    /* memory was short when its set should have changed */

	alignas(64) atomic_size_t ticket; /* turns given out so far */
	alignas(64) atomic_int waiting;   /* requests that wait for a server, of all loops */
	atomic_int_least64_t next_trial_ns;
	atomic_size_t size; /* servers of the newest set that are not draining */
};

/* ---- control thread ------------------------------------------------------------------ */

/* Makes the groups of a configuration for loops 0..loop_count, the last being the control thread's own. Names stay
 * unresolved until sources are started. Faults are reported through the settings; then, or when memory is short,
 * returns NULL. */
struct groups *groups_create(const struct config *, unsigned loop_count);
/* After every loop ended. */
void groups_free(struct groups **);
/* A server of that `server` value, in no set yet. NULL: no memory. */
struct member *group_add_member(struct group *, size_t line, const struct endpoint *);
/* The servers of a group are now these: makes a set of them, hands it to every loop, and frees servers that nobody uses
 * any more. false: no memory; the set before stays. */
bool group_publish(struct group *, const struct set_entry *, size_t count, const char *const *unresolved,
        size_t unresolved_count, bool is_pending);
/* Frees what is not used any more. */
void group_collect(struct group *);

/* ---- any thread ------------------------------------------------------------------------ */

size_t groups_count(const struct groups *);
struct group *groups_at(const struct groups *, size_t index);
/* NULL: none of that name. */
struct group *groups_find(const struct groups *, const char *name);
/* What Via names this instance by: "mlserve-" and a random number. */
struct slice groups_instance(const struct groups *);

/* The newest set, for a look; given back by set_release. */
struct member_set *group_hold_set(struct group *);

/* A loop's thread. Picks a server of the pool's set that was not tried. */
enum pick_result group_pick(struct pool *, struct pick *, const struct set_entry **ret);

static inline size_t group_turn(struct group *g)
{
	return atomic_fetch_add_explicit(&g->ticket, 1, memory_order_relaxed);
}

#endif
