/* Everything that two servers could read in two ways is refused, not repaired (RFC 9112 11.2). */
#include "http/framing.h"

/* Whether a list has an empty member, which others may read as no list at all. */
static bool has_empty_member(struct slice list)
{
	bool is_empty = true;
	for (size_t i = 0; i < list.length; i++) {
		char c = list.data[i];
		if (c == ',' && is_empty)
			return true;
		is_empty = c == ',' || (is_empty && (c == ' ' || c == '\t'));
	}
	return is_empty;
}

struct codings {
	size_t count;
	size_t chunked_count;
	bool ends_chunked;
};

static bool count_codings(const struct fields *fields, struct codings *to)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (fields->items[i].id != FIELD_TRANSFER_ENCODING)
			continue;
		struct slice list = fields->items[i].value, coding;
		if (has_empty_member(list))
			return false;
		while (slice_next_member(&list, &coding)) {
			to->ends_chunked = slice_equal_nocase(coding, SLICE("chunked"));
			to->chunked_count += to->ends_chunked;
			to->count++;
		}
	}
	return true;
}

static bool read_transfer_encoding(const struct fields *fields, int minor, struct refusal *refusal)
{
	struct codings codings = {0};
	if (fields->seen & 1u << FIELD_CONTENT_LENGTH)
		return refuse(refusal, 400, "Content-Length beside Transfer-Encoding");
	if (minor == 0)
		return refuse(refusal, 400, "Transfer-Encoding on HTTP/1.0");
	if (!count_codings(fields, &codings))
		return refuse(refusal, 400, "empty member in Transfer-Encoding");
	if (!codings.ends_chunked)
		return refuse(refusal, 400, "Transfer-Encoding that does not end in chunked");
	if (codings.chunked_count > 1)
		return refuse(refusal, 400, "Transfer-Encoding names chunked twice");
	return codings.count == 1 || refuse(refusal, 501, "transfer coding other than chunked");
}

bool framing_read(
        const struct fields *fields, uint32_t repeated, int minor, struct framing *ret_framing, struct refusal *refusal)
{
	struct framing framing = {0};
	struct slice value;
	if (fields->seen & 1u << FIELD_TRANSFER_ENCODING) {
		if (!read_transfer_encoding(fields, minor, refusal))
			return false;
		framing.is_chunked = true;
	} else if (fields_find(fields, FIELD_CONTENT_LENGTH, &value)) {
		if (repeated & 1u << FIELD_CONTENT_LENGTH)
			return refuse(refusal, 400, "more than one Content-Length");
		if (!slice_to_number(value, &framing.length))
			return refuse(refusal, 400, "malformed Content-Length");
		framing.has_length = true;
	}
	*ret_framing = framing;
	return true;
}

bool framing_keeps_alive(const struct fields *fields, int minor)
{
	if (fields_have_member(fields, FIELD_CONNECTION, SLICE("close")))
		return false;
	return minor > 0 || fields_have_member(fields, FIELD_CONNECTION, SLICE("keep-alive"));
}
