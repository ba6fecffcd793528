/* The configuration that holds when there is no file, as the text of one. */
#ifndef CONFIG_BUILTIN_H
#define CONFIG_BUILTIN_H

#include "base/slice.h"

#define BUILTIN_FILE "built-in" /* as faults name it */

struct slice builtin_text(void);

#endif
