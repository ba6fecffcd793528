/* The error log: levels, escaping, a stuck sink, and errno kept. Descriptors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fd.h"
#include "base/log.h"
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static char text[65536];

static int make_file(void **state)
{
	(void)state;
	strcpy(path, "/tmp/mlserve-test-log-XXXXXX");
	int fd = mkstemp(path);
	fd_close(&fd);
	return log_open(path, LOG_LEVEL_INFO);
}

static int remove_file(void **state)
{
	(void)state;
	log_close();
	return unlink(path);
}

static const char *read_log(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, sizeof text - 1);
	fd_close(&fd);
	assert_true(length >= 0);
	text[length] = 0;
	return text;
}

static void test_log_line_has_stamp_level_and_text(void **state)
{
	(void)state;
	int year, length = 0;
	log_warn("port %d is busy", 8080);
	assert_int_equal(sscanf(read_log(), "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*3dZ%n", &year, &length), 1);
	assert_string_equal(text + length, " warn: port 8080 is busy\n");
}

static void test_log_drops_what_is_below_its_level(void **state)
{
	(void)state;
	log_debug("not this");
	assert_string_equal(read_log(), "");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("but this");
	assert_non_null(strstr(read_log(), "debug: but this"));
}

static void test_log_text_cannot_forge_a_line(void **state)
{
	(void)state;
	log_info("a\nb\x1b[31m\xc3");
	assert_non_null(strstr(read_log(), "a\\x0ab\\x1b[31m\\xc3\n"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_log_cuts_a_line_that_is_too_long(void **state)
{
	(void)state;
	static char long_text[20000];
	memset(long_text, '\n', sizeof long_text - 1);
	log_info("%s", long_text);
	log_info("next");
	const char *next = strstr(read_log(), "next\n");
	assert_non_null(next);
	assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n') - strlen(strchr(text, '\n') + 1));
}

static void test_log_keeps_errno(void **state)
{
	(void)state;
	errno = ENOENT;
	log_info("x");
	assert_int_equal(errno, ENOENT);
}

static void test_log_open_says_why_it_failed(void **state)
{
	(void)state;
	assert_int_equal(log_open("/nowhere/at/all", LOG_LEVEL_INFO), -ENOENT);
}

static void test_log_counts_lines_that_a_stuck_reader_cost(void **state)
{
	(void)state;
	char fifo[] = "/tmp/mlserve-test-fifo-XXXXXX";
	assert_non_null(mkdtemp(fifo));
	char name[80];
	snprintf(name, sizeof name, "%s/log", fifo);
	assert_int_equal(mkfifo(name, 0600), 0);
	int reader = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(log_open(name, LOG_LEVEL_INFO), 0);
	for (int i = 0; i < 2000; i++)
		log_info("line %d fills the pipe, and nobody reads it as long as this goes on", i);
	while (read(reader, text, sizeof text) > 0)
		;
	log_info("reader is back");
	ssize_t length = read(reader, text, sizeof text - 1);
	assert_true(length > 0);
	text[length] = 0;
	assert_non_null(strstr(text, "lines lost before this) reader is back\n"));
	fd_close(&reader);
	unlink(name);
	rmdir(fifo);
}

static void test_fd_close_forgets_the_descriptor_and_keeps_errno(void **state)
{
	(void)state;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), copy = fd;
	errno = EAGAIN;
	fd_close(&fd);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fd, -1);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	fd_close(&fd);
	assert_int_equal(fd, -1);
}

static void test_fd_raise_limit_gives_what_may_be_opened(void **state)
{
	(void)state;
	long limit = fd_raise_limit();
	assert_true(limit >= 64);
	assert_int_equal(fd_raise_limit(), limit);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        WITH_FILE(test_log_line_has_stamp_level_and_text),
	        WITH_FILE(test_log_drops_what_is_below_its_level),
	        WITH_FILE(test_log_text_cannot_forge_a_line),
	        WITH_FILE(test_log_cuts_a_line_that_is_too_long),
	        WITH_FILE(test_log_keeps_errno),
	        WITH_FILE(test_log_open_says_why_it_failed),
	        WITH_FILE(test_log_counts_lines_that_a_stuck_reader_cost),
	        cmocka_unit_test(test_fd_close_forgets_the_descriptor_and_keeps_errno),
	        cmocka_unit_test(test_fd_raise_limit_gives_what_may_be_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
