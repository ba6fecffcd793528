/* How a body is delimited (RFC 9112 6), judged alike for requests and responses, and how long a connection lasts. */
#ifndef HTTP_FRAMING_H
#define HTTP_FRAMING_H

#include "http/message.h"
#include "http/refusal.h"

struct framing {
	bool has_length, is_chunked; /* never both */
	int64_t length;              /* has_length */
};

/* false: refused, with 400 or 501. `repeated`: see collect.h. */
bool framing_read(const struct fields *, uint32_t repeated, int minor, struct framing *ret_framing, struct refusal *);
/* By version and Connection (RFC 9112 9.3). */
bool framing_keeps_alive(const struct fields *, int minor);

#endif
