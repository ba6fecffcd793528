/* Idle connections of one loop. */
#include "upstream/pool.h"
#include "base/check.h"
#include <errno.h>
#include <stdlib.h>

enum { FREE_LINKS_KEPT = 64 };

static const int64_t IDLE_NS = 60 * NS_PER_S; /* middleboxes forget longer silence without telling */

static struct pool *create(struct group *g)
{
	struct pool *p = calloc(1, sizeof *p + g->server_count * sizeof p->shares[0]);
	if (!p)
		return NULL;
	p->group = g;
	list_init(&p->by_age);
	for (size_t i = 0; i < g->server_count; i++)
		list_init(&p->shares[i].idle);
	return p;
}

struct pool *pool_get(struct group *g, struct loop *loop, struct blocks *blocks)
{
	MUST(loop->id < g->pool_count);
	struct pool *p = atomic_load_explicit(&g->pools[loop->id], memory_order_relaxed);
	if (!p) {
		p = create(g);
		/* Release: readers of figures see a whole pool. */
		atomic_store_explicit(&g->pools[loop->id], p, memory_order_release);
	}
	if (p) {
		p->loop = loop;
		p->blocks = blocks;
	}
	return p;
}

void pool_close(struct pool *p)
{
	while (!list_is_empty(&p->by_age))
		link_drop(CONTAINER_OF(p->by_age.next, struct link, age));
}

void pool_free(struct pool *p)
{
	struct link *link;
	if (!p)
		return;
	/* A loop that died may have left connections behind: the loop is gone, the sockets are not. */
	LIST_EACH_SAFE (node, &p->by_age) {
		link = CONTAINER_OF(node, struct link, age);
		link_abandon(link);
		free(link);
	}
	while ((link = p->free_links)) {
		p->free_links = link->next_free;
		free(link);
	}
	free(p);
}

void pool_remove(struct pool *p, struct link *link)
{
	list_remove(&link->node);
	list_remove(&link->age);
	p->idle_count--;
	figure_add(&p->shares[link->server].idle_count, -1);
	watch_deadline(&link->stream.watch, NO_DEADLINE);
}

struct link *pool_take(struct pool *p, uint16_t server, bool probe)
{
	struct list *idle = &p->shares[server].idle;
	while (!list_is_empty(idle)) {
		struct link *link = CONTAINER_OF(idle->next, struct link, node);
		if (probe && !link_is_quiet(link)) {
			link_drop(link);
			continue;
		}
		pool_remove(p, link);
		return link;
	}
	return NULL;
}

void pool_put(struct pool *p, struct link *link)
{
	struct server_share *share = &p->shares[link->server];
	if (p->idle_count >= p->group->keepalive)
		link_drop(CONTAINER_OF(p->by_age.next, struct link, age));
	list_append(share->idle.next, &link->node);
	list_append(&p->by_age, &link->age);
	p->idle_count++;
	figure_add(&share->idle_count, 1);
	watch_deadline(&link->stream.watch, p->loop->now_ns + IDLE_NS);
}

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

void pool_add_figures(const struct pool *p, size_t server, struct server_figures *f)
{
	const struct server_share *share = &p->shares[server];
	f->idle += atomic_load_explicit(&share->idle_count, memory_order_relaxed);
	f->requests += atomic_load_explicit(&share->requests, memory_order_relaxed);
	f->failures += atomic_load_explicit(&share->failures, memory_order_relaxed);
}
