/*
 * Idle connections that other loops may take over, so that loops need not each keep their
 * own to every server.
 *
 * A loop offers an idle link by storing it in one of its share's few places. From then on
 * it belongs to whoever swaps it out: its own loop before it does anything with it (lends
 * it, closes it, heeds an event of it), or a thief. The thief gets the socket and nothing
 * else; it takes it out of the owner's epoll set, and posts the link object back, whose
 * slot and memory only the owner can give back.
 */
#ifndef UPSTREAM_OFFER_H
#define UPSTREAM_OFFER_H

#include "upstream/pool.h"

/* The pool's thread: offers the link; false: there is no place. */
bool offer_make(struct pool *, struct link *);
/* The pool's thread: makes the link its own again. false: it was taken over, and will be posted back. */
bool offer_withdraw(struct pool *, struct link *);
/* The pool's thread: offers what is idle while there are places. */
void offer_more(struct pool *, struct member *);
/* Any loop's thread: an idle connection to the server that another loop offers, on a link of this pool, ready for
 * link_begin. Not the only one of a loop that has just used it and will again, unless the server allows no more
 * connections. NULL: there is none, or no memory. */
struct link *offer_take(struct pool *, struct member *);

#endif
