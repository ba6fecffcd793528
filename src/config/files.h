/* The files of a configuration: the main one, then those that its [server] include names, sorted. */
#ifndef CONFIG_FILES_H
#define CONFIG_FILES_H

#include "config/draft.h"

/* Faults go to the draft. `path` must live as long as the draft. */
void files_read(struct draft *, const char *path);
/* Reports each `include`, for a configuration that is no file. */
void files_refuse_includes(struct draft *);

#endif
