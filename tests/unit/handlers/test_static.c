/* Static files over a real connection: conditions, ranges, links, and files that change between requests. */
#include "handlers/static_site.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- files ---------------------------------------------------------------------------------- */

static void test_static_serves_a_file_with_its_validators(void **state)
{
	struct site *s = *state;
	struct answer a = site_get(s, "/ten.bin");
	assert_int_equal(a.status, 200);
	assert_true(slice_equal(a.body, SLICE("0123456789")));
	assert_string_equal(answer_field(&a, "Last-Modified"), "Sun, 13 Sep 2020 12:26:40 GMT");
	assert_string_equal(answer_field(&a, "Accept-Ranges"), "bytes");
	assert_string_equal(answer_field(&a, "Content-Type"), "application/octet-stream");
	assert_int_equal(answer_field(&a, "ETag")[0], '"');
	a = site_get(s, "/files/ten.bin?x");
	assert_true(slice_equal(a.body, SLICE("0123456789")));
}

static void test_static_serves_large_and_empty_files(void **state)
{
	struct site *s = *state;
	for (int round = 0; round < 3; round++) {
		struct answer a = site_get(s, "/large");
		assert_int_equal(a.status, 200);
		assert_int_equal(a.body.length, SITE_LARGE_BYTES);
		for (int i = 0; i < SITE_LARGE_BYTES; i += 997)
			assert_int_equal(a.body.data[i], site_large_byte((size_t)i));
		a = site_get(s, "/empty.txt");
		assert_int_equal(a.status, 200);
		assert_string_equal(answer_field(&a, "Content-Length"), "0");
	}
}

static void test_static_head_has_the_fields_of_get(void **state)
{
	struct site *s = *state;
	char length[16], etag[80];
	int64_t give_up_ns = clock_now_ns() + 10 * NS_PER_S;
	struct answer a = site_get(s, "/large");
	/* The tag of a large file is weak until its time stamps are old enough to tell one change from the next. */
	while (strncmp(answer_field(&a, "ETag"), "W/", 2) == 0 && clock_now_ns() < give_up_ns)
		a = site_get(s, "/large");
	snprintf(length, sizeof length, "%s", answer_field(&a, "Content-Length"));
	snprintf(etag, sizeof etag, "%s", answer_field(&a, "ETag"));
	a = harness_ask(&s->h, "HEAD /large", "");
	assert_string_equal(answer_field(&a, "Content-Length"), length);
	assert_string_equal(answer_field(&a, "ETag"), etag);
	site_expect_text(s, "/ten.bin", "0123456789");
}

static void test_static_finds_escaped_names(void **state)
{
	struct site *s = *state;
	site_put_old(s, "root/a b~(1)+\xc3\xa9.txt", "odd");
	site_expect_text(s, "/a%20b~(1)+%c3%a9.txt", "odd");
	site_expect_text(s, "/a%20b%7E%281%29%2b%C3%A9.txt", "odd");
}

static void test_static_serves_indexes_in_order(void **state)
{
	struct site *s = *state;
	site_expect_status(s, "/", 403);
	site_put_old(s, "root/index.html", "second");
	site_expect_text(s, "/", "second");
	site_expect_text(s, "/", "second");
	site_put_old(s, "root/first.html", "first");
	site_expect_text(s, "/", "first");
	char path[64];
	snprintf(path, sizeof path, "%s/first.html", s->root);
	unlink(path);
	site_expect_text(s, "/", "second");
	struct answer a = site_get(s, "/");
	assert_string_equal(answer_field(&a, "Content-Type"), "text/html; charset=utf-8");
}

static void test_static_redirects_directories_with_their_query(void **state)
{
	struct site *s = *state;
	site_make_directory(s, "root/dir");
	struct answer a = site_get(s, "/dir?x=1");
	assert_int_equal(a.status, 301);
	assert_string_equal(answer_field(&a, "Location"), "/dir/?x=1");
	a = site_get(s, "/files?");
	assert_int_equal(a.status, 301);
	assert_string_equal(answer_field(&a, "Location"), "/files/?");
	a = site_get(s, "/files/dir");
	assert_string_equal(answer_field(&a, "Location"), "/files/dir/");
	site_expect_status(s, "/dir/", 403);
	site_make_directory(s, "root/dir/index.html");
	site_expect_status(s, "/dir/", 403);
}

static void test_static_has_nothing_under_names_that_are_not_there(void **state)
{
	struct site *s = *state;
	char name[5002] = "/";
	site_make_directory(s, "root/.git");
	site_put_old(s, "root/.git/config", "secret");
	site_make_directory(s, "root/.well-known");
	site_put_old(s, "root/.well-known/x", "public");
	site_expect_status(s, "/none", 404);
	site_expect_status(s, "/none/", 404);
	site_expect_status(s, "/ten.bin/", 404);
	site_expect_status(s, "/ten.bin/x", 404);
	site_expect_status(s, "/.git/config", 404);
	site_expect_status(s, "/%2egit/config", 404);
	site_expect_status(s, "/.well-known/../.git/config", 404);
	site_expect_status(s, "/.well-known/.x", 404);
	site_expect_status(s, "/dir%2Ften.bin", 404);
	site_expect_text(s, "/.well-known/x", "public");
	memset(name + 1, 'x', 5000);
	site_expect_status(s, name, 404);
	name[400] = 0;
	site_expect_status(s, name, 404);
}

static void test_static_never_leaves_the_root(void **state)
{
	struct site *s = *state;
	site_put_old(s, "secret", "secret");
	site_make_link(s, "../secret", "root/out");
	site_make_link(s, "/etc", "root/etc");
	site_make_link(s, "..", "root/up");
	site_make_link(s, "loop", "root/loop");
	site_make_link(s, "ten.bin", "root/inside");
	site_make_link(s, "/proc/self/environ", "root/environ");
	site_expect_status(s, "/out", 403);
	site_expect_status(s, "/etc/hostname", 403);
	site_expect_status(s, "/up/secret", 403);
	site_expect_status(s, "/loop", 403);
	site_expect_status(s, "/environ", 403);
	site_expect_status(s, "/..%2fsecret", 400);
	site_expect_status(s, "/%2e%2e/secret", 400);
	site_expect_status(s, "/a/..%5c..%5csecret", 400);
	site_expect_text(s, "/inside", "0123456789");
	/* A file that was fine becomes a way out. */
	site_make_link(s, "../secret", "root/inside");
	site_expect_status(s, "/inside", 403);
}

static void test_static_does_not_wait_for_special_files(void **state)
{
	struct site *s = *state;
	char path[64];
	snprintf(path, sizeof path, "%s/fifo", s->root);
	assert_int_equal(mkfifo(path, 0644), 0);
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	snprintf(un.sun_path, sizeof un.sun_path, "%s/socket", s->root);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof un), 0);
	site_expect_status(s, "/fifo", 403);
	site_expect_status(s, "/socket", 403);
	close(fd);
}

static void test_static_refuses_what_may_not_be_read(void **state)
{
	struct site *s = *state;
	char path[64];
	bool is_root = geteuid() == 0;
	site_put_old(s, "root/private", "x");
	site_make_directory(s, "root/passage");
	site_put_old(s, "root/passage/file", "y");
	snprintf(path, sizeof path, "%s/private", s->root);
	assert_int_equal(chmod(s->base, 0755), 0);
	site_expect_text(s, "/private", "x");
	assert_int_equal(chmod(path, is_root ? 0600 : 0), 0);
	snprintf(path, sizeof path, "%s/passage", s->root);
	assert_int_equal(chmod(path, is_root ? 0711 : 0111), 0);
	/* root may read everything, so somebody else must ask. */
	if (is_root)
		assert_int_equal(seteuid(65534), 0);
	unsigned is_private = site_get(s, "/private").status, passage = site_get(s, "/passage").status;
	site_expect_text(s, "/passage/file", "y");
	assert_int_equal(seteuid(is_root ? 0 : geteuid()), 0);
	assert_int_equal(is_private, 403);
	assert_int_equal(passage, 301);
	assert_int_equal(chmod(path, 0755), 0);
}

/* ---- conditions and ranges --------------------------------------------------------------------- */

static unsigned status_with(struct site *s, const char *format, ...)
{
	char fields[512];
	va_list args;
	va_start(args, format);
	vsnprintf(fields, sizeof fields, format, args);
	va_end(args);
	return harness_ask(&s->h, "GET /ten.bin", fields).status;
}

static void test_static_evaluates_conditions(void **state)
{
	struct site *s = *state;
	char etag[80];
	struct answer a = site_get(s, "/ten.bin");
	snprintf(etag, sizeof etag, "%s", answer_field(&a, "ETag"));
	assert_int_equal(status_with(s, "If-None-Match: %s\r\n", etag), 304);
	assert_int_equal(status_with(s, "If-None-Match: \"a\", W/%s\r\n", etag), 304);
	assert_int_equal(
	        status_with(s, "If-None-Match: \"nope\"\r\nIf-Modified-Since: Sun, 13 Sep 2020 12:26:41 GMT\r\n"), 200);
	assert_int_equal(status_with(s, "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT\r\n"), 304);
	assert_int_equal(status_with(s, "If-Modified-Since: Sun, 13 Sep 2020 12:26:39 GMT\r\n"), 200);
	assert_int_equal(status_with(s, "If-Match: \"nope\"\r\n"), 412);
	assert_int_equal(status_with(s, "If-Match: %s\r\n", etag), 200);
	a = harness_ask(&s->h, "GET /ten.bin", "If-None-Match: *\r\n");
	assert_int_equal(a.status, 304);
	assert_string_equal(answer_field(&a, "ETag"), etag);
	assert_string_equal(answer_field(&a, "Content-Length"), "");
	assert_string_equal(answer_field(&a, "Content-Type"), "");
}

static void assert_range(
        struct site *s, const char *path, const char *range, unsigned status, const char *content_range)
{
	char line[64], fields[128];
	snprintf(line, sizeof line, "GET %s", path);
	snprintf(fields, sizeof fields, "Range: bytes=%s\r\n", range);
	struct answer a = harness_ask(&s->h, line, fields);
	if (a.status != status)
		fail_msg("%s of %s: %u, not %u", range, path, a.status, status);
	assert_string_equal(answer_field(&a, "Content-Range"), content_range);
}

static void test_static_serves_single_ranges(void **state)
{
	struct site *s = *state;
	assert_range(s, "/ten.bin", "9-", 206, "bytes 9-9/10");
	assert_range(s, "/ten.bin", "0-3", 206, "bytes 0-3/10");
	assert_range(s, "/ten.bin", "-3", 206, "bytes 7-9/10");
	assert_range(s, "/ten.bin", "-0", 416, "bytes */10");
	assert_range(s, "/ten.bin", "10-", 416, "bytes */10");
	assert_range(s, "/ten.bin", "1-2,4-5", 200, "");
	assert_range(s, "/empty.txt", "-5", 200, "");
	assert_range(s, "/empty.txt", "0-", 416, "bytes */0");
	assert_range(s, "/large", "299990-400000", 206, "bytes 299990-299999/300000");
	struct answer a = harness_ask(&s->h, "GET /ten.bin", "Range: bytes=2-5\r\n");
	assert_true(slice_equal(a.body, SLICE("2345")));
	a = harness_ask(&s->h, "GET /large", "Range: bytes=100000-250000\r\n");
	assert_int_equal(a.body.length, 150001);
	assert_int_equal(a.body.data[0], site_large_byte(100000));
	a = harness_ask(&s->h, "HEAD /ten.bin", "Range: bytes=2-5\r\n");
	assert_int_equal(a.status, 200);
	assert_string_equal(answer_field(&a, "Content-Length"), "10");
}

static void test_static_if_range_needs_a_strong_match(void **state)
{
	struct site *s = *state;
	char etag[80];
	struct answer a = site_get(s, "/ten.bin");
	snprintf(etag, sizeof etag, "%s", answer_field(&a, "ETag"));
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: %s\r\n", etag), 206);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: W/%s\r\n", etag), 200);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: \"x\"\r\n"), 200);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: Sun, 13 Sep 2020 12:26:40 GMT\r\n"), 206);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: Sun, 13 Sep 2020 12:26:39 GMT\r\n"), 200);
	site_put(s, "root/ten.bin", "9876543210", 10);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: %s\r\n", etag), 200);
	a = site_get(s, "/ten.bin");
	char date[40];
	snprintf(date, sizeof date, "%s", answer_field(&a, "Last-Modified"));
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: %s\r\n", date), 200);
}

static void test_static_serves_files_whose_size_is_a_lie(void **state)
{
	struct harness h;
	(void)state;
	harness_start(&h, "[route p]\npath = /\nhandler = static\nroot = /proc/sys/kernel\n");
	for (int i = 0; i < 2; i++) {
		struct answer a = harness_ask(&h, "GET /ostype", "");
		assert_int_equal(a.status, 200);
		assert_true(slice_equal(a.body, SLICE("Linux\n")));
	}
	harness_stop(&h);
}

static void test_static_refuses_a_root_or_index_that_cannot_be(void **state)
{
	static const struct {
		const char *conf, *wanted;
	} cases[] = {
	        {"root = /nowhere/at/all\n", ":4: [route r] root: /nowhere/at/all: No such file or directory; allowed: "
	                                     "a readable directory"},
	        {"root = /etc/hostname\n", "root: /etc/hostname: Not a directory"},
	        {"root = /\nindex = a.html ../b\n", ":5: [route r] index: \"../b\""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		char *text = harness_faults("[route r]\npath = /\nhandler = static\n%s", cases[i].conf);
		if (!strstr(text, cases[i].wanted))
			fail_msg("\"%s\" is not in: %s", cases[i].wanted, text);
		free(text);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, site_set_up, site_tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_static_serves_a_file_with_its_validators),
	        TEST(test_static_serves_large_and_empty_files),
	        TEST(test_static_head_has_the_fields_of_get),
	        TEST(test_static_finds_escaped_names),
	        TEST(test_static_serves_indexes_in_order),
	        TEST(test_static_redirects_directories_with_their_query),
	        TEST(test_static_has_nothing_under_names_that_are_not_there),
	        TEST(test_static_never_leaves_the_root),
	        TEST(test_static_does_not_wait_for_special_files),
	        TEST(test_static_refuses_what_may_not_be_read),
	        TEST(test_static_evaluates_conditions),
	        TEST(test_static_serves_single_ranges),
	        TEST(test_static_if_range_needs_a_strong_match),
	        cmocka_unit_test(test_static_serves_files_whose_size_is_a_lie),
	        cmocka_unit_test(test_static_refuses_a_root_or_index_that_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
