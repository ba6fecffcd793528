/* One option and the values that it takes: reading, checking, normal form, and saying what is allowed. */
#ifndef CONFIG_OPTION_H
#define CONFIG_OPTION_H

#include "base/slice.h"
#include "mlserve/handler.h"
#include <stdio.h>

enum { OPTION_TEXT_BYTES = 400 };

/* Whether its value is a number: all types but TEXT and WORDS. */
bool option_is_number(const struct mlserve_option *);
/* Whether it has a list of values. */
bool option_is_list(const struct mlserve_option *);
/* Reads a number within its bounds. false: `fault` says what is wrong and what is allowed. */
bool option_parse(
        const struct mlserve_option *, struct slice value, int64_t *ret_number, char fault[static OPTION_TEXT_BYTES]);
/* What the option takes, such as "auto or 1..1024"; returns `text`. */
const char *option_allowed(const struct mlserve_option *, char text[static OPTION_TEXT_BYTES]);
/* The normal form of a number of this option; returns `text`. */
const char *option_print(const struct mlserve_option *, int64_t number, char text[static OPTION_TEXT_BYTES]);
/* The name of a CHOICE's number. */
struct slice option_choice(const struct mlserve_option *, int64_t number);
/* NULL when the table is sound, else what is wrong with it (tables of modules are input). *ret_option: which. */
const char *options_unsound(const struct mlserve_option *table, const struct mlserve_option **ret_option);

#endif
