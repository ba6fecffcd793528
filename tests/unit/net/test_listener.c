/* Listening sockets: unix files in the way, reused ports, and sockets that were passed in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/fd.h"
#include "net/listener.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/test_listener.XXXXXX", path[64];

static int setup(void **state)
{
	(void)state;
	strcpy(directory + sizeof directory - 7, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/s", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static struct endpoint parse(const char *text)
{
	struct endpoint e;
	const char *reason;
	assert_true(endpoint_parse(slice_of(text), false, &e, &reason));
	return e;
}

static struct endpoint unix_endpoint(void)
{
	char text[80];
	snprintf(text, sizeof text, "unix:%s", path);
	return parse(text);
}

static int option_of(int fd, int level, int name)
{
	int value = -1;
	socklen_t length = sizeof value;
	assert_int_equal(getsockopt(fd, level, name, &value, &length), 0);
	return value;
}

static int connect_to(const struct endpoint *e)
{
	int fd = socket(e->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	int error = connect(fd, &e->to.any, e->length) ? -errno : 0;
	if (error)
		fd_close(&fd);
	return error ? error : fd;
}

static void test_listener_opens_on_a_free_port_and_says_which(void **state)
{
	struct endpoint e = parse("127.0.0.1:0");
	(void)state;
	int fd = listener_open(&e, 16, 0);
	assert_true(fd >= 0);
	assert_int_not_equal(ntohs(e.to.v4.sin_port), 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_ACCEPTCONN), 1);
	int client = connect_to(&e), served = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(client >= 0 && served >= 0);
	assert_int_not_equal(option_of(served, IPPROTO_TCP, TCP_NODELAY), 0); /* inherited */
	fd_close(&client);
	fd_close(&served);
	fd_close(&fd);
	assert_int_equal(connect_to(&e), -ECONNREFUSED);
}

static void test_listener_shares_a_port_only_with_reuseport(void **state)
{
	struct endpoint e = parse("127.0.0.1:0");
	(void)state;
	int first = listener_open(&e, 16, LISTENER_REUSEPORT);
	assert_true(first >= 0);
	assert_int_equal(listener_open(&e, 16, 0), -EADDRINUSE);
	int second = listener_open(&e, 16, LISTENER_REUSEPORT);
	assert_true(second >= 0);
	fd_close(&first);
	fd_close(&second);
}

/* Connections on these sockets until each has got one, which a kernel that does not group them never does. */
static bool all_get_connections(const struct endpoint *e, const int *fds, int count)
{
	bool served[4] = {false};
	int clients[200], missing = count, client_count = 0;
	while (missing && client_count < 200) {
		clients[client_count++] = connect_to(e);
		for (int i = 0; i < count; i++) {
			int fd = accept4(fds[i], NULL, NULL, SOCK_CLOEXEC);
			missing -= fd >= 0 && !served[i];
			served[i] |= fd >= 0;
			fd_close(&fd);
		}
	}
	while (client_count)
		fd_close(&clients[--client_count]);
	return missing == 0;
}

static void test_listener_keeps_its_reused_port_from_a_second_server(void **state)
{
	static const char *const addresses[] = {"127.0.0.1:0", "0.0.0.0:0", "[::1]:0"};
	enum { FIRST = LISTENER_REUSEPORT | LISTENER_FIRST };
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(addresses); i++) {
		struct endpoint e = parse(addresses[i]);
		int fds[4] = {listener_open(&e, 16, FIRST), -1, -1, -1};
		if (fds[0] == -EADDRNOTAVAIL || fds[0] == -EAFNOSUPPORT)
			continue; /* no IPv6 here */
		assert_true(fds[0] >= 0);
		assert_int_equal(listener_open(&e, 16, FIRST), -EADDRINUSE);
		for (int n = 1; n < 4; n++)
			assert_true((fds[n] = listener_open(&e, 16, LISTENER_REUSEPORT)) >= 0);
		assert_int_equal(listener_open(&e, 16, FIRST), -EADDRINUSE);
		assert_true(all_get_connections(&e, fds, 4));
		for (int n = 0; n < 4; n++)
			fd_close(&fds[n]);
		fds[0] = listener_open(&e, 16, FIRST); /* what is left of old connections does not hold it back */
		assert_true(fds[0] >= 0);
		fd_close(&fds[0]);
	}
}

static void test_listener_says_why_it_cannot_open(void **state)
{
	struct endpoint e = parse("192.0.2.1:80"), nowhere = parse("unix:/nonexistent/directory/s");
	(void)state;
	assert_int_equal(listener_open(&e, 16, 0), -EADDRNOTAVAIL);
	assert_int_equal(listener_open(&nowhere, 16, 0), -ENOENT);
}

static void test_listener_makes_a_unix_sockets_file(void **state)
{
	struct endpoint e = unix_endpoint();
	struct stat status;
	(void)state;
	int fd = listener_open(&e, 16, 0);
	assert_true(fd >= 0);
	int client = connect_to(&e);
	assert_true(client >= 0);
	assert_int_equal(lstat(path, &status), 0);
	assert_true(S_ISSOCK(status.st_mode));
	fd_close(&client);
	fd_close(&fd);
}

static void test_listener_replaces_a_stale_unix_socket(void **state)
{
	struct endpoint e = unix_endpoint(), again = unix_endpoint();
	(void)state;
	int fd = listener_open(&e, 16, 0);
	fd_close(&fd); /* as if the process had died: the file stays */
	assert_int_equal(access(path, F_OK), 0);
	fd = listener_open(&again, 16, 0);
	assert_true(fd >= 0);
	int client = connect_to(&again);
	assert_true(client >= 0);
	fd_close(&client);
	fd_close(&fd);
}

static void test_listener_leaves_a_living_unix_socket_alone(void **state)
{
	struct endpoint e = unix_endpoint(), again = unix_endpoint();
	(void)state;
	int fd = listener_open(&e, 16, 0), clients[64], count = 0;
	assert_int_equal(listener_open(&again, 16, 0), -EADDRINUSE);
	/* Also one whose queue is full. */
	while (count < 64) {
		clients[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		int failed = connect(clients[count], &e.to.any, e.length);
		count++;
		if (failed)
			break;
	}
	assert_true(count < 64);
	assert_int_equal(listener_open(&again, 16, 0), -EADDRINUSE);
	while (count)
		fd_close(&clients[--count]);
	assert_int_equal(access(path, F_OK), 0);
	fd_close(&fd);
}

static void test_listener_leaves_other_files_alone(void **state)
{
	struct endpoint e = unix_endpoint();
	char text[16] = "";
	(void)state;
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	assert_int_equal(listener_open(&e, 16, 0), -EEXIST);
	assert_int_equal(pread(fd, text, sizeof text, 0), 8);
	assert_int_equal(access(path, F_OK), 0);
	fd_close(&fd);
	unlink(path);
	assert_int_equal(symlink("/nonexistent", path), 0);
	assert_int_equal(listener_open(&e, 16, 0), -EEXIST);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(listener_open(&e, 16, 0), -EEXIST);
	rmdir(path);
}

static void test_listener_adopts_only_what_listens(void **state)
{
	struct endpoint e = parse("127.0.0.1:0"), got = {.length = 77};
	int pair[2];
	(void)state;
	int fd = listener_open(&e, 16, 0);
	fcntl(fd, F_SETFL, 0);
	fcntl(fd, F_SETFD, 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(listener_adopt(pair[0], &got), -EINVAL);
	assert_int_equal(listener_adopt(-1, &got), -EBADF);
	int null = open("/dev/null", O_RDONLY);
	assert_int_equal(listener_adopt(null, &got), -ENOTSOCK);
	assert_int_equal(got.length, 77);
	assert_int_equal(listener_adopt(fd, &got), 0);
	assert_int_equal(got.to.v4.sin_port, e.to.v4.sin_port);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(pair[0]);
	close(pair[1]);
	close(null);
	fd_close(&fd);
}

/* ---- passed in by the service manager ----------------------------------------------------------- */

/* Runs `look` in a child whose descriptors 3.. are `count` pipes, and which LISTEN_PID means. Its result is returned.
 */
static int in_child(int count, const char *names, bool right_pid, int (*look)(void))
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char number[32];
		for (int fd = 3; fd < 3 + count; fd++)
			if (dup2(STDERR_FILENO, fd) != fd)
				_exit(99);
		snprintf(number, sizeof number, "%d", (int)getpid() + !right_pid);
		setenv("LISTEN_PID", number, 1);
		snprintf(number, sizeof number, "%d", count);
		setenv("LISTEN_FDS", number, 1);
		if (names)
			setenv("LISTEN_FDNAMES", names, 1);
		else
			unsetenv("LISTEN_FDNAMES");
		_exit(look());
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int find_web(void)
{
	int first = listener_passed("web"), second = listener_passed("web"), third = listener_passed("web");
	int other = listener_passed("admin"), none = listener_passed("we"), longer = listener_passed("webx");
	bool closes = first >= 0 && (fcntl(first, F_GETFD) & FD_CLOEXEC);
	if (third != -1 || none != -1 || longer != -1 || !closes)
		return 98;
	return first * 25 + second * 5 + other; /* 3..5 each, or -1 */
}

static int find_unknown(void)
{
	return listener_passed("unknown") * 10 + listener_passed("unknown");
}

static int find_empty(void)
{
	return listener_passed("") + 1;
}

static int find_any(void)
{
	return listener_passed("web") + 1;
}

static void test_listener_finds_passed_sockets_by_name_and_gives_each_once(void **state)
{
	(void)state;
	assert_int_equal(in_child(3, "web:admin:web", true, find_web), 3 * 25 + 5 * 5 + 4);
	assert_int_equal(in_child(3, "admin:web:web", true, find_web), 4 * 25 + 5 * 5 + 3);
}

static void test_listener_calls_passed_sockets_without_names_unknown(void **state)
{
	(void)state;
	assert_int_equal(in_child(2, NULL, true, find_unknown), 34);
	assert_int_equal(
	        in_child(2, "web", true, find_unknown) % 256, (4 * 10 - 1) % 256); /* fewer names than sockets */
	assert_int_equal(in_child(1, ":", true, find_empty), 4);
}

static void test_listener_takes_nothing_that_was_passed_to_another_process(void **state)
{
	(void)state;
	assert_int_equal(in_child(1, "web", false, find_any), 0);
	assert_int_equal(in_child(0, "web", true, find_any), 0);
	unsetenv("LISTEN_PID");
	assert_int_equal(listener_passed("web"), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_listener_opens_on_a_free_port_and_says_which),
	        TEST(test_listener_shares_a_port_only_with_reuseport),
	        TEST(test_listener_keeps_its_reused_port_from_a_second_server),
	        TEST(test_listener_says_why_it_cannot_open),
	        TEST(test_listener_makes_a_unix_sockets_file),
	        TEST(test_listener_replaces_a_stale_unix_socket),
	        TEST(test_listener_leaves_a_living_unix_socket_alone),
	        TEST(test_listener_leaves_other_files_alone),
	        TEST(test_listener_adopts_only_what_listens),
	        TEST(test_listener_finds_passed_sockets_by_name_and_gives_each_once),
	        TEST(test_listener_calls_passed_sockets_without_names_unknown),
	        TEST(test_listener_takes_nothing_that_was_passed_to_another_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
