/* The table of media types, and the weights of Accept. */
#include "http/media_type.h"
#include "base/check.h"
#include "http/byte.h"
#include <stdlib.h>
#include <strings.h>

struct known_type {
	const char *ending;
	struct slice type;
};

static const struct known_type known_types[] = {
#define MEDIA_TYPE(ending, type) {ending, {type, sizeof(type) - 1}},
#include "http/media_types.def"
#undef MEDIA_TYPE
};

enum { ENDING_BYTES = 16 };

static int compare_ending(const void *ending, const void *known)
{
	return strcasecmp(ending, ((const struct known_type *)known)->ending);
}

struct slice media_type_of(struct slice file_name)
{
	char ending[ENDING_BYTES];
	const struct known_type *known = NULL;
	const char *dot = file_name.length ? memrchr(file_name.data, '.', file_name.length) : NULL;
	size_t length = dot ? (size_t)(file_name.data + file_name.length - dot) - 1 : 0;
	if (length > 0 && length < sizeof ending && !memchr(dot, '/', length + 1)) {
		memcpy(ending, dot + 1, length);
		ending[length] = 0;
		if (strlen(ending) == length)
			known = bsearch(
			        ending, known_types, ARRAY_COUNT(known_types), sizeof known_types[0], compare_ending);
	}
	return known ? known->type : SLICE("application/octet-stream");
}

enum { FULL_WEIGHT = 1000 };

/* "q=0.8" in thousandths; malformed ones count as nothing. */
static int read_weight(struct slice value)
{
	int weight = 0, unit = FULL_WEIGHT;
	for (size_t i = 0; i < value.length && unit > 0; i++) {
		if (i == 1 && value.data[i] == '.')
			continue;
		if (!byte_is(value.data[i], BYTE_DIGIT))
			return 0;
		weight += (value.data[i] - '0') * unit;
		unit /= 10;
	}
	return weight < FULL_WEIGHT ? weight : FULL_WEIGHT;
}

static struct slice cut_at(struct slice *rest, char separator)
{
	const char *at = rest->length ? memchr(rest->data, separator, rest->length) : NULL;
	struct slice part = {rest->data, at ? (size_t)(at - rest->data) : rest->length};
	*rest = slice_from(*rest, at ? part.length + 1 : part.length);
	return slice_trim(part);
}

struct media_range {
	struct slice type;
	int weight;
};

static struct media_range read_range(struct slice member)
{
	struct media_range range = {cut_at(&member, ';'), FULL_WEIGHT};
	while (member.length) {
		struct slice parameter = cut_at(&member, ';');
		if (parameter.length >= 2 && (parameter.data[0] | 0x20) == 'q' && parameter.data[1] == '=')
			range.weight = read_weight(slice_from(parameter, 2));
	}
	return range;
}

/* How closely a range names the type: 0 not at all, 1 by all, 2 by "type/" and all, 3 exactly. */
static int closeness(struct slice range, struct slice type)
{
	size_t group = (size_t)((const char *)memchr(type.data, '/', type.length) - type.data) + 1;
	if (slice_equal_nocase(range, type))
		return 3;
	if (range.length == group + 1 && range.data[group] == '*' &&
	        slice_equal_nocase((struct slice){range.data, group}, (struct slice){type.data, group}))
		return 2;
	return slice_equal(range, SLICE("*/*"));
}

/* The weight that the closest range gives (RFC 9110 12.5.1). */
static int weight_of(const struct fields *fields, struct slice type)
{
	int weight = 0, closest = 0;
	for (size_t i = 0; i < fields->count; i++) {
		struct slice list = fields->items[i].value, member;
		while (fields->items[i].id == FIELD_ACCEPT && slice_next_member(&list, &member)) {
			struct media_range range = read_range(member);
			int close = closeness(range.type, type);
			if (close <= closest)
				continue;
			closest = close;
			weight = range.weight;
		}
	}
	return weight;
}

bool media_type_prefers_json(const struct fields *fields)
{
	if (!(fields->seen & 1u << FIELD_ACCEPT))
		return false;
	return weight_of(fields, SLICE("application/json")) > weight_of(fields, SLICE("text/html"));
}
