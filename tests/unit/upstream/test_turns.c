/* Weighted turns: how many each taker gets, and how they are spread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "upstream/turns.h"
#include <stdlib.h>
#include <string.h>

/* The schedule as digits. */
static void expect(const unsigned *weights, size_t count, const char *wanted)
{
	char got[100] = "";
	uint16_t *schedule = NULL;
	size_t length = 0;
	assert_true(turns_lay(weights, count, &schedule, &length));
	assert_true(length < sizeof got);
	for (size_t i = 0; i < length; i++)
		got[i] = (char)('0' + schedule[i]);
	free(schedule);
	assert_string_equal(got, wanted);
}

static void test_turns_of_equals_go_round(void **state)
{
	(void)state;
	expect((const unsigned[]){1}, 1, "0");
	expect((const unsigned[]){1, 1, 1}, 3, "012");
}

static void test_turns_are_spread_by_weight(void **state)
{
	(void)state;
	expect((const unsigned[]){9, 1}, 2, "0000010000");
	expect((const unsigned[]){5, 1, 1}, 3, "0010200");
	expect((const unsigned[]){1, 3}, 2, "1011");
}

static void test_turns_are_as_few_as_the_weights_allow(void **state)
{
	(void)state;
	expect((const unsigned[]){7}, 1, "0");
	expect((const unsigned[]){256, 256}, 2, "01");
	expect((const unsigned[]){30, 10}, 2, "0010");
}

static void test_turns_pass_over_weight_zero(void **state)
{
	(void)state;
	expect((const unsigned[]){0, 2, 0, 4}, 4, "313");
}

static void test_turns_of_very_many_are_about_right_and_bounded(void **state)
{
	(void)state;
	unsigned weights[1000], got[1000] = {0};
	size_t length = 0;
	uint16_t *schedule = NULL;
	for (unsigned i = 0; i < 1000; i++)
		weights[i] = i % 2 ? 65535 : 6553;
	assert_true(turns_lay(weights, 1000, &schedule, &length));
	assert_in_range(length, 1000, 10000);
	for (size_t i = 0; i < length; i++)
		got[schedule[i]]++;
	for (unsigned i = 0; i < 1000; i++)
		assert_in_range(got[i], i % 2 ? 14 : 1, i % 2 ? 16 : 3);
	free(schedule);
}

static void test_turns_of_many_are_exact_and_apart(void **state)
{
	(void)state;
	unsigned weights[100], got[100] = {0};
	size_t last_of_heaviest = 0, length = 0, total = 0;
	uint16_t *schedule = NULL;
	for (unsigned i = 0; i < 100; i++)
		total += weights[i] = 1 + i * 7 % 64; /* one of them is 1, so that nothing divides all */
	weights[0] += (unsigned)total;
	total *= 2;
	assert_true(turns_lay(weights, 100, &schedule, &length));
	assert_int_equal(length, total);
	for (size_t i = 0; i < length; i++) {
		got[schedule[i]]++;
		if (schedule[i] == 0) {
			assert_true(i - last_of_heaviest <= 3); /* it has half of all turns */
			last_of_heaviest = i;
		}
	}
	assert_memory_equal(got, weights, sizeof got);
	free(schedule);
}

static void test_turns_weight_is_a_number_within_bounds(void **state)
{
	(void)state;
	static const char *const wrong[] = {"", "weight", "weight=", "weight=0", "weight=257", "weight=-1", "weight=1x",
	        "Weight=1", "1", "weight= 1"};
	unsigned weight = 77;
	for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
		assert_false(turns_read_weight(slice_of(wrong[i]), &weight));
	assert_int_equal(weight, 77);
	assert_true(turns_read_weight(SLICE("weight=1"), &weight));
	assert_int_equal(weight, 1);
	assert_true(turns_read_weight(SLICE("weight=256"), &weight));
	assert_int_equal(weight, 256);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_turns_of_equals_go_round),
	        cmocka_unit_test(test_turns_are_spread_by_weight),
	        cmocka_unit_test(test_turns_are_as_few_as_the_weights_allow),
	        cmocka_unit_test(test_turns_pass_over_weight_zero),
	        cmocka_unit_test(test_turns_of_many_are_exact_and_apart),
	        cmocka_unit_test(test_turns_of_very_many_are_about_right_and_bounded),
	        cmocka_unit_test(test_turns_weight_is_a_number_within_bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
