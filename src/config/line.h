/*
 * What a line of a configuration file may be, for the reader and for the writer alike, so that what is written
 * reads back as the same. Knows inih's limits; reads and keeps nothing.
 */
#ifndef CONFIG_LINE_H
#define CONFIG_LINE_H

#include "base/slice.h"
#include "config/config.h"
#include <stdio.h>

enum {
	LINE_LIMIT = 198,        /* inih's INI_MAX_LINE of 200, less its newline and zero */
	LINE_SECTION_LIMIT = 49, /* inih's MAX_SECTION of 50, less its zero */
};

bool line_is_blank(char);
bool line_is_comment(struct slice trimmed);
/* Where a blank and then ';' begin a comment; the whole length when there is none. */
size_t line_comment_at(struct slice);
/* `name = ...` with the name of an option that such sections may have. */
bool line_is_key(enum config_kind, struct slice trimmed);
/* `[kind` with a kind that there is. */
bool line_is_section(struct slice trimmed);

/* Writes `key = value`, continued on indented lines where it is long. false, and nothing is written: no sequence of
 * lines would read back as this value. `out` NULL: only says so. */
bool line_print(FILE *out, enum config_kind, const char *key, struct slice value);

#endif
