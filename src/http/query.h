/* Queries as forms write them (WHATWG URL 5.1): parameters between '&', percent-encoded, '+' for a blank. */
#ifndef HTTP_QUERY_H
#define HTTP_QUERY_H

#include "base/slice.h"

/* Cuts the next parameter from *rest; name and value raw, the value empty without '='. Empty ones are passed over.
 * false: none is left. */
bool query_next(struct slice *rest, struct slice *ret_name, struct slice *ret_value);
/* Whether a raw name or value stands for that text. A malformed escape stands for itself. */
bool query_equals(struct slice raw, struct slice text);
/* Whether a raw name or value stands for itself. */
bool query_is_plain(struct slice raw);
/* What a raw name or value stands for, into `to`, which has room for raw.length bytes. The length of it. */
size_t query_decode(struct slice raw, char *to);

#endif
