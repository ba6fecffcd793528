/* Files live in a temporary directory of each test. */
#include "handlers/static_site.h"
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_PAST_S = 1600000000 };

char site_large_byte(size_t at)
{
	return (char)(at * 7 + at / 251);
}

void site_put(struct site *s, const char *name, const void *data, size_t length)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
}

void site_put_old(struct site *s, const char *name, const char *text)
{
	char path[256];
	struct timespec times[2] = {{.tv_sec = LONG_PAST_S}, {.tv_sec = LONG_PAST_S}};
	site_put(s, name, text, strlen(text));
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

void site_make_directory(struct site *s, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

void site_make_link(struct site *s, const char *target, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", s->base, name);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

void site_move(struct site *s, const char *from, const char *to)
{
	char a[256], b[256];
	snprintf(a, sizeof a, "%s/%s", s->base, from);
	snprintf(b, sizeof b, "%s/%s", s->base, to);
	assert_int_equal(rename(a, b), 0);
}

int site_set_up(void **state)
{
	struct site *s = aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
	assert_non_null(s);
	memset(s, 0, sizeof *s);
	strcpy(s->base, "/tmp/static-XXXXXX");
	assert_non_null(mkdtemp(s->base));
	snprintf(s->root, sizeof s->root, "%s/root", s->base);
	site_make_directory(s, "root");
	site_put_old(s, "root/ten.bin", "0123456789");
	site_put_old(s, "root/empty.txt", "");
	char *large = malloc(SITE_LARGE_BYTES);
	assert_non_null(large);
	for (int i = 0; i < SITE_LARGE_BYTES; i++)
		large[i] = site_large_byte((size_t)i);
	site_put(s, "root/large", large, SITE_LARGE_BYTES);
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

int site_tear_down(void **state)
{
	struct site *s = *state;
	harness_stop(&s->h);
	nftw(s->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(s);
	return 0;
}

struct answer site_get(struct site *s, const char *path)
{
	char line[8192];
	snprintf(line, sizeof line, "GET %s", path);
	return harness_ask(&s->h, line, "");
}

void site_expect_text(struct site *s, const char *path, const char *text)
{
	struct answer a = site_get(s, path);
	assert_int_equal(a.status, 200);
	if (!slice_equal(a.body, slice_of(text)))
		fail_msg("%s: \"%.*s\", not \"%s\"", path, SLICE_ARGS(a.body), text);
}

void site_expect_status(struct site *s, const char *path, unsigned status)
{
	struct answer a = site_get(s, path);
	if (a.status != status)
		fail_msg("%s: %u, not %u", path, a.status, status);
}
