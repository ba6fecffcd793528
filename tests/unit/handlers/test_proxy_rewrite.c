/* What addresses in an answer become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "handlers/proxy_rewrite.h"
#include <stdlib.h>
#include <string.h>

static struct proxy_view view(const char *prefix)
{
	return (struct proxy_view){.prefix = slice_of(prefix),
	        .sent_host = SLICE("app.internal:9001"),
	        .scheme = SLICE("https"),
	        .host = SLICE("site.test")};
}

static char result[256];

/* In exactly the room that is promised; what stays is told as "=". */
static const char *keep(char *to, size_t length, size_t room)
{
	assert_true(length <= room && length < sizeof result);
	memcpy(result, length ? to : "=", length ? length : 1);
	result[length ? length : 1] = 0;
	free(to);
	return result;
}

static const char *location(const char *value, const struct proxy_view *v)
{
	size_t room = proxy_location_room(v, strlen(value));
	char *to = malloc(room);
	return keep(to, proxy_location_write(v, slice_of(value), to), room);
}

static const char *cookie(const char *value, const struct proxy_view *v)
{
	size_t room = proxy_cookie_room(v, slice_of(value));
	char *to = malloc(room + 1);
	return keep(to, proxy_cookie_write(v, slice_of(value), to), room);
}

static void test_location_of_the_upstream_becomes_the_clients(void **state)
{
	struct proxy_view v = view("/api");
	(void)state;
	assert_string_equal(location("/login?next=/x#y", &v), "/api/login?next=/x#y");
	assert_string_equal(location("/", &v), "/api/");
	assert_string_equal(location("http://app.internal:9001/login", &v), "https://site.test/api/login");
	assert_string_equal(location("HTTPS://APP.internal:9001/a/../b", &v), "https://site.test/api/a/../b");
	assert_string_equal(location("http://app.internal:9001", &v), "https://site.test/api/");
	assert_string_equal(location("http://app.internal:9001?q", &v), "https://site.test/api/?q");
	assert_string_equal(location("http://app.internal:9001#f", &v), "https://site.test/api/#f");
}

static void test_location_without_a_prefix_still_names_the_clients_host(void **state)
{
	struct proxy_view v = view(NULL);
	(void)state;
	assert_string_equal(location("http://app.internal:9001/login", &v), "https://site.test/login");
	assert_string_equal(location("/login", &v), "=");
	v.sent_host = SLICE("app");
	assert_string_equal(location("http://app:80/x", &v), "https://site.test/x");
	assert_string_equal(location("https://app:443/x", &v), "https://site.test/x");
	assert_string_equal(location("https://app:80/x", &v), "=");
}

static void test_location_of_the_same_scheme_stays_so(void **state)
{
	struct proxy_view v = view("/api");
	(void)state;
	assert_string_equal(location("//app.internal:9001/x", &v), "//site.test/api/x");
	v.server = SLICE("127.0.0.1:80");
	v.scheme = SLICE("http");
	assert_string_equal(location("//127.0.0.1/x", &v), "//site.test/api/x");
	assert_string_equal(location("http://127.0.0.1:81/x", &v), "=");
}

static void test_location_of_others_or_malformed_stays(void **state)
{
	struct proxy_view v = view("/api");
	(void)state;
	assert_string_equal(location("http://elsewhere.test/login", &v), "=");
	assert_string_equal(location("http://app.internal/login", &v), "=");
	assert_string_equal(location("http://app.internal:9001.evil.test/", &v), "=");
	assert_string_equal(location("http://app.internal:9001@evil.test/", &v), "=");
	assert_string_equal(location("http://user@app.internal:9001/", &v), "=");
	assert_string_equal(location("ftp://app.internal:9001/x", &v), "=");
	assert_string_equal(location("//evil.test", &v), "=");
	assert_string_equal(location("/\\evil.test", &v), "=");
	assert_string_equal(location("next", &v), "=");
	assert_string_equal(location("?q", &v), "=");
	assert_string_equal(location("", &v), "=");
	assert_string_equal(location("/a b", &v), "=");
	assert_string_equal(location("/caf\xc3\xa9", &v), "=");
	assert_string_equal(location("http:///x", &v), "=");
	assert_string_equal(location("http://app.internal:x/", &v), "=");
	v.host = SLICE("");
	assert_string_equal(location("http://app.internal:9001//evil.test", &v), "=");
}

static void test_cookie_path_gets_the_prefix(void **state)
{
	struct proxy_view v = view("/api");
	(void)state;
	assert_string_equal(cookie("a=b; Path=/x; Secure", &v), "a=b; Path=/api/x; Secure");
	assert_string_equal(cookie("a=b;path=/", &v), "a=b;path=/api/");
	assert_string_equal(
	        cookie("a=b; HttpOnly;  PATH = /x ;Max-Age=1", &v), "a=b; HttpOnly;  PATH = /api/x ;Max-Age=1");
	assert_string_equal(cookie("a=b; Path=/x; Path=/y", &v), "a=b; Path=/api/x; Path=/api/y");
	assert_string_equal(cookie("path=/x; path=/y", &v), "path=/x; path=/api/y");
}

static void test_cookie_without_a_path_stays(void **state)
{
	struct proxy_view v = view("/api"), none = view(NULL);
	(void)state;
	assert_string_equal(cookie("a=b", &v), "=");
	assert_string_equal(cookie("", &v), "=");
	assert_string_equal(cookie("Path=/x", &v), "=");
	assert_string_equal(cookie("a=b; Path", &v), "=");
	assert_string_equal(cookie("a=b; Path=", &v), "=");
	assert_string_equal(cookie("a=b; Path=x", &v), "=");
	assert_string_equal(cookie("a=b; Path=\"/x\"", &v), "=");
	assert_string_equal(cookie("a=b; Paths=/x; ;;", &v), "=");
	assert_string_equal(cookie("__Host-a=b; Secure; Path=/", &v), "=");
	assert_string_equal(cookie("a=b; Path=/x", &none), "=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_location_of_the_upstream_becomes_the_clients),
	        cmocka_unit_test(test_location_without_a_prefix_still_names_the_clients_host),
	        cmocka_unit_test(test_location_of_the_same_scheme_stays_so),
	        cmocka_unit_test(test_location_of_others_or_malformed_stays),
	        cmocka_unit_test(test_cookie_path_gets_the_prefix),
	        cmocka_unit_test(test_cookie_without_a_path_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
