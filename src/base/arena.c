/* Bump allocation in blocks. */
#include "base/arena.h"
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 4096 };

struct arena_block {
	struct arena_block *next;
	alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *a)
{
	*a = (struct arena){0};
}

void arena_fini(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *block = a->blocks;
		a->blocks = block->next;
		free(block);
	}
	arena_init(a);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!a->blocks || a->room - a->used < bytes) {
		size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
		struct arena_block *block = calloc(1, sizeof *block + room);
		if (!block)
			return NULL;
		block->next = a->blocks;
		a->blocks = block;
		a->room = room;
		a->used = 0;
	}
	void *memory = a->blocks->bytes + a->used;
	a->used += bytes;
	return memory;
}

char *arena_text(struct arena *a, struct slice s)
{
	char *text = arena_alloc(a, s.length + 1);
	if (text && s.length)
		memcpy(text, s.data, s.length);
	return text;
}

char *arena_format(struct arena *a, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	char *text = length < 0 ? NULL : arena_alloc(a, (size_t)length + 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	va_end(args);
	return text;
}
