/* Media types by name, and the choice between JSON and HTML. */
#include "http/media_type.h"
#include "pieces.h"
#include <stdio.h>
#include <strings.h>

static void test_media_type_of_knows_every_ending_of_the_table(void **state)
{
	(void)state;
	static const struct {
		const char *ending, *type;
	} types[] = {
#define MEDIA_TYPE(ending, type) {ending, type},
#include "http/media_types.def"
#undef MEDIA_TYPE
	};
	for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
		char name[64];
		snprintf(name, sizeof name, "some.file.%s", types[i].ending);
		assert_slice(media_type_of(slice_of(name)), types[i].type);
		if (i)
			assert_true(strcasecmp(types[i - 1].ending, types[i].ending) < 0);
	}
}

static void test_media_type_of_takes_any_case_and_whole_paths(void **state)
{
	(void)state;
	assert_slice(media_type_of(SLICE("/a.b/INDEX.Html")), "text/html; charset=utf-8");
	assert_slice(media_type_of(SLICE("x.JPG")), "image/jpeg");
}

static void test_media_type_of_falls_back(void **state)
{
	(void)state;
	static const char *const names[] = {
	        "", ".", "README", "a.", "a.html/b", "a.htmlx", "a.averyveryverylongending", "html"};
	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		assert_slice(media_type_of(slice_of(names[i])), "application/octet-stream");
	assert_slice(media_type_of(SLICE("a.html\0")), "application/octet-stream");
	assert_slice(media_type_of(SLICE_NONE), "application/octet-stream");
}

static bool prefers_json(const char *accept)
{
	struct field items[] = {{.name = SLICE("Accept"), .value = slice_of(accept), .id = FIELD_ACCEPT}};
	struct fields fields = {.items = items, .count = 1, .capacity = 1, .seen = 1u << FIELD_ACCEPT};
	return media_type_prefers_json(&fields);
}

static void test_media_type_prefers_json_by_weight(void **state)
{
	(void)state;
	assert_true(prefers_json("application/json"));
	assert_true(prefers_json("Application/JSON; charset=utf-8"));
	assert_true(prefers_json("application/*"));
	assert_true(prefers_json("text/html;q=0.5, application/json"));
	assert_true(prefers_json("application/json;q=0.9, */*;q=0.1"));
	assert_true(prefers_json("*/*, text/html;q=0"));
	assert_true(prefers_json("application/json;q=0.001"));
	assert_false(prefers_json("text/html"));
	assert_false(prefers_json("*/*"));
	assert_false(prefers_json("text/html, application/json"));
	assert_false(prefers_json("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
	assert_false(prefers_json("application/json;q=0"));
	assert_false(prefers_json("application/json;q=0.5, text/*"));
	assert_false(prefers_json("application/json;q=nonsense"));
	assert_false(prefers_json("application/jsonx, application/"));
	assert_false(prefers_json(""));
}

static void test_media_type_prefers_html_without_accept(void **state)
{
	(void)state;
	struct fields none = {0};
	assert_false(media_type_prefers_json(&none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_media_type_of_knows_every_ending_of_the_table),
	        cmocka_unit_test(test_media_type_of_takes_any_case_and_whole_paths),
	        cmocka_unit_test(test_media_type_of_falls_back),
	        cmocka_unit_test(test_media_type_prefers_json_by_weight),
	        cmocka_unit_test(test_media_type_prefers_html_without_accept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
