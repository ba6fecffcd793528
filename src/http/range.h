/* One byte range (RFC 9110 14). */
#ifndef HTTP_RANGE_H
#define HTTP_RANGE_H

#include "base/slice.h"
#include <stdint.h>

enum range_result {
	RANGE_NONE,          /* no, bad or several ranges, or another unit: the whole (200) */
	RANGE_PART,          /* 206 */
	RANGE_UNSATISFIABLE, /* 416 */
};

/* For a representation of `size` bytes. */
enum range_result range_parse(struct slice value, int64_t size, int64_t *ret_first, int64_t *ret_length);

#endif
