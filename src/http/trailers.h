/* The trailer section of one message, put together from the pieces that the chunked decoder gives out; its bounds are
 * the decoder's. Nothing is allocated for a message without one. */
#ifndef HTTP_TRAILERS_H
#define HTTP_TRAILERS_H

#include "base/slice.h"
#include <stdint.h>

/* Zeroed: none. */
struct trailers {
	char *lines; /* each ended by CRLF */
	uint32_t length, room;
};

/* false: no memory. */
bool trailers_add(struct trailers *, struct slice piece);
void trailers_fini(struct trailers *);

static inline struct slice trailers_lines(const struct trailers *t)
{
	return (struct slice){t->lines, t->length};
}

#endif
