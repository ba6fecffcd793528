/*
 * Buffers of one size that connections of a loop borrow while they have something to hold. One thread.
 *
 * What is given back is kept, as long as somebody trims: a fixed number would have a loop with more requests in
 * progress ask the system for memory, and give it back, with each burst. What was not needed for the time between two
 * trims is freed, a part at a time so that no connection waits for it.
 */
#ifndef NET_BLOCKS_H
#define NET_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

enum { BLOCK_BYTES = 16384 /* unless configured */, BLOCKS_KEPT_BYTES = 4 << 20 /* in any case */ };

struct blocks {
	size_t bytes; /* of each */
	void *free;
	size_t free_count;
	size_t least_free; /* since the last trim */
	bool is_trimmed;   /* a call of blocks_trim is to come */
	/* Whoever will call blocks_trim in a while. NULL: nobody, so no more than BLOCKS_KEPT_BYTES are kept. */
	void (*crowded)(struct blocks *);
};

void blocks_init(struct blocks *, size_t bytes);
void blocks_fini(struct blocks *);
/* blocks->bytes of them; NULL when memory is short. */
char *blocks_take(struct blocks *);
void blocks_give(struct blocks *, char *block);
/* Frees some of what nobody needed since the last call. Whether there may be more, for another call in a while. */
bool blocks_trim(struct blocks *);

#endif
