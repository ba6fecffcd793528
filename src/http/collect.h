/* Runs a whole head through llhttp and collects the slices that it tells. */
#ifndef HTTP_COLLECT_H
#define HTTP_COLLECT_H

#include "http/message.h"
#include "http/refusal.h"

struct collected {
	struct slice target; /* of a request */
	uint32_t repeated;   /* bit 1 << id of every known field that stands more than once */
};

/* Fills in fields (count, seen, names, values and identifiers). `minor_at`: the offset of the minor version, which is
 * given to llhttp as 1 when it is above, since it knows no later one. */
bool collect_request(
        struct slice head, size_t minor_at, struct fields *, struct collected *ret_collected, struct refusal *);
bool collect_response(
        struct slice head, size_t minor_at, struct fields *, struct collected *ret_collected, struct refusal *);

#endif
