/* The methods that a route serves. */
#ifndef SERVE_ROUTE_METHODS_H
#define SERVE_ROUTE_METHODS_H

#include "base/arena.h"

struct route_methods {
	struct slice *items; /* each once, in the order of the configuration or of the handler */
	size_t count;
};

/* `methods` of the section, which must be among the handler's own, or all of these. In the arena. false: a fault was
 * reported, or memory is short. */
bool route_methods_read(struct arena *, const struct mlserve_settings *, const struct mlserve_handler *,
        struct route_methods *ret_methods);
/* Why no request with that method gets as far as to a route; NULL: it does. */
const char *route_methods_wrong(struct slice method);
bool route_methods_have(const struct route_methods *, struct slice method);
/* Whatever the order. */
bool route_methods_equal(const struct route_methods *, const struct route_methods *);
/* "GET, HEAD"; NULL: no memory. */
const char *route_methods_text(struct arena *, const struct route_methods *);

#endif
