/* Idle connections of one loop, and the set of servers that it goes by. */
#include "upstream/pool.h"
#include "base/check.h"
#include "upstream/offer.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

enum { FREE_LINKS_KEPT = 64 };

/* In hundredths of a retry. */
enum { RETRY = 100, TOKENS_FULL = 20 * RETRY, RETRIES_A_SECOND = 3 };

static const int64_t IDLE_NS = 60 * NS_PER_S; /* middleboxes forget longer silence without telling */

/* ---- the set ------------------------------------------------------------------------------- */

/* Connections to servers that are gone may not be lent again, and must not keep these alive. */
static void retire_connections(struct pool *p)
{
	LIST_EACH_SAFE (node, &p->by_age) {
		struct link *l = CONTAINER_OF(node, struct link, age);
		if (atomic_load_explicit(&l->server->is_retired, memory_order_relaxed))
			link_drop(l);
	}
}

static void take_set(struct pool *p)
{
	/* Acquire: the set and its servers are seen whole. */
	struct member_set *set = atomic_exchange_explicit(&p->coming, NULL, memory_order_seq_cst);
	if (!set)
		return;
	struct member_set *before = p->set;
	p->set = set;
	/* What is idle at members that are gone goes before the last that keeps them alive. */
	if (p->loop && !p->is_closed)
		retire_connections(p);
	set_release(before);
	if (p->loop)
		queue_serve(p);
}

static void on_set(struct loop *l, struct post *post)
{
	struct pool *p = CONTAINER_OF(post, struct pool, set_post);
	(void)l;
	atomic_store_explicit(&p->set_post_is_queued, false, memory_order_seq_cst);
	take_set(p);
}

void pool_send_set(struct pool *p, struct member_set *set)
{
	set_hold(set);
	set_release(atomic_exchange_explicit(&p->coming, set, memory_order_seq_cst));
	/* A loop that attaches now looks for the set after it has said so. */
	struct loop *loop = atomic_load_explicit(&p->attached, memory_order_seq_cst);
	if (loop && !atomic_exchange_explicit(&p->set_post_is_queued, true, memory_order_seq_cst))
		loop_post_always(loop, &p->set_post);
}

/* ---- life ------------------------------------------------------------------------------------- */

struct pool *pool_create(struct group *g, unsigned loop_id)
{
	struct pool *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->group = g;
	p->random = (uint64_t)clock_now_ns() + loop_id;
	list_init(&p->by_age);
	p->set_post.run = on_set;
	p->retry_tokens = TOKENS_FULL;
	p->retry_filled_ns = clock_now_ns();
	queue_init(p);
	return p;
}

struct pool *pool_get(struct group *g, struct loop *loop, struct blocks *blocks)
{
	MUST(loop->id < g->loop_count);
	struct pool *p = g->pools[loop->id];
	if (p->loop)
		return p;
	p->loop = loop;
	p->blocks = blocks;
	atomic_store_explicit(&p->attached, loop, memory_order_seq_cst);
	take_set(p);
	return p;
}

/* A thief may have swapped a link out and not posted it yet: it does so at once, but in another thread. */
static void await_taken_over(struct pool *p)
{
	while (p->taken_over > 0) {
		loop_run_posts(p->loop);
		if (p->taken_over > 0)
			sched_yield();
	}
}

void pool_close(struct pool *p)
{
	p->is_closed = true;
	queue_fini(p);
	while (!list_is_empty(&p->by_age))
		link_drop(CONTAINER_OF(p->by_age.next, struct link, age));
	await_taken_over(p);
}

void pool_free(struct pool *p)
{
	struct link *link;
	if (!p)
		return;
	/* A loop that died may have left connections behind: the loop is gone, the sockets are not. */
	LIST_EACH_SAFE (node, &p->by_age) {
		link = CONTAINER_OF(node, struct link, age);
		if (offer_withdraw(p, link))
			link_abandon(link);
		free(link);
	}
	while ((link = p->free_links)) {
		p->free_links = link->next_free;
		free(link);
	}
	set_release(atomic_load_explicit(&p->coming, memory_order_acquire));
	set_release(p->set);
	free(p);
}

/* ---- idle connections ---------------------------------------------------------------------- */

void pool_forget(struct pool *p, struct link *link)
{
	list_remove(&link->node);
	list_remove(&link->age);
	p->idle_count--;
	figure_add(&pool_share(p, link->server)->idle_count, -1);
	watch_deadline(&link->stream.watch, NO_DEADLINE);
}

bool pool_remove(struct pool *p, struct link *link)
{
	/* Until it is posted back events of it may come: the other loop has yet to take it out of this one's set. */
	if (link->is_lost)
		return false;
	bool is_ours = offer_withdraw(p, link);
	pool_forget(p, link);
	link->is_lost = !is_ours;
	p->taken_over += link->is_lost;
	return is_ours;
}

struct link *pool_take(struct pool *p, struct member *s, bool probe)
{
	struct list *idle = &pool_share(p, s)->idle;
	while (!list_is_empty(idle)) {
		struct link *link = CONTAINER_OF(idle->next, struct link, node);
		if (!pool_remove(p, link))
			continue;
		atomic_store_explicit(&pool_share(p, s)->taken_ns, p->loop->now_ns, memory_order_relaxed);
		if (probe ? link_is_quiet(link) : link_has_no_input(link))
			return link;
		link_discard_open(link);
	}
	return NULL;
}

bool pool_drop_oldest(struct pool *p)
{
	if (list_is_empty(&p->by_age))
		return false;
	link_drop(CONTAINER_OF(p->by_age.next, struct link, age));
	return true;
}

void pool_put(struct pool *p, struct link *link)
{
	struct member_share *share = pool_share(p, link->server);
	if (p->idle_count >= p->group->keepalive)
		pool_drop_oldest(p);
	list_append(share->idle.next, &link->node);
	list_append(&p->by_age, &link->age);
	p->idle_count++;
	figure_add(&share->idle_count, 1);
	watch_deadline(&link->stream.watch, p->loop->now_ns + IDLE_NS);
	/* What no other loop could get at must not take up what the server allows to all of them. */
	if (!offer_make(p, link) && member_is_crowded(link->server))
		link_drop(link);
}

/* ---- link objects --------------------------------------------------------------------------- */

struct link *pool_link(struct pool *p)
{
	struct link *link = p->free_links;
	if (!link)
		return calloc(1, sizeof *link);
	p->free_links = link->next_free;
	p->free_count--;
	return link;
}

void pool_give_link(struct pool *p, struct link *link)
{
	if (p->free_count >= FREE_LINKS_KEPT) {
		free(link);
		return;
	}
	link->next_free = p->free_links;
	p->free_links = link;
	p->free_count++;
}

/* ---- retries ----------------------------------------------------------------------------------- */

void pool_count_request(struct pool *p)
{
	p->retry_tokens += p->group->retry_percent;
	if (p->retry_tokens > TOKENS_FULL)
		p->retry_tokens = TOKENS_FULL;
}

bool pool_may_retry(struct pool *p)
{
	int64_t now_ns = p->loop->now_ns, passed_ms = (now_ns - p->retry_filled_ns) / NS_PER_MS;
	if (p->group->retry_percent >= 100)
		return true;
	p->retry_tokens += passed_ms * RETRIES_A_SECOND * RETRY / 1000;
	if (p->retry_tokens > TOKENS_FULL)
		p->retry_tokens = TOKENS_FULL;
	p->retry_filled_ns = passed_ms > 0 ? now_ns : p->retry_filled_ns;
	if (p->retry_tokens < RETRY)
		return false;
	p->retry_tokens -= RETRY;
	return true;
}
