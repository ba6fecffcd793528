/* Notifications, pid files and privileges. What concerns other processes is tried with real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/service.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/test_service.XXXXXX", path[80];

static int setup(void **state)
{
	(void)state;
	strcpy(directory + sizeof directory - 7, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/x", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unsetenv("NOTIFY_SOCKET");
	unlink(path);
	return rmdir(directory);
}

/* ---- notifications ------------------------------------------------------------------------- */

/* A manager's socket at that place, which NOTIFY_SOCKET then names; '@' first: abstract. */
static int listen_at(const char *place)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	size_t length = strlen(place);
	memcpy(sa.sun_path, place, length);
	if (place[0] == '@')
		sa.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(
	        bind(fd, (struct sockaddr *)&sa, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)), 0);
	setenv("NOTIFY_SOCKET", place, 1);
	return fd;
}

static void expect_message(int fd, const char *wanted)
{
	char text[1024];
	ssize_t n = recv(fd, text, sizeof text, 0);
	assert_int_equal(n, strlen(wanted));
	assert_memory_equal(text, wanted, (size_t)n);
}

static void test_service_notifies_the_socket_that_is_named(void **state)
{
	(void)state;
	int fd = listen_at(path);
	service_notify("READY=1\nSTATUS=%d loops", 4);
	service_notify("STOPPING=1");
	expect_message(fd, "READY=1\nSTATUS=4 loops");
	expect_message(fd, "STOPPING=1");
	close(fd);
}

static void test_service_notifies_an_abstract_socket(void **state)
{
	char place[64];
	(void)state;
	snprintf(place, sizeof place, "@test_service-%d", (int)getpid());
	int fd = listen_at(place);
	service_notify("READY=1");
	expect_message(fd, "READY=1");
	close(fd);
}

static void test_service_notifies_nobody_without_a_fitting_name(void **state)
{
	static const char *const names[] = {"", "relative/path", "vsock:2:1"};
	char longest[300];
	(void)state;
	int fd = listen_at(path);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		setenv("NOTIFY_SOCKET", names[i], 1);
		service_notify("READY=1");
	}
	memset(longest, 'a', sizeof longest - 1);
	longest[0] = '/';
	longest[sizeof longest - 1] = 0;
	setenv("NOTIFY_SOCKET", longest, 1);
	service_notify("READY=1");
	unsetenv("NOTIFY_SOCKET");
	service_notify("READY=1");
	assert_int_equal(recv(fd, longest, sizeof longest, 0), -1);
	close(fd);
}

static void test_service_does_not_wait_for_a_manager_that_does_not_read(void **state)
{
	(void)state;
	int fd = listen_at(path);
	alarm(60); /* were it to wait, it would wait for ever */
	for (int i = 0; i < 10000; i++)
		service_notify("STATUS=%d", i);
	alarm(0);
	expect_message(fd, "STATUS=0");
	close(fd);
	service_notify("STATUS=nobody listens any more");
}

/* ---- pid files: record locks belong to processes, so the other instance is one ------------------------------- */

struct instance {
	pid_t pid;
	int result, go_on; /* pipes */
};

/* Another process opens the pid file and holds it until it is told to go on, or killed. */
static struct instance start_instance(int *ret_opened)
{
	int result[2], go_on[2], opened;
	struct instance i;
	assert_int_equal(pipe(result), 0);
	assert_int_equal(pipe(go_on), 0);
	i.pid = fork();
	assert_true(i.pid >= 0);
	if (i.pid == 0) {
		char byte;
		int fd = pid_file_open(path);
		close(go_on[1]);
		ssize_t n = write(result[1], &fd, sizeof fd);
		if (n == sizeof fd && read(go_on[0], &byte, 1) == 1)
			pid_file_close(&fd, path);
		_exit(0);
	}
	close(result[1]);
	close(go_on[0]);
	i.result = result[0];
	i.go_on = go_on[1];
	assert_int_equal(read(i.result, &opened, sizeof opened), sizeof opened);
	*ret_opened = opened;
	return i;
}

static void end_instance(struct instance *i, bool orderly)
{
	int status;
	if (orderly)
		assert_int_equal(write(i->go_on, "x", 1), 1);
	else
		kill(i->pid, SIGKILL);
	close(i->result);
	assert_int_equal(waitpid(i->pid, &status, 0), i->pid);
	close(i->go_on);
}

static void expect_file(const char *wanted)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof text - 1) >= 0);
	close(fd);
	assert_string_equal(text, wanted);
}

static void expect_own_number(pid_t pid)
{
	char number[32];
	snprintf(number, sizeof number, "%d\n", (int)pid);
	expect_file(number);
}

static void test_pid_file_is_refused_while_another_instance_holds_it(void **state)
{
	int opened;
	(void)state;
	assert_int_equal(pid_file_owner(path), 0); /* there is none */
	struct instance other = start_instance(&opened);
	assert_true(opened >= 0);
	assert_int_equal(pid_file_open(path), -EEXIST);
	expect_own_number(other.pid); /* which was not overwritten by the attempt */
	assert_int_equal(pid_file_owner(path), other.pid);
	end_instance(&other, true);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(pid_file_owner(path), 0);
}

static void test_pid_file_of_a_dead_instance_names_nobody_and_is_taken_over(void **state)
{
	int opened;
	(void)state;
	struct instance dead = start_instance(&opened);
	end_instance(&dead, false);
	expect_own_number(dead.pid);
	assert_int_equal(pid_file_owner(path), 0);
	int fd = pid_file_open(path);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	expect_own_number(getpid());
	pid_file_close(&fd, path);
	assert_int_equal(fd, -1);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_pid_file_with_a_long_number_left_in_it_is_written_anew(void **state)
{
	(void)state;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "1234567890123456\n", 17), 17);
	close(fd);
	assert_int_equal(pid_file_owner(path), 0); /* whatever process has that number */
	fd = pid_file_open(path);
	assert_true(fd >= 0);
	expect_own_number(getpid());
	pid_file_close(&fd, path);
}

static void test_pid_file_says_why_it_cannot_be_opened(void **state)
{
	(void)state;
	assert_int_equal(pid_file_open("/nonexistent/x.pid"), -ENOENT);
	assert_int_equal(pid_file_open(directory), -EISDIR);
	assert_int_equal(symlink("/etc/hostname", path), 0);
	assert_int_equal(pid_file_open(path), -ELOOP); /* no file of others is overwritten through a link */
	int none = -1;
	pid_file_close(&none, path);
	assert_int_equal(unlink(path), 0); /* was left alone */
}

/* ---- privileges ---------------------------------------------------------------------------------------------------
 */

struct dropped {
	bool fine, stays_root;
	uid_t uid;
	char error[128];
};

static struct dropped drop_in_child(const char *user)
{
	struct dropped d = {0};
	int fds[2], status;
	assert_int_equal(pipe(fds), 0);
	pid_t child = fork();
	if (child == 0) {
		d.fine = service_drop_privileges(user, &d.stays_root, d.error, sizeof d.error);
		d.uid = geteuid();
		_exit(write(fds[1], &d, sizeof d) != sizeof d);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &d, sizeof d), sizeof d);
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return d;
}

/* Skips the test, saying why. */
static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: only root can become another user\n");
	skip();
}

static void test_service_becomes_the_user_that_is_asked_for(void **state)
{
	(void)state;
	need_root();
	struct dropped d = drop_in_child("nobody");
	assert_true(d.fine);
	assert_false(d.stays_root);
	assert_int_equal(d.uid, getpwnam("nobody")->pw_uid);
	d = drop_in_child("root");
	assert_true(d.fine);
	assert_int_equal(d.uid, 0);
	d = drop_in_child(NULL);
	assert_true(d.fine);
	assert_int_equal(d.stays_root, !service_user_exists("mlserve"));
}

static void test_service_refuses_a_user_that_does_not_exist(void **state)
{
	(void)state;
	assert_false(service_user_exists("no-such-user-here"));
	assert_true(service_user_exists("root"));
	need_root();
	struct dropped d = drop_in_child("no-such-user-here");
	assert_false(d.fine);
	assert_non_null(strstr(d.error, "no-such-user-here"));
	assert_int_equal(d.uid, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_service_notifies_the_socket_that_is_named),
	        TEST(test_service_notifies_an_abstract_socket),
	        TEST(test_service_notifies_nobody_without_a_fitting_name),
	        TEST(test_service_does_not_wait_for_a_manager_that_does_not_read),
	        TEST(test_pid_file_is_refused_while_another_instance_holds_it),
	        TEST(test_pid_file_of_a_dead_instance_names_nobody_and_is_taken_over),
	        TEST(test_pid_file_with_a_long_number_left_in_it_is_written_anew),
	        TEST(test_pid_file_says_why_it_cannot_be_opened),
	        TEST(test_service_becomes_the_user_that_is_asked_for),
	        TEST(test_service_refuses_a_user_that_does_not_exist),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
