/* The arena: zeroed, aligned, apart, and without limit but memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include <cmocka.h>
#include <stdalign.h>

static void test_arena_memory_is_zeroed_aligned_and_apart(void **state)
{
	(void)state;
	static const size_t sizes[] = {0, 1, 15, 16, 17, 4000, 4096, 4097, 100000, 3};
	struct arena arena;
	unsigned char *pieces[sizeof sizes / sizeof sizes[0]];
	arena_init(&arena);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		pieces[i] = arena_alloc(&arena, sizes[i]);
		assert_non_null(pieces[i]);
		assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], 0);
		memset(pieces[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(pieces[i][k], i + 1);
	arena_fini(&arena);
}

static void test_arena_refuses_a_size_beyond_memory_and_stays_usable(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	assert_null(arena_alloc(&arena, SIZE_MAX));
	assert_null(arena_alloc(&arena, SIZE_MAX - 8));
	assert_non_null(arena_alloc(&arena, 8));
	arena_fini(&arena);
}

static void test_arena_texts_end_with_zero(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	assert_string_equal(arena_text(&arena, (struct slice){"abcdef", 3}), "abc");
	assert_string_equal(arena_text(&arena, SLICE_NONE), "");
	assert_string_equal(arena_format(&arena, "%s:%d", "x", 42), "x:42");
	arena_fini(&arena);
}

static void test_arena_may_be_ended_twice(void **state)
{
	(void)state;
	struct arena arena;
	arena_init(&arena);
	assert_non_null(arena_alloc(&arena, 1));
	arena_fini(&arena);
	arena_fini(&arena);
	assert_non_null(arena_alloc(&arena, 1));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_arena_memory_is_zeroed_aligned_and_apart),
	        cmocka_unit_test(test_arena_refuses_a_size_beyond_memory_and_stays_usable),
	        cmocka_unit_test(test_arena_texts_end_with_zero),
	        cmocka_unit_test(test_arena_may_be_ended_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
