/* Paths of request targets (RFC 3986 5.2.4, 6.2.2). */
#ifndef HTTP_URI_H
#define HTTP_URI_H

#include "base/slice.h"

/* Whether uri_normalise would change nothing; then the path can be used as it is. */
bool uri_is_normal(struct slice path);
/* Decodes unreserved escapes, keeps the others with upper-case digits, removes dot segments (also encoded ones) and
 * empty segments. `to` has room for path.length bytes. false: bad escape, an encoded NUL, no leading '/', the path
 * leaves the root, or a ".." that only those see who take %2F, %5C or ';' for the end of a segment: 400. */
bool uri_normalise(struct slice path, char *to, size_t *ret_length);
/* Whether a whole segment is "." or "..", as it stands. */
bool uri_has_dot_segment(struct slice path);
/* Whether the path begins with that prefix, which has no '/' at its end, at a segment's border. */
static inline bool uri_path_begins(struct slice path, struct slice prefix)
{
	return slice_starts(path, prefix) && (path.length == prefix.length || path.data[prefix.length] == '/');
}
/* Decodes all escapes, for looking up files. false: an escape of NUL or of '/', or a bad one (none after normalise). */
bool uri_decode(struct slice path, char *to, size_t *ret_length);
/* Value of the first `name=` in a query, raw; false: none. */
bool uri_query_value(struct slice query, struct slice name, struct slice *ret_value);

/* Splits "host", "host:port", "[v6]:port". host without brackets or port. false: not an authority (RFC 3986 3.2.2). */
bool uri_split_authority(struct slice authority, struct slice *ret_host, struct slice *ret_port);
/* Whether both are well-formed and name the same; no port is the scheme's own one. */
bool uri_authorities_equal(struct slice a, struct slice b, struct slice usual_port);

#endif
