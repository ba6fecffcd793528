/* One range of bytes; several are answered with the whole, which RFC 9110 14.2 allows and which cannot be amplified. */
#include "http/range.h"
#include "http/byte.h"

/* Digits, as large as they like: INT64_MAX at most. */
static bool read_position(struct slice digits, int64_t *ret_number)
{
	if (digits.length == 0 || byte_run(digits.data, digits.data + digits.length, BYTE_DIGIT) != digits.length)
		return false;
	if (!slice_to_number(digits, ret_number))
		*ret_number = INT64_MAX;
	return true;
}

/* "-5": the last five bytes. */
static enum range_result suffix_range(int64_t count, int64_t size, int64_t *ret_first, int64_t *ret_length)
{
	if (count == 0)
		return RANGE_UNSATISFIABLE;
	if (size == 0)
		return RANGE_NONE; /* satisfiable, but no Content-Range can name no byte */
	*ret_length = count < size ? count : size;
	*ret_first = size - *ret_length;
	return RANGE_PART;
}

static bool only_member(struct slice list, struct slice *ret_member)
{
	struct slice second;
	return slice_next_member(&list, ret_member) && !slice_next_member(&list, &second);
}

enum range_result range_parse(struct slice value, int64_t size, int64_t *ret_first, int64_t *ret_length)
{
	struct slice unit = SLICE("bytes="), spec;
	int64_t first = 0, last = INT64_MAX;
	if (value.length < unit.length || !slice_equal_nocase((struct slice){value.data, unit.length}, unit) ||
	        !only_member(slice_from(value, unit.length), &spec))
		return RANGE_NONE;
	const char *dash = memchr(spec.data, '-', spec.length);
	if (!dash)
		return RANGE_NONE;
	struct slice before = {spec.data, (size_t)(dash - spec.data)}, after = slice_from(spec, before.length + 1);
	if (after.length && !read_position(after, &last))
		return RANGE_NONE;
	if (before.length == 0)
		return after.length ? suffix_range(last, size, ret_first, ret_length) : RANGE_NONE;
	if (!read_position(before, &first) || first > last)
		return RANGE_NONE;
	if (first >= size)
		return RANGE_UNSATISFIABLE;
	*ret_first = first;
	*ret_length = (last < size - 1 ? last : size - 1) - first + 1;
	return RANGE_PART;
}
