/* Whether the path of a route is one that requests can have. */
#ifndef SERVE_ROUTE_PATH_H
#define SERVE_ROUTE_PATH_H

#include "base/slice.h"

enum route_path_kind { PATH_EXACT, PATH_REGEX, PATH_PREFIX }; /* in the order in which routes are preferred */

/* "= /exact", "~ expression" or a prefix: which, and what stands behind the sign. */
enum route_path_kind route_path_split(struct slice text, struct slice *ret_path);
/* Request paths are normalised before they are matched, so only a normal one matches anything. `sign` is "= " for exact
 * paths and "" for prefixes. Otherwise reports a fault of `path` that says what to write instead, and returns false. */
bool route_path_check(const struct mlserve_settings *, const char *sign, struct slice path);
/* Whether a path of this route could begin with that prefix, at a segment's border. */
bool route_path_may_begin(const struct mlserve_settings *, struct slice prefix);

#endif
