/* Decoding and framing of chunked bodies (RFC 9112 7.1), strict and bounded. */
#ifndef HTTP_CHUNKED_H
#define HTTP_CHUNKED_H

#include "base/slice.h"
#include <stdint.h>

enum {
	CHUNKED_EXTENSION_BYTES = 1024, /* of one size line */
	CHUNKED_SURPLUS_BYTES = 16384,  /* of all, beyond what their chunks of data pay for */
	CHUNKED_TRAILER_BYTES = 8192,
	CHUNKED_TRAILER_FIELDS = 64,
};

struct chunked {
	uint8_t state;
	bool gives_trailers; /* set by the owner after chunked_init; else they are checked and dropped */
	uint64_t left;       /* of the present chunk */
	uint32_t extension;  /* bytes of extensions in this size line */
	uint32_t surplus;    /* those of earlier ones that no data paid for */
	uint32_t trailer;    /* bytes of the trailer section so far */
	uint32_t trailer_fields;
};

enum chunked_result {
	CHUNKED_DATA,     /* *ret_data holds at least one byte of the body */
	CHUNKED_TRAILERS, /* *ret_data holds bytes of the trailer section: lines with their ends, split anywhere */
	CHUNKED_MORE,     /* all was taken, the body has not ended */
	CHUNKED_END,      /* the body and its trailers ended; the rest of the input is not ours */
	CHUNKED_REFUSED   /* malformed or over a bound */
};

void chunked_init(struct chunked *);
/* Takes from *rest; trailers are checked like header lines. CR, LF or NUL in extensions, sizes beyond
 * 2^63-1, data longer than declared, and bare LF are refused. */
enum chunked_result chunked_decode(
        struct chunked *, struct slice *rest, struct slice *ret_data, const char **ret_reason);

/* Bytes of the present chunk that have not come, once its size line is whole; else 0. */
uint64_t chunked_due(const struct chunked *);

/* Writes "HEX CRLF" for a chunk of that size (size > 0); returns its length, at most 18. */
size_t chunked_begin(char *to, uint64_t size);

#endif
