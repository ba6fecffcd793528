/* One writer a figure: the loop's own thread. */
#include "serve/connection_count.h"
#include "serve/exchange.h"
#include "serve/exchange_log.h"

void connection_count_bytes(struct connection *c)
{
	struct stats *stats = c->context->loop->stats;
	stat_add(stats, STAT_bytes_in, (int64_t)(c->stream.bytes_in - c->counted_in));
	stat_add(stats, STAT_bytes_out, (int64_t)(c->stream.bytes_out - c->counted_out));
	c->counted_in = c->stream.bytes_in;
	c->counted_out = c->stream.bytes_out;
}

void connection_count_idle(struct connection *c, bool idle)
{
	if (c->counted_idle != idle)
		stat_add(c->context->loop->stats, STAT_idle, idle ? 1 : -1);
	c->counted_idle = idle;
}

void connection_count_cut(struct connection *c, const char *reason)
{
	stat_add(c->context->loop->stats, STAT_cut, 1);
	exchange_log_cut(c->exchange, reason);
}

void connection_count_answer(struct connection *c)
{
	struct mlserve_exchange *x = c->exchange;
	struct loop *l = c->context->loop;
	int64_t now_ns = clock_now_ns();
	enum stat_id by_class = x->status < 200   ? STAT_answers_1xx
	                        : x->status < 300 ? STAT_answers_2xx
	                        : x->status < 400 ? STAT_answers_3xx
	                        : x->status < 500 ? STAT_answers_4xx
	                                          : STAT_answers_5xx;
	if (x->status) /* else it was cut before it was answered */
		stat_add(l->stats, by_class, 1);
	stat_add(l->stats, x->status >= 500 || x->phase == ANSWER_ABORTED ? STAT_failed : STAT_finished, 1);
	atomic_int_least64_t *requests = &l->second->requests;
	atomic_store_explicit(requests, atomic_load_explicit(requests, memory_order_relaxed) + 1, memory_order_relaxed);
	if (!x->tunnel) /* its end says nothing of how long its answer took */
		histogram_add(&l->second->latency, (uint64_t)((now_ns - x->started_ns) / NS_PER_US));
	c->context->answered_ns = now_ns;
	c->since_ns = now_ns;
}
