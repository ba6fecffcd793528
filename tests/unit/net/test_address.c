/* Addresses, networks, endpoints: every form, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "net/address.h"
#include <arpa/inet.h>
#include <string.h>

static struct address v4(const char *text)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(4321)};
	assert_int_equal(inet_pton(AF_INET, text, &sa.sin_addr), 1);
	return address_of((struct sockaddr *)&sa, sizeof sa);
}

static struct address v6(const char *text)
{
	struct sockaddr_in6 sa = {.sin6_family = AF_INET6, .sin6_port = htons(4321)};
	assert_int_equal(inet_pton(AF_INET6, text, &sa.sin6_addr), 1);
	return address_of((struct sockaddr *)&sa, sizeof sa);
}

static struct address of_unix(void)
{
	struct sockaddr sa = {.sa_family = AF_UNIX};
	return address_of(&sa, sizeof sa.sa_family);
}

static void expect_text(struct address a, const char *wanted)
{
	char text[ADDRESS_TEXT_BYTES];
	assert_int_equal(address_format(&a, text), strlen(wanted));
	assert_string_equal(text, wanted);
}

static void test_address_is_shown_as_it_is_written(void **state)
{
	struct address none = address_of(&(struct sockaddr){.sa_family = AF_INET}, 0);
	(void)state;
	expect_text(v4("192.0.2.1"), "192.0.2.1");
	expect_text(v6("2001:db8::1"), "2001:db8::1");
	expect_text(v6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	expect_text(of_unix(), "unix");
	expect_text(none, "unknown"); /* a peer without address */
	assert_int_equal(v4("192.0.2.1").port, 4321);
	assert_int_equal(v6("::1").port, 4321);
}

static void test_address_of_a_mapped_one_is_ipv4(void **state)
{
	struct address mapped = v6("::ffff:192.0.2.7"), plain = v4("192.0.2.7");
	(void)state;
	expect_text(mapped, "192.0.2.7");
	assert_memory_equal(&mapped, &plain, sizeof mapped);
	expect_text(v6("::fffe:192.0.2.7"), "::fffe:c000:207");
}

static void test_address_knows_loopback(void **state)
{
	struct address yes[] = {v4("127.0.0.1"), v4("127.255.255.254"), v6("::1"), v6("::ffff:127.0.0.1"), of_unix()};
	struct address no[] = {v4("128.0.0.1"), v4("10.0.0.1"), v6("::2"), v6("fe80::1"), v6("::ffff:10.0.0.1"), {0}};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(yes); i++)
		assert_true(address_is_loopback(&yes[i]));
	for (size_t i = 0; i < ARRAY_COUNT(no); i++)
		assert_false(address_is_loopback(&no[i]));
}

/* ---- networks ---------------------------------------------------------------------------- */

static bool holds(const char *network, struct address a)
{
	struct network n;
	assert_true(network_parse(slice_of(network), &n));
	return network_holds(&n, &a);
}

static void test_network_holds_what_shares_its_bits(void **state)
{
	(void)state;
	assert_true(holds("10.0.0.0/8", v4("10.255.1.2")));
	assert_false(holds("10.0.0.0/8", v4("11.0.0.0")));
	assert_true(holds("192.168.128.0/17", v4("192.168.255.255")));
	assert_false(holds("192.168.128.0/17", v4("192.168.127.255")));
	assert_true(holds("192.0.2.1", v4("192.0.2.1")));
	assert_false(holds("192.0.2.1", v4("192.0.2.0")));
	assert_true(holds("192.0.2.254/31", v4("192.0.2.255")));
	assert_false(holds("192.0.2.254/31", v4("192.0.2.253")));
	assert_true(holds("0.0.0.0/0", v4("255.255.255.255")));
	assert_true(holds("::/0", v6("ffff::")));
	assert_true(holds("2001:db8::/33", v6("2001:db8:7fff::1")));
	assert_false(holds("2001:db8::/33", v6("2001:db8:8000::1")));
	assert_true(holds("::1/128", v6("::1")));
	assert_false(holds("::1", v6("::2")));
}

static void test_network_does_not_mix_families(void **state)
{
	(void)state;
	assert_false(holds("0.0.0.0/0", v6("::1")));
	assert_false(holds("::/0", v4("127.0.0.1")));
	assert_true(holds("127.0.0.0/8", v6("::ffff:127.0.0.1")));
	assert_true(holds("unix", of_unix()));
	assert_false(holds("unix", v4("127.0.0.1")));
	assert_false(holds("0.0.0.0/0", of_unix()));
}

static void test_network_refuses_what_is_none(void **state)
{
	static const char *const none[] = {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8 ",
	        "10.0.0.0/a", "10.0.0/8", "10.0.0.0.0", "256.0.0.0", "010.0.0.1", "::1/129", ":::", "1::2::3", "[::1]",
	        "unix/0", "localhost", "10.0.0.0/8/8", "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255:", "fe80::1%lo"};
	struct network n = {.bits = 77};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(none); i++)
		assert_false(network_parse(slice_of(none[i]), &n));
	assert_false(network_parse((struct slice){"10.0.0.1\0", 9}, &n));
	assert_false(network_parse(SLICE_NONE, &n));
	assert_int_equal(n.bits, 77); /* untouched */
}

/* ---- endpoints ------------------------------------------------------------------------------- */

static void expect_endpoint(const char *text, const char *shown, sa_family_t family)
{
	struct endpoint e;
	const char *reason = NULL;
	char back[ENDPOINT_TEXT_BYTES];
	assert_true(endpoint_parse(slice_of(text), false, &e, &reason));
	assert_int_equal(e.to.any.sa_family, family);
	endpoint_format(&e, back);
	assert_string_equal(back, shown);
}

static void test_endpoint_takes_each_form_and_shows_it_alike(void **state)
{
	char path[120] = "unix:/";
	struct endpoint e;
	const char *reason;
	(void)state;
	expect_endpoint("127.0.0.1:80", "127.0.0.1:80", AF_INET);
	expect_endpoint("0.0.0.0:0", "0.0.0.0:0", AF_INET);
	expect_endpoint("255.255.255.255:65535", "255.255.255.255:65535", AF_INET);
	expect_endpoint("[::]:8080", "[::]:8080", AF_INET6);
	expect_endpoint("[2001:DB8:0::1]:1", "[2001:db8::1]:1", AF_INET6);
	expect_endpoint("[::ffff:1.2.3.4]:1", "[::ffff:1.2.3.4]:1", AF_INET6);
	expect_endpoint("unix:/run/x.sock", "unix:/run/x.sock", AF_UNIX);
	expect_endpoint("unix:x", "unix:x", AF_UNIX);
	memset(path + 6, 'a', 106); /* 107 bytes with the slash: all that sun_path holds */
	expect_endpoint(path, path, AF_UNIX);
	path[112] = 'a';
	assert_false(endpoint_parse(slice_of(path), false, &e, &reason));
	assert_non_null(strstr(reason, "107"));
}

static void test_endpoint_refuses_what_is_none_and_says_why(void **state)
{
	static const char *const none[] = {"", ":", ":80", "80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
	        "127.0.0.1:080", "127.0.0.1:-1", "127.0.0.1:8 0", "127.0.0.1:http", "127.0.0:80", "::1:80", "::1",
	        "[::1]", "[::1]80", "[::1:80", "[]:80", "[127.0.0.1]:80", "[::1]:", "1:2:3", "localhost:80",
	        "unix:", " 127.0.0.1:80"};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
		struct endpoint e = {.length = 99};
		const char *reason = NULL;
		assert_false(endpoint_parse(slice_of(none[i]), false, &e, &reason));
		assert_int_equal(e.length, 99);
		assert_non_null(reason);
	}
	struct endpoint e;
	const char *reason = NULL;
	assert_false(endpoint_parse((struct slice){"unix:a\0b", 8}, false, &e, &reason));
	assert_non_null(reason);
	assert_false(endpoint_parse(SLICE_NONE, false, &e, &reason));
}

static void test_endpoint_looks_up_names_only_when_asked(void **state)
{
	struct endpoint e;
	struct address a;
	const char *reason = NULL;
	(void)state;
	assert_true(endpoint_parse(SLICE("localhost:81"), true, &e, &reason));
	a = address_of(&e.to.any, e.length);
	assert_true(address_is_loopback(&a));
	assert_int_equal(a.port, 81);
	assert_false(endpoint_parse(SLICE("no-such-host.invalid:81"), true, &e, &reason));
	assert_non_null(strstr(reason, "not ADDRESS:PORT"));
	assert_false(endpoint_parse(SLICE("localhost:81"), false, &e, &reason));
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_address_is_shown_as_it_is_written),
	        TEST(test_address_of_a_mapped_one_is_ipv4),
	        TEST(test_address_knows_loopback),
	        TEST(test_network_holds_what_shares_its_bits),
	        TEST(test_network_does_not_mix_families),
	        TEST(test_network_refuses_what_is_none),
	        TEST(test_endpoint_takes_each_form_and_shows_it_alike),
	        TEST(test_endpoint_refuses_what_is_none_and_says_why),
	        TEST(test_endpoint_looks_up_names_only_when_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
