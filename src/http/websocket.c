/* The head is taken byte by byte and the payload in whole pieces, so the outcome does not depend on how input is split.
 */
#include "http/websocket.h"

enum { LENGTH_BITS = 0x7f, MASK_BIT = 0x80, LENGTH_IN_16_BITS = 126, LENGTH_IN_64_BITS = 127, MASK_BYTES = 4 };

static void take_head_byte(struct websocket_frame *f, uint8_t byte)
{
	f->head_taken++;
	if (f->head_taken == 1) {
		f->head_bytes = 2;
	} else if (f->head_taken == 2) {
		uint8_t length = byte & LENGTH_BITS;
		bool is_long = length >= LENGTH_IN_16_BITS;
		f->length_end = length == LENGTH_IN_16_BITS ? 4 : length == LENGTH_IN_64_BITS ? 10 : 2;
		f->head_bytes = (uint8_t)(f->length_end + (byte & MASK_BIT ? MASK_BYTES : 0));
		f->left = is_long ? 0 : length;
	} else if (f->head_taken <= f->length_end) {
		f->left = f->left << 8 | byte;
	}
	if (f->head_taken == f->head_bytes)
		f->head_taken = 0;
}

size_t websocket_take(struct websocket_frame *f, struct slice bytes)
{
	size_t taken = 0;
	/* A frame without payload ends with its head. */
	while (taken < bytes.length && (f->left == 0 || f->head_taken)) {
		take_head_byte(f, (uint8_t)bytes.data[taken++]);
		if (websocket_is_at_border(f))
			return taken;
	}
	size_t rest = bytes.length - taken;
	if (rest > f->left)
		rest = (size_t)f->left;
	f->left -= rest;
	return taken + rest;
}
