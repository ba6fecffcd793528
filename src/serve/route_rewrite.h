/*
 * Paths made of captures: $1 to $9 and ${name} stand for what groups of the route's regular
 * expression took of the request's path, empty when unset; $$ for a dollar.
 */
#ifndef SERVE_ROUTE_REWRITE_H
#define SERVE_ROUTE_REWRITE_H

#include "base/slice.h"

struct route_match;
struct route_rewrite;

/* `text` of that option, in a section with a `path`. false: a fault was reported, or memory is short. */
bool route_rewrite_read(
        const struct mlserve_settings *, const char *option, struct slice text, struct route_rewrite **ret_rewrite);
void route_rewrite_free(struct route_rewrite **);
bool route_rewrite_has_captures(const struct route_rewrite *);
/* The text up to the first capture. */
struct slice route_rewrite_start(const struct route_rewrite *);

/* Bytes of what it makes of `path`, which was matched last. */
size_t route_rewrite_length(const struct route_rewrite *, const struct route_match *, struct slice path);
/* Writes these bytes, which may be no path. */
void route_rewrite_write(const struct route_rewrite *, const struct route_match *, struct slice path, char *to);

#endif
