/*
 * Writes JSON (RFC 8259) into memory of the caller, never past its end. The keys are
 * given with the values; commas and closing brackets come by themselves.
 *
 * What does not fit is dropped and shows in json_is_whole: then give more room and
 * write everything again.
 */
#ifndef STATS_JSON_H
#define STATS_JSON_H

#include "base/slice.h"
#include <stdint.h>

enum { JSON_DEPTH = 16 };

struct json {
	char *to;
	size_t room, length;
	bool overflowed, needs_comma;
	unsigned depth;
	char closers[JSON_DEPTH];
};

void json_init(struct json *, char *to, size_t room);
bool json_is_whole(const struct json *); /* all fitted and everything begun was ended */

/* `key` NULL: the value stands in an array, or is the document. */
void json_object(struct json *, const char *key);
void json_array(struct json *, const char *key);
void json_end(struct json *);                                 /* of the innermost object or array */
void json_text(struct json *, const char *key, struct slice); /* bytes that are no UTF-8 become U+FFFD */
void json_integer(struct json *, const char *key, int64_t);
/* Rounded to at most `decimals` (0..6) and at least one digit behind the point; null for what is no number. */
void json_real(struct json *, const char *key, double, unsigned decimals);
void json_bool(struct json *, const char *key, bool);
void json_null(struct json *, const char *key);
/* An array whose key is not a C string. */
void json_array_named(struct json *, struct slice key);

#endif
