/* -o kind[.name].key=value: replaces what the files say of that key; given again, it adds. */
#ifndef CONFIG_OVERRIDE_H
#define CONFIG_OVERRIDE_H

#include "config/draft.h"

#define OVERRIDE_FILE "-o" /* as faults name it */

void override_apply(struct draft *, const char *const *texts, size_t count);

#endif
