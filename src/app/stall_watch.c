/* One look at each loop's status line a period. */
#include "app/stall_watch.h"
#include "base/log.h"
#include <stdlib.h>

enum { LOOKS_A_THRESHOLD = 2, SHORTEST_US = 10000 };

static const char *label(atomic_uintptr_t *name)
{
	const char *text = (const char *)atomic_load_explicit(name, memory_order_relaxed);
	return text ? text : "-";
}

static void look_at(struct stall_watch *w, unsigned i, int64_t now_ns)
{
	struct loop_status *status = &w->view->loops[i].stats->status;
	int64_t since_ns = atomic_load_explicit(&status->busy_since_ns, memory_order_relaxed);
	if (since_ns == 0 || since_ns == w->seen_ns[i] || now_ns - since_ns <= w->view->stall_threshold_ns)
		return;
	w->seen_ns[i] = since_ns;
	log_warn("loop %u: stalled for %lld ms so far by route %s, handler %s", i,
	        (long long)((now_ns - since_ns) / NS_PER_MS), label(&status->route), label(&status->handler));
}

static void on_timer(struct timer *t)
{
	struct stall_watch *w = CONTAINER_OF(t, struct stall_watch, timer);
	int64_t now_ns = clock_now_ns();
	for (unsigned i = 0; i < w->view->loop_count; i++)
		look_at(w, i, now_ns);
	timer_start(w->loop, &w->timer, w->period_us);
}

bool stall_watch_start(struct stall_watch *w, struct loop *l, const struct server_view *view)
{
	*w = (struct stall_watch){.loop = l, .view = view};
	w->seen_ns = calloc(view->loop_count, sizeof *w->seen_ns);
	if (!w->seen_ns)
		return false;
	w->period_us = view->stall_threshold_ns / NS_PER_US / LOOKS_A_THRESHOLD;
	if (w->period_us < SHORTEST_US)
		w->period_us = SHORTEST_US;
	timer_init(&w->timer, on_timer);
	timer_start(l, &w->timer, w->period_us);
	return true;
}

void stall_watch_stop(struct stall_watch *w)
{
	if (!w->seen_ns)
		return;
	timer_stop(w->loop, &w->timer);
	free(w->seen_ns);
	w->seen_ns = NULL;
}
