/* A buffer that doubles. */
#include "http/trailers.h"
#include <stdlib.h>

enum { FIRST_ROOM = 256 };

bool trailers_add(struct trailers *t, struct slice piece)
{
	size_t room = t->room ? t->room : FIRST_ROOM;
	while (room < t->length + piece.length)
		room *= 2;
	if (room > t->room) {
		char *bigger = realloc(t->lines, room);
		if (!bigger)
			return false;
		t->lines = bigger;
		t->room = (uint32_t)room;
	}
	memcpy(t->lines + t->length, piece.data, piece.length);
	t->length += (uint32_t)piece.length;
	return true;
}

void trailers_fini(struct trailers *t)
{
	free(t->lines);
	*t = (struct trailers){0};
}
