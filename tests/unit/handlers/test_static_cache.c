/* The cache itself: epochs, bounds, and entries that outlive their place in it. */
#include "base/check.h"
#include "handlers/static_cache.h"
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
	char root[32];
	struct static_site site;
	struct static_cache *cache;
	uint64_t epoch;
};

static void put(struct fixture *f, const char *name, size_t length, char fill)
{
	char path[128], *data = malloc(length + 1);
	assert_non_null(data);
	memset(data, fill, length + 1);
	snprintf(path, sizeof path, "%s/%s", f->root, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, length, file), length);
	fclose(file);
	free(data);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	assert_non_null(f);
	strcpy(f->root, "/tmp/cache-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	f->site = (struct static_site){.root = f->root};
	f->cache = static_cache_create(&f->site);
	assert_non_null(f->cache);
	f->epoch = 1;
	*state = f;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	static_cache_free(&f->cache);
	nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static struct static_entry *get(struct fixture *f, const char *name)
{
	unsigned status = 0;
	struct static_entry *e = static_cache_get(f->cache, slice_of(name), f->epoch, &status);
	if (!e)
		fail_msg("%s: %u", name, status);
	return e;
}

static void test_cache_looks_once_an_epoch(void **state)
{
	struct fixture *f = *state;
	put(f, "a", 3, 'x');
	assert_int_equal(get(f, "/a")->content.data[0], 'x');
	put(f, "a", 3, 'y');
	assert_int_equal(get(f, "/a")->content.data[0], 'x');
	f->epoch++;
	assert_int_equal(get(f, "/a")->content.data[0], 'y');
}

static void test_cache_keeps_an_entry_that_did_not_change(void **state)
{
	struct fixture *f = *state;
	put(f, "a", 3, 'x');
	usleep(50000); /* until its time stamp can be trusted */
	struct static_entry *first = get(f, "/a");
	assert_false(first->is_racy);
	static_entry_hold(first);
	f->epoch++;
	assert_ptr_equal(get(f, "/a"), first);
	put(f, "a", 4, 'x');
	f->epoch++;
	assert_ptr_not_equal(get(f, "/a"), first);
	static_entry_drop(first);
}

static void test_cache_does_not_trust_time_stamps_of_this_moment(void **state)
{
	struct fixture *f = *state;
	put(f, "a", 3, 'x');
	assert_true(get(f, "/a")->is_racy);
}

static void test_cache_holds_small_files_and_keeps_large_ones_open(void **state)
{
	struct fixture *f = *state;
	put(f, "small", STATIC_SMALL_BYTES, 'x');
	put(f, "large", STATIC_SMALL_BYTES + 1, 'x');
	assert_int_equal(get(f, "/small")->fd, -1);
	assert_int_equal(get(f, "/small")->content.length, STATIC_SMALL_BYTES);
	assert_true(get(f, "/large")->fd >= 0);
	assert_int_equal(f->cache->count, 2);
	assert_int_equal(f->cache->descriptors, 1);
}

static void test_cache_is_bounded_by_entries(void **state)
{
	struct fixture *f = *state;
	char name[16];
	for (int i = 0; i < STATIC_ENTRIES + 100; i++) {
		snprintf(name, sizeof name, "/%d", i);
		put(f, name + 1, 1, (char)i);
		assert_int_equal(get(f, name)->content.data[0], (char)i);
		assert_int_equal(get(f, "/0")->content.data[0], 0); /* used all the time, so it stays */
		assert_true(f->cache->count <= STATIC_ENTRIES);
	}
	unsigned found = 0;
	for (unsigned i = 0; i < f->cache->count; i++) {
		assert_int_equal(f->cache->slots[i]->slot, i);
		found += slice_equal(f->cache->slots[i]->key, SLICE("/0"));
	}
	assert_int_equal(found, 1);
}

static void test_cache_is_bounded_by_memory(void **state)
{
	struct fixture *f = *state;
	char name[16];
	for (int i = 0; i < STATIC_MEMORY_BYTES / STATIC_SMALL_BYTES + 50; i++) {
		snprintf(name, sizeof name, "/%d", i);
		put(f, name + 1, STATIC_SMALL_BYTES, 'x');
		get(f, name);
		assert_true(f->cache->bytes <= STATIC_MEMORY_BYTES);
	}
	assert_true(f->cache->count > STATIC_MEMORY_BYTES / STATIC_SMALL_BYTES * 3 / 4);
}

static void test_cache_is_bounded_by_descriptors(void **state)
{
	struct fixture *f = *state;
	char name[16];
	f->cache->descriptors_max = 8;
	put(f, "small", 1, 'x');
	get(f, "/small");
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof name, "/%d", i);
		put(f, name + 1, STATIC_SMALL_BYTES + 1, 'x');
		get(f, name);
		assert_true(f->cache->descriptors <= 8);
	}
	assert_int_equal(f->cache->count, 9);
}

static void test_cache_gives_its_descriptors_up_when_there_are_no_others(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, tight;
	put(f, "large", STATIC_SMALL_BYTES + 1, 'x');
	put(f, "other", 1, 'y');
	int fd = get(f, "/large")->fd;
	getrlimit(RLIMIT_NOFILE, &before);
	tight = before;
	tight.rlim_cur = (rlim_t)fd + 1; /* the root took the one below: with the file two are needed */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	unsigned status = 0;
	struct static_entry *e = static_cache_get(f->cache, SLICE("/other"), f->epoch, &status);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_non_null(e);
	assert_int_equal(e->content.data[0], 'y');
	assert_int_equal(f->cache->descriptors, 0);
	/* Without any of its own to give up: 503. */
	tight.rlim_cur = (rlim_t)fd;
	put(f, "third", 1, 'z');
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	e = static_cache_get(f->cache, SLICE("/third"), f->epoch, &status);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_null(e);
	assert_int_equal(status, 503);
}

static void test_entry_outlives_its_place_while_held(void **state)
{
	struct fixture *f = *state;
	put(f, "large", STATIC_SMALL_BYTES + 1, 'x');
	struct static_entry *e = get(f, "/large");
	static_entry_hold(e);
	put(f, "large", 5, 'y');
	f->epoch++;
	assert_int_equal(get(f, "/large")->content.data[0], 'y');
	char byte;
	assert_int_equal(pread(e->fd, &byte, 1, 0), 1);
	static_entry_drop(e);
}

static void test_cache_makes_tags_of_content_for_small_files(void **state)
{
	struct fixture *f = *state;
	char first[80];
	put(f, "a", 3, 'x');
	struct static_entry *e = get(f, "/a");
	snprintf(first, sizeof first, "%.*s", SLICE_ARGS(e->etag));
	assert_int_equal(first[0], '"');
	f->epoch++;
	assert_true(slice_equal(get(f, "/a")->etag, slice_of(first)));
	put(f, "a", 3, 'y');
	f->epoch++;
	assert_false(slice_equal(get(f, "/a")->etag, slice_of(first)));
}

static void test_cache_makes_weak_tags_of_large_files_that_are_too_young(void **state)
{
	struct fixture *f = *state;
	put(f, "a", STATIC_SMALL_BYTES + 1, 'x');
	assert_true(slice_starts(get(f, "/a")->etag, SLICE("W/\"")));
	usleep(50000);
	f->epoch++;
	assert_true(slice_starts(get(f, "/a")->etag, SLICE("\"")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_cache_looks_once_an_epoch),
	        TEST(test_cache_keeps_an_entry_that_did_not_change),
	        TEST(test_cache_does_not_trust_time_stamps_of_this_moment),
	        TEST(test_cache_holds_small_files_and_keeps_large_ones_open),
	        TEST(test_cache_is_bounded_by_entries),
	        TEST(test_cache_is_bounded_by_memory),
	        TEST(test_cache_is_bounded_by_descriptors),
	        TEST(test_cache_gives_its_descriptors_up_when_there_are_no_others),
	        TEST(test_entry_outlives_its_place_while_held),
	        TEST(test_cache_makes_tags_of_content_for_small_files),
	        TEST(test_cache_makes_weak_tags_of_large_files_that_are_too_young),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
