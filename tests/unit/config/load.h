/* Loading of configurations from texts, and comparing all faults of one at once. */
#ifndef TESTS_UNIT_CONFIG_LOAD_H
#define TESTS_UNIT_CONFIG_LOAD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include <cmocka.h>

/* Named t.ini in faults. `overrides` ends with NULL, or is NULL. The caller frees what is returned. */
struct config *load_bytes(const void *bytes, size_t length, const char *const *overrides, struct faults *);
/* A text that must load. */
struct config *load_good(const char *text);
/* The faults of a text, in order, each ended by a newline; the configuration must be refused. The caller frees them. */
char *load_faults(const void *bytes, size_t length, const char *const *overrides);
void expect_faults(const char *text, const char *wanted);
/* What faults_print and config_print write. */
char *faults_text(const struct faults *);
char *config_text(const struct config *);

#endif
