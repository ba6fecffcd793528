/* Writing of settings as lines of a file. */
#ifndef CONFIG_PRINT_H
#define CONFIG_PRINT_H

#include "config/settings.h"

/* As one line or more, each value with the prefix, which must not make it too long, in front. */
void print_setting(FILE *, const char *prefix, const struct mlserve_settings *, const struct setting *);

#endif
