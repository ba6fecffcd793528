/*
 * Routes: from host, path, conditions and method to a handler. Built once from a configuration by
 * the control thread; immutable afterwards, read by all loops.
 */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "config/config.h"
#include "http/message.h"
#include "mlserve/handler.h"

struct routes; /* all routes of one configuration */
struct route_failure;
struct route_match;

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

/* Groups of the expression that has most: for route_match_create. */
size_t routes_group_count(const struct routes *);

/* What a route is chosen by. */
struct route_request {
	struct slice host; /* without port */
	struct slice path; /* normalised */
	struct slice query, method;
	const struct fields *fields;
};

enum route_verdict { ROUTE_FOUND, ROUTE_NOT_FOUND, ROUTE_METHOD_REFUSED, ROUTE_FAILED };

/* Host exact, then wildcard, then none; within it "=", then regular expressions in file order, then the longest prefix,
 * the first in the file of equals; one whose conditions do not hold is passed over. ROUTE_METHOD_REFUSED: *ret is the
 * route that would serve other methods. ROUTE_FAILED: *ret is the one with a regular expression that came to no result,
 * as *ret_failure tells; no later one was asked. */
enum route_verdict route_find(const struct routes *, struct route_match *, unsigned listener,
        const struct route_request *, const struct route **ret, struct route_failure *ret_failure);

#endif
