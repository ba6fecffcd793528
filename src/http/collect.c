/* llhttp's callbacks. Spans of one element may come in pieces; they are contiguous, so the slice just grows. */
#include "http/collect.h"
#include "base/check.h"
#include "http/llhttp_choice.h"
#include "http/parser.h"

struct collector {
	struct fields *fields;
	struct slice target;
	bool is_full, is_complete;
};

static const struct llhttp_api *library; /* written once, before other threads start */

void parser_setup(void)
{
	library = llhttp_choose();
}

static void slice_grow(struct slice *s, const char *at, size_t length)
{
	if (!s->data)
		s->data = at;
	s->length = (size_t)(at - s->data) + length;
}

static int on_url(llhttp_t *llhttp, const char *at, size_t length)
{
	struct collector *c = llhttp->data;
	slice_grow(&c->target, at, length);
	return 0;
}

static int on_header_field(llhttp_t *llhttp, const char *at, size_t length)
{
	struct collector *c = llhttp->data;
	struct fields *fields = c->fields;
	struct field *last = fields->count ? &fields->items[fields->count - 1] : NULL;
	if (last && last->name.data + last->name.length == at) {
		last->name.length += length;
		return 0;
	}
	c->is_full = fields->count == fields->capacity;
	if (c->is_full)
		return -1;
	fields->items[fields->count++] = (struct field){.name = {at, length}};
	return 0;
}

static int on_header_value(llhttp_t *llhttp, const char *at, size_t length)
{
	struct collector *c = llhttp->data;
	slice_grow(&c->fields->items[c->fields->count - 1].value, at, length);
	return 0;
}

/* Pausing keeps llhttp out of what follows: framing is judged by us. */
static int on_headers_complete(llhttp_t *llhttp)
{
	struct collector *c = llhttp->data;
	c->is_complete = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
        .on_url = on_url,
        .on_header_field = on_header_field,
        .on_header_value = on_header_value,
        .on_headers_complete = on_headers_complete,
};

static bool run(llhttp_t *llhttp, struct slice head, size_t minor_at)
{
	if (head.data[minor_at] <= '1')
		return library->execute(llhttp, head.data, head.length) == HPE_PAUSED;
	struct slice rest = slice_from(head, minor_at + 1);
	return library->execute(llhttp, head.data, minor_at) == HPE_OK && library->execute(llhttp, "1", 1) == HPE_OK &&
	       library->execute(llhttp, rest.data, rest.length) == HPE_PAUSED;
}

/* What llhttp left: blanks around values, and the identifiers. */
static uint32_t fields_finish(struct fields *fields)
{
	uint32_t seen = 0, repeated = 0;
	for (size_t i = 0; i < fields->count; i++) {
		struct field *field = &fields->items[i];
		field->value = slice_trim(field->value);
		if (field->value.length == 0) /* llhttp may leave it out, or point into the next line */
			field->value.data = field->name.data + field->name.length + 1;
		field->id = field_id_of(field->name);
		repeated |= seen & 1u << field->id;
		seen |= 1u << field->id;
	}
	fields->seen = seen & ~(1u << FIELD_OTHER);
	return repeated;
}

static bool collect(llhttp_type_t type, struct slice head, size_t minor_at, struct fields *fields,
        struct collected *ret_collected, struct refusal *refusal)
{
	struct collector collector = {.fields = fields};
	llhttp_t llhttp;
	MUST(library != NULL);
	fields->count = 0;
	library->init(&llhttp, type, &settings);
	llhttp.data = &collector;
	bool is_good = run(&llhttp, head, minor_at) && collector.is_complete;
	if (collector.is_full)
		return refuse(refusal, 431, "too many header lines");
	if (!is_good)
		return refuse(refusal, 400, llhttp.reason ? llhttp.reason : "malformed head");
	*ret_collected = (struct collected){collector.target, fields_finish(fields)};
	return true;
}

bool collect_request(struct slice head, size_t minor_at, struct fields *fields, struct collected *ret_collected,
        struct refusal *refusal)
{
	return collect(HTTP_REQUEST, head, minor_at, fields, ret_collected, refusal);
}

bool collect_response(struct slice head, size_t minor_at, struct fields *fields, struct collected *ret_collected,
        struct refusal *refusal)
{
	return collect(HTTP_RESPONSE, head, minor_at, fields, ret_collected, refusal);
}
