/* Bytes owned by somebody else. The type is the public one, so that no conversion stands between rooms and modules. */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include "mlserve/handler.h"
#include <stdbool.h>
#include <string.h>

#define slice mlserve_slice

#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})
#define SLICE_NONE ((struct slice){NULL, 0})
#define SLICE_ARGS(s) (int)(s).length, (s).data /* for "%.*s" */

static inline struct slice slice_of(const char *text)
{
	return (struct slice){text, text ? strlen(text) : 0};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static inline bool slice_starts(struct slice s, struct slice prefix)
{
	return s.length >= prefix.length && (prefix.length == 0 || memcmp(s.data, prefix.data, prefix.length) == 0);
}

static inline struct slice slice_from(struct slice s, size_t offset)
{
	/* Adding even 0 to NULL is undefined (C11 6.5.6). */
	return (struct slice){offset ? s.data + offset : s.data, s.length - offset};
}

/* ASCII letters compare without case. */
bool slice_equal_nocase(struct slice a, struct slice b);
/* Without blanks and tabs at both ends. */
struct slice slice_trim(struct slice s);
/* Cuts the next member of a comma-separated list from *rest, trimmed; empty members are skipped (RFC 9110 5.6.1.2).
 * Quoted strings are not split. false: no member left. */
bool slice_next_member(struct slice *rest, struct slice *ret_member);
/* Cuts the next word, which ends at a blank or tab, from *rest. false: none is left. */
bool slice_next_word(struct slice *rest, struct slice *ret_word);
/* Plain decimal digits only, at least one; false on anything else or above INT64_MAX. */
bool slice_to_number(struct slice s, int64_t *ret_number);
/* A copy ended by zero; NULL when memory is short. The caller frees it. */
char *slice_copy(struct slice s);

#endif
