/* Whether the path of a route is one that requests can have. */
#ifndef SERVE_ROUTE_PATH_H
#define SERVE_ROUTE_PATH_H

#include "base/slice.h"

/* Request paths are normalised before they are matched, so only a normal one matches anything. `sign` is "= " for exact
 * paths and "" for prefixes. Otherwise reports a fault of `path` that says what to write instead, and returns false. */
bool route_path_check(const struct mlserve_settings *, const char *sign, struct slice path);

#endif
