#include "upstream/offer.h"
#include "base/check.h"
#include "base/fd.h"
#include "event/stress.h"

static const int64_t BUSY_NS = 5 * NS_PER_MS;

bool offer_make(struct pool *p, struct link *l)
{
	struct member_share *share = pool_share(p, l->server);
	for (uint8_t i = 0; i < SHARE_OFFERS; i++) {
		if (atomic_load_explicit(&share->offers[i], memory_order_relaxed))
			continue;
		l->offer = (int8_t)i;
		/* Release: a thief sees the whole link. Only this thread fills places. */
		atomic_store_explicit(&share->offers[i], l, memory_order_release);
		return true;
	}
	return false;
}

bool offer_withdraw(struct pool *p, struct link *l)
{
	struct link *expected = l;
	if (l->offer < 0)
		return true;
	_Atomic(struct link *) *place = &pool_share(p, l->server)->offers[l->offer];
	STRESS_POINT();
	/* The place cannot hold this link again after a thief emptied it: only this thread fills it, after it has heard
	 * here, or by the post, that the link is gone. */
	if (!atomic_compare_exchange_strong_explicit(
	            place, &expected, NULL, memory_order_acq_rel, memory_order_relaxed))
		return false;
	l->offer = -1;
	return true;
}

void offer_more(struct pool *p, struct member *s)
{
	struct member_share *share = pool_share(p, s);
	unsigned free_places = 0;
	for (int i = 0; i < SHARE_OFFERS; i++)
		free_places += !atomic_load_explicit(&share->offers[i], memory_order_relaxed);
	/* The oldest first: the loop itself uses the newest. */
	for (struct list *node = share->idle.previous; free_places && node != &share->idle; node = node->previous) {
		struct link *l = CONTAINER_OF(node, struct link, node);
		if (l->offer >= 0)
			continue;
		offer_make(p, l);
		free_places--;
	}
}

/* The owner's thread: what a thief left of the link. */
static void on_given_back(struct loop *loop, struct post *post)
{
	struct link *l = CONTAINER_OF(post, struct link, given_back);
	struct pool *p = l->pool;
	struct member *s = l->server;
	(void)loop;
	/* One that the loop knows to be lost may be of a member that is gone. */
	if (l->is_lost) {
		p->taken_over--;
	} else {
		pool_forget(p, l);
		offer_more(p, s);
	}
	link_discard(l);
	queue_serve(p);
}

/* A loop that is at work would take another's connection in its turn, and so on. */
static bool may_take(const struct pool *p, const struct member *s, const struct member_share *share)
{
	if (member_is_crowded(s))
		return true;
	return atomic_load_explicit(&share->idle_count, memory_order_relaxed) > 1 ||
	       p->loop->now_ns - atomic_load_explicit(&share->taken_ns, memory_order_relaxed) > BUSY_NS;
}

static struct link *swap_out(struct member_share *share)
{
	for (int i = 0; i < SHARE_OFFERS; i++) {
		_Atomic(struct link *) *place = &share->offers[i];
		struct link *l = NULL;
		if (atomic_load_explicit(place, memory_order_relaxed))
			l = atomic_exchange_explicit(place, NULL, memory_order_seq_cst);
		if (l)
			return l;
	}
	return NULL;
}

struct link *offer_take(struct pool *p, struct member *s)
{
	struct link *taken = NULL;
	for (unsigned i = 1; !taken && i < s->share_count; i++) {
		struct member_share *share = &s->shares[(p->loop->id + i) % s->share_count];
		taken = may_take(p, s, share) ? swap_out(share) : NULL;
	}
	if (!taken)
		return NULL;
	STRESS_POINT();
	struct loop *owner = taken->stream.loop;
	int fd = taken->stream.fd;
	/* Its own epoll set must not report it any more: the number may be used again after it was closed here. */
	loop_unregister_from(owner, fd);
	struct link *l = link_adopt(p, s, fd);
	taken->given_back.run = on_given_back;
	STRESS_POINT();
	loop_post_always(owner, &taken->given_back);
	return l;
}
