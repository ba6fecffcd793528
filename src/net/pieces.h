/* Lists of small stretches of memory, borrowed from the loop's blocks, that hold bytes in order. One thread. */
#ifndef NET_PIECES_H
#define NET_PIECES_H

#include "base/slice.h"
#include "net/blocks.h"
#include <stdint.h>

struct piece {
	struct piece *next;
	uint32_t start, end; /* what is left of the bytes */
	uint32_t room;       /* for bytes */
	char bytes[];
};

struct pieces {
	struct piece *first, *last;
	int64_t bytes;
};

/* An empty piece; NULL: no memory. */
struct piece *piece_take(struct blocks *);
void pieces_append(struct pieces *, struct piece *);
/* Moves all of `more` behind the others. */
void pieces_join(struct pieces *, struct pieces *more);
/* Copies what fits into the last piece, which is made when it is missing or full; returns how much, 0: no memory. */
size_t pieces_put(struct pieces *, struct blocks *, struct slice);
/* There is a piece: its bytes. */
struct slice pieces_first(const struct pieces *);
/* Takes so many of the first piece's bytes; returns it when it is empty then and out of the list, else NULL. */
struct piece *pieces_consume(struct pieces *, size_t bytes);
void pieces_give(struct pieces *, struct blocks *);
/* The same when the blocks may be gone. */
void pieces_free(struct pieces *);
/* Makes all bytes that ever stood in the pieces stand there again. */
void pieces_refill(struct pieces *);

#endif
