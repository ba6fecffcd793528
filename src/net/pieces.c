/* The list's links stand at the begin of each block. */
#include "net/pieces.h"
#include "base/check.h"
#include <stdlib.h>

struct piece *piece_take(struct blocks *blocks)
{
	struct piece *p = (struct piece *)(void *)blocks_take(blocks);
	if (p)
		*p = (struct piece){.room = (uint32_t)(blocks->bytes - sizeof *p)};
	return p;
}

void pieces_append(struct pieces *list, struct piece *p)
{
	p->next = NULL;
	if (list->last)
		list->last->next = p;
	else
		list->first = p;
	list->last = p;
	list->bytes += p->end - p->start;
}

void pieces_join(struct pieces *list, struct pieces *more)
{
	if (!more->first)
		return;
	if (list->last)
		list->last->next = more->first;
	else
		list->first = more->first;
	list->last = more->last;
	list->bytes += more->bytes;
	*more = (struct pieces){0};
}

size_t pieces_put(struct pieces *list, struct blocks *blocks, struct slice data)
{
	if (!list->last || list->last->end == list->last->room) {
		struct piece *fresh = piece_take(blocks);
		if (!fresh)
			return 0;
		pieces_append(list, fresh);
	}
	struct piece *p = list->last;
	size_t n = data.length < p->room - p->end ? data.length : p->room - p->end;
	memcpy(p->bytes + p->end, data.data, n);
	p->end += (uint32_t)n;
	list->bytes += (int64_t)n;
	return n;
}

struct slice pieces_first(const struct pieces *list)
{
	const struct piece *p = list->first;
	return (struct slice){p->bytes + p->start, p->end - p->start};
}

struct piece *pieces_consume(struct pieces *list, size_t bytes)
{
	struct piece *p = list->first;
	MUST(bytes <= p->end - p->start);
	p->start += (uint32_t)bytes;
	list->bytes -= (int64_t)bytes;
	if (p->start != p->end)
		return NULL;
	list->first = p->next;
	if (!list->first)
		list->last = NULL;
	return p;
}

void pieces_give(struct pieces *list, struct blocks *blocks)
{
	struct piece *next;
	for (struct piece *p = list->first; p; p = next) {
		next = p->next;
		blocks_give(blocks, (char *)p);
	}
	*list = (struct pieces){0};
}

void pieces_free(struct pieces *list)
{
	struct piece *next;
	for (struct piece *p = list->first; p; p = next) {
		next = p->next;
		free(p);
	}
	*list = (struct pieces){0};
}

void pieces_refill(struct pieces *list)
{
	list->bytes = 0;
	for (struct piece *p = list->first; p; p = p->next) {
		p->start = 0;
		list->bytes += p->end;
	}
}
