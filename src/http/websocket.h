/* Where frames of WebSocket begin and end (RFC 6455 5.2), in one direction; what they say is not looked at. */
#ifndef HTTP_WEBSOCKET_H
#define HTTP_WEBSOCKET_H

#include "base/slice.h"
#include <stdint.h>

/* Zeroed: at a border. */
struct websocket_frame {
	uint8_t head_taken; /* bytes of the head so far; 0: none, or the head is over */
	uint8_t head_bytes; /* of them all, known from the second one on */
	uint8_t length_end; /* head bytes before this one count the payload */
	uint64_t left;      /* of the payload */
};

/* Takes bytes up to the end of the frame they are in, or begin; returns how many. */
size_t websocket_take(struct websocket_frame *, struct slice bytes);

static inline bool websocket_is_at_border(const struct websocket_frame *f)
{
	return f->head_taken == 0 && f->left == 0;
}

/* A frame that says "going away" (1001, RFC 6455 7.4.1), as a server sends it: unmasked. */
#define WEBSOCKET_GOING_AWAY SLICE("\x88\x02\x03\xe9")

#endif
