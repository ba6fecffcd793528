/* The chunked decoder, each input whole, in every two pieces and byte by byte. */
#include "http/chunked.h"
#include "pieces.h"
#include <stdio.h>
#include <stdlib.h>

struct decoded {
	enum chunked_result result;
	size_t taken;
	size_t length, trailer_length;
	char body[4096], trailers[CHUNKED_TRAILER_BYTES];
	const char *reason;
};

static bool with_trailers; /* what the decoder is asked for */

static void take(struct slice data, char *to, size_t room, size_t *length)
{
	assert_true(data.length > 0);
	assert_true(*length + data.length <= room);
	memcpy(to + *length, data.data, data.length);
	*length += data.length;
}

/* Gives bytes [from, to), in an allocation of their own. */
static void feed(struct chunked *c, const char *bytes, size_t from, size_t to, struct decoded *into)
{
	char *copy = malloc(to - from + 1);
	assert_non_null(copy);
	char *exact = copy + 1; /* ends where the allocation ends */
	memcpy(exact, bytes + from, to - from);
	struct slice rest = {exact, to - from}, data = SLICE_NONE;
	do {
		into->result = chunked_decode(c, &rest, &data, &into->reason);
		if (into->result == CHUNKED_DATA)
			take(data, into->body, sizeof into->body, &into->length);
		else if (into->result == CHUNKED_TRAILERS)
			take(data, into->trailers, sizeof into->trailers, &into->trailer_length);
	} while (into->result == CHUNKED_DATA || into->result == CHUNKED_TRAILERS);
	if (into->result == CHUNKED_MORE)
		assert_int_equal(rest.length, 0);
	into->taken += to - from - rest.length;
	free(copy);
}

static struct decoded decode(const char *bytes, size_t length, size_t first, size_t step)
{
	struct decoded into = {.result = CHUNKED_MORE};
	struct chunked c;
	chunked_init(&c);
	c.gives_trailers = with_trailers;
	for (size_t from = 0, to = first; into.result == CHUNKED_MORE;
	        from = to, to = to + step < length ? to + step : length) {
		feed(&c, bytes, from, to, &into);
		if (to == length)
			break;
	}
	return into;
}

static void assert_same(struct decoded a, struct decoded b)
{
	assert_int_equal(a.result, b.result);
	assert_int_equal(a.taken, b.taken);
	assert_int_equal(a.length, b.length);
	assert_memory_equal(a.body, b.body, a.length);
	/* What came of a section that is refused in the end depends on the pieces. */
	if (a.result == CHUNKED_END) {
		assert_int_equal(a.trailer_length, b.trailer_length);
		assert_memory_equal(a.trailers, b.trailers, a.trailer_length);
	}
	if (a.result == CHUNKED_REFUSED)
		assert_string_equal(a.reason, b.reason);
}

static struct decoded decode_every_split(const char *bytes, size_t length)
{
	struct decoded whole = decode(bytes, length, length, length);
	for (size_t first = 0; first < length; first++)
		assert_same(decode(bytes, length, first, length), whole);
	assert_same(decode(bytes, length, 0, 1), whole);
	return whole;
}

#define DECODE(literal) decode_every_split(literal, sizeof(literal) - 1)

#define assert_body(literal, text)                                                                                     \
	do {                                                                                                           \
		struct decoded done = DECODE(literal);                                                                 \
		assert_int_equal(done.result, CHUNKED_END);                                                            \
		assert_int_equal(done.taken, sizeof(literal) - 1);                                                     \
		assert_slice(((struct slice){done.body, done.length}), text);                                          \
	} while (0)

#define assert_bad(literal) assert_int_equal(DECODE(literal).result, CHUNKED_REFUSED)
#define assert_more(literal) assert_int_equal(DECODE(literal).result, CHUNKED_MORE)

static void test_chunked_decode_joins_chunks(void **state)
{
	(void)state;
	assert_body("0\r\n\r\n", "");
	assert_body("3\r\nabc\r\n0\r\n\r\n", "abc");
	assert_body(
	        "3\r\nabc\r\n1\r\nd\r\nA\r\n0123456789\r\n0a\r\n0123456789\r\n000\r\n\r\n", "abcd01234567890123456789");
	assert_body("4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n");
}

static void test_chunked_decode_stops_at_the_end_of_the_body(void **state)
{
	(void)state;
	static const char bytes[] = "3\r\nabc\r\n0\r\n\r\nGET /next HTTP/1.1\r\n";
	struct decoded done = decode_every_split(bytes, sizeof bytes - 1);
	assert_int_equal(done.result, CHUNKED_END);
	assert_int_equal(done.taken, 13);
}

static void test_chunked_decode_takes_nothing_after_the_end(void **state)
{
	(void)state;
	struct chunked c;
	struct slice rest = SLICE("0\r\n\r\n"), data;
	const char *reason;
	chunked_init(&c);
	assert_int_equal(chunked_decode(&c, &rest, &data, &reason), CHUNKED_END);
	rest = SLICE("3\r\nabc");
	assert_int_equal(chunked_decode(&c, &rest, &data, &reason), CHUNKED_END);
	assert_int_equal(rest.length, 6);
}

static void test_chunked_decode_stays_refused(void **state)
{
	(void)state;
	struct chunked c;
	struct slice rest = SLICE("x"), data;
	const char *reason;
	chunked_init(&c);
	assert_int_equal(chunked_decode(&c, &rest, &data, &reason), CHUNKED_REFUSED);
	rest = SLICE("0\r\n\r\n");
	assert_int_equal(chunked_decode(&c, &rest, &data, &reason), CHUNKED_REFUSED);
}

static void test_chunked_decode_waits_for_the_rest(void **state)
{
	(void)state;
	assert_more("");
	assert_more("3");
	assert_more("3\r\nab");
	assert_more("3\r\nabc");
	assert_more("3\r\nabc\r\n");
	assert_more("3\r\nabc\r\n0\r\n");
	assert_more("0\r\nX: y\r\n\r");
}

static void test_chunked_decode_refuses_malformed_sizes(void **state)
{
	(void)state;
	assert_bad("\r\n");
	assert_bad("\r\nabc\r\n");
	assert_bad(" 3\r\nabc\r\n0\r\n\r\n");
	assert_bad("3 \r\nabc\r\n0\r\n\r\n");
	assert_bad("+3\r\nabc\r\n0\r\n\r\n");
	assert_bad("-3\r\nabc\r\n0\r\n\r\n");
	assert_bad("0x3\r\nabc\r\n0\r\n\r\n");
	assert_bad("3_\r\nabc\r\n0\r\n\r\n");
	assert_bad("g\r\nabc\r\n0\r\n\r\n");
	assert_bad(";x\r\nabc\r\n0\r\n\r\n");
	assert_bad("3\nabc\r\n0\r\n\r\n");
	assert_bad("3\rabc\r\n0\r\n\r\n");
	assert_bad("0\n\r\n");
	assert_bad("0\r\n\n");
	assert_bad("0\r\n\rX");
}

/* SMG-13 */
static void test_chunked_decode_refuses_line_ends_in_extensions(void **state)
{
	(void)state;
	assert_bad("3;a\rb\r\nabc\r\n0\r\n\r\n");
	assert_bad("3;a\nb\r\nabc\r\n0\r\n\r\n");
	assert_bad("3;a=\"x\r\nX-T: 1\"\r\nabc\r\n0\r\n\r\n");
	assert_bad("3;a\0b\r\nabc\r\n0\r\n\r\n");
	assert_bad("3;a\x7f\r\nabc\r\n0\r\n\r\n");
	assert_body("3;a;b=c ; d=\"e f\"\r\nabc\r\n0;last\r\n\r\n", "abc");
	assert_body("3 \t;a\r\nabc\r\n0\r\n\r\n", "abc");
}

static struct decoded decode_long(const char *before, const char *piece, size_t count, const char *after)
{
	size_t room = strlen(before) + strlen(piece) * count + strlen(after), at;
	char *bytes = malloc(room + 1);
	assert_non_null(bytes);
	at = (size_t)sprintf(bytes, "%s", before);
	for (size_t i = 0; i < count; i++)
		at += (size_t)sprintf(bytes + at, "%s", piece);
	at += (size_t)sprintf(bytes + at, "%s", after);
	struct decoded done = decode(bytes, at, at, at);
	assert_same(decode(bytes, at, 0, 1), done);
	free(bytes);
	return done;
}

static void test_chunked_decode_bounds_extensions(void **state)
{
	(void)state;
	assert_int_equal(decode_long("3", ";k=v", 70 * 1024 / 4, "\r\nabc\r\n0\r\n\r\n").result, CHUNKED_REFUSED);
	assert_int_equal(decode_long("3;", "k", CHUNKED_EXTENSION_BYTES, "").result, CHUNKED_MORE);
	assert_int_equal(decode_long("3;", "k", CHUNKED_EXTENSION_BYTES + 1, "").result, CHUNKED_REFUSED);
	assert_int_equal(decode_long("3", " ", CHUNKED_EXTENSION_BYTES + 1, "").result, CHUNKED_REFUSED);
	assert_int_equal(decode_long("", "0", CHUNKED_EXTENSION_BYTES + 1, "").result, CHUNKED_REFUSED);
	/* the bound is of each line */
	assert_int_equal(decode_long("", "1;0123456789\r\nx\r\n", 200, "0\r\n\r\n").result, CHUNKED_END);
}

static void test_chunked_decode_bounds_extensions_that_no_data_pays_for(void **state)
{
	(void)state;
	size_t line = 103; /* bytes of extension in the line below, a byte of data pays for one */
	char piece[200];
	snprintf(piece, sizeof piece, "1;%0*d\r\nx\r\n", (int)line, 0);
	size_t count = CHUNKED_SURPLUS_BYTES / (line - 1);
	assert_int_equal(decode_long("", piece, count, "0\r\n\r\n").result, CHUNKED_END);
	assert_int_equal(decode_long("", piece, count + 1, "0\r\n\r\n").result, CHUNKED_REFUSED);
	assert_int_equal(decode_long("", "4;abc\r\nxxxx\r\n", 1000, "0\r\n\r\n").result, CHUNKED_END);
}

/* SMG-15 */
static void test_chunked_decode_refuses_sizes_beyond_the_integer(void **state)
{
	(void)state;
	assert_bad("10000000000000003\r\nabc\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n");
	assert_bad("ffffffffffffffffffffffffffffffffffffffff\r\nabc\r\n0\r\n\r\n");
	assert_bad("8000000000000000\r\nabc");
	assert_bad("ffffffffffffffff\r\nabc");
	assert_more("7fffffffffffffff\r\nabc\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: t.test\r\n\r\n");
	assert_more("0000000000007fffffffffffffff\r\nabc");
	assert_int_equal(DECODE("100000003\r\nabc\r\n0\r\n\r\nGET /hidden").length, 21);
	assert_int_equal(DECODE("80000000\r\nabc\r\n0\r\n\r\nGET /hidden").length, 21);
}

/* SMG-16 */
static void test_chunked_decode_refuses_data_longer_than_its_size(void **state)
{
	(void)state;
	assert_bad("3\r\nabcXX0\r\n\r\n");
	assert_bad("3\r\nabcdef\r\n0\r\n\r\n");
	assert_bad("3\r\nabc\n0\r\n\r\n");
	assert_bad("3\r\nabc\rX0\r\n\r\n");
	assert_bad("3\r\nabc0\r\n\r\n");
}

/* SMG-20 */
static void test_chunked_decode_checks_trailers_and_drops_them(void **state)
{
	(void)state;
	assert_bad("3\r\nabc\r\n0\r\nContent-Length: 5\r\nX-Real-User: admin\r\nbad line\r\n\r\n");
	assert_body("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", "abc");
	assert_body("0\r\nX-Sum: \t\xff\r\nY:\r\n\r\n", "");
	assert_bad("0\r\nX-Sum : 1\r\n\r\n");
	assert_bad("0\r\n: 1\r\n\r\n");
	assert_bad("0\r\nX-Sum\r\n\r\n");
	assert_bad("0\r\nX: 1\r\n folded\r\n\r\n");
	assert_bad("0\r\nX: 1\n\r\n");
	assert_bad("0\r\nX: a\rb\r\n\r\n");
	assert_bad("0\r\nX: a\0b\r\n\r\n");
}

#define assert_trailers(literal, text)                                                                                 \
	do {                                                                                                           \
		struct decoded done = DECODE(literal);                                                                 \
		assert_int_equal(done.result, CHUNKED_END);                                                            \
		assert_slice(((struct slice){done.trailers, done.trailer_length}), text);                              \
	} while (0)

static void test_chunked_decode_gives_the_trailer_section_when_asked(void **state)
{
	(void)state;
	assert_trailers("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", "");
	with_trailers = true;
	assert_trailers("3\r\nabc\r\n0\r\n\r\n", "");
	assert_trailers("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\nGET / HTTP/1.1\r\n", "X-Sum: 1\r\n");
	assert_trailers("0;x\r\nX-Sum: \t\xff\r\nY:\r\nZ:a:b\r\n\r\n", "X-Sum: \t\xff\r\nY:\r\nZ:a:b\r\n");
	assert_body("3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n", "abc");
	assert_int_equal(decode_long("0\r\nX: ", "0", CHUNKED_TRAILER_BYTES - 7, "\r\n\r\n").trailer_length,
	        CHUNKED_TRAILER_BYTES - 2);
}

static void test_chunked_decode_refuses_the_same_when_trailers_are_asked_for(void **state)
{
	with_trailers = true;
	test_chunked_decode_checks_trailers_and_drops_them(state);
	test_chunked_decode_waits_for_the_rest(state);
	assert_int_equal(decode_long("0\r\nX: ", "0", CHUNKED_TRAILER_BYTES, "\r\n\r\n").result, CHUNKED_REFUSED);
	assert_int_equal(decode_long("0\r\n", "X:\r\n", CHUNKED_TRAILER_FIELDS + 1, "\r\n").result, CHUNKED_REFUSED);
}

static int ask_for_none(void **state)
{
	(void)state;
	with_trailers = false;
	return 0;
}

static void test_chunked_decode_bounds_trailers(void **state)
{
	(void)state;
	assert_int_equal(decode_long("0\r\n", "X: 0123456789\r\n", 100 * 1024 / 15, "\r\n").result, CHUNKED_REFUSED);
	assert_int_equal(decode_long("0\r\nX: ", "0", CHUNKED_TRAILER_BYTES, "\r\n\r\n").result, CHUNKED_REFUSED);
	assert_int_equal(decode_long("0\r\n", "X:\r\n", CHUNKED_TRAILER_FIELDS, "\r\n").result, CHUNKED_END);
	assert_int_equal(decode_long("0\r\n", "X:\r\n", CHUNKED_TRAILER_FIELDS + 1, "\r\n").result, CHUNKED_REFUSED);
}

static void test_chunked_due_tells_a_size_only_when_its_line_is_whole(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		uint64_t due;
	} cases[] = {{"", 0}, {"1", 0}, {"10", 0}, {"10;x", 0}, {"10\r", 0}, {"10\r\n", 16}, {"10\r\nabc", 13},
	        {"3\r\nabc", 0}};
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		struct chunked c;
		struct slice rest = slice_of(cases[i].bytes), data;
		const char *reason;
		chunked_init(&c);
		while (chunked_decode(&c, &rest, &data, &reason) == CHUNKED_DATA)
			continue;
		assert_int_equal(chunked_due(&c), cases[i].due);
	}
}

static void test_chunked_begin_writes_what_decode_reads(void **state)
{
	(void)state;
	static const uint64_t sizes[] = {1, 15, 16, 255, 256, 65536, UINT64_C(0xfffffffff), INT64_MAX};
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		char line[18], expected[32];
		size_t length = chunked_begin(line, sizes[i]);
		snprintf(expected, sizeof expected, "%llx\r\n", (unsigned long long)sizes[i]);
		assert_slice(((struct slice){line, length}), expected);
	}
	char line[18];
	assert_int_equal(chunked_begin(line, UINT64_MAX), 18);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_chunked_decode_joins_chunks),
	        cmocka_unit_test(test_chunked_decode_stops_at_the_end_of_the_body),
	        cmocka_unit_test(test_chunked_decode_takes_nothing_after_the_end),
	        cmocka_unit_test(test_chunked_decode_stays_refused),
	        cmocka_unit_test(test_chunked_decode_waits_for_the_rest),
	        cmocka_unit_test(test_chunked_decode_refuses_malformed_sizes),
	        cmocka_unit_test(test_chunked_decode_refuses_line_ends_in_extensions),
	        cmocka_unit_test(test_chunked_decode_bounds_extensions),
	        cmocka_unit_test(test_chunked_decode_bounds_extensions_that_no_data_pays_for),
	        cmocka_unit_test(test_chunked_decode_refuses_sizes_beyond_the_integer),
	        cmocka_unit_test(test_chunked_decode_refuses_data_longer_than_its_size),
	        cmocka_unit_test(test_chunked_decode_checks_trailers_and_drops_them),
	        cmocka_unit_test(test_chunked_decode_bounds_trailers),
	        cmocka_unit_test(test_chunked_due_tells_a_size_only_when_its_line_is_whole),
	        cmocka_unit_test_teardown(test_chunked_decode_gives_the_trailer_section_when_asked, ask_for_none),
	        cmocka_unit_test_teardown(
	                test_chunked_decode_refuses_the_same_when_trailers_are_asked_for, ask_for_none),
	        cmocka_unit_test(test_chunked_begin_writes_what_decode_reads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
