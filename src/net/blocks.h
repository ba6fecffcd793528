/* Buffers of one size that connections of a loop borrow while they have something to hold. One thread. */
#ifndef NET_BLOCKS_H
#define NET_BLOCKS_H

#include <stddef.h>

enum { BLOCK_BYTES = 16384 /* unless configured */, BLOCKS_KEPT_BYTES = 4 << 20 };

struct blocks {
	size_t bytes; /* of each */
	void *free;
	size_t free_count;
};

void blocks_init(struct blocks *, size_t bytes);
void blocks_fini(struct blocks *);
/* blocks->bytes of them; NULL when memory is short. */
char *blocks_take(struct blocks *);
void blocks_give(struct blocks *, char *block);

#endif
