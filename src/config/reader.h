/*
 * Reads one file into a draft: a line reader of our own that hands inih only lines that inih takes as they are
 * (it would cut long lines and names, and has no line numbers), and reports every other line as a fault.
 */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

#include "config/draft.h"
#include <stdio.h>

/* Faults go to the draft. `path` must live as long as the draft. */
void reader_read(struct draft *, FILE *, const char *path);

#endif
