/* A directory of files that is served by a route "/" and once more below "/files/". */
#ifndef TESTS_UNIT_HANDLERS_STATIC_SITE_H
#define TESTS_UNIT_HANDLERS_STATIC_SITE_H

#include "handlers/harness.h"

enum { SITE_LARGE_BYTES = 300000 };

struct site {
	struct harness h;
	char base[32], root[48];
};

/* For cmocka: *state is a struct site. The root holds ten.bin, empty.txt and large. */
int site_set_up(void **state);
int site_tear_down(void **state);

/* Names are relative to the base, in which the root is "root". */
void site_put(struct site *, const char *name, const void *data, size_t length);
/* With a time stamp of long ago: Sun, 13 Sep 2020 12:26:40 GMT. */
void site_put_old(struct site *, const char *name, const char *text);
void site_make_directory(struct site *, const char *name);
void site_make_link(struct site *, const char *target, const char *name);
void site_move(struct site *, const char *from, const char *to);
/* What stands at that place of `large`. */
char site_large_byte(size_t at);

struct answer site_get(struct site *, const char *path);
void site_expect_text(struct site *, const char *path, const char *text);
void site_expect_status(struct site *, const char *path, unsigned status);

#endif
