/* The set that addresses become, and what a machine without IPv6 routes makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "net/findings.h"
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[4096];

static void add(struct findings *f, const char *ip, uint16_t port)
{
	const struct terms terms = {.weight = 1, .port = port};
	struct address a = {.family = strchr(ip, ':') ? AF_INET6 : AF_INET};
	assert_int_equal(inet_pton(a.family, ip, a.bytes), 1);
	assert_true(findings_add(f, &a, &terms));
}

/* Adds all, settles, and writes what is left into `text`. */
static const char *settle(const char *const *ips, size_t count)
{
	struct findings f;
	size_t length = 0;
	findings_init(&f);
	for (size_t i = 0; i < count; i++)
		add(&f, ips[i], 80);
	findings_settle(&f);
	text[0] = 0;
	for (size_t i = 0; i < f.count; i++) {
		char one[ENDPOINT_TEXT_BYTES];
		endpoint_format(&f.addresses[i].endpoint, one);
		length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i ? " " : "", one);
	}
	findings_fini(&f);
	return text;
}

static void test_nothing_found_is_an_empty_set(void **state)
{
	(void)state;
	assert_string_equal(settle(NULL, 0), "");
}

static void test_addresses_are_ordered_by_their_bytes_ipv4_first(void **state)
{
	static const char *const ips[] = {"::1", "10.0.0.200", "10.0.0.3", "9.255.0.1", "10.0.0.3"};
	(void)state;
	settle(ips, ARRAY_COUNT(ips) - 1);
	assert_int_equal(strncmp(text, "9.255.0.1:80 10.0.0.3:80 10.0.0.200:80", 38), 0);
	settle(ips + 1, ARRAY_COUNT(ips) - 1);
	assert_string_equal(text, "9.255.0.1:80 10.0.0.3:80 10.0.0.200:80");
}

static void test_one_address_at_two_ports_is_two(void **state)
{
	struct findings f;
	(void)state;
	findings_init(&f);
	add(&f, "10.0.0.1", 8081);
	add(&f, "10.0.0.1", 8080);
	add(&f, "10.0.0.1", 8081);
	findings_settle(&f);
	assert_int_equal(f.count, 2);
	assert_int_equal(endpoint_port(&f.addresses[0].endpoint), 8080);
	findings_fini(&f);
}

static void test_the_smallest_ttl_is_kept(void **state)
{
	struct findings f;
	(void)state;
	findings_init(&f);
	assert_int_equal(f.ttl_s, -1);
	findings_note_ttl(&f, 30);
	findings_note_ttl(&f, 60);
	assert_int_equal(f.ttl_s, 30);
	findings_note_ttl(&f, 0);
	assert_int_equal(f.ttl_s, 0);
	findings_note_ttl(&f, 5);
	assert_int_equal(f.ttl_s, 0);
	findings_fini(&f);
}

static void test_what_is_kept_is_bounded(void **state)
{
	struct findings f;
	(void)state;
	findings_init(&f);
	for (unsigned i = 0; i < 10000; i++) {
		char ip[32];
		snprintf(ip, sizeof ip, "10.%u.%u.1", i >> 8, i & 255);
		add(&f, ip, 80);
	}
	assert_true(f.count < 10000);
	findings_settle(&f);
	assert_int_equal(f.count, RESOLVER_ADDRESSES);
	findings_fini(&f);
}

/* ---- without routes ----------------------------------------------------------------------- */

enum { PASSED = 0, FAILED = 1, CANNOT = 2 };

/* In a network namespace of its own, which has no route at all. */
static int settle_without_routes(const char *const *ips, size_t count, const char *expected)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return CANNOT;
	return strcmp(settle(ips, count), expected) == 0 ? PASSED : FAILED;
}

static void expect_without_routes(const char *const *ips, size_t count, const char *expected)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(settle_without_routes(ips, count, expected));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT) {
		print_message("no network namespace can be made here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), PASSED);
}

static void test_ipv6_without_a_route_is_left_out_beside_ipv4(void **state)
{
	static const char *const ips[] = {"2001:db8::1", "192.0.2.1", "::1", "192.0.2.2", "2001:db8::2"};
	(void)state;
	expect_without_routes(ips, ARRAY_COUNT(ips), "192.0.2.1:80 192.0.2.2:80");
}

static void test_ipv6_without_a_route_stays_when_there_is_nothing_else(void **state)
{
	static const char *const ips[] = {"2001:db8::2", "2001:db8::1"};
	(void)state;
	expect_without_routes(ips, ARRAY_COUNT(ips), "[2001:db8::1]:80 [2001:db8::2]:80");
}

static void test_ipv4_stays_even_without_a_route(void **state)
{
	static const char *const ips[] = {"192.0.2.1"};
	(void)state;
	expect_without_routes(ips, ARRAY_COUNT(ips), "192.0.2.1:80");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_nothing_found_is_an_empty_set),
	        cmocka_unit_test(test_addresses_are_ordered_by_their_bytes_ipv4_first),
	        cmocka_unit_test(test_one_address_at_two_ports_is_two),
	        cmocka_unit_test(test_the_smallest_ttl_is_kept),
	        cmocka_unit_test(test_what_is_kept_is_bounded),
	        cmocka_unit_test(test_ipv6_without_a_route_is_left_out_beside_ipv4),
	        cmocka_unit_test(test_ipv6_without_a_route_stays_when_there_is_nothing_else),
	        cmocka_unit_test(test_ipv4_stays_even_without_a_route),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
