/*
 * Pipes through which the kernel moves bytes from one socket to another without copying them (splice(2)). One is
 * needed only while bytes stand in it, so a few serve a loop, however many long bodies pass. One thread.
 */
#ifndef NET_PIPES_H
#define NET_PIPES_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PIPES_MOST = 16,               /* of a loop: as many peers may stand still with bytes in one */
	PIPE_BYTES = 1 << 20,          /* what an unprivileged process may ask for, unless the system says otherwise */
	PIPE_LEAST_BYTES = 256 * 1024, /* with less, copying costs no more */
};

struct pipe {
	struct pipes *pool;
	int read_end, write_end; /* -1: not made */
	size_t capacity;
	size_t held; /* bytes in it; whoever moves some counts */
	bool is_taken;
};

struct pipes {
	struct pipe all[PIPES_MOST];
	unsigned skips; /* so many calls more make no pipe, as the last try failed */
};

void pipes_init(struct pipes *);
/* All were given back. */
void pipes_fini(struct pipes *);
/* An empty pipe of PIPE_LEAST_BYTES at least. NULL: there is none now; bytes can be copied all the same. */
struct pipe *pipes_take(struct pipes *);
/* One with bytes in it is closed, and they are lost. */
void pipes_give(struct pipe *);

#endif
