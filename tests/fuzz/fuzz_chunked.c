/* Chunked bodies: the same body and outcome however they are split, and a body that encodes and decodes to itself. */
#include "http/chunked.h"
#include "pieces.h"

enum { ROUNDS = 4, LINE_ROOM = 18 };

struct decoded {
	enum chunked_result result;
	size_t taken, length;
	const char *reason;
	char *body; /* and behind it the trailer section; as large as the input */
};

static bool gives_trailers;

static void feed(struct chunked *c, const char *bytes, size_t length, struct decoded *into)
{
	char *copy = piece_copy(bytes, length);
	struct slice rest = {copy, length}, data = SLICE_NONE;
	for (;;) {
		into->result = chunked_decode(c, &rest, &data, &into->reason);
		if (into->result != CHUNKED_DATA && into->result != CHUNKED_TRAILERS)
			break;
		MUST(data.length > 0 && data.data >= copy && data.data + data.length <= copy + length);
		memcpy(into->body + into->length, data.data, data.length);
		into->length += data.length;
	}
	MUST(into->result != CHUNKED_MORE || rest.length == 0);
	into->taken += length - rest.length;
	free(copy);
}

static struct decoded decode(const char *bytes, size_t length, size_t first, size_t step)
{
	struct decoded into = {.result = CHUNKED_MORE, .body = piece_copy(bytes, length)};
	struct chunked c;
	chunked_init(&c);
	c.gives_trailers = gives_trailers;
	size_t from = 0, to = first;
	feed(&c, bytes, to, &into);
	while (into.result == CHUNKED_MORE && to < length) {
		from = to;
		to = length - to < step ? length : to + step;
		feed(&c, bytes + from, to - from, &into);
	}
	return into;
}

static void expect_same(struct decoded *a, const struct decoded *b)
{
	MUST(a->result == b->result && a->taken == b->taken && a->reason == b->reason);
	/* How much of a trailer section came before it was refused depends on the pieces. */
	MUST(a->length == b->length || (gives_trailers && a->result == CHUNKED_REFUSED));
	MUST(memcmp(a->body, b->body, a->length < b->length ? a->length : b->length) == 0);
	free(a->body);
}

/* As one chunk. */
static void expect_round_trip(const struct decoded *body)
{
	char *encoded = malloc(body->length + 2 * LINE_ROOM);
	MUST(encoded != NULL);
	size_t at = 0;
	if (body->length) {
		at = chunked_begin(encoded, body->length);
		memcpy(encoded + at, body->body, body->length);
		at += body->length;
		memcpy(encoded + at, "\r\n", 2);
		at += 2;
	}
	memcpy(encoded + at, "0\r\n\r\n", 5);
	struct decoded again = decode(encoded, at + 5, at + 5, 1);
	MUST(again.result == CHUNKED_END && again.taken == at + 5 && again.length == body->length);
	MUST(memcmp(again.body, body->body, body->length) == 0);
	free(again.body);
	free(encoded);
}

static void expect_all_splits_alike(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct decoded whole = decode(bytes, size, size, 1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct decoded split = decode(bytes, size, piece_split(data, size, round), size);
		expect_same(&split, &whole);
	}
	struct decoded bytewise = decode(bytes, size, 0, 1);
	expect_same(&bytewise, &whole);
	MUST(whole.length <= whole.taken && whole.taken <= size);
	if (whole.result == CHUNKED_END && !gives_trailers)
		expect_round_trip(&whole);
	MUST(whole.result != CHUNKED_REFUSED || whole.reason);
	free(whole.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gives_trailers = false;
	expect_all_splits_alike(data, size);
	gives_trailers = true;
	expect_all_splits_alike(data, size);
	return 0;
}
