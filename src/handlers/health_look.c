/* From the figures of all loops to what they mean. */
#include "base/check.h"
#include "handlers/health_document.h"
#include "handlers/health_upstreams.h"

static int64_t stalled_ms(const struct server_view *view, const struct loop_status *s, int64_t now_ns)
{
	int64_t since_ns = atomic_load_explicit(&s->busy_since_ns, memory_order_relaxed);
	if (since_ns == 0 || now_ns - since_ns <= view->stall_threshold_ns)
		return 0;
	int64_t ms = (now_ns - since_ns) / NS_PER_MS;
	return ms > 0 ? ms : 1;
}

static void look_at_loop(struct health *h, unsigned number, const struct stats *self)
{
	const struct stats *stats = h->view->loops[number].stats;
	const struct loop_status *s = &stats->status;
	struct health_loop *l = &h->loops[number];
	int64_t cpu_before_ns = l->cpu_ns;
	*l = (struct health_loop){.cpu_ns = cpu_before_ns};
	/* The reason why a loop stopped was stored before this state. */
	l->state = (enum loop_state)atomic_load_explicit(&s->state, memory_order_acquire);
	if (stats == self || (l->state != LOOP_RUNNING && l->state != LOOP_DRAINING))
		return;
	l->stalled_ms = stalled_ms(h->view, s, h->now_ns);
	if (!l->stalled_ms)
		return;
	h->stalled_count++;
	l->route = (const char *)atomic_load_explicit(&s->route, memory_order_relaxed);
	l->handler = (const char *)atomic_load_explicit(&s->handler, memory_order_relaxed);
}

static bool can_take_work(const struct health_loop *l)
{
	return l->state == LOOP_RUNNING && !l->stalled_ms;
}

static bool is_in_trouble(const struct health_loop *l)
{
	return l->state == LOOP_STOPPED || l->stalled_ms;
}

static enum health_status judge(const struct health *h)
{
	enum server_phase phase = (enum server_phase)atomic_load_explicit(&h->view->phase, memory_order_relaxed);
	unsigned able = 0, troubled = 0;
	if (phase == SERVER_STARTING)
		return HEALTH_STARTING;
	if (phase == SERVER_DRAINING)
		return HEALTH_DRAINING;
	for (unsigned i = 0; i < h->loop_count; i++) {
		able += can_take_work(&h->loops[i]);
		troubled += is_in_trouble(&h->loops[i]);
	}
	if (able == 0)
		return HEALTH_FAILING;
	return troubled || health_upstream_is_down(h->view) ? HEALTH_DEGRADED : HEALTH_OK;
}

static void look(struct health *h, const struct stats *self, int64_t now_ns)
{
	h->now_ns = now_ns;
	h->stalled_count = 0;
	for (unsigned i = 0; i < h->loop_count; i++)
		look_at_loop(h, i, self);
	h->status = judge(h);
}

static int tid_of(const struct health *h, unsigned number)
{
	return atomic_load_explicit(&h->view->loops[number].stats->status.tid, memory_order_relaxed);
}

void health_look(struct health *h, const struct server_view *view, const struct stats *self, int64_t now_ns)
{
	h->view = view;
	h->loop_count = view->loop_count;
	for (unsigned i = 0; i < h->loop_count; i++)
		h->loops[i].cpu_ns = -1;
	look(h, self, now_ns);
	for (unsigned i = 0; i < h->loop_count; i++) {
		if (!h->loops[i].stalled_ms)
			continue;
		h->loops[i].cpu_ns = stall_cpu_ns(tid_of(h, i));
		stall_explain(tid_of(h, i), -1, 0, &h->loops[i].stall);
	}
}

void health_look_again(struct health *h, const struct stats *self, int64_t now_ns)
{
	int64_t elapsed_ns = now_ns - h->now_ns;
	look(h, self, now_ns);
	for (unsigned i = 0; i < h->loop_count; i++)
		if (h->loops[i].stalled_ms)
			stall_explain(tid_of(h, i), h->loops[i].cpu_ns, elapsed_ns, &h->loops[i].stall);
}

const char *health_status_text(enum health_status status)
{
	static const char *const texts[] = {"ok", "degraded", "failing", "draining", "starting"};
	MUST(status < ARRAY_COUNT(texts));
	return texts[status];
}

bool health_is_good(enum health_status status)
{
	return status == HEALTH_OK || status == HEALTH_DEGRADED;
}
