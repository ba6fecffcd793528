/* Telling fields by name, and looking them up. */
#include "http/message.h"
#include "pieces.h"
#include <ctype.h>

static const struct {
	const char *name;
	enum field_id id;
} known[] = {
#define FIELD(id, name, first, last) {name, FIELD_##id},
#include "http/fields.def"
#undef FIELD
};

static void test_field_id_of_knows_every_name_in_any_case(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_COUNT(known), FIELD_ID_COUNT - 1);
	for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
		char upper[64] = "";
		for (size_t at = 0; known[i].name[at]; at++)
			upper[at] = (char)toupper(known[i].name[at]);
		assert_int_equal(field_id_of(slice_of(known[i].name)), known[i].id);
		assert_int_equal(field_id_of(slice_of(upper)), known[i].id);
	}
}

static void test_field_id_of_knows_no_name_with_a_byte_changed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
		char name[64] = "";
		size_t length = strlen(known[i].name);
		memcpy(name, known[i].name, length);
		for (size_t at = 0; at < length; at++) {
			char right = name[at];
			name[at] = right == '-' ? '\r' : (char)(right ^ 0x40);
			assert_int_equal(field_id_of((struct slice){name, length}), FIELD_OTHER);
			name[at] = right;
		}
		name[length] = 'x';
		assert_int_equal(field_id_of((struct slice){name, length + 1}), FIELD_OTHER);
		assert_int_equal(field_id_of((struct slice){name, 0}), FIELD_OTHER);
	}
}

static void test_fields_ids_fit_into_seen(void **state)
{
	(void)state;
	assert_true(FIELD_ID_COUNT <= 32);
}

static struct field items[] = {
        {.name = {"Connection", 10}, .value = {"a, Close", 8}, .id = FIELD_CONNECTION},
        {.name = {"X-One", 5}, .value = {"1", 1}},
        {.name = {"connection", 10}, .value = {" ,b,,\"c,d\"", 10}, .id = FIELD_CONNECTION},
        {.name = {"x-one", 5}, .value = {"2", 1}},
};
static const struct fields fields = {.items = items, .count = 4, .capacity = 4, .seen = 1u << FIELD_CONNECTION};

static void test_fields_find_gives_the_first(void **state)
{
	(void)state;
	struct slice value = SLICE("untouched");
	assert_false(fields_find(&fields, FIELD_HOST, &value));
	assert_false(fields_find_name(&fields, SLICE("x-on"), &value));
	assert_slice(value, "untouched");
	assert_true(fields_find(&fields, FIELD_CONNECTION, &value));
	assert_slice(value, "a, Close");
	assert_true(fields_find_name(&fields, SLICE("X-ONE"), &value));
	assert_slice(value, "1");
}

static void test_fields_have_member_looks_into_every_line(void **state)
{
	(void)state;
	assert_true(fields_have_member(&fields, FIELD_CONNECTION, SLICE("close")));
	assert_true(fields_have_member(&fields, FIELD_CONNECTION, SLICE("A")));
	assert_true(fields_have_member(&fields, FIELD_CONNECTION, SLICE("b")));
	assert_false(fields_have_member(&fields, FIELD_CONNECTION, SLICE("c")));
	assert_false(fields_have_member(&fields, FIELD_CONNECTION, SLICE("clos")));
	assert_false(fields_have_member(&fields, FIELD_CONNECTION, SLICE("")));
	assert_false(fields_have_member(&fields, FIELD_TE, SLICE("a")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_field_id_of_knows_every_name_in_any_case),
	        cmocka_unit_test(test_field_id_of_knows_no_name_with_a_byte_changed),
	        cmocka_unit_test(test_fields_ids_fit_into_seen),
	        cmocka_unit_test(test_fields_find_gives_the_first),
	        cmocka_unit_test(test_fields_have_member_looks_into_every_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
