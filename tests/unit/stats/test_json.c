/* The JSON writer: structure, escapes, numbers, and what happens at the end of its room. */
#include "stats/json.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_written(const struct json *j, const char *wanted)
{
	assert_true(json_is_whole(j));
	if (!slice_equal((struct slice){j->to, j->length}, slice_of(wanted)))
		fail_msg("%.*s, not %s", (int)j->length, j->to, wanted);
}

static void test_json_puts_commas_between_values_only(void **state)
{
	char text[256];
	struct json j;
	(void)state;
	json_init(&j, text, sizeof text);
	json_object(&j, NULL);
	json_array(&j, "none");
	json_end(&j);
	json_array(&j, "some");
	json_integer(&j, NULL, 1);
	json_object(&j, NULL);
	json_end(&j);
	json_bool(&j, NULL, true);
	json_end(&j);
	json_null(&j, "null");
	json_object(&j, "in");
	json_bool(&j, "b", false);
	json_text(&j, "t", SLICE("x"));
	json_end(&j);
	json_end(&j);
	assert_written(&j, "{\"none\":[],\"some\":[1,{},true],\"null\":null,\"in\":{\"b\":false,\"t\":\"x\"}}");
}

static void assert_text(struct slice s, const char *wanted)
{
	char text[256];
	struct json j;
	json_init(&j, text, sizeof text);
	json_text(&j, NULL, s);
	assert_written(&j, wanted);
}

static void test_json_escapes_what_must_be(void **state)
{
	(void)state;
	assert_text(SLICE("plain /text"), "\"plain /text\"");
	assert_text(SLICE("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\"");
	assert_text(SLICE("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\"");
	assert_text(SLICE_NONE, "\"\"");
}

static void test_json_passes_utf_8_and_replaces_everything_else(void **state)
{
	(void)state;
	assert_text(SLICE("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"),
	        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\"");
	assert_text(SLICE("a\xff"
	                  "b"),
	        "\"a\\ufffdb\"");
	assert_text(SLICE("\xc3"), "\"\\ufffd\"");                       /* cut */
	assert_text(SLICE("\xe2\x82"), "\"\\ufffd\\ufffd\"");            /* cut */
	assert_text(SLICE("\xc0\x80"), "\"\\ufffd\\ufffd\"");            /* overlong */
	assert_text(SLICE("\xe0\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* overlong */
	assert_text(SLICE("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* surrogate */
	assert_text(SLICE("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
	assert_text(SLICE("\xf8\x88\x80\x80\x80x"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffdx\"");
}

static void assert_real(double number, unsigned decimals, const char *wanted)
{
	char text[64];
	struct json j;
	json_init(&j, text, sizeof text);
	json_real(&j, NULL, number, decimals);
	assert_written(&j, wanted);
}

static void test_json_rounds_reals(void **state)
{
	(void)state;
	assert_real(0, 3, "0.0");
	assert_real(0.37, 2, "0.37");
	assert_real(0.3, 3, "0.3");
	assert_real(12.345678, 3, "12.346");
	assert_real(0.005, 3, "0.005");
	assert_real(-1.25, 1, "-1.3");
	assert_real(-0.0001, 3, "0.0");
	assert_real(99.99, 1, "100.0");
	assert_real(7, 0, "7.0");
	assert_real(1e11, 6, "100000000000.0");
	assert_real(1e13, 3, "null");
	assert_real((double)NAN, 3, "null");
	assert_real((double)-INFINITY, 3, "null");
}

static void test_json_shows_integers_whole(void **state)
{
	char text[64];
	struct json j;
	(void)state;
	json_init(&j, text, sizeof text);
	json_array(&j, NULL);
	json_integer(&j, NULL, INT64_MIN);
	json_integer(&j, NULL, INT64_MAX);
	json_end(&j);
	assert_written(&j, "[-9223372036854775808,9223372036854775807]");
}

static void write_sample(struct json *j)
{
	json_object(j, NULL);
	json_text(j, "a\"", SLICE("b\nc"));
	json_real(j, "r", 1.5, 2);
	json_array_named(j, SLICE("list"));
	json_integer(j, NULL, -5);
	json_null(j, NULL);
	json_end(j);
	json_end(j);
}

static void test_json_never_writes_past_its_room(void **state)
{
	static const char wanted[] = "{\"a\\\"\":\"b\\nc\",\"r\":1.5,\"list\":[-5,null]}";
	char text[sizeof wanted + 8];
	struct json j;
	(void)state;
	for (size_t room = 0; room < sizeof wanted + 4; room++) {
		memset(text, '#', sizeof text);
		json_init(&j, text, room);
		write_sample(&j);
		assert_int_equal(json_is_whole(&j), room >= sizeof wanted - 1);
		assert_true(j.length <= room);
		for (size_t i = room; i < sizeof text; i++)
			assert_int_equal(text[i], '#');
	}
	assert_written(&j, wanted);
}

static void test_json_is_not_whole_before_its_end(void **state)
{
	char text[64];
	struct json j;
	(void)state;
	json_init(&j, text, sizeof text);
	json_object(&j, NULL);
	assert_false(json_is_whole(&j));
	json_end(&j);
	assert_true(json_is_whole(&j));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_json_puts_commas_between_values_only),
	        cmocka_unit_test(test_json_escapes_what_must_be),
	        cmocka_unit_test(test_json_passes_utf_8_and_replaces_everything_else),
	        cmocka_unit_test(test_json_rounds_reals),
	        cmocka_unit_test(test_json_shows_integers_whole),
	        cmocka_unit_test(test_json_never_writes_past_its_room),
	        cmocka_unit_test(test_json_is_not_whole_before_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
