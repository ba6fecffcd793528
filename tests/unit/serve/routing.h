/* A routing table for tests of it: two listeners, main and admin, and handlers that only count how often they were
 * configured: getter, poster, tracer (claims methods that are served nowhere), moody (finds a fault always),
 * rewriter (has the captured path /$1). */
#ifndef TESTS_SERVE_ROUTING_H
#define TESTS_SERVE_ROUTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "serve/route.h"

struct routing {
	struct config *config;
	struct routes *routes;
	struct route_match *match;
	struct faults faults;
	int configured, released;
	char failure[160]; /* where and why, of the last one that failed */
};

extern struct routing routing;

/* Makes a table of these [route] sections, which begin in line 5 of t.ini. */
void routing_build(const char *text);
/* Holds that all was given back. */
void routing_drop(void);
/* The name of the route for this request; "-" none, "!NAME" one that does not take the method, "?NAME" one that failed.
 */
const char *routing_ask(unsigned listener, const struct route_request *);
/* The same without query and fields. */
const char *routing_find(unsigned listener, const char *host, const char *path, const char *method);
/* The faults so far, a line each; the caller frees it. */
char *routing_told(void);
/* Such a table is refused with so many faults, which hold all of these texts, up to a NULL. */
void routing_expect_faults(const char *text, size_t count, const char *const *parts);

#endif
