/* Static files over a real connection: conditions, ranges, links, and files that change between requests. */
#include "handlers/harness.h"
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_PAST_S = 1600000000, LARGE = 300000 };

struct site {
	struct harness h;
	char base[32], root[48];
};

/* Relative to the base, in which the root is "root". */
static void put(struct site *s, const char *name, const void *data, size_t length)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
}

static void put_old(struct site *s, const char *name, const char *text)
{
	char path[256];
	struct timespec times[2] = {{.tv_sec = LONG_PAST_S}, {.tv_sec = LONG_PAST_S}};
	put(s, name, text, strlen(text));
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make_directory(struct site *s, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(struct site *s, const char *target, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

static void move(struct site *s, const char *from, const char *to)
{
	char a[256], b[256];
	snprintf(a, sizeof a, "%s/%s", s->base, from);
	snprintf(b, sizeof b, "%s/%s", s->base, to);
	assert_int_equal(rename(a, b), 0);
}

static int set_up(void **state)
{
	struct site *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
	assert_non_null(s);
	memset(s, 0, sizeof *s);
	strcpy(s->base, "/tmp/static-XXXXXX");
	assert_non_null(mkdtemp(s->base));
	snprintf(s->root, sizeof s->root, "%s/root", s->base);
	make_directory(s, "root");
	put_old(s, "root/ten.bin", "0123456789");
	put_old(s, "root/empty.txt", "");
	char *large = malloc(LARGE);
	assert_non_null(large);
	for (int i = 0; i < LARGE; i++)
		large[i] = (char)(i * 7 + i / 251);
	put(s, "root/large", large, LARGE);
	free(large);
	harness_start(&s->h,
	        "[route s]\npath = /\nhandler = static\nroot = %s\nindex = first.html index.html\n"
	        "[route sub]\npath = /files/\nhandler = static\nroot = %s\n",
	        s->root, s->root);
	*state = s;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)kind, (void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	struct site *s = *state;
	harness_stop(&s->h);
	nftw(s->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(s);
	return 0;
}

static struct answer get(struct site *s, const char *path)
{
	char line[8192];
	snprintf(line, sizeof line, "GET %s", path);
	return harness_ask(&s->h, line, "");
}

static void assert_text(struct site *s, const char *path, const char *text)
{
	struct answer a = get(s, path);
	assert_int_equal(a.status, 200);
	if (!slice_equal(a.body, slice_of(text)))
		fail_msg("%s: \"%.*s\", not \"%s\"", path, SLICE_ARGS(a.body), text);
}

static void assert_status(struct site *s, const char *path, unsigned status)
{
	struct answer a = get(s, path);
	if (a.status != status)
		fail_msg("%s: %u, not %u", path, a.status, status);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void test_static_serves_a_file_with_its_validators(void **state)
{
	struct site *s = *state;
	struct answer a = get(s, "/ten.bin");
	assert_int_equal(a.status, 200);
	assert_true(slice_equal(a.body, SLICE("0123456789")));
	assert_string_equal(answer_field(&a, "Last-Modified"), "Sun, 13 Sep 2020 12:26:40 GMT");
	assert_string_equal(answer_field(&a, "Accept-Ranges"), "bytes");
	assert_string_equal(answer_field(&a, "Content-Type"), "application/octet-stream");
	assert_int_equal(answer_field(&a, "ETag")[0], '"');
	a = get(s, "/files/ten.bin?x");
	assert_true(slice_equal(a.body, SLICE("0123456789")));
}

static void test_static_serves_large_and_empty_files(void **state)
{
	struct site *s = *state;
	for (int round = 0; round < 3; round++) {
		struct answer a = get(s, "/large");
		assert_int_equal(a.status, 200);
		assert_int_equal(a.body.length, LARGE);
		for (int i = 0; i < LARGE; i += 997)
			assert_int_equal(a.body.data[i], (char)(i * 7 + i / 251));
		a = get(s, "/empty.txt");
		assert_int_equal(a.status, 200);
		assert_string_equal(answer_field(&a, "Content-Length"), "0");
	}
}

static void test_static_head_has_the_fields_of_get(void **state)
{
	struct site *s = *state;
	char length[16], etag[80];
	struct answer a = get(s, "/large");
	snprintf(length, sizeof length, "%s", answer_field(&a, "Content-Length"));
	snprintf(etag, sizeof etag, "%s", answer_field(&a, "ETag"));
	a = harness_ask(&s->h, "HEAD /large", "");
	assert_string_equal(answer_field(&a, "Content-Length"), length);
	assert_string_equal(answer_field(&a, "ETag"), etag);
	assert_text(s, "/ten.bin", "0123456789");
}

static void test_static_finds_escaped_names(void **state)
{
	struct site *s = *state;
	put_old(s, "root/a b~(1)+\xc3\xa9.txt", "odd");
	assert_text(s, "/a%20b~(1)+%c3%a9.txt", "odd");
	assert_text(s, "/a%20b%7E%281%29%2b%C3%A9.txt", "odd");
}

static void test_static_serves_indexes_in_order(void **state)
{
	struct site *s = *state;
	assert_status(s, "/", 403);
	put_old(s, "root/index.html", "second");
	assert_text(s, "/", "second");
	assert_text(s, "/", "second");
	put_old(s, "root/first.html", "first");
	assert_text(s, "/", "first");
	char path[64];
	snprintf(path, sizeof path, "%s/first.html", s->root);
	unlink(path);
	assert_text(s, "/", "second");
	struct answer a = get(s, "/");
	assert_string_equal(answer_field(&a, "Content-Type"), "text/html; charset=utf-8");
}

static void test_static_redirects_directories_with_their_query(void **state)
{
	struct site *s = *state;
	make_directory(s, "root/dir");
	struct answer a = get(s, "/dir?x=1");
	assert_int_equal(a.status, 301);
	assert_string_equal(answer_field(&a, "Location"), "/dir/?x=1");
	a = get(s, "/files?");
	assert_int_equal(a.status, 301);
	assert_string_equal(answer_field(&a, "Location"), "/files/?");
	a = get(s, "/files/dir");
	assert_string_equal(answer_field(&a, "Location"), "/files/dir/");
	assert_status(s, "/dir/", 403);
	make_directory(s, "root/dir/index.html");
	assert_status(s, "/dir/", 403);
}

static void test_static_has_nothing_under_names_that_are_not_there(void **state)
{
	struct site *s = *state;
	char name[5002] = "/";
	make_directory(s, "root/.git");
	put_old(s, "root/.git/config", "secret");
	make_directory(s, "root/.well-known");
	put_old(s, "root/.well-known/x", "public");
	assert_status(s, "/none", 404);
	assert_status(s, "/none/", 404);
	assert_status(s, "/ten.bin/", 404);
	assert_status(s, "/ten.bin/x", 404);
	assert_status(s, "/.git/config", 404);
	assert_status(s, "/%2egit/config", 404);
	assert_status(s, "/.well-known/../.git/config", 404);
	assert_status(s, "/.well-known/.x", 404);
	assert_status(s, "/dir%2Ften.bin", 404);
	assert_text(s, "/.well-known/x", "public");
	memset(name + 1, 'x', 5000);
	assert_status(s, name, 404);
	name[400] = 0;
	assert_status(s, name, 404);
}

static void test_static_never_leaves_the_root(void **state)
{
	struct site *s = *state;
	put_old(s, "secret", "secret");
	make_link(s, "../secret", "root/out");
	make_link(s, "/etc", "root/etc");
	make_link(s, "..", "root/up");
	make_link(s, "loop", "root/loop");
	make_link(s, "ten.bin", "root/inside");
	make_link(s, "/proc/self/environ", "root/environ");
	assert_status(s, "/out", 403);
	assert_status(s, "/etc/hostname", 403);
	assert_status(s, "/up/secret", 403);
	assert_status(s, "/loop", 403);
	assert_status(s, "/environ", 403);
	assert_status(s, "/..%2fsecret", 404);
	assert_status(s, "/%2e%2e/secret", 400);
	assert_status(s, "/a/..%5c..%5csecret", 404);
	assert_text(s, "/inside", "0123456789");
	/* A file that was fine becomes a way out. */
	make_link(s, "../secret", "root/inside");
	assert_status(s, "/inside", 403);
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
	assert_status(s, "/fifo", 403);
	assert_status(s, "/socket", 403);
	close(fd);
}

static void test_static_refuses_what_may_not_be_read(void **state)
{
	struct site *s = *state;
	char path[64];
	bool is_root = geteuid() == 0;
	put_old(s, "root/private", "x");
	make_directory(s, "root/passage");
	put_old(s, "root/passage/file", "y");
	snprintf(path, sizeof path, "%s/private", s->root);
	assert_int_equal(chmod(s->base, 0755), 0);
	assert_text(s, "/private", "x");
	assert_int_equal(chmod(path, is_root ? 0600 : 0), 0);
	snprintf(path, sizeof path, "%s/passage", s->root);
	assert_int_equal(chmod(path, is_root ? 0711 : 0111), 0);
	/* root may read everything, so somebody else must ask. */
	if (is_root)
		assert_int_equal(seteuid(65534), 0);
	unsigned is_private = get(s, "/private").status, passage = get(s, "/passage").status;
	assert_text(s, "/passage/file", "y");
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
	struct answer a = get(s, "/ten.bin");
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
	assert_int_equal(a.body.data[0], (char)(100000 * 7 + 100000 / 251));
	a = harness_ask(&s->h, "HEAD /ten.bin", "Range: bytes=2-5\r\n");
	assert_int_equal(a.status, 200);
	assert_string_equal(answer_field(&a, "Content-Length"), "10");
}

static void test_static_if_range_needs_a_strong_match(void **state)
{
	struct site *s = *state;
	char etag[80];
	struct answer a = get(s, "/ten.bin");
	snprintf(etag, sizeof etag, "%s", answer_field(&a, "ETag"));
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: %s\r\n", etag), 206);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: W/%s\r\n", etag), 200);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: \"x\"\r\n"), 200);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: Sun, 13 Sep 2020 12:26:40 GMT\r\n"), 206);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: Sun, 13 Sep 2020 12:26:39 GMT\r\n"), 200);
	put(s, "root/ten.bin", "9876543210", 10);
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: %s\r\n", etag), 200);
	a = get(s, "/ten.bin");
	char date[40];
	snprintf(date, sizeof date, "%s", answer_field(&a, "Last-Modified"));
	assert_int_equal(status_with(s, "Range: bytes=2-\r\nIf-Range: %s\r\n", date), 200);
}

/* ---- change ------------------------------------------------------------------------------------- */

static void test_static_sees_each_change_with_the_next_request(void **state)
{
	struct site *s = *state;
	char text[16];
	/* As fast as possible, same size, in place: time stamps alone would not tell these apart. */
	for (int i = 0; i < 500; i++) {
		snprintf(text, sizeof text, "%07d", i);
		put(s, "root/counter", text, 7);
		assert_text(s, "/counter", text);
	}
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof text, "%07d", i);
		put(s, "root/new", text, 7);
		move(s, "root/new", "root/counter");
		assert_text(s, "/counter", text);
	}
}

static void test_static_sees_a_change_behind_old_time_stamps(void **state)
{
	struct site *s = *state;
	put_old(s, "root/file", "old");
	assert_text(s, "/file", "old");
	put_old(s, "root/file", "new");
	assert_text(s, "/file", "new");
	char path[64];
	snprintf(path, sizeof path, "%s/file", s->root);
	unlink(path);
	assert_status(s, "/file", 404);
}

static void test_static_sees_a_root_that_is_swapped(void **state)
{
	struct site *s = *state;
	assert_text(s, "/ten.bin", "0123456789");
	move(s, "root", "root1");
	assert_status(s, "/ten.bin", 404);
	make_directory(s, "root2");
	put_old(s, "root2/ten.bin", "abcdefghij");
	make_link(s, "root2", "root");
	assert_text(s, "/ten.bin", "abcdefghij");
	make_link(s, "root1", "root");
	assert_text(s, "/ten.bin", "0123456789");
}

static void test_static_ends_short_when_a_file_shrinks_on_its_way(void **state)
{
	struct site *s = *state;
	char path[64];
	snprintf(path, sizeof path, "%s/huge", s->root);
	put(s, "root/huge", "", 0);
	assert_int_equal(truncate(path, 64 << 20), 0);
	harness_send(&s->h, "GET /huge", "");
	harness_send(&s->h, "GET /ten.bin", "");
	harness_turn(&s->h);
	assert_int_equal(truncate(path, 1 << 20), 0);
	struct answer a = harness_receive(&s->h, false);
	assert_int_equal(a.status, 200);
	assert_false(a.is_whole);
	assert_true(a.body.length < 64 << 20);
	assert_int_equal(harness_receive(&s->h, false).status, 0);
}

static void test_static_finishes_the_old_file_when_a_new_one_takes_its_name(void **state)
{
	struct site *s = *state;
	char path[64];
	snprintf(path, sizeof path, "%s/huge", s->root);
	put(s, "root/huge", "", 0);
	assert_int_equal(truncate(path, 16 << 20), 0);
	harness_send(&s->h, "GET /huge", "");
	harness_turn(&s->h);
	put(s, "root/new", "new", 3);
	move(s, "root/new", "root/huge");
	struct answer a = harness_receive(&s->h, false);
	assert_true(a.is_whole);
	assert_int_equal(a.body.length, 16 << 20);
	assert_text(s, "/huge", "new");
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
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
	        TEST(test_static_sees_each_change_with_the_next_request),
	        TEST(test_static_sees_a_change_behind_old_time_stamps),
	        TEST(test_static_sees_a_root_that_is_swapped),
	        TEST(test_static_ends_short_when_a_file_shrinks_on_its_way),
	        TEST(test_static_finishes_the_old_file_when_a_new_one_takes_its_name),
	        cmocka_unit_test(test_static_serves_files_whose_size_is_a_lie),
	        cmocka_unit_test(test_static_refuses_a_root_or_index_that_cannot_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
