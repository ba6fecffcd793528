/* A queue of bytes over memory and a file: order, bounds, and what becomes of it when disk or executor fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/pieces.h"
#include "net/spool.h"
#include "spooling.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY = 1000, BORDER = MEMORY + WRITE_BYTES };

static const struct spool_place place = {.directory = "/tmp", .memory_bytes = MEMORY, .most_bytes = 1 << 30};

/* ---- order -------------------------------------------------------------------------------- */

static void test_spool_holds_few_bytes_in_memory_for_every_split(void **state)
{
	(void)state;
	for (size_t split = 0; split <= 2500; split += split < 990 || split > 1010 ? 7 : 1) {
		struct spool *s = make(&place, false);
		put(s, 0, split);
		put(s, split, 2500 - split);
		assert_int_equal(spool_total(s), 2500);
		assert_int_equal(jobs_pending(), 0);
		assert_int_equal(file_count(), 0);
		expect(s, 0, 2500);
		assert_true(spool_is_empty(s));
		spool_free(&s);
	}
}

static void test_spool_gives_back_what_crossed_into_the_file_for_every_split_at_its_borders(void **state)
{
	static const size_t borders[] = {
	        0, MEMORY, PIECE_BYTES, MEMORY + PIECE_BYTES, BORDER, MEMORY + 2 * WRITE_BYTES, 2 * BORDER};
	(void)state;
	for (size_t i = 0; i < sizeof borders / sizeof borders[0]; i++) {
		for (size_t split = borders[i] ? borders[i] - 2 : 0; split <= borders[i] + 2; split++) {
			struct spool *s = make(&place, false);
			put(s, 0, split);
			put(s, split, 3 * BORDER - split);
			settle();
			assert_int_equal(file_count(), 1);
			expect(s, 0, 3 * BORDER);
			spool_free(&s);
			settle();
			assert_int_equal(file_count(), 0);
		}
	}
}

static void test_spool_may_hold_nothing_in_memory(void **state)
{
	struct spool_place none = place;
	(void)state;
	none.memory_bytes = 0;
	struct spool *s = make(&none, false);
	put(s, 0, 10 * PIECE_BYTES);
	expect(s, 0, 10 * PIECE_BYTES);
	spool_free(&s);
}

/* A writer and a reader of changing speed; the ring's end comes by many times. */
static void test_spool_stays_within_its_bound_while_much_passes_through(void **state)
{
	struct spool_place small = place;
	size_t in = 0, out = 0, most = 600000, whole = 40u << 20;
	uint32_t random = 1;
	off_t largest = 0;
	(void)state;
	small.most_bytes = (int64_t)most;
	struct spool *s = make(&small, false);
	while (out < whole) {
		random = random * 1664525 + 1013904223;
		size_t part = random >> 8 & 0x1ffff, fast = out & (8 << 20);
		if (random >> 31 || (fast && random >> 30)) {
			size_t more = in + part < whole ? part : whole - in;
			in += try_put(s, in, more);
		} else {
			out += try_take(s, out, fast ? part : part / 4);
		}
		assert_true(in - out <= most);
		if (file_count() && file_size() > largest)
			largest = file_size();
		if (random >> 28 == 5)
			turn();
	}
	assert_true(largest > 0 && largest <= (off_t)most);
	assert_true(spool_is_empty(s));
	spool_free(&s);
}

static void test_spool_that_was_emptied_uses_memory_again(void **state)
{
	(void)state;
	struct spool_place large = place;
	large.memory_bytes = 1 << 20;
	struct spool *s = make(&large, false);
	put(s, 0, 2 << 20);
	expect(s, 0, 2 << 20);
	off_t before = file_size();
	put(s, 2 << 20, 1 << 20);
	assert_int_equal(jobs_pending(), 0);
	assert_int_equal(file_size(), before);
	expect(s, 2 << 20, 1 << 20);
	spool_free(&s);
}

static void test_spool_that_keeps_gives_all_again_after_each_rewind(void **state)
{
	static const size_t sizes[] = {1, MEMORY, MEMORY + 1, BORDER - 1, BORDER + 1, 700000};
	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct spool *s = make(&place, true);
		size_t length = sizes[i], step = length > 20 ? length / 20 : 1;
		put(s, 0, length);
		for (size_t read = 0; read <= length; read += step) {
			expect(s, 0, read);
			assert_int_equal(spool_total(s), length);
			spool_rewind(s);
		}
		expect(s, 0, length);
		assert_true(spool_is_empty(s));
		spool_rewind(s);
		expect(s, 0, length);
		spool_free(&s);
	}
}

static void test_spool_that_keeps_forgets_a_read_under_way_when_it_is_rewound(void **state)
{
	struct slice data;
	(void)state;
	struct spool *s = make(&place, true);
	put(s, 0, 700000);
	expect(s, 0, MEMORY);
	settle();
	while (spool_peek(s, &data) == SPOOL_DONE)
		spool_take(s, data.length);
	assert_int_equal(jobs_pending(), 1);
	spool_rewind(s);
	expect(s, 0, 700000);
	spool_free(&s);
}

/* ---- bounds and failures ---------------------------------------------------------------------- */

static void test_spool_takes_exactly_its_most(void **state)
{
	struct spool_place small = place;
	struct slice more = {pattern, 1};
	(void)state;
	small.most_bytes = 100000;
	struct spool *s = make(&small, false);
	put(s, 0, 100000);
	assert_int_equal(spool_append(s, &more), SPOOL_FULL);
	assert_int_equal(more.length, 1);
	expect(s, 0, 1);
	assert_int_equal(spool_append(s, &more), SPOOL_DONE);
	expect(s, 1, 99999);
	spool_free(&s);
}

/* Takes on as long as it can; what was taken comes back whole. */
static void expect_memory_only(struct spool *s, int error)
{
	size_t taken = try_put(s, 0, 4 << 20);
	assert_true(taken >= MEMORY && taken < 1 << 20);
	assert_int_equal(spool_error(s), error);
	expect(s, 0, taken);
	assert_true(spool_is_empty(s));
	struct slice more = {pattern + taken, 2 * MEMORY};
	assert_int_equal(spool_append(s, &more), SPOOL_FAILED);
	assert_int_equal(more.length, MEMORY);
	expect(s, taken, MEMORY);
	spool_free(&s);
	settle();
	assert_int_equal(file_count(), 0);
}

static void test_spool_without_its_directory_goes_on_in_memory(void **state)
{
	struct spool_place nowhere = place;
	(void)state;
	nowhere.directory = "/nonexistent/spool";
	expect_memory_only(make(&nowhere, false), -ENOENT);
}

static void test_spool_without_a_descriptor_goes_on_in_memory(void **state)
{
	struct rlimit before, none;
	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	struct spool *s = make(&place, false);
	size_t taken = try_put(s, 0, 4 << 20);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(spool_error(s), -EMFILE);
	expect(s, 0, taken);
	spool_free(&s);
}

/* The file system is full in the middle of a write. */
static void test_spool_whose_file_may_not_grow_loses_nothing(void **state)
{
	struct rlimit before, small;
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 200001;
	setrlimit(RLIMIT_FSIZE, &small);
	struct spool *s = make(&place, false);
	size_t taken = try_put(s, 0, 4 << 20);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_true(taken > 200001);
	assert_int_equal(spool_error(s), -EFBIG);
	assert_int_equal(file_size(), 200001);
	expect(s, 0, taken);
	assert_true(spool_is_empty(s));
	spool_free(&s);
}

static void test_spool_whose_file_lost_bytes_says_so(void **state)
{
	struct slice data;
	(void)state;
	struct spool *s = make(&place, false);
	put(s, 0, 3 * BORDER);
	settle();
	shorten_file(PIECE_BYTES + 10);
	expect(s, 0, MEMORY + PIECE_BYTES + 10);
	assert_int_equal(spool_peek(s, &data), SPOOL_FAILED);
	assert_int_equal(spool_error(s), -EIO);
	spool_free(&s);
}

static void test_spool_makes_a_file_where_nameless_ones_are_unknown(void **state)
{
	(void)state;
	refuse_nameless(EOPNOTSUPP);
	struct spool *s = make(&place, false);
	put(s, 0, 3 * BORDER);
	settle();
	assert_int_equal(file_count(), 1);
	assert_true(file_is_nameless());
	expect(s, 0, 3 * BORDER);
	spool_free(&s);
}

/* ---- the executor -------------------------------------------------------------------------------- */

static void test_spool_waits_out_a_full_executor(void **state)
{
	struct slice more = {pattern, 4 << 20}, data;
	(void)state;
	take_executor();
	struct spool *s = make(&place, false);
	assert_int_equal(spool_append(s, &more), SPOOL_BUSY);
	size_t taken = (4 << 20) - more.length;
	assert_int_equal(spool_error(s), 0);
	assert_int_equal(jobs_pending(), 0);
	/* Nothing is in the file, so all of it can be taken. */
	expect(s, 0, taken);
	give_executor();
	put(s, taken, 3 * BORDER);
	settle();
	expect(s, taken, MEMORY);
	take_executor();
	enum spool_result result;
	size_t out = taken + MEMORY;
	while ((result = spool_peek(s, &data)) == SPOOL_DONE) {
		assert_memory_equal(data.data, pattern + out, data.length);
		out += data.length;
		spool_take(s, data.length);
	}
	assert_int_equal(result, SPOOL_BUSY);
	give_executor();
	expect(s, out, taken + 3 * BORDER - out);
	spool_free(&s);
}

static void test_spool_takes_its_job_back_when_it_ends(void **state)
{
	(void)state;
	hold_executor();
	struct spool *s = make(&place, false);
	struct slice more = {pattern, BORDER};
	assert_int_equal(spool_append(s, &more), SPOOL_DONE);
	assert_int_equal(jobs_pending(), 1);
	spool_free(&s);
	assert_null(s);
	assert_int_equal(jobs_pending(), 0);
	let_executor_go();
	settle();
	assert_int_equal(changes(), 0);
	assert_int_equal(file_count(), 0);
}

static void test_spool_that_ends_in_the_middle_of_a_job_leaves_nothing_behind(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct spool *s = make(&place, i & 1);
		struct slice more = {pattern, BORDER};
		assert_int_equal(spool_append(s, &more), SPOOL_DONE);
		for (int wait = 0; wait < i % 64; wait++)
			sched_yield();
		int before = changes();
		spool_free(&s);
		if (i % 16 == 0)
			settle();
		assert_int_equal(changes(), before);
	}
	settle();
	assert_int_equal(file_count(), 0);
	assert_int_equal(jobs_pending(), 0);
}

/* The order of the server's end: exchanges, blocks, executor, then what came back to the loop. */
static void test_spool_whose_loop_has_ended_leaves_nothing_behind(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct spool *closing = make(&place, false), *writing = make(&place, false);
		struct slice more = {pattern, BORDER};
		put(closing, 0, BORDER);
		settle();
		assert_int_equal(spool_append(writing, &more), SPOOL_DONE);
		spool_free(&closing);
		spool_free(&writing);
		end_everything();
		assert_int_equal(file_count(), 0);
		begin_everything();
	}
}

static void test_spool_free_takes_null(void **state)
{
	struct spool *none = NULL;
	(void)state;
	spool_free(&none);
	assert_null(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, spooling_setup, spooling_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_spool_holds_few_bytes_in_memory_for_every_split),
	        TEST(test_spool_gives_back_what_crossed_into_the_file_for_every_split_at_its_borders),
	        TEST(test_spool_may_hold_nothing_in_memory),
	        TEST(test_spool_stays_within_its_bound_while_much_passes_through),
	        TEST(test_spool_that_was_emptied_uses_memory_again),
	        TEST(test_spool_that_keeps_gives_all_again_after_each_rewind),
	        TEST(test_spool_that_keeps_forgets_a_read_under_way_when_it_is_rewound),
	        TEST(test_spool_takes_exactly_its_most),
	        TEST(test_spool_without_its_directory_goes_on_in_memory),
	        TEST(test_spool_without_a_descriptor_goes_on_in_memory),
	        TEST(test_spool_whose_file_may_not_grow_loses_nothing),
	        TEST(test_spool_whose_file_lost_bytes_says_so),
	        TEST(test_spool_makes_a_file_where_nameless_ones_are_unknown),
	        TEST(test_spool_waits_out_a_full_executor),
	        TEST(test_spool_takes_its_job_back_when_it_ends),
	        TEST(test_spool_that_ends_in_the_middle_of_a_job_leaves_nothing_behind),
	        TEST(test_spool_whose_loop_has_ended_leaves_nothing_behind),
	        TEST(test_spool_free_takes_null),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
