/* Each try gets its bytes in an allocation of their exact length, so that a sanitizer sees a read past them. */
#include "heads.h"
#include <stdio.h>
#include <stdlib.h>

const struct head_limits heads_limits = {.line_bytes = 8192, .head_bytes = 32768, .fields = HEADS_FIELDS};

struct request_head heads_last_request;
struct response_head heads_last_response;

static struct field items[HEADS_FIELDS];
static char *last_bytes;

static char *exact_copy(const char *bytes, size_t length)
{
	char *copy = malloc(length ? length : 1);
	assert_non_null(copy);
	memcpy(copy, bytes, length);
	return copy;
}

typedef void scan_step(
        struct head_scan *, const char *bytes, size_t length, const struct head_limits *, struct head_outcome *);

static void step_request(struct head_scan *scan, const char *bytes, size_t length, const struct head_limits *limits,
        struct head_outcome *outcome)
{
	char *copy = exact_copy(bytes, length);
	outcome->result =
	        request_scan(scan, copy, length, limits, &outcome->length, &outcome->status, &outcome->reason);
	free(copy);
}

static void step_response(struct head_scan *scan, const char *bytes, size_t length, const struct head_limits *limits,
        struct head_outcome *outcome)
{
	char *copy = exact_copy(bytes, length);
	outcome->status = 502;
	outcome->result = response_scan(scan, copy, length, limits, &outcome->length, &outcome->reason);
	free(copy);
}

/* The first piece, then the whole; step 1: byte by byte. */
static struct head_outcome scan_pieces(
        const char *bytes, size_t length, size_t first, size_t step, const struct head_limits *limits, scan_step *take)
{
	struct head_scan scan = {0};
	struct head_outcome outcome = {.result = HEAD_MORE};
	for (size_t given = first; outcome.result == HEAD_MORE; given = given + step < length ? given + step : length) {
		take(&scan, bytes, given, limits, &outcome);
		if (given == length)
			break;
	}
	return outcome;
}

static void assert_same(struct head_outcome a, struct head_outcome b)
{
	assert_int_equal(a.result, b.result);
	if (a.result == HEAD_READY)
		assert_int_equal(a.length, b.length);
	if (a.result != HEAD_REFUSED)
		return;
	assert_int_equal(a.status, b.status);
	assert_string_equal(a.reason, b.reason);
}

static struct head_outcome scan_every_split(
        const char *bytes, size_t length, const struct head_limits *limits, scan_step *take)
{
	struct head_outcome whole = scan_pieces(bytes, length, length, length, limits, take);
	for (size_t first = 0; first < length; first++)
		assert_same(scan_pieces(bytes, length, first, length, limits, take), whole);
	assert_same(scan_pieces(bytes, length, 0, 1, limits, take), whole);
	return whole;
}

static char *keep(const char *bytes, size_t length)
{
	free(last_bytes);
	last_bytes = exact_copy(bytes, length);
	return last_bytes;
}

struct head_outcome heads_request(const char *bytes, size_t length, const struct head_limits *limits)
{
	struct head_outcome outcome = scan_every_split(bytes, length, limits, step_request);
	if (outcome.result != HEAD_READY)
		return outcome;
	struct request_head *head = &heads_last_request;
	memset(head, 0xa5, sizeof *head); /* so that what parse forgets to set is seen */
	head->fields = (struct fields){.items = items, .capacity = HEADS_FIELDS};
	if (!request_parse(head, keep(bytes, outcome.length), outcome.length, &outcome.status, &outcome.reason))
		outcome.result = HEAD_REFUSED;
	return outcome;
}

struct head_outcome heads_response(const char *bytes, size_t length, enum method to)
{
	struct head_outcome outcome = scan_every_split(bytes, length, &heads_limits, step_response);
	if (outcome.result != HEAD_READY)
		return outcome;
	struct response_head *head = &heads_last_response;
	memset(head, 0xa5, sizeof *head);
	head->fields = (struct fields){.items = items, .capacity = HEADS_FIELDS};
	if (!response_parse(head, keep(bytes, outcome.length), outcome.length, to, &outcome.reason))
		outcome.result = HEAD_REFUSED;
	return outcome;
}

int heads_setup(void **state)
{
	(void)state;
	parser_setup();
	return 0;
}

static void fail_at(const char *file, int line, const char *what, struct head_outcome outcome)
{
	print_error("%s: result %d, status %u, %s\n", what, (int)outcome.result, outcome.status,
	        outcome.reason ? outcome.reason : "no reason");
	_fail(file, line);
}

void heads_assert_slice(struct slice slice, const char *text, const char *file, int line)
{
	if (slice_equal(slice, slice_of(text)))
		return;
	print_error("\"%.*s\" is not \"%s\"\n", SLICE_ARGS(slice), text);
	_fail(file, line);
}

void heads_assert_refused(const char *bytes, size_t length, unsigned status, const char *file, int line)
{
	struct head_outcome outcome = heads_request(bytes, length, &heads_limits);
	if (outcome.result != HEAD_REFUSED || outcome.status != status)
		fail_at(file, line, "not refused as it should", outcome);
}

const struct request_head *heads_assert_taken(const char *bytes, size_t length, const char *file, int line)
{
	struct head_outcome outcome = heads_request(bytes, length, &heads_limits);
	if (outcome.result != HEAD_READY)
		fail_at(file, line, "not taken", outcome);
	return &heads_last_request;
}

void heads_assert_bad_response(const char *bytes, size_t length, const char *file, int line)
{
	struct head_outcome outcome = heads_response(bytes, length, METHOD_GET);
	if (outcome.result != HEAD_REFUSED)
		fail_at(file, line, "not refused", outcome);
}

const struct response_head *heads_assert_response(
        const char *bytes, size_t length, enum method to, const char *file, int line)
{
	struct head_outcome outcome = heads_response(bytes, length, to);
	if (outcome.result != HEAD_READY)
		fail_at(file, line, "not taken", outcome);
	return &heads_last_response;
}
