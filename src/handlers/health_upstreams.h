/* The part of the health document that speaks of upstream servers. Any thread. */
#ifndef HANDLERS_HEALTH_UPSTREAMS_H
#define HANDLERS_HEALTH_UPSTREAMS_H

#include "serve/view.h"
#include "stats/json.h"

bool health_upstream_is_down(const struct server_view *);
void health_warn_of_upstreams(const struct server_view *, struct json *);
void health_write_upstreams(const struct server_view *, struct json *);

#endif
