/* The system's file, which may change while the channel is open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/dns_channel.h"
#include <arpa/nameser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct stats stats;
static struct loop loop;
static struct dns_channel channel;
static char path[32];

static void write_file(const char *text)
{
	char fresh[64];
	snprintf(fresh, sizeof fresh, "%s.new", path);
	FILE *file = fopen(fresh, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, path), 0);
}

static int setup(void **state)
{
	(void)state;
	const char *reason = NULL;
	strcpy(path, "/tmp/test_dns_channel.XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	write_file("nameserver 127.0.0.1\nsearch one.test\n");
	stats_init(&stats);
	assert_int_equal(loop_init(&loop, 0, &stats, 4), 0);
	assert_true(dns_channel_open(&channel, &loop, NULL, 0, path, &reason));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dns_channel_close(&channel);
	assert_int_equal(loop.ev_watchers, 0);
	loop_fini(&loop);
	unlink(path);
	return 0;
}

static void test_the_file_is_read_at_first(void **state)
{
	(void)state;
	assert_int_equal(channel.search.count, 1);
	assert_string_equal(channel.search.domains[0], "one.test");
	assert_int_equal(channel.search.ndots, 1);
}

static void test_a_changed_file_is_followed(void **state)
{
	(void)state;
	write_file("nameserver 127.0.0.1\nsearch two.test three.test\noptions ndots:3\n");
	dns_channel_follow_system(&channel);
	assert_int_equal(channel.search.count, 2);
	assert_string_equal(channel.search.domains[1], "three.test");
	assert_int_equal(channel.search.ndots, 3);
}

static void test_an_unchanged_file_is_not_read_again(void **state)
{
	ares_channel before = channel.ares;
	(void)state;
	dns_channel_follow_system(&channel);
	assert_ptr_equal(channel.ares, before);
}

static void test_a_file_that_comes_late_is_followed(void **state)
{
	(void)state;
	assert_int_equal(unlink(path), 0);
	dns_channel_follow_system(&channel);
	write_file("search late.test\n");
	dns_channel_follow_system(&channel);
	assert_int_equal(channel.search.count, 1);
	assert_string_equal(channel.search.domains[0], "late.test");
}

static void note_status(void *argument, int status, int timeouts, unsigned char *message, int length)
{
	(void)timeouts, (void)message, (void)length;
	*(int *)argument = status;
}

static void test_queries_that_run_end_when_the_file_changes(void **state)
{
	int status = -1; /* the loop does not turn here, so no answer is read */
	(void)state;
	dns_channel_ask(&channel, "app.test", ns_t_a, note_status, &status);
	write_file("nameserver 127.0.0.1\nsearch two.test\n");
	dns_channel_follow_system(&channel);
	assert_int_not_equal(status, -1);
	assert_int_not_equal(status, ARES_SUCCESS);
	assert_int_equal(loop.ev_watchers, 0);
	assert_string_equal(channel.search.domains[0], "two.test");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_the_file_is_read_at_first),
	        TEST(test_a_changed_file_is_followed),
	        TEST(test_an_unchanged_file_is_not_read_again),
	        TEST(test_a_file_that_comes_late_is_followed),
	        TEST(test_queries_that_run_end_when_the_file_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
