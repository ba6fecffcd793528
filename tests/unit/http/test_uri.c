/* Paths: normalising, decoding, and what both refuse. */
#include "http/uri.h"
#include "pieces.h"
#include <stdlib.h>

/* Into an allocation of the input's length, so that a sanitizer sees output that grows. NULL: refused. */
static char *normalise(struct slice path, size_t *ret_length)
{
	char *to = malloc(path.length ? path.length : 1);
	assert_non_null(to);
	if (uri_normalise(path, to, ret_length))
		return to;
	free(to);
	return NULL;
}

static void normalises_to(const char *path, const char *expected)
{
	size_t length = 0;
	char *to = normalise(slice_of(path), &length);
	assert_non_null(to);
	assert_slice(((struct slice){to, length}), expected);
	assert_int_equal(uri_is_normal(slice_of(path)), strcmp(path, expected) == 0);
	assert_true(uri_is_normal((struct slice){to, length}));
	free(to);
}

static void refuses(struct slice path)
{
	size_t length = 4711;
	assert_null(normalise(path, &length));
	assert_int_equal(length, 4711);
	assert_false(uri_is_normal(path));
}

static void test_uri_normalise_leaves_normal_paths_alone(void **state)
{
	(void)state;
	normalises_to("/", "/");
	normalises_to("/a", "/a");
	normalises_to("/a/b/", "/a/b/");
	normalises_to("/.well-known/..a/...", "/.well-known/..a/...");
	normalises_to("/a.b/c..d/e.", "/a.b/c..d/e.");
	normalises_to("/a;b=c,d@e:f$&'()*+!~_-", "/a;b=c,d@e:f$&'()*+!~_-");
	normalises_to("/%2F%20%25%C3%A4", "/%2F%20%25%C3%A4");
}

static void test_uri_normalise_decodes_unreserved_escapes_only(void **state)
{
	(void)state;
	normalises_to("/%61%5a%30%2D%5f%7e", "/aZ0-_~");
	normalises_to("/%2f", "/%2F");
	normalises_to("/%c3%a4", "/%C3%A4");
	normalises_to("/%252e%252e", "/%252e%252e");
	normalises_to("/%3f%23%5c", "/%3F%23%5C");
	normalises_to("/%25%36%31", "/%2561");
}

/* TGT-06, STA-13 */
static void test_uri_normalise_removes_dot_segments(void **state)
{
	(void)state;
	normalises_to("/pub/../adm/x", "/adm/x");
	normalises_to("/pub/./../adm/x", "/adm/x");
	normalises_to("/pub/%2e%2e/adm/x", "/adm/x");
	normalises_to("/pub/%2E./adm/x", "/adm/x");
	normalises_to("/pub/.%2e/%2e/adm/x", "/adm/x");
	normalises_to("/a/.", "/a/");
	normalises_to("/a/..", "/");
	normalises_to("/a/../", "/");
	normalises_to("/a/b/..", "/a/");
	normalises_to("/a/b/../../c", "/c");
	normalises_to("/.", "/");
	normalises_to("/./", "/");
	normalises_to("/%c0%ae%c0%ae/etc/hostname", "/%C0%AE%C0%AE/etc/hostname");
}

static void test_uri_normalise_removes_empty_segments(void **state)
{
	(void)state;
	normalises_to("//adm/x", "/adm/x");
	normalises_to("//", "/");
	normalises_to("/a//b///c//", "/a/b/c/");
	normalises_to("/a//../b", "/b");
	normalises_to("/a/.//b", "/a/b");
	normalises_to("/.//", "/");
}

static void test_uri_normalise_refuses_what_leaves_the_root(void **state)
{
	(void)state;
	refuses(SLICE("/../../adm/x"));
	refuses(SLICE("/.."));
	refuses(SLICE("/%2e%2e/%2e%2e/etc/hostname"));
	refuses(SLICE("/a/../.."));
	refuses(SLICE("/a/../../b"));
	refuses(SLICE("/a/./../../b"));
	refuses(SLICE("//.."));
	refuses(SLICE("/a//../../b"));
}

static void test_uri_normalise_refuses_dot_segments_that_only_others_see(void **state)
{
	(void)state;
	refuses(SLICE("/a/..%2f..%2fetc/hostname"));
	refuses(SLICE("/a/%2e%2e%5c%2e%2e%5cx"));
	refuses(SLICE("/a/..%2Fb"));
	refuses(SLICE("/a/b%2F.."));
	refuses(SLICE("/a/b%2f../c"));
	refuses(SLICE("/a/b%5c.%2e%5cc"));
	refuses(SLICE("/a/..;/b"));
	refuses(SLICE("/a/..;x=y/b"));
	refuses(SLICE("/a/%2e%2e;"));
	refuses(SLICE("/a%2F..;x"));
	normalises_to("/a/...%2fb", "/a/...%2Fb");
	normalises_to("/a/b..%2fc", "/a/b..%2Fc");
	normalises_to("/a/..b%2f", "/a/..b%2F");
	normalises_to("/a/;..", "/a/;..");
	normalises_to("/a/.;x/b", "/a/.;x/b");
	normalises_to("/a%252f../b", "/a%252f../b");
	normalises_to("/a/%252e%252e%252fb", "/a/%252e%252e%252fb");
}

static void test_uri_normalise_refuses_bad_bytes_and_escapes(void **state)
{
	(void)state;
	refuses(SLICE(""));
	refuses(SLICE("a"));
	refuses(SLICE("*"));
	refuses(SLICE("%2Fa"));
	refuses(SLICE("/%"));
	refuses(SLICE("/%4"));
	refuses(SLICE("/%4g"));
	refuses(SLICE("/%%34"));
	refuses(SLICE("/a%/b"));
	refuses(SLICE("/%00"));
	refuses(SLICE("/..%00/x"));
	refuses(SLICE("/a\\..\\b"));
	refuses(SLICE("/a?b"));
	refuses(SLICE("/a#b"));
	refuses(SLICE("/a b"));
	refuses(SLICE("/a\0b"));
	refuses(SLICE("/\xc3\xa4"));
	refuses(SLICE("/\x7f"));
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

static struct slice random_path(uint32_t *seed, char *to, size_t room)
{
	static const char *const pieces[] = {"/", "/", ".", "..", "a", "%2e", "%2E", "%2f", "%61", "%25", "2e", "%",
	        "\\", "b.c", "%00", "?", "%c3%A4", "/../", "/./", "//", ";", "%5c"};
	size_t length = 0;
	to[length++] = '/';
	for (uint32_t count = next_random(seed) % 12; count > 0; count--) {
		const char *piece = pieces[next_random(seed) % ARRAY_COUNT(pieces)];
		if (length + strlen(piece) > room)
			break;
		memcpy(to + length, piece, strlen(piece));
		length += strlen(piece);
	}
	return (struct slice){to, length};
}

static void assert_has_no_dot_or_empty_segment(struct slice path)
{
	for (size_t at = 0; at < path.length; at++) {
		struct slice rest = slice_from(path, at);
		if (path.data[at] != '/')
			continue;
		assert_false(slice_starts(rest, SLICE("//")));
		assert_false(slice_starts(rest, SLICE("/./")) || slice_equal(rest, SLICE("/.")));
		assert_false(slice_starts(rest, SLICE("/../")) || slice_equal(rest, SLICE("/..")));
	}
}

static void test_uri_normalise_twice_is_once(void **state)
{
	(void)state;
	uint32_t seed = 1;
	size_t good_count = 0;
	for (int i = 0; i < 200000; i++) {
		char bytes[64], once[64], twice[64];
		size_t once_length = 0, twice_length = 0;
		struct slice path = random_path(&seed, bytes, sizeof bytes);
		bool is_good = uri_normalise(path, once, &once_length);
		struct slice normal = {once, once_length};
		assert_int_equal(uri_is_normal(path), is_good && slice_equal(path, normal));
		if (!is_good)
			continue;
		good_count++;
		assert_true(once_length <= path.length);
		assert_true(uri_normalise(normal, twice, &twice_length));
		assert_true(slice_equal(normal, (struct slice){twice, twice_length}));
		assert_true(uri_is_normal(normal));
		assert_has_no_dot_or_empty_segment(normal);
	}
	assert_true(good_count > 20000);
}

static void decodes_to(const char *path, const char *expected)
{
	char to[100];
	size_t length = 0;
	assert_true(uri_decode(slice_of(path), to, &length));
	assert_slice(((struct slice){to, length}), expected);
}

static void test_uri_decode_decodes_all_but_nul_and_slash(void **state)
{
	(void)state;
	char to[100];
	size_t length = 4711;
	decodes_to("/a%20b%C3%A4%25", "/a b\xc3\xa4%");
	decodes_to("", "");
	decodes_to("/%5C", "/\\");
	assert_false(uri_decode(SLICE("/a%2Fb"), to, &length));
	assert_false(uri_decode(SLICE("/a%2fb"), to, &length));
	assert_false(uri_decode(SLICE("/a%00b"), to, &length));
	assert_false(uri_decode(SLICE("/a%"), to, &length));
	assert_false(uri_decode(SLICE("/a%4"), to, &length));
	assert_false(uri_decode(SLICE("/a%zz"), to, &length));
	assert_int_equal(length, 4711);
}

static void test_uri_query_value_finds_the_first_of_that_name(void **state)
{
	(void)state;
	struct slice value = SLICE("untouched");
	assert_false(uri_query_value(SLICE(""), SLICE("a"), &value));
	assert_false(uri_query_value(SLICE_NONE, SLICE("a"), &value));
	assert_false(uri_query_value(SLICE("a"), SLICE("a"), &value));
	assert_false(uri_query_value(SLICE("ab=1&ba=2&b"), SLICE("a"), &value));
	assert_slice(value, "untouched");
	assert_true(uri_query_value(SLICE("b=1&a=%202&a=3"), SLICE("a"), &value));
	assert_slice(value, "%202");
	assert_true(uri_query_value(SLICE("&&a=&a=3"), SLICE("a"), &value));
	assert_slice(value, "");
	assert_true(uri_query_value(SLICE("iterations=5&steps=2=3"), SLICE("steps"), &value));
	assert_slice(value, "2=3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_uri_normalise_leaves_normal_paths_alone),
	        cmocka_unit_test(test_uri_normalise_decodes_unreserved_escapes_only),
	        cmocka_unit_test(test_uri_normalise_removes_dot_segments),
	        cmocka_unit_test(test_uri_normalise_removes_empty_segments),
	        cmocka_unit_test(test_uri_normalise_refuses_what_leaves_the_root),
	        cmocka_unit_test(test_uri_normalise_refuses_dot_segments_that_only_others_see),
	        cmocka_unit_test(test_uri_normalise_refuses_bad_bytes_and_escapes),
	        cmocka_unit_test(test_uri_normalise_twice_is_once),
	        cmocka_unit_test(test_uri_decode_decodes_all_but_nul_and_slash),
	        cmocka_unit_test(test_uri_query_value_finds_the_first_of_that_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
