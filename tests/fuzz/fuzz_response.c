/* Response heads: the same outcome however they are split, and no field or framing that a naive reading does not find.
 */
#include "http/parser.h"
#include "pieces.h"

enum { FIELDS = 100, ROUNDS = 4 };

static const struct head_limits usual = {.line_bytes = 8192, .head_bytes = 32768, .fields = FIELDS};
static const struct head_limits narrow = {.line_bytes = 40, .head_bytes = 160, .fields = 3};

struct outcome {
	enum head_result result;
	size_t length;
	const char *reason;
};

static struct outcome scan(struct head_scan *state, const uint8_t *data, size_t size, const struct head_limits *limits)
{
	struct outcome outcome = {0};
	char *copy = piece_copy(data, size);
	outcome.result = response_scan(state, copy, size, limits, &outcome.length, &outcome.reason);
	MUST(state->checked <= size);
	free(copy);
	return outcome;
}

static struct outcome scan_split(const uint8_t *data, size_t size, size_t first, const struct head_limits *limits)
{
	struct head_scan state = {0};
	struct outcome outcome = scan(&state, data, first, limits);
	return outcome.result == HEAD_MORE ? scan(&state, data, size, limits) : outcome;
}

static struct outcome scan_all_ways(const uint8_t *data, size_t size, const struct head_limits *limits)
{
	struct outcome whole = scan_split(data, size, size, limits);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct outcome split = scan_split(data, size, piece_split(data, size, round), limits);
		MUST(split.result == whole.result && split.length == whole.length && split.reason == whole.reason);
	}
	MUST(whole.result != HEAD_REFUSED || whole.reason);
	MUST(whole.result != HEAD_READY || (whole.length <= size && whole.length <= limits->head_bytes));
	return whole;
}

/* Lines that are not folds, the first and the last one not counted. */
static size_t count_fields(const char *bytes, size_t length)
{
	size_t count = 0;
	for (size_t i = 0; i + 1 < length; i++)
		count += bytes[i] == '\n' && bytes[i + 1] != ' ' && bytes[i + 1] != '\t' && bytes[i + 1] != '\r';
	return count;
}

static void expect_fields(const struct fields *fields, struct slice head)
{
	const char *end = head.data + head.length;
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->items[i];
		MUST(field->name.data > head.data && field->name.length > 0 && field->name.data[-1] == '\n');
		MUST(field->name.data[field->name.length] == ':');
		MUST(field->value.data > field->name.data + field->name.length &&
		        field->value.data + field->value.length < end);
		MUST(!field->value.length || !memchr(field->value.data, '\r', field->value.length));
		MUST(!field->value.length || !memchr(field->value.data, '\n', field->value.length));
		const char *rest = field->value.data + field->value.length;
		while (*rest == ' ' || *rest == '\t')
			rest++;
		MUST(rest[0] == '\r' && rest[1] == '\n');
	}
}

static void expect_framing(const struct response_head *head, enum method to)
{
	bool is_bodiless = to == METHOD_HEAD || head->status < 200 || head->status == 204 || head->status == 304;
	MUST(head->status >= 100 && head->status <= 999);
	MUST(head->chunked + head->until_close <= 1);
	MUST((head->body_length == LENGTH_UNKNOWN) == (head->chunked || head->until_close));
	MUST(!is_bodiless || head->body_length == LENGTH_NONE);
	MUST(!head->until_close || !head->keep_alive);
}

static void parse(const uint8_t *data, size_t length, enum method to)
{
	struct field items[FIELDS];
	struct response_head head = {.fields = {.items = items, .capacity = FIELDS}};
	const char *reason = NULL;
	char *copy = piece_copy(data, length);
	size_t field_count = count_fields(copy, length);
	if (response_parse(&head, copy, length, to, &reason)) {
		MUST(head.fields.count == field_count);
		expect_fields(&head.fields, (struct slice){copy, length});
		expect_framing(&head, to);
	} else {
		MUST(reason != NULL);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parser_setup();
	scan_all_ways(data, size, &narrow);
	struct outcome outcome = scan_all_ways(data, size, &usual);
	if (outcome.result != HEAD_READY)
		return 0;
	parse(data, outcome.length, METHOD_GET);
	parse(data, outcome.length, METHOD_HEAD);
	parse(data, outcome.length, METHOD_CONNECT);
	return 0;
}
