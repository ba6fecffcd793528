/*
 * What one loop keeps for one group: its set of servers, idle kept-alive connections, free
 * link objects, requests that wait for a server, the budget of retries. Used by its loop's
 * thread only, but for what is marked.
 *
 * Connections are lent newest first, so that the surplus of a quiet hour grows old and
 * goes. An idle one is watched: it is dropped at once when its server closes it, resets
 * it or sends anything. Other loops may take idle ones over: see upstream/offer.h.
 */
#ifndef UPSTREAM_POOL_H
#define UPSTREAM_POOL_H

#include "upstream/group.h"
#include "upstream/link.h"
#include "upstream/queue.h"

struct pool {
	struct group *group;
	_Atomic(struct loop *) attached; /* the loop, once it has used the pool */
	struct loop *loop;
	struct blocks *blocks;
	struct member_set *set;
	struct list by_age; /* idle connections of all servers, oldest first */
	unsigned idle_count;
	struct link *free_links;
	unsigned free_count;
	unsigned taken_over; /* connections that other loops took, whose link objects have not come back yet */
	uint64_t random;
	int64_t retry_tokens, retry_filled_ns; /* see pool_may_retry */
	struct queue queue;

	/* A newer set, from the control thread; the post is on its way while it is queued. */
	_Atomic(struct member_set *) coming;
	struct post set_post;
	atomic_bool set_post_is_queued;
	bool is_closed;
};

/* Control thread. NULL: no memory. */
struct pool *pool_create(struct group *, unsigned loop_id);
/* Control thread, after the loop ended. NULL is fine. */
void pool_free(struct pool *);
/* Control thread: the group has a newer set. */
void pool_send_set(struct pool *, struct member_set *);

/* The loop's pool of the group, made ready on first use. */
struct pool *pool_get(struct group *, struct loop *, struct blocks *);
/* Closes what is idle; before the loop ends. */
void pool_close(struct pool *);

static inline struct member_share *pool_share(const struct pool *p, struct member *s)
{
	return &s->shares[p->loop->id];
}

/* An idle connection to the server, or NULL. One system call makes sure that nothing came on it since the loop last
 * looked, which would be taken for the answer; with `probe` a dearer one, that it was not closed either: for requests
 * that could not be repeated. */
struct link *pool_take(struct pool *, struct member *, bool probe);
/* Keeps an open connection with nothing to read or write; the oldest one is closed when there are enough. */
void pool_put(struct pool *, struct link *);
/* Takes an idle connection out; the link is the caller's. false: another loop has taken it over. */
bool pool_remove(struct pool *, struct link *);
/* Closes the connection that has been idle longest. false: there is none. */
bool pool_drop_oldest(struct pool *);
/* For the room: takes an idle link out of the lists, whoever owns it. */
void pool_forget(struct pool *, struct link *);

/* A link object, zeroed but for what link_open sets anyway. NULL: no memory. */
struct link *pool_link(struct pool *);
void pool_give_link(struct pool *, struct link *);

/* A request came: the budget of retries grows by its share. */
void pool_count_request(struct pool *);
/* Whether a retry is within the budget, which it then takes from: retry_budget per cent of the requests, and a few a
 * second whatever their number. */
bool pool_may_retry(struct pool *);

#endif
