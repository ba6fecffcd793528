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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
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
	int kept = 0;
	for (int i = 0; i < 2000; i++)
		log_info("line %d fills the pipe, and nobody reads it as long as this goes on", i);
	for (ssize_t got; (got = read(reader, text, sizeof text)) > 0;)
		for (ssize_t i = 0; i < got; i++)
			kept += text[i] == '\n';
	log_info("reader is back");
	ssize_t length = read(reader, text, sizeof text - 1);
	assert_true(length > 0);
	text[length] = 0;
	snprintf(name, sizeof name, "(%d lines lost before this) reader is back\n", 2000 - kept);
	assert_non_null(strstr(text, name));
	fd_close(&reader);
	snprintf(name, sizeof name, "%s/log", fifo);
	unlink(name);
	rmdir(fifo);
}

/* ---- syslog ------------------------------------------------------------------------------ */

static char daemon_directory[64], daemon_path[80];

static int make_daemon_directory(void **state)
{
	(void)state;
	strcpy(daemon_directory, "/tmp/mlserve-test-syslog-XXXXXX");
	if (!mkdtemp(daemon_directory))
		return -1;
	snprintf(daemon_path, sizeof daemon_path, "%s/log", daemon_directory);
	return log_open_syslog(daemon_path, LOG_LEVEL_DEBUG);
}

static int remove_daemon_directory(void **state)
{
	(void)state;
	log_close();
	unlink(daemon_path);
	return rmdir(daemon_directory);
}

static int start_daemon(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	strcpy(address.sun_path, daemon_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static const char *receive(int fd)
{
	ssize_t length = recv(fd, text, sizeof text - 1, 0);
	assert_true(length >= 0);
	text[length] = 0;
	return text;
}

/* "<PRIORITY>Mon dd hh:mm:ss mlserve[PID]: TEXT" */
static void expect_syslog(int fd, int priority, const char *wanted)
{
	int got = -1, day, hour, pid = 0, length = 0;
	char month[4];
	sscanf(receive(fd), "<%d>%3s %d %d:%*2d:%*2d mlserve[%d]: %n", &got, month, &day, &hour, &pid, &length);
	assert_int_equal(got, priority);
	assert_int_equal(pid, getpid());
	assert_string_equal(text + length, wanted);
}

static void test_log_gives_syslog_each_line_with_its_priority(void **state)
{
	(void)state;
	int daemon = start_daemon();
	log_error("one");
	log_warn("two\nthree");
	log_info("%s", "four");
	log_debug("five");
	expect_syslog(daemon, LOG_DAEMON | LOG_ERR, "one");
	expect_syslog(daemon, LOG_DAEMON | LOG_WARNING, "two\\x0athree");
	expect_syslog(daemon, LOG_DAEMON | LOG_INFO, "four");
	expect_syslog(daemon, LOG_DAEMON | LOG_DEBUG, "five");
	log_set_level(LOG_LEVEL_WARN);
	log_info("not this");
	assert_int_equal(recv(daemon, text, sizeof text, 0), -1);
	fd_close(&daemon);
}

static void test_log_finds_a_syslog_that_was_started_again(void **state)
{
	(void)state;
	int daemon = start_daemon();
	log_info("first");
	expect_syslog(daemon, LOG_DAEMON | LOG_INFO, "first");
	fd_close(&daemon);
	unlink(daemon_path);
	daemon = start_daemon();
	log_info("second");
	expect_syslog(daemon, LOG_DAEMON | LOG_INFO, "second");
	fd_close(&daemon);
}

static void test_log_counts_lines_that_a_stuck_syslog_cost(void **state)
{
	(void)state;
	int daemon = start_daemon(), count = 0;
	for (int i = 0; i < 5000; i++)
		log_info("line %d fills the queue, and nobody reads it as long as this goes on", i);
	while (recv(daemon, text, sizeof text, 0) > 0)
		count++;
	assert_in_range(count, 1, 4999);
	log_info("reader is back");
	char wanted[64];
	snprintf(wanted, sizeof wanted, "(%d lines lost before this) reader is back", 5000 - count);
	expect_syslog(daemon, LOG_DAEMON | LOG_INFO, wanted);
	fd_close(&daemon);
}

static void test_log_tells_stderr_what_no_syslog_is_there_for(void **state)
{
	(void)state;
	int pair[2], before = dup(STDERR_FILENO);
	assert_int_equal(pipe(pair), 0);
	dup2(pair[1], STDERR_FILENO);
	log_warn("nobody is there");
	int daemon = start_daemon();
	fd_close(&daemon);
	log_warn("nobody reads");
	dup2(before, STDERR_FILENO);
	ssize_t length = read(pair[0], text, sizeof text - 1);
	assert_true(length > 0);
	text[length] = 0;
	assert_non_null(strstr(text, " warn: nobody is there\n"));
	assert_non_null(strstr(text, " warn: nobody reads\n"));
	fd_close(&before);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

static void test_log_refuses_a_syslog_path_that_no_socket_can_have(void **state)
{
	(void)state;
	char long_path[200];
	memset(long_path, 'x', sizeof long_path - 1);
	long_path[sizeof long_path - 1] = 0;
	assert_int_equal(log_open_syslog(long_path, LOG_LEVEL_INFO), -ENAMETOOLONG);
}

/* ---- descriptors ------------------------------------------------------------------------- */

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

#define WITH_SYSLOG(test) cmocka_unit_test_setup_teardown(test, make_daemon_directory, remove_daemon_directory)
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
	        WITH_SYSLOG(test_log_gives_syslog_each_line_with_its_priority),
	        WITH_SYSLOG(test_log_finds_a_syslog_that_was_started_again),
	        WITH_SYSLOG(test_log_counts_lines_that_a_stuck_syslog_cost),
	        WITH_SYSLOG(test_log_tells_stderr_what_no_syslog_is_there_for),
	        cmocka_unit_test(test_log_refuses_a_syslog_path_that_no_socket_can_have),
	        cmocka_unit_test(test_fd_close_forgets_the_descriptor_and_keeps_errno),
	        cmocka_unit_test(test_fd_raise_limit_gives_what_may_be_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
