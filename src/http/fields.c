/* Looking up fields of a head, and telling the known ones by name. */
#include "http/byte.h"
#include "http/message.h"

static const struct slice field_names[FIELD_ID_COUNT] = {
#define FIELD(id, name, first, last) [FIELD_##id] = {name, sizeof(name) - 1},
#include "http/fields.def"
#undef FIELD
};

#define KEY(length, first, last) ((uint32_t)(length) << 16 | (uint32_t)(first) << 8 | (uint32_t)(last))

static enum field_id candidate(uint32_t key)
{
	switch (key) {
#define FIELD(id, name, first, last)                                                                                   \
	case KEY(sizeof(name) - 1, first, last):                                                                       \
		return FIELD_##id;
#include "http/fields.def"
#undef FIELD
	default:
		return FIELD_OTHER;
	}
}

enum field_id field_id_of(struct slice name)
{
	if (name.length < 2 || name.length > 32)
		return FIELD_OTHER;
	unsigned char first = (unsigned char)name.data[0] | 0x20,
	              last = (unsigned char)name.data[name.length - 1] | 0x20;
	enum field_id id = candidate(KEY(name.length, first, last));
	for (size_t i = 0; id != FIELD_OTHER && i < name.length; i++)
		if (byte_lower(name.data[i]) != field_names[id].data[i])
			return FIELD_OTHER;
	return id;
}

bool fields_find(const struct fields *fields, enum field_id id, struct slice *ret_value)
{
	if (!(fields->seen & 1u << id))
		return false;
	for (size_t i = 0; i < fields->count; i++) {
		if (fields->items[i].id != id)
			continue;
		*ret_value = fields->items[i].value;
		return true;
	}
	return false;
}

bool fields_find_name(const struct fields *fields, struct slice name, struct slice *ret_value)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (!slice_equal_nocase(fields->items[i].name, name))
			continue;
		*ret_value = fields->items[i].value;
		return true;
	}
	return false;
}

/* Among the pairs of one Cookie value (RFC 6265 4.2.1). */
static bool find_pair(struct slice pairs, struct slice name, struct slice *ret_value)
{
	while (pairs.length) {
		const char *semicolon = memchr(pairs.data, ';', pairs.length);
		size_t length = semicolon ? (size_t)(semicolon - pairs.data) : pairs.length;
		struct slice pair = slice_trim((struct slice){pairs.data, length});
		if (pair.length > name.length && slice_starts(pair, name) && pair.data[name.length] == '=') {
			*ret_value = slice_from(pair, name.length + 1);
			return true;
		}
		pairs = slice_from(pairs, semicolon ? length + 1 : length);
	}
	return false;
}

bool fields_find_cookie(const struct fields *fields, struct slice name, struct slice *ret_value)
{
	for (size_t i = 0; i < fields->count; i++)
		if (fields->items[i].id == FIELD_OTHER && slice_equal_nocase(fields->items[i].name, SLICE("cookie")) &&
		        find_pair(fields->items[i].value, name, ret_value))
			return true;
	return false;
}

static bool list_has(struct slice list, struct slice member)
{
	struct slice found;
	while (slice_next_member(&list, &found))
		if (slice_equal_nocase(found, member))
			return true;
	return false;
}

bool fields_have_member(const struct fields *fields, enum field_id id, struct slice member)
{
	if (!(fields->seen & 1u << id))
		return false;
	for (size_t i = 0; i < fields->count; i++)
		if (fields->items[i].id == id && list_has(fields->items[i].value, member))
			return true;
	return false;
}
