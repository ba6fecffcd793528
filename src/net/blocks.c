/* A free list whose links stand in the free buffers themselves. */
#include "net/blocks.h"
#include <stdlib.h>
#include <string.h>

enum { FREED_A_TRIM = 256 };

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
	if (b->free_count < b->least_free)
		b->least_free = b->free_count;
	return block;
}

/* Called when one more would be kept than are in any case. Whether it may. */
static bool may_grow(struct blocks *b)
{
	if (!b->crowded)
		return false;
	if (!b->is_trimmed) {
		b->is_trimmed = true;
		b->least_free = b->free_count;
		b->crowded(b);
	}
	return true;
}

void blocks_give(struct blocks *b, char *block)
{
	if (b->free_count >= BLOCKS_KEPT_BYTES / b->bytes && !may_grow(b)) {
		free(block);
		return;
	}
	memcpy(block, &b->free, sizeof b->free);
	b->free = block;
	b->free_count++;
}

bool blocks_trim(struct blocks *b)
{
	size_t kept = BLOCKS_KEPT_BYTES / b->bytes, unneeded = b->least_free > kept ? b->least_free - kept : 0;
	for (size_t i = 0; i < unneeded && i < FREED_A_TRIM; i++)
		free(blocks_take(b));
	b->least_free = b->free_count;
	b->is_trimmed = b->free_count > kept;
	return b->is_trimmed;
}
