/* Lines about one request: they carry the id that its answer has, and tell the limit that it passed. */
#include "base/check.h"
#include "base/fd.h"
#include "base/log.h"
#include "serving.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char path[64], text[65536];

static int setup(void **state)
{
	serving_setup(state);
	strcpy(path, "/tmp/mlserve-test-log-XXXXXX");
	int fd = mkstemp(path);
	fd_close(&fd);
	return log_open(path, LOG_LEVEL_DEBUG);
}

static int teardown(void **state)
{
	log_close();
	unlink(path);
	return serving_teardown(state);
}

static void read_log(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, text, sizeof text - 1);
	fd_close(&fd);
	assert_true(length >= 0);
	text[length] = 0;
}

/* The only line of that level since the test began or the log was last emptied, without its stamp and its end. */
static const char *the_line(const char *level)
{
	char *line, *end;
	read_log();
	line = strstr(text, level);
	assert_non_null(line);
	line += strlen(level);
	end = strchr(line, '\n');
	assert_non_null(end);
	assert_null(strstr(end, level));
	*end = 0;
	assert_int_equal(truncate(path, 0), 0);
	return line;
}

static void ask(const char *request)
{
	client_open(SOCK_STREAM);
	client_send(request);
	client_until_has("\r\n\r\n");
}

/* What the log says of a request, with the id of the answer behind it. */
static void expect_line(const char *request, const char *wanted)
{
	char line[512];
	ask(request);
	const char *id = strstr(client.in, "\r\nX-Request-Id: ");
	assert_non_null(id);
	snprintf(line, sizeof line, "%s (request %.24s)", wanted, id + 16);
	assert_string_equal(the_line(" debug: "), line);
}

static void test_log_lines_of_refused_requests_carry_their_id(void **state)
{
	(void)state;
	expect_line("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", "main: 404: Nothing is served under this address.");
	expect_line("PUT /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
	        "whole: 405: This address does not take that method.");
	expect_line("GET  / HTTP/1.1\r\n\r\n", "main: 400: no target in the request line");
}

static void test_log_lines_tell_the_limit_that_a_body_passed(void **state)
{
	(void)state;
	expect_line("POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n",
	        "small: 413: The request body is larger than allowed here. 11 bytes announced, max_body_size is 10.");
	expect_line("POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n7\r\n0",
	        "small: 413: The request body is larger than allowed here. At least 12 bytes, max_body_size is 10.");
}

static void test_log_lines_tell_the_limit_that_a_head_passed(void **state)
{
	static char request[9100];
	size_t length = (size_t)sprintf(request, "GET /");
	(void)state;
	memset(request + length, 'x', 9000);
	strcpy(request + length + 9000, " HTTP/1.1\r\nHost: a\r\n\r\n");
	expect_line(request, "main: 414: request line too long, 9027 bytes here, 8192 are allowed");
	serving.listener.max_fields = 2;
	expect_line("GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\n\r\n",
	        "main: 431: too many header lines, 39 bytes here, max_header_size is 32768, max_headers is 2");
	serving.listener.max_header_bytes = 20;
	expect_line("GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	        "main: 431: head too large, 27 bytes here, max_header_size is 20, max_headers is 2");
}

static void test_log_lines_of_handlers_that_err_carry_an_id(void **state)
{
	int length = 0;
	(void)state;
	ask("GET /greedy HTTP/1.1\r\nHost: a\r\n\r\n");
	const char *line = the_line(" error: ");
	sscanf(line, "route greedy: handler greedy: wrote more than it announced (request %*24[0-9a-f])%n", &length);
	assert_int_equal(length, strlen(line));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        TEST(test_log_lines_of_refused_requests_carry_their_id),
	        TEST(test_log_lines_tell_the_limit_that_a_body_passed),
	        TEST(test_log_lines_tell_the_limit_that_a_head_passed),
	        TEST(test_log_lines_of_handlers_that_err_carry_an_id),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
