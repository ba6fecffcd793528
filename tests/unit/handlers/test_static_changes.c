/* Files that change between requests, or while they are sent. */
#include "handlers/static_site.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static void test_static_sees_each_change_with_the_next_request(void **state)
{
	struct site *s = *state;
	char text[16];
	/* As fast as possible, same size, in place: time stamps alone would not tell these apart. */
	for (int i = 0; i < 500; i++) {
		snprintf(text, sizeof text, "%07d", i);
		site_put(s, "root/counter", text, 7);
		site_expect_text(s, "/counter", text);
	}
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof text, "%07d", i);
		site_put(s, "root/new", text, 7);
		site_move(s, "root/new", "root/counter");
		site_expect_text(s, "/counter", text);
	}
}

static void test_static_sees_a_change_behind_old_time_stamps(void **state)
{
	struct site *s = *state;
	site_put_old(s, "root/file", "old");
	site_expect_text(s, "/file", "old");
	site_put_old(s, "root/file", "new");
	site_expect_text(s, "/file", "new");
	char path[64];
	snprintf(path, sizeof path, "%s/file", s->root);
	unlink(path);
	site_expect_status(s, "/file", 404);
}

static void test_static_sees_a_root_that_is_swapped(void **state)
{
	struct site *s = *state;
	site_expect_text(s, "/ten.bin", "0123456789");
	site_move(s, "root", "root1");
	site_expect_status(s, "/ten.bin", 404);
	site_make_directory(s, "root2");
	site_put_old(s, "root2/ten.bin", "abcdefghij");
	site_make_link(s, "root2", "root");
	site_expect_text(s, "/ten.bin", "abcdefghij");
	site_make_link(s, "root1", "root");
	site_expect_text(s, "/ten.bin", "0123456789");
}

static void test_static_ends_short_when_a_file_shrinks_on_its_way(void **state)
{
	struct site *s = *state;
	char path[64];
	snprintf(path, sizeof path, "%s/huge", s->root);
	site_put(s, "root/huge", "", 0);
	assert_int_equal(truncate(path, 64 << 20), 0);
	harness_send(&s->h, "GET /huge", "");
	harness_send(&s->h, "GET /ten.bin", "");
	harness_turn(&s->h);
	assert_int_equal(truncate(path, 1 << 20), 0);
	struct answer a = harness_receive(&s->h, false);
	assert_int_equal(a.status, 200);
	assert_false(a.is_whole);
	assert_true(a.body.length < 64 << 20);
	assert_int_equal(harness_receive(&s->h, false).status, 0);
}

static void test_static_finishes_the_old_file_when_a_new_one_takes_its_name(void **state)
{
	struct site *s = *state;
	char path[64];
	snprintf(path, sizeof path, "%s/huge", s->root);
	site_put(s, "root/huge", "", 0);
	assert_int_equal(truncate(path, 16 << 20), 0);
	harness_send(&s->h, "GET /huge", "");
	harness_turn(&s->h);
	site_put(s, "root/new", "new", 3);
	site_move(s, "root/new", "root/huge");
	struct answer a = harness_receive(&s->h, false);
	assert_true(a.is_whole);
	assert_int_equal(a.body.length, 16 << 20);
	site_expect_text(s, "/huge", "new");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, site_set_up, site_tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_static_sees_each_change_with_the_next_request),
	        TEST(test_static_sees_a_change_behind_old_time_stamps),
	        TEST(test_static_sees_a_root_that_is_swapped),
	        TEST(test_static_ends_short_when_a_file_shrinks_on_its_way),
	        TEST(test_static_finishes_the_old_file_when_a_new_one_takes_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
