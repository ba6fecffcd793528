/* max_connections: who has room, who waits, and what is said of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/connection_limit.h"
#include "base/fd.h"
#include "base/log.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct loop_view loops[2];
static struct server_view view;
static char path[64], text[4096];

static int setup(void **state)
{
	(void)state;
	memset(loops, 0, sizeof loops);
	memset(&view, 0, sizeof view);
	view.loops = loops;
	view.loop_count = 2;
	view.max_connections = 3;
	strcpy(path, "/tmp/mlserve-test-limit-XXXXXX");
	int fd = mkstemp(path);
	fd_close(&fd);
	return log_open(path, LOG_LEVEL_INFO);
}

static int teardown(void **state)
{
	(void)state;
	log_close();
	return unlink(path);
}

static int lines(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), count = 0;
	ssize_t length = read(fd, text, sizeof text - 1);
	fd_close(&fd);
	assert_true(length >= 0);
	text[length] = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

static void open_connections(unsigned count)
{
	atomic_store(&loops[0].assigned, count / 2);
	atomic_store(&loops[1].opened, count - count / 2);
}

static void test_limit_is_silent_below_it(void **state)
{
	bool waits = false;
	(void)state;
	open_connections(2);
	assert_true(connection_limit_has_room(&view, &waits));
	open_connections(3); /* reached, but nobody waits */
	assert_false(server_view_limit_holds(&view));
	assert_int_equal(lines(), 0);
}

static void test_limit_is_told_while_somebody_waits(void **state)
{
	bool waits = false, other = false;
	(void)state;
	open_connections(3);
	assert_false(connection_limit_has_room(&view, &waits));
	assert_false(connection_limit_has_room(&view, &other));
	assert_true(server_view_limit_holds(&view));
	assert_int_equal(lines(), 1);
	assert_non_null(strstr(text, " warn: max_connections: all 3 connections are open"));
	atomic_store(&loops[0].closed, 1);
	assert_false(server_view_limit_holds(&view)); /* before anybody has looked again */
	assert_true(connection_limit_has_room(&view, &waits));
	atomic_store(&loops[0].closed, 0);
	assert_true(server_view_limit_holds(&view)); /* the other one still waits */
	connection_limit_leave(&view, &other);
	assert_false(server_view_limit_holds(&view));
	connection_limit_leave(&view, &other);
	assert_int_equal(atomic_load(&view.limit_waits), 0);
}

static void test_limit_is_logged_every_ten_seconds(void **state)
{
	bool waits = false;
	(void)state;
	open_connections(3);
	for (int i = 0; i < 1000; i++)
		assert_false(connection_limit_has_room(&view, &waits));
	assert_int_equal(lines(), 1);
	atomic_fetch_sub(&view.limit_warned_ns, 10 * NS_PER_S);
	for (int i = 0; i < 1000; i++)
		assert_false(connection_limit_has_room(&view, &waits));
	assert_int_equal(lines(), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        TEST(test_limit_is_silent_below_it),
	        TEST(test_limit_is_told_while_somebody_waits),
	        TEST(test_limit_is_logged_every_ten_seconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
