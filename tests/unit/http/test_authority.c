/* Authorities (RFC 3986 3.2). */
#include "http/uri.h"
#include "pieces.h"

static void splits(const char *authority, const char *expected_host, const char *expected_port)
{
	struct slice host, port;
	assert_true(uri_split_authority(slice_of(authority), &host, &port));
	assert_slice(host, expected_host);
	assert_slice(port, expected_port);
}

static void refuses(struct slice authority)
{
	struct slice host = SLICE("untouched"), port = SLICE("untouched");
	assert_false(uri_split_authority(authority, &host, &port));
	assert_slice(host, "untouched");
	assert_slice(port, "untouched");
}

static void test_uri_split_authority_takes_names_and_addresses(void **state)
{
	(void)state;
	splits("a.test", "a.test", "");
	splits("a.test:80", "a.test", "80");
	splits("a.test:", "a.test", "");
	splits("127.0.0.1:27080", "127.0.0.1", "27080");
	splits("[::1]", "::1", "");
	splits("[2001:db8::1]:8080", "2001:db8::1", "8080");
	splits("[::ffff:127.0.0.1]:1", "::ffff:127.0.0.1", "1");
	splits("[v1.a:b]", "v1.a:b", "");
	splits("a%20b", "a%20b", "");
	splits("x_y~z!$&'()*+;=", "x_y~z!$&'()*+;=", "");
	splits("a:65535", "a", "65535");
}

static void test_uri_split_authority_refuses_all_else(void **state)
{
	(void)state;
	refuses(SLICE(""));
	refuses(SLICE(":80"));
	refuses(SLICE("a:b"));
	refuses(SLICE("a:80:80"));
	refuses(SLICE("a:65536"));
	refuses(SLICE("a:000080"));
	refuses(SLICE("a:-1"));
	refuses(SLICE("a:8 "));
	refuses(SLICE("user@a"));
	refuses(SLICE("user:password@a"));
	refuses(SLICE("a/b"));
	refuses(SLICE("a?b"));
	refuses(SLICE("a#b"));
	refuses(SLICE("a b"));
	refuses(SLICE("a\\b"));
	refuses(SLICE("a\0b"));
	refuses(SLICE("a%2"));
	refuses(SLICE("a%zz"));
	refuses(SLICE("a%00b"));
	refuses(SLICE("a%0d%0ab"));
	refuses(SLICE("a%7Fb"));
	refuses(SLICE("a,b"));
	refuses(SLICE("a.test,"));
	refuses(SLICE("\xc3\xa4.test"));
	refuses(SLICE("2001:db8::1"));
	refuses(SLICE("[2001:db8::1"));
	refuses(SLICE("[]"));
	refuses(SLICE("[::1]x"));
	refuses(SLICE("[::1]80"));
	refuses(SLICE("[::1]:x"));
	refuses(SLICE("[127.0.0.1]"));
	refuses(SLICE("[::1%25eth0]"));
	refuses(SLICE("[::1%eth0]"));
	refuses(SLICE("[::1\0]"));
	refuses(SLICE("[v1.]"));
	refuses(SLICE("[v.a]"));
	refuses(SLICE("[v1.a/b]"));
	refuses(SLICE("[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]"));
	refuses(SLICE("::1]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_uri_split_authority_takes_names_and_addresses),
	        cmocka_unit_test(test_uri_split_authority_refuses_all_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
