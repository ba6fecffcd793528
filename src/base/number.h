/*
 * Numbers as users write them: plain counts, sizes (bytes, or k m g: powers of 1024) and durations
 * (us ms s m h, in microseconds; a bare 0 needs no unit). The grammar is strict: no sign, no blank,
 * no fraction, no exponent, no leading zero. Printing gives the normal form: the largest unit that
 * divides the number. Limits of range are left to the caller.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include "base/slice.h"
#include <stdint.h>

enum number_result {
	NUMBER_FINE,
	NUMBER_EMPTY,
	NUMBER_MALFORMED,
	NUMBER_UNIT_MISSING,
	NUMBER_UNIT_UNKNOWN,
	NUMBER_TOO_LARGE,
};

enum { NUMBER_TEXT_BYTES = 24 };

enum number_result number_parse_count(struct slice, int64_t *ret_count);
enum number_result number_parse_size(struct slice, int64_t *ret_bytes);
enum number_result number_parse_duration(struct slice, int64_t *ret_us);
/* For NUMBER_FINE ""; for others a phrase such as "is too large". */
const char *number_result_text(enum number_result);

/* They return `buffer`. Numbers are never negative. */
const char *number_print_count(char buffer[static NUMBER_TEXT_BYTES], int64_t count);
const char *number_print_size(char buffer[static NUMBER_TEXT_BYTES], int64_t size_bytes);
const char *number_print_duration(char buffer[static NUMBER_TEXT_BYTES], int64_t duration_us);

#endif
