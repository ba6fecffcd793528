/* Memory that is freed all at once: configuration, and what one exchange needs. Not for several threads. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/slice.h"
#include <stdbool.h>
#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	size_t used, room; /* of the newest block */
};

void arena_init(struct arena *);
void arena_fini(struct arena *);
/* Zeroed and aligned for any type; NULL when memory is short. */
void *arena_alloc(struct arena *, size_t bytes);
char *arena_text(struct arena *, struct slice);
char *arena_format(struct arena *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
