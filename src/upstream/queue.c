#include "upstream/queue.h"
#include "base/check.h"
#include "event/stress.h"
#include "upstream/pool.h"

enum { TICK_US = 50000 };

static struct pool *pool_of(struct queue *q)
{
	return CONTAINER_OF(q, struct pool, queue);
}

static void on_wake(struct loop *l, struct post *post)
{
	struct queue *q = CONTAINER_OF(post, struct queue, wake_post);
	(void)l;
	/* Before looking: what is freed from now on is told again. */
	atomic_store_explicit(&q->wake_is_queued, false, memory_order_seq_cst);
	queue_serve(pool_of(q));
}

/* The loop whose first waiter is the oldest, among those that were not woken yet. NULL: none. */
static struct pool *find_oldest(struct group *g)
{
	struct pool *oldest = NULL;
	int64_t oldest_ns = INT64_MAX;
	for (unsigned i = 0; i < g->loop_count; i++) {
		struct queue *q = &g->pools[i]->queue;
		int64_t since_ns = atomic_load_explicit(&q->oldest_ns, memory_order_seq_cst);
		if (since_ns >= oldest_ns || atomic_load_explicit(&q->wake_is_queued, memory_order_seq_cst))
			continue;
		oldest = g->pools[i];
		oldest_ns = since_ns;
	}
	return oldest;
}

/* The look after joining: a loop that is awake would always come before one that has to be woken, so whoever waits
 * longer is woken instead. */
static void on_again(struct task *t)
{
	struct pool *p = pool_of(CONTAINER_OF(t, struct queue, again));
	if (find_oldest(p->group) == p)
		queue_serve(p);
	else
		queue_wake(p->group);
}

static void serve_waiters(struct pool *, bool all);

static void on_tick(struct timer *t)
{
	serve_waiters(pool_of(CONTAINER_OF(t, struct queue, tick)), true);
}

void queue_init(struct pool *p)
{
	struct queue *q = &p->queue;
	list_init(&q->waiters);
	atomic_init(&q->oldest_ns, INT64_MAX);
	atomic_init(&q->wake_is_queued, false);
	q->wake_post.run = on_wake;
	task_init(&q->again, on_again);
	timer_init(&q->tick, on_tick);
}

void queue_fini(struct pool *p)
{
	MUST(list_is_empty(&p->queue.waiters));
	task_cancel(&p->queue.again);
	timer_stop(p->loop, &p->queue.tick);
}

/* After the list changed. */
static void note_oldest(struct queue *q)
{
	int64_t oldest_ns = INT64_MAX;
	/* Others need not stand behind one that nobody may be able to serve. */
	LIST_EACH (node, &q->waiters) {
		const struct waiter *w = CONTAINER_OF(node, struct waiter, node);
		oldest_ns = w->is_picky ? INT64_MAX - 1 : w->since_ns;
		if (!w->is_picky)
			break;
	}
	atomic_store_explicit(&q->oldest_ns, oldest_ns, memory_order_seq_cst);
}

bool queue_add(struct pool *p, struct waiter *w, int64_t timeout_ns)
{
	struct group *g = p->group;
	/* Sequentially consistent: counted before it looks once more, as places are freed before the count is read. */
	int waiting = atomic_load_explicit(&g->waiting, memory_order_relaxed);
	do
		if (waiting >= (int)g->queue)
			return false;
	while (!atomic_compare_exchange_weak_explicit(
	        &g->waiting, &waiting, waiting + 1, memory_order_seq_cst, memory_order_relaxed));
	w->since_ns = p->loop->now_ns;
	w->deadline_ns = w->since_ns + timeout_ns;
	list_append(&p->queue.waiters, &w->node);
	note_oldest(&p->queue);
	loop_defer(p->loop, &p->queue.again);
	if (!timer_is_running(&p->queue.tick))
		timer_start(p->loop, &p->queue.tick, TICK_US);
	return true;
}

void queue_remove(struct pool *p, struct waiter *w)
{
	list_remove(&w->node);
	note_oldest(&p->queue);
	atomic_fetch_sub_explicit(&p->group->waiting, 1, memory_order_seq_cst);
}

/* true: the waiter is gone. */
static bool serve_one(struct pool *p, struct waiter *w)
{
	bool is_late = p->loop->now_ns >= w->deadline_ns;
	if (is_late)
		w->expired(w);
	else if (!w->retry(w))
		return false;
	atomic_fetch_sub_explicit(&p->group->waiting, 1, memory_order_seq_cst);
	return true;
}

/* All of them now: those that come back while they are served belong to the next round. */
static void take_round(struct queue *q, struct list *round)
{
	list_init(round);
	if (list_is_empty(&q->waiters))
		return;
	list_append(&q->waiters, round);
	list_remove(&q->waiters);
}

/* Puts those that still wait back, before what came meanwhile. */
static void put_back(struct queue *q, struct list *round)
{
	struct list *node;
	while (!list_is_empty(round)) {
		node = round->previous;
		list_remove(node);
		list_append(q->waiters.next, node);
	}
}

/* Retries those that wait, until nobody more can be served; with `all` it looks at every deadline too. */
static void serve_waiters(struct pool *p, bool all)
{
	struct queue *q = &p->queue;
	struct list round, kept, *node;
	bool may_serve = true;
	if (p->is_closed)
		return;
	/* What was counted here comes before what is looked at now, see queue_wake. */
	atomic_thread_fence(memory_order_seq_cst);
	take_round(q, &round);
	list_init(&kept);
	while ((may_serve || all) && (node = list_take_first(&round))) {
		struct waiter *w = CONTAINER_OF(node, struct waiter, node);
		bool is_picky = w->is_picky;
		if ((may_serve || p->loop->now_ns >= w->deadline_ns) && serve_one(p, w))
			continue;
		may_serve &= is_picky;
		list_append(&kept, node);
	}
	put_back(q, &round);
	put_back(q, &kept);
	note_oldest(q);
	if (list_is_empty(&q->waiters))
		queue_wake(p->group);
	else if (!timer_is_running(&q->tick))
		timer_start(p->loop, &q->tick, TICK_US);
}

void queue_serve(struct pool *p)
{
	serve_waiters(p, false);
}

void queue_wake(struct group *g)
{
	if (atomic_load_explicit(&g->waiting, memory_order_seq_cst) == 0)
		return;
	struct pool *oldest = find_oldest(g);
	STRESS_POINT();
	if (oldest && !atomic_exchange_explicit(&oldest->queue.wake_is_queued, true, memory_order_seq_cst))
		loop_post_always(
		        atomic_load_explicit(&oldest->attached, memory_order_acquire), &oldest->queue.wake_post);
}
