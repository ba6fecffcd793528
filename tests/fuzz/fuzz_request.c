/* Request heads: the same outcome however they are split, and every part where a naive reading finds it. */
#include "http/parser.h"
#include "http/status.h"
#include "http/uri.h"
#include "pieces.h"

enum { FIELDS = 100, ROUNDS = 4 };

static const struct head_limits usual = {.line_bytes = 8192, .head_bytes = 32768, .fields = FIELDS};
static const struct head_limits narrow = {.line_bytes = 40, .head_bytes = 160, .fields = 3};

struct outcome {
	enum head_result result;
	size_t length;
	unsigned status;
	const char *reason;
};

static struct outcome scan(struct head_scan *state, const uint8_t *data, size_t size, const struct head_limits *limits)
{
	struct outcome outcome = {0};
	char *copy = piece_copy(data, size);
	outcome.result = request_scan(state, copy, size, limits, &outcome.length, &outcome.status, &outcome.reason);
	MUST(state->checked <= size && state->skipped <= state->checked);
	free(copy);
	return outcome;
}

static void expect_same(struct outcome a, struct outcome b)
{
	MUST(a.result == b.result && a.length == b.length && a.status == b.status);
	MUST(a.reason == b.reason);
}

static struct outcome scan_split(const uint8_t *data, size_t size, size_t first, const struct head_limits *limits)
{
	struct head_scan state = {0};
	struct outcome outcome = scan(&state, data, first, limits);
	return outcome.result == HEAD_MORE ? scan(&state, data, size, limits) : outcome;
}

static struct outcome scan_bytewise(const uint8_t *data, size_t size, const struct head_limits *limits)
{
	struct head_scan state = {0};
	struct outcome outcome = {.result = HEAD_MORE};
	for (size_t length = 0; length <= size && outcome.result == HEAD_MORE; length++)
		outcome = scan(&state, data, length, limits);
	return outcome;
}

static bool is_status_of_scan(unsigned status)
{
	return status == 400 || status == 414 || status == 431 || status == 501 || status == 505;
}

static struct outcome scan_all_ways(const uint8_t *data, size_t size, const struct head_limits *limits)
{
	struct outcome whole = scan_split(data, size, size, limits);
	for (unsigned round = 0; round < ROUNDS; round++)
		expect_same(scan_split(data, size, piece_split(data, size, round), limits), whole);
	if (size < 512)
		expect_same(scan_bytewise(data, size, limits), whole);
	MUST(whole.result != HEAD_REFUSED || (is_status_of_scan(whole.status) && whole.reason));
	MUST(whole.result != HEAD_READY || (whole.length <= size && whole.length <= limits->head_bytes));
	return whole;
}

static struct slice cut_line(struct slice *rest)
{
	const char *line_end = memmem(rest->data, rest->length, "\r\n", 2);
	MUST(line_end != NULL);
	struct slice line = {rest->data, (size_t)(line_end - rest->data)};
	*rest = slice_from(*rest, line.length + 2);
	return line;
}

/* llhttp must not see other lines than we do. */
static void expect_fields(const struct fields *fields, struct slice rest)
{
	uint32_t seen = 0;
	for (size_t i = 0; i < fields->count; i++) {
		struct slice line = cut_line(&rest);
		const struct field *field = &fields->items[i];
		const char *colon = memchr(line.data, ':', line.length);
		MUST(colon != NULL);
		size_t name_length = (size_t)(colon - line.data);
		struct slice value = slice_trim(slice_from(line, name_length + 1));
		MUST(field->name.data == line.data && field->name.length == name_length && name_length > 0);
		MUST(slice_equal(field->value, value));
		MUST(field->id == field_id_of(field->name));
		seen |= field->id == FIELD_OTHER ? 0 : 1u << field->id;
	}
	MUST(cut_line(&rest).length == 0 && rest.length == 0);
	MUST(fields->seen == seen);
}

static void expect_framing(const struct request_head *head)
{
	struct slice value;
	int64_t number = 0;
	bool has_length = fields_find(&head->fields, FIELD_CONTENT_LENGTH, &value);
	bool has_encoding = head->fields.seen & 1u << FIELD_TRANSFER_ENCODING;
	MUST(!(has_length && has_encoding));
	MUST(!has_encoding || (head->body_length == LENGTH_UNKNOWN && head->minor == 1));
	MUST(!has_length || (slice_to_number(value, &number) && head->body_length == number));
	MUST(has_length || has_encoding || head->body_length == LENGTH_NONE);
	MUST(!head->expects_continue || (head->minor == 1 && head->body_length != LENGTH_NONE));
}

static void expect_target(const struct request_head *head)
{
	struct slice host, port;
	MUST(head->method != METHOD_UNKNOWN && method_of(head->method_text) == head->method);
	MUST(head->target.length > 0);
	MUST(head->minor == 0 || head->host.length > 0);
	MUST(head->host.length == 0 || uri_split_authority(head->host, &host, &port));
	if (head->method == METHOD_CONNECT)
		MUST(head->path.length == 0);
	else
		MUST(head->path.data[0] == '/' || slice_equal(head->path, SLICE("*")));
	MUST(!memchr(head->path.data, '?', head->path.length));
}

static void parse(const uint8_t *data, size_t length)
{
	struct field items[FIELDS];
	struct request_head head = {.fields = {.items = items, .capacity = FIELDS}};
	unsigned status = 0;
	const char *reason = NULL;
	char *copy = piece_copy(data, length);
	if (request_parse(&head, copy, length, &status, &reason)) {
		struct slice rest = {copy, length};
		while (rest.data[0] == '\r')
			rest = slice_from(rest, 2);
		struct slice line = cut_line(&rest);
		MUST(head.method_text.data == line.data && head.target.data == line.data + head.method_text.length + 1);
		MUST(head.method_text.length + head.target.length + sizeof("  HTTP/1.1") - 1 == line.length);
		expect_fields(&head.fields, rest);
		expect_framing(&head);
		expect_target(&head);
	} else {
		MUST((status == 400 || status == 417 || status == 501) && reason);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parser_setup();
	scan_all_ways(data, size, &narrow);
	struct outcome outcome = scan_all_ways(data, size, &usual);
	if (outcome.result == HEAD_READY)
		parse(data, outcome.length);
	return 0;
}
