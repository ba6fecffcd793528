/* Preconditions in the order of RFC 9110 13.2.2. A date that cannot be read is no condition. */
#include "http/conditional.h"
#include "http/byte.h"
#include "http/date.h"

struct etag {
	struct slice opaque; /* with its quotes */
	bool is_weak;
};

/* Cuts an entity tag from *rest (RFC 9110 8.8.3): a backslash in it is a byte like others. */
static bool take_etag(struct slice *rest, struct etag *ret_etag)
{
	struct etag etag = {.is_weak = slice_starts(*rest, SLICE("W/"))};
	struct slice s = etag.is_weak ? slice_from(*rest, 2) : *rest;
	if (s.length < 2 || s.data[0] != '"')
		return false;
	const char *quote = memchr(s.data + 1, '"', s.length - 1);
	if (!quote)
		return false;
	etag.opaque = (struct slice){s.data, (size_t)(quote - s.data) + 1};
	*rest = slice_from(s, etag.opaque.length);
	*ret_etag = etag;
	return true;
}

static bool etags_match(struct etag a, struct etag b, bool strongly)
{
	return slice_equal(a.opaque, b.opaque) && !(strongly && (a.is_weak || b.is_weak));
}

/* A list that is malformed matches as far as it could be read. */
static bool list_matches(struct slice list, struct etag ours, bool strongly)
{
	struct etag theirs;
	for (;;) {
		while (list.length && (list.data[0] == ',' || list.data[0] == ' ' || list.data[0] == '\t'))
			list = slice_from(list, 1);
		if (!take_etag(&list, &theirs))
			return false;
		list = slice_trim(list);
		if (list.length && list.data[0] != ',')
			return false;
		if (etags_match(theirs, ours, strongly))
			return true;
	}
}

static bool any_matches(const struct fields *fields, enum field_id id, const struct validators *v, bool strongly)
{
	struct etag ours;
	struct slice etag = v->etag;
	bool has_etag = take_etag(&etag, &ours);
	for (size_t i = 0; i < fields->count; i++) {
		if (fields->items[i].id != id)
			continue;
		struct slice value = fields->items[i].value;
		if (slice_equal(value, SLICE("*")) || (has_etag && list_matches(value, ours, strongly)))
			return true;
	}
	return false;
}

static bool find_date(const struct fields *fields, enum field_id id, time_t *ret_time)
{
	struct slice value;
	return fields_find(fields, id, &value) && date_parse(value, ret_time);
}

static bool has(const struct fields *fields, enum field_id id)
{
	return fields->seen & 1u << id;
}

unsigned conditional_evaluate(const struct request_head *head, const struct validators *v)
{
	const struct fields *fields = &head->fields;
	bool is_read = head->method == METHOD_GET || head->method == METHOD_HEAD;
	time_t since;
	if (has(fields, FIELD_IF_MATCH)) {
		if (!any_matches(fields, FIELD_IF_MATCH, v, true))
			return 412;
	} else if (find_date(fields, FIELD_IF_UNMODIFIED_SINCE, &since) && v->modified > since) {
		return 412;
	}
	if (has(fields, FIELD_IF_NONE_MATCH)) {
		if (any_matches(fields, FIELD_IF_NONE_MATCH, v, false))
			return is_read ? 304 : 412;
	} else if (is_read && find_date(fields, FIELD_IF_MODIFIED_SINCE, &since) && v->modified <= since) {
		return 304;
	}
	return 0;
}

bool conditional_range_holds(const struct request_head *head, const struct validators *v)
{
	struct slice value, etag = v->etag;
	struct etag ours, theirs;
	time_t date;
	if (!fields_find(&head->fields, FIELD_IF_RANGE, &value))
		return true;
	if (take_etag(&value, &theirs))
		return value.length == 0 && take_etag(&etag, &ours) && etags_match(theirs, ours, true);
	return date_parse(value, &date) && date == v->modified && v->modified_is_strong;
}
