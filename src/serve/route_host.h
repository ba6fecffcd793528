/* Hosts of routes: names, addresses and *.example.com, against the host of a request. */
#ifndef SERVE_ROUTE_HOST_H
#define SERVE_ROUTE_HOST_H

#include "base/slice.h"

struct route_host {
	struct slice name; /* without brackets, final dot and "*" */
	bool wildcard;
};

/* "a.test", "192.0.2.1", "[2001:db8::1]", "*.a.test"; a final dot of names is taken off. Keeps the text. false: it is
 * none of these, and no request could ever match it. */
bool route_host_read(struct slice text, struct route_host *ret_host);
/* The host of a request, which may end in a dot: the same name, said to be fully qualified (RFC 1034 3.1). */
struct slice route_host_asked(struct slice host);
/* `asked` without brackets, port and final dot. */
bool route_host_matches(const struct route_host *, struct slice asked);
bool route_host_equal(const struct route_host *, const struct route_host *);

#endif
