/*
 * Groups of upstream servers, one for each [upstream NAME]: what they are, how they are
 * doing, and which one a request goes to. Shared by all loops: settings are immutable,
 * figures are atomic. What belongs to one loop stands in its pool (upstream/pool.h).
 */
#ifndef UPSTREAM_GROUP_H
#define UPSTREAM_GROUP_H

#include "config/config.h"
#include "net/address.h"
#include "upstream/balance.h"
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;
struct groups;

struct group_server {
	char *name; /* as configured, without its parameters */
	struct endpoint endpoint;
	unsigned weight;
	alignas(64) atomic_int_least64_t active; /* exchanges in progress, of all loops */
	atomic_bool down;                        /* the last attempt to connect failed */
};

struct group {
	char *name;
	int64_t connect_timeout_ns, response_timeout_ns;
	unsigned keepalive, retries;
	const struct balance *balance;
	struct group_server *servers;
	size_t server_count;
	uint16_t *schedule; /* servers in weighted turns */
	size_t schedule_length;
	unsigned pool_count;
	_Atomic(struct pool *) *pools;    /* by loop id; each made by its loop's thread on first use */
	alignas(64) atomic_size_t ticket; /* turns given out so far */
};

/* ---- control thread ------------------------------------------------------------------ */

/* Makes the groups of a configuration for loops 0..loop_count, the last being the control thread's own. Looks host
 * names up, which blocks. Faults are reported through the settings; then, or when memory is short, returns NULL. */
struct groups *groups_create(const struct config *, unsigned loop_count);
/* After every loop ended. */
void groups_free(struct groups **);

/* ---- any thread ------------------------------------------------------------------------ */

size_t groups_count(const struct groups *);
struct group *groups_at(const struct groups *, size_t index);
/* NULL: none of that name. */
struct group *groups_find(const struct groups *, const char *name);
/* What Via names this instance by: "mlserve-" and a random number. */
struct slice groups_instance(const struct groups *);

const char *group_name(const struct group *);
size_t group_server_count(const struct group *);

enum server_state { SERVER_UP, SERVER_DOWN };

struct server_figures {
	const char *server; /* its name */
	enum server_state state;
	int64_t active;   /* exchanges in progress */
	int64_t idle;     /* kept-alive connections that wait for one */
	int64_t requests; /* sent, retries included */
	int64_t failures; /* tries that failed: no connection, no answer in time, or a broken one */
};

void group_server_figures(const struct group *, size_t index, struct server_figures *ret);
const char *server_state_text(enum server_state); /* "up", "down" */

/* Picks a server that is not among those tried. false: all of them were. */
bool group_pick(struct group *, const uint16_t *tried, size_t tried_count, uint16_t *ret_server);

#endif
