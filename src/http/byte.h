/* What a byte may be part of in HTTP (RFC 9110 5.5, 5.6; RFC 3986 2), by table. */
#ifndef HTTP_BYTE_H
#define HTTP_BYTE_H

#include "base/slice.h"
#include <stdint.h>

enum byte_class {
	BYTE_TOKEN = 1,  /* tchar: methods, field names */
	BYTE_TARGET = 2, /* 0x21..0x7e without '#' */
	BYTE_VALUE = 4,  /* field values: HTAB, 0x20..0x7e, 0x80..0xff */
	BYTE_HEX = 8,    /* digits of both cases */
	BYTE_DIGIT = 16,
	BYTE_UNRESERVED = 32, /* of a URI */
	BYTE_NAME = 64,       /* of a registered name: unreserved and sub-delims */
	BYTE_PLAIN = 128,     /* of a path, where nothing has to be done about it: BYTE_TARGET without % / ? \ */
};

extern const uint8_t byte_classes[256];

static inline bool byte_is(char c, enum byte_class classes)
{
	return byte_classes[(unsigned char)c] & classes;
}

/* Bytes at the front of [at, end) that are of that class. */
static inline size_t byte_run(const char *at, const char *end, enum byte_class classes)
{
	const char *start = at;
	while (at < end && byte_is(*at, classes))
		at++;
	return (size_t)(at - start);
}

/* Whether it is a token (RFC 9110 5.6.2). */
static inline bool byte_is_token(struct slice s)
{
	return s.length > 0 && byte_run(s.data, s.data + s.length, BYTE_TOKEN) == s.length;
}

/* Of a BYTE_HEX digit. */
static inline unsigned byte_hex_value(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

/* At a '%': the byte that it and two digits stand for; false: no digits follow. */
static inline bool byte_read_escape(const char *at, const char *end, char *ret_byte)
{
	if (end - at < 3 || !byte_is(at[1], BYTE_HEX) || !byte_is(at[2], BYTE_HEX))
		return false;
	*ret_byte = (char)(byte_hex_value(at[1]) << 4 | byte_hex_value(at[2]));
	return true;
}

static inline char byte_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Whether all bytes are BYTE_VALUE; eight at a time. */
bool byte_all_value(struct slice);

#endif
