/* The resolver beside a real DNS server: dnsmasq, started here on a free port of 127.0.0.1. */
#include "base/check.h"
#include "base/fd.h"
#include "resolving.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char DNSMASQ[] = "/usr/sbin/dnsmasq";
static pid_t server_pid;
static char server[32];
static char hosts_path[] = "/tmp/test_dnsmasq.XXXXXX";

/* Whole options, so that nothing of the machine's own configuration counts. */
static const char *const options[] = {
        "--keep-in-foreground",
        "--log-facility=-",
        "--conf-file=/dev/null",
        "--pid-file=",
        "--listen-address=127.0.0.1",
        "--bind-interfaces",
        "--no-resolv",
        "--no-hosts",
        "--local=/test/",
        "--cache-size=0",
        "--local-ttl=77",
        "--host-record=app.test,192.0.2.10,2001:db8::10,33",
        "--host-record=app.test,192.0.2.9",
        "--host-record=four.test,192.0.2.4",
        "--host-record=six.test,2001:db8::6",
        "--cname=alias.test,app.test,12",
        "--srv-host=_http._tcp.svc.test,app.test,8081,10,3",
        "--srv-host=_http._tcp.svc.test,four.test,8082,20,0",
        "--srv-host=_none._tcp.svc.test",
        NULL,
};

static bool has_dnsmasq(void)
{
	return access(DNSMASQ, X_OK) == 0;
}

static unsigned free_port(void)
{
	struct endpoint e;
	const char *reason;
	MUST(endpoint_parse(SLICE("127.0.0.1:0"), false, &e, &reason));
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	MUST(fd >= 0 && bind(fd, &e.to.any, e.length) == 0 && getsockname(fd, &e.to.any, &e.length) == 0);
	fd_close(&fd);
	return endpoint_port(&e);
}

/* 40 addresses of one name: more than a datagram of 512 bytes holds. */
static bool write_hosts(void)
{
	int fd = mkstemp(hosts_path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!file)
		return false;
	fchmod(fd, 0644); /* dnsmasq drops its privileges before it reads */
	for (int i = 1; i <= 40; i++)
		fprintf(file, "10.9.8.%d many.test\n", i);
	return fclose(file) == 0;
}

static void run_server(int log_fd, unsigned port)
{
	static char port_option[32], hosts_option[64];
	const char *arguments[ARRAY_COUNT(options) + 4] = {DNSMASQ};
	size_t count = 1;
	snprintf(port_option, sizeof port_option, "--port=%u", port);
	snprintf(hosts_option, sizeof hosts_option, "--addn-hosts=%s", hosts_path);
	for (size_t i = 0; options[i]; i++)
		arguments[count++] = options[i];
	arguments[count++] = port_option;
	arguments[count++] = hosts_option;
	dup2(log_fd, STDERR_FILENO);
	execv(DNSMASQ, (char **)(void *)arguments);
	_exit(127);
}

/* Whether it says that it has started and read the names, and not that it ended. */
static bool wait_started(int log_fd)
{
	char line[512];
	bool has_started = false;
	FILE *log = fdopen(log_fd, "r");
	while (log && !has_started && fgets(line, sizeof line, log)) {
		has_started = strstr(line, hosts_path) != NULL;
		if (!has_started && strstr(line, "FAILED"))
			print_error("%s", line);
	}
	return has_started; /* the log stays open as long as the server writes */
}

static bool end_server(void)
{
	pid_t pid = server_pid;
	server_pid = 0;
	if (pid <= 0)
		return true;
	kill(pid, SIGTERM);
	return waitpid(pid, NULL, 0) == pid;
}

static bool try_start(void)
{
	int log[2];
	unsigned port = free_port();
	if (pipe(log))
		return false;
	snprintf(server, sizeof server, "127.0.0.1:%u", port);
	server_pid = fork();
	if (server_pid == 0)
		run_server(log[1], port);
	close(log[1]);
	if (server_pid > 0 && wait_started(log[0]))
		return true;
	end_server();
	return false;
}

static int start_server(void **state)
{
	(void)state;
	if (!has_dnsmasq())
		return 0;
	if (!write_hosts())
		return -1;
	/* Somebody else may get the port between our look and the server's, or have it for TCP. */
	for (int tries = 0; tries < 5; tries++)
		if (try_start())
			return 0;
	print_error("%s does not start\n", DNSMASQ);
	return -1;
}

static int stop_server(void **state)
{
	(void)state;
	if (server_pid > 0)
		unlink(hosts_path);
	return end_server() ? 0 : -1;
}

static void use_dnsmasq(void)
{
	if (!has_dnsmasq()) {
		print_message("there is no %s here; package dnsmasq-base has it\n", DNSMASQ);
		skip();
	}
	use_server(server);
}

static void test_a_host_of_both_families_is_found(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_host("app.test");
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_int_equal(strncmp(found, "192.0.2.9:80 192.0.2.10:80", 26), 0);
	assert_int_equal(answer.ttl_s, 33);
}

static void test_a_host_of_one_family_is_found(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_host("four.test");
	expect_found("192.0.2.4:80", 77);
	look_up_host("six.test");
	expect_found("[2001:db8::6]:80", 77);
}

static void test_an_alias_is_followed_and_its_ttl_counts(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_host("alias.test");
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_non_null(strstr(found, "192.0.2.10:80"));
	assert_int_equal(answer.ttl_s, 12);
}

static void test_a_name_that_is_not_there_is_no_name(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_host("nobody.test");
	expect_error(RESOLVER_NO_NAME);
	look_up_service("_http._tcp.nobody.test");
	expect_error(RESOLVER_NO_NAME);
}

static void test_a_name_that_the_server_does_not_serve_is_a_failure(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_host("example.org"); /* refused: it has nobody to ask */
	expect_error(RESOLVER_FAILED);
}

static void test_a_host_without_addresses_has_no_address(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_host("_http._tcp.svc.test");
	expect_error(RESOLVER_NO_ADDRESS);
}

static void test_a_service_is_found(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_service("_http._tcp.svc.test");
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_non_null(strstr(found, "192.0.2.4:8082 20/1"));
	assert_non_null(strstr(found, "192.0.2.9:8081 10/3"));
	assert_non_null(strstr(found, "192.0.2.10:8081 10/3"));
	assert_in_range(answer.ttl_s, 33, 77);
	look_up_service("_none._tcp.svc.test");
	expect_error(RESOLVER_NO_ADDRESS);
}

static void test_forty_addresses_are_all_found(void **state)
{
	(void)state;
	use_dnsmasq();
	look_up_host("many.test");
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_int_equal(answer.count, 40);
	assert_non_null(strstr(found, "10.9.8.40:80"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, resolving_setup, resolving_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_a_host_of_both_families_is_found),
	        TEST(test_a_host_of_one_family_is_found),
	        TEST(test_an_alias_is_followed_and_its_ttl_counts),
	        TEST(test_a_name_that_is_not_there_is_no_name),
	        TEST(test_a_name_that_the_server_does_not_serve_is_a_failure),
	        TEST(test_a_host_without_addresses_has_no_address),
	        TEST(test_a_service_is_found),
	        TEST(test_forty_addresses_are_all_found),
	};
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
