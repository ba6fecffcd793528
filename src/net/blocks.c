/* A free list whose links stand in the free buffers themselves. */
#include "net/blocks.h"
#include <stdlib.h>
#include <string.h>

void blocks_init(struct blocks *b, size_t bytes)
{
	*b = (struct blocks){.bytes = bytes};
}

void blocks_fini(struct blocks *b)
{
	while (b->free_count)
		free(blocks_take(b));
}

char *blocks_take(struct blocks *b)
{
	void *block = b->free;
	if (!block)
		return malloc(b->bytes);
	memcpy(&b->free, block, sizeof b->free);
	b->free_count--;
	return block;
}

void blocks_give(struct blocks *b, char *block)
{
	if (b->free_count >= BLOCKS_KEPT_BYTES / b->bytes) {
		free(block);
		return;
	}
	memcpy(block, &b->free, sizeof b->free);
	b->free = block;
	b->free_count++;
}
