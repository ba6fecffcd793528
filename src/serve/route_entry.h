/* One [route] of the routing table. */
#ifndef SERVE_ROUTE_ENTRY_H
#define SERVE_ROUTE_ENTRY_H

#include "serve/route.h"
#include "serve/route_condition.h"
#include "serve/route_host.h"
#include "serve/route_methods.h"
#include "serve/route_path.h"

struct route_entry {
	struct route route;
	enum route_path_kind kind;
	struct slice path;
	pcre2_code *regex;
	struct route_host *hosts;
	size_t host_count;
	bool *listeners; /* by index */
	struct route_methods methods;
	bool own_methods; /* set by the configuration, not the handler's */
	struct route_conditions conditions;
	bool sound;
};

/* Reads [route] number `index` into *e, zeroed before; what has to last goes into the arena. false: faults were
 * reported, or memory is short; route_entry_fini is due all the same. */
bool route_entry_read(struct arena *, struct route_entry *e, const struct config *, size_t index,
        route_handler_find *find, void *find_context);
void route_entry_fini(struct route_entry *);
/* Whether nothing ever gets to `b`, which comes after `a`: only where one of the two is a slip for sure. */
bool route_entry_hides(const struct route_entry *a, const struct route_entry *b, size_t listener_count);

#endif
