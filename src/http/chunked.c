/* The decoder takes framing byte by byte and data in whole pieces, so its outcome does not depend on how input is
 * split. */
#include "http/chunked.h"
#include "base/check.h"
#include "http/byte.h"

enum {
	AT_SIZE_START, /* the first digit, then */
	IN_SIZE,
	IN_EXTENSION_GAP, /* blanks that only a ';' may follow */
	IN_EXTENSION,
	AT_SIZE_LF,
	IN_DATA,
	AT_DATA_CR,
	AT_DATA_LF,
	AT_TRAILER_START, /* of a line; an empty one ends the body */
	IN_TRAILER_NAME,
	IN_TRAILER_VALUE,
	AT_TRAILER_LF,
	AT_LAST_LF,
	ENDED,
	REFUSED,
};

void chunked_init(struct chunked *c)
{
	*c = (struct chunked){.state = AT_SIZE_START};
}

static const char *size_digit(struct chunked *c, char byte)
{
	if (c->left > (uint64_t)INT64_MAX >> 4)
		return "chunk size beyond 2^63-1";
	/* Leading zeros count as extension: they are as endless. */
	if (c->left == 0 && byte == '0' && ++c->extension > CHUNKED_EXTENSION_BYTES)
		return "chunk size line too long";
	c->left = c->left << 4 | byte_hex_value(byte);
	c->state = IN_SIZE;
	return NULL;
}

static const char *after_size(struct chunked *c, char byte)
{
	if (byte == '\r')
		c->state = AT_SIZE_LF;
	else if (byte == ';')
		c->state = IN_EXTENSION;
	else if (byte == ' ' || byte == '\t')
		c->state = IN_EXTENSION_GAP;
	else
		return "malformed chunk size";
	return c->state == IN_EXTENSION_GAP && ++c->extension > CHUNKED_EXTENSION_BYTES ? "chunk extensions too long"
	                                                                                : NULL;
}

static const char *extension_byte(struct chunked *c, char byte)
{
	if (byte == '\r')
		c->state = AT_SIZE_LF;
	else if (!byte_is(byte, BYTE_VALUE))
		return "control byte in a chunk extension";
	else if (++c->extension > CHUNKED_EXTENSION_BYTES)
		return "chunk extensions too long";
	return NULL;
}

/* Tiny chunks with long extensions would pass a limit of the body and cost far more than it. A byte of data pays for
 * one of extensions. */
static const char *size_line_end(struct chunked *c, char byte)
{
	uint64_t surplus = (uint64_t)c->surplus + c->extension;
	c->surplus = (uint32_t)(surplus > c->left ? surplus - c->left : 0);
	c->state = c->left ? IN_DATA : AT_TRAILER_START;
	c->extension = 0;
	if (byte != '\n')
		return "CR without LF after a chunk size";
	return c->surplus > CHUNKED_SURPLUS_BYTES ? "more chunk extensions than data" : NULL;
}

static const char *size_byte(struct chunked *c, char byte)
{
	switch (c->state) {
	case AT_SIZE_START:
		return byte_is(byte, BYTE_HEX) ? size_digit(c, byte) : "malformed chunk size";
	case IN_SIZE:
		return byte_is(byte, BYTE_HEX) ? size_digit(c, byte) : after_size(c, byte);
	case IN_EXTENSION_GAP:
		return byte == '\r' ? "blank after a chunk size" : after_size(c, byte);
	case IN_EXTENSION:
		return extension_byte(c, byte);
	default: /* AT_SIZE_LF */
		return size_line_end(c, byte);
	}
}

static const char *trailer_start(struct chunked *c, char byte)
{
	if (byte == '\r') {
		c->state = AT_LAST_LF;
		return NULL;
	}
	if (!byte_is(byte, BYTE_TOKEN))
		return "malformed trailer line";
	if (++c->trailer_fields > CHUNKED_TRAILER_FIELDS)
		return "too many trailer lines";
	c->state = IN_TRAILER_NAME;
	return NULL;
}

static const char *trailer_byte(struct chunked *c, char byte)
{
	if (++c->trailer > CHUNKED_TRAILER_BYTES)
		return "trailers too long";
	switch (c->state) {
	case AT_TRAILER_START:
		return trailer_start(c, byte);
	case IN_TRAILER_NAME:
		if (byte == ':')
			c->state = IN_TRAILER_VALUE;
		return byte == ':' || byte_is(byte, BYTE_TOKEN) ? NULL : "malformed trailer line";
	case IN_TRAILER_VALUE:
		if (byte == '\r')
			c->state = AT_TRAILER_LF;
		return byte == '\r' || byte_is(byte, BYTE_VALUE) ? NULL : "control byte in a trailer line";
	case AT_TRAILER_LF:
		c->state = AT_TRAILER_START;
		return byte == '\n' ? NULL : "CR without LF in a trailer line";
	default: /* AT_LAST_LF */
		c->state = ENDED;
		return byte == '\n' ? NULL : "CR without LF after the trailers";
	}
}

static const char *data_end_byte(struct chunked *c, char byte)
{
	bool good = byte == (c->state == AT_DATA_CR ? '\r' : '\n');
	c->state = c->state == AT_DATA_CR ? AT_DATA_LF : AT_SIZE_START;
	return good ? NULL : "chunk longer than its size";
}

static const char *framing_byte(struct chunked *c, char byte)
{
	if (c->state <= AT_SIZE_LF)
		return size_byte(c, byte);
	if (c->state <= AT_DATA_LF)
		return data_end_byte(c, byte);
	return trailer_byte(c, byte);
}

static struct slice take_data(struct chunked *c, struct slice *rest)
{
	struct slice data = {rest->data, rest->length < c->left ? rest->length : (size_t)c->left};
	c->left -= data.length;
	if (c->left == 0)
		c->state = AT_DATA_CR;
	*rest = slice_from(*rest, data.length);
	return data;
}

static bool take_framing_byte(struct chunked *c, struct slice *rest, const char **ret_reason)
{
	const char *reason = framing_byte(c, rest->data[0]);
	*rest = slice_from(*rest, 1);
	if (!reason)
		return true;
	c->state = REFUSED;
	*ret_reason = reason;
	return false;
}

/* The next byte is of a line of the trailer section, and not of the empty one that ends it. */
static bool is_in_trailers(const struct chunked *c, struct slice rest)
{
	if (rest.length == 0 || c->state < AT_TRAILER_START || c->state > AT_TRAILER_LF)
		return false;
	return c->state != AT_TRAILER_START || rest.data[0] != '\r';
}

static struct slice take_trailers(struct chunked *c, struct slice *rest, const char **ret_reason)
{
	const char *begin = rest->data;
	while (is_in_trailers(c, *rest) && take_framing_byte(c, rest, ret_reason))
		;
	return (struct slice){begin, (size_t)(rest->data - begin)};
}

enum chunked_result chunked_decode(
        struct chunked *c, struct slice *rest, struct slice *ret_data, const char **ret_reason)
{
	while (rest->length && c->state < ENDED) {
		if (c->state == IN_DATA) {
			*ret_data = take_data(c, rest);
			return CHUNKED_DATA;
		}
		if (c->gives_trailers && is_in_trailers(c, *rest)) {
			*ret_data = take_trailers(c, rest, ret_reason);
			return c->state == REFUSED ? CHUNKED_REFUSED : CHUNKED_TRAILERS;
		}
		take_framing_byte(c, rest, ret_reason);
	}
	if (c->state == REFUSED)
		return CHUNKED_REFUSED;
	return c->state == ENDED ? CHUNKED_END : CHUNKED_MORE;
}

uint64_t chunked_due(const struct chunked *c)
{
	return c->state == IN_DATA ? c->left : 0;
}

size_t chunked_begin(char *to, uint64_t size)
{
	MUST(size > 0);
	unsigned digits = (unsigned)(67 - __builtin_clzll(size)) / 4;
	for (unsigned i = digits; i > 0; i--, size >>= 4)
		to[i - 1] = "0123456789abcdef"[size & 15];
	memcpy(to + digits, "\r\n", 2);
	return digits + 2;
}
