/*
 * Routes: from host, path and method to a handler. Built once from a configuration by
 * the control thread; immutable afterwards, read by all loops.
 */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "config/config.h"
#include "http/message.h"
#include "mlserve/handler.h"

struct routes;      /* all routes of one configuration */
struct route_match; /* scratch memory for regular expressions: one a loop */

struct route {
	const char *name; /* interned: outlives the configuration */
	const struct mlserve_handler *handler;
	const char *handler_name; /* interned as well */
	void *state;              /* what handler->configure made */
	unsigned index;
	int64_t max_body_size; /* bytes; -1: the listener's */
	bool debug_headers;
	struct slice prefix; /* of prefix routes, without a trailing '/'; empty for others and for "/" */
	struct slice allow;  /* "Allow: GET, HEAD\r\n" */
};

/* Finds handlers by name: built-in ones or .so files; ret_reason as in config_handlers. Lives in the room above. */
typedef const struct mlserve_handler *route_handler_find(void *context, const char *name, const char **ret_reason);

/* Reports to `faults` through the settings, and returns NULL, when a route is wrong. */
struct routes *routes_create(const struct config *, route_handler_find *find, void *find_context, struct faults *);
/* Calls the handlers' release. */
void routes_free(struct routes **);
size_t routes_count(const struct routes *);
const struct route *routes_at(const struct routes *, size_t index);

/* One a loop; NULL when memory is short. */
struct route_match *route_match_create(const struct routes *);
void route_match_free(struct route_match **);
/* After ROUTE_FAILED: why; valid until the next call. */
const char *route_match_reason(struct route_match *);

enum route_verdict { ROUTE_FOUND, ROUTE_NOT_FOUND, ROUTE_METHOD_REFUSED, ROUTE_FAILED };

/* Host exact, then wildcard, then none; within it "=", then regular expressions in file order, then the longest prefix.
 * ROUTE_METHOD_REFUSED: *ret is the route that would serve other methods. ROUTE_FAILED: *ret is the one whose regular
 * expression came to no result; no later one was asked. `host` without port. */
enum route_verdict route_find(const struct routes *, struct route_match *, unsigned listener, struct slice host,
        struct slice path, struct slice method, const struct route **ret);

#endif
