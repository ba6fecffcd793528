/* Where frames end, whatever the pieces in which they come. */
#include "http/websocket.h"
#include "pieces.h"

/* Every kind of length, masked and not, one behind the other; and where each ends. */
static const char head_only[] = {(char)0x89, 0}, small[] = {1, 3, 'a', 'b', 'c'},
                  masked[] = {(char)0x88, (char)0x82, 1, 2, 3, 4, 'x', 'y'},
                  masked_head_only[] = {(char)0x8a, (char)0x80, 1, 2, 3, 4}, middle[] = {2, 126, 1, 0},
                  large[] = {(char)0x82, 127, 0, 0, 0, 0, 0, 0, 1, 4}, long_of_nothing[] = {(char)0x82, 126, 0, 0};

static char stream[1024];
static size_t length, ends[16], end_count;

static void add(const char *head, size_t head_length, size_t payload)
{
	memcpy(stream + length, head, head_length);
	memset(stream + length + head_length, 0xff, payload);
	length += head_length + payload;
	ends[end_count++] = length;
}

static int make_stream(void **state)
{
	(void)state;
	length = end_count = 0;
	add(small, sizeof small, 0);
	add(head_only, sizeof head_only, 0);
	add(middle, sizeof middle, 256);
	add(masked, sizeof masked, 0);
	add(masked_head_only, sizeof masked_head_only, 0);
	add(large, sizeof large, 260);
	add(long_of_nothing, sizeof long_of_nothing, 0);
	add(small, sizeof small, 0);
	return 0;
}

/* Takes [from, to) and holds that a border is where it should be. */
static void take(struct websocket_frame *f, size_t from, size_t to, size_t *found)
{
	while (from < to) {
		size_t taken = websocket_take(f, (struct slice){stream + from, to - from});
		assert_in_range(taken, 1, to - from);
		from += taken;
		assert_int_equal(websocket_is_at_border(f), from == ends[*found]);
		*found += from == ends[*found];
	}
}

static void test_websocket_frames_end_at_every_split(void **state)
{
	(void)state;
	for (size_t first = 0; first <= length; first++) {
		struct websocket_frame f = {0};
		size_t found = 0;
		assert_true(websocket_is_at_border(&f));
		take(&f, 0, first, &found);
		take(&f, first, length, &found);
		assert_int_equal(found, end_count);
	}
}

static void test_websocket_frames_end_byte_by_byte(void **state)
{
	(void)state;
	struct websocket_frame f = {0};
	size_t found = 0;
	for (size_t at = 0; at < length; at++)
		take(&f, at, at + 1, &found);
	assert_int_equal(found, end_count);
}

static void test_websocket_takes_no_more_than_one_frame(void **state)
{
	(void)state;
	struct websocket_frame f = {0};
	assert_int_equal(websocket_take(&f, (struct slice){stream, length}), sizeof small);
	assert_int_equal(websocket_take(&f, SLICE_NONE), 0);
}

static void test_websocket_length_of_64_bits_does_not_wrap(void **state)
{
	(void)state;
	struct websocket_frame f = {0};
	struct slice head = SLICE("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff");
	assert_int_equal(websocket_take(&f, head), head.length);
	assert_false(websocket_is_at_border(&f));
	assert_int_equal(websocket_take(&f, (struct slice){stream, length}), length);
	assert_true(f.left == UINT64_MAX - length);
}

static void test_websocket_close_is_one_whole_frame(void **state)
{
	(void)state;
	struct websocket_frame f = {0};
	assert_int_equal(websocket_take(&f, WEBSOCKET_GOING_AWAY), 4);
	assert_true(websocket_is_at_border(&f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_websocket_frames_end_at_every_split),
	        cmocka_unit_test(test_websocket_frames_end_byte_by_byte),
	        cmocka_unit_test(test_websocket_takes_no_more_than_one_frame),
	        cmocka_unit_test(test_websocket_length_of_64_bits_does_not_wrap),
	        cmocka_unit_test(test_websocket_close_is_one_whole_frame),
	};
	return cmocka_run_group_tests(tests, make_stream, NULL);
}
