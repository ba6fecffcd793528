/* The loop's buffers: given back and taken again, and not kept without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/blocks.h"
#include <string.h>

static void test_blocks_are_used_again_last_given_first(void **state)
{
	struct blocks b;
	(void)state;
	blocks_init(&b, BLOCK_BYTES);
	char *first = blocks_take(&b), *second = blocks_take(&b);
	assert_ptr_not_equal(first, second);
	memset(first, 'a', BLOCK_BYTES); /* whole blocks, to their last byte */
	memset(second, 'b', BLOCK_BYTES);
	assert_int_equal(first[BLOCK_BYTES - 1], 'a');
	blocks_give(&b, first);
	blocks_give(&b, second);
	assert_int_equal(b.free_count, 2);
	assert_ptr_equal(blocks_take(&b), second);
	assert_ptr_equal(blocks_take(&b), first);
	assert_int_equal(b.free_count, 0);
	blocks_give(&b, first);
	blocks_give(&b, second);
	blocks_fini(&b);
	assert_int_equal(b.free_count, 0);
}

static void test_blocks_beyond_those_worth_keeping_are_freed(void **state)
{
	enum { KEPT = BLOCKS_KEPT_BYTES / BLOCK_BYTES };
	static char *taken[KEPT + 10];
	struct blocks b;
	(void)state;
	blocks_init(&b, BLOCK_BYTES);
	for (int i = 0; i < KEPT + 10; i++)
		taken[i] = blocks_take(&b);
	for (int i = 0; i < KEPT + 10; i++)
		blocks_give(&b, taken[i]);
	assert_int_equal(b.free_count, KEPT);
	blocks_fini(&b); /* the sanitizer would tell of one that is lost */
}

static unsigned crowded_count;

static void on_crowded(struct blocks *b)
{
	(void)b;
	crowded_count++;
}

static void test_blocks_that_are_needed_again_are_kept_and_others_trimmed(void **state)
{
	enum { KEPT = BLOCKS_KEPT_BYTES / BLOCK_BYTES, MANY = KEPT + 400, NEEDED = 50 };
	static char *taken[MANY];
	struct blocks b;
	(void)state;
	crowded_count = 0;
	blocks_init(&b, BLOCK_BYTES);
	b.crowded = on_crowded;
	for (int i = 0; i < MANY; i++)
		taken[i] = blocks_take(&b);
	for (int i = 0; i < MANY; i++)
		blocks_give(&b, taken[i]);
	assert_int_equal(b.free_count, MANY);
	assert_int_equal(crowded_count, 1);
	/* Since the first of them was too many nothing was needed but those in any case; a call frees a part. */
	assert_true(blocks_trim(&b));
	assert_int_equal(b.free_count, MANY);
	for (int i = 0; i < NEEDED; i++)
		taken[i] = blocks_take(&b);
	for (int i = 0; i < NEEDED; i++)
		blocks_give(&b, taken[i]);
	assert_true(blocks_trim(&b));
	assert_int_equal(b.free_count, MANY - 256);
	/* What was needed just now stays. */
	for (int i = 0; i < NEEDED; i++)
		taken[i] = blocks_take(&b);
	for (int i = 0; i < NEEDED; i++)
		blocks_give(&b, taken[i]);
	assert_true(blocks_trim(&b));
	assert_int_equal(b.free_count, KEPT + NEEDED);
	assert_int_equal(crowded_count, 1);
	assert_false(blocks_trim(&b));
	assert_int_equal(b.free_count, KEPT);
	/* Another crowd is told anew. */
	for (int i = 0; i <= KEPT; i++)
		taken[i] = blocks_take(&b);
	for (int i = 0; i <= KEPT; i++)
		blocks_give(&b, taken[i]);
	assert_int_equal(crowded_count, 2);
	blocks_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_blocks_are_used_again_last_given_first),
	        cmocka_unit_test(test_blocks_beyond_those_worth_keeping_are_freed),
	        cmocka_unit_test(test_blocks_that_are_needed_again_are_kept_and_others_trimmed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
