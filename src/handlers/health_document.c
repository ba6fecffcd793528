/* Keys and their order are the contract's. */
#include "handlers/health_document.h"
#include "base/check.h"
#include "handlers/health_upstreams.h"
#include <stdio.h>
#include <unistd.h>

/* For `imbalance`: the busiest loop over the mean. */
struct balance_figures {
	double most, sum;
};

static void weigh(struct balance_figures *f, double figure)
{
	f->sum += figure;
	if (figure > f->most)
		f->most = figure;
}

static double imbalance(const struct balance_figures *f, unsigned count)
{
	return f->sum > 0 ? f->most * count / f->sum : 1;
}

static const char *state_text(const struct health_loop *l)
{
	static const char *const texts[] = {
	        [LOOP_STARTING] = "starting",
	        [LOOP_RUNNING] = "running",
	        [LOOP_DRAINING] = "draining",
	        [LOOP_STOPPED] = "stopped",
	};
	MUST(l->state < ARRAY_COUNT(texts));
	return l->stalled_ms ? "stalled" : texts[l->state];
}

static void text_or_null(struct json *j, const char *key, const char *text)
{
	if (text && *text)
		json_text(j, key, slice_of(text));
	else
		json_null(j, key);
}

/* ---- warnings ------------------------------------------------------------------------- */

static void warn_of_loop(const struct health *h, unsigned number, struct json *j)
{
	const struct health_loop *l = &h->loops[number];
	const char *error = h->view->loops[number].error;
	char text[256];
	if (l->stalled_ms)
		snprintf(text, sizeof text, "loop %u has been stalled for %lld ms in route %.80s (handler %.80s)",
		        number, (long long)l->stalled_ms, l->route ? l->route : "-", l->handler ? l->handler : "-");
	else if (l->state == LOOP_STOPPED)
		snprintf(text, sizeof text, "loop %u has stopped: %.160s", number, error ? error : "no reason known");
	else
		return;
	json_text(j, NULL, slice_of(text));
}

static void write_warnings(const struct health *h, struct json *j)
{
	char text[128];
	json_array(j, "warnings");
	if (h->loop_count > h->view->cpus_available) {
		snprintf(text, sizeof text, "%u loops share %u available CPU%s", h->loop_count, h->view->cpus_available,
		        h->view->cpus_available == 1 ? "" : "s");
		json_text(j, NULL, slice_of(text));
	}
	if (server_view_limit_holds(h->view)) {
		snprintf(text, sizeof text, "all %llu connections of max_connections are open: new ones wait",
		        (unsigned long long)h->view->max_connections);
		json_text(j, NULL, slice_of(text));
	}
	for (unsigned i = 0; i < h->loop_count; i++)
		warn_of_loop(h, i, j);
	health_warn_of_upstreams(h->view, j);
	json_end(j);
}

/* ---- loops -------------------------------------------------------------------------------- */

static void write_ms(struct json *j, const char *key, double us)
{
	json_real(j, key, us / 1000, 3);
}

static void write_delays(const struct stats_recent *r, struct json *j)
{
	json_object(j, "lag_ms");
	write_ms(j, "mean", r->lag.count ? (double)r->lag.sum / (double)r->lag.count : 0);
	write_ms(j, "p99", (double)histogram_view_quantile(&r->lag, 0.99));
	write_ms(j, "max", (double)r->lag.max);
	json_end(j);
	json_object(j, "latency_ms");
	write_ms(j, "p50", (double)histogram_view_quantile(&r->latency, 0.50));
	write_ms(j, "p95", (double)histogram_view_quantile(&r->latency, 0.95));
	write_ms(j, "p99", (double)histogram_view_quantile(&r->latency, 0.99));
	json_end(j);
}

/* A stall is counted by the loop when it ends; until then it is added here, so that the figures do not jump. */
static void write_stalls(const struct health_loop *l, const struct stats *s, struct json *j)
{
	int64_t longest_ms = stat_get(s, STAT_longest_stall_us) / 1000;
	json_integer(j, "stalls", stat_get(s, STAT_stalls) + (l->stalled_ms > 0));
	json_integer(j, "longest_stall_ms", l->stalled_ms > longest_ms ? l->stalled_ms : longest_ms);
	if (!l->stalled_ms) {
		json_null(j, "stall");
		return;
	}
	json_object(j, "stall");
	json_integer(j, "ms", l->stalled_ms);
	text_or_null(j, "kind", l->stall.kind);
	text_or_null(j, "syscall", l->stall.syscall);
	text_or_null(j, "route", l->route);
	text_or_null(j, "handler", l->handler);
	json_end(j);
}

static void write_loop(const struct health *h, unsigned number, const struct stats_recent *r, struct json *j)
{
	const struct loop_view *view = &h->view->loops[number];
	const struct stats *s = view->stats;
	json_object(j, NULL);
	json_integer(j, "id", number);
	json_text(j, "state", slice_of(state_text(&h->loops[number])));
	json_integer(j, "connections", stat_get(s, STAT_connections));
	json_integer(j, "idle", stat_get(s, STAT_idle));
	json_integer(j, "parked", stat_get(s, STAT_parked));
	json_integer(j, "active_requests", stat_get(s, STAT_active_requests));
	json_integer(j, "pending_tasks", stat_get(s, STAT_pending_tasks));
	json_integer(j, "queue_depth", loop_view_queued(view));
	json_integer(j, "accepted", stat_get(s, STAT_accepted));
	json_integer(j, "requests", stat_get(s, STAT_requests));
	json_integer(j, "moved_in", stat_get(s, STAT_moved_in));
	json_integer(j, "moved_out", stat_get(s, STAT_moved_out));
	json_real(j, "busy", r->busy, 3);
	write_delays(r, j);
	write_stalls(&h->loops[number], s, j);
	json_integer(j, "bytes_in", stat_get(s, STAT_bytes_in));
	json_integer(j, "bytes_out", stat_get(s, STAT_bytes_out));
	json_end(j);
}

void health_write_loop(const struct health *h, unsigned loop, struct json *j)
{
	struct stats_recent recent;
	MUST(loop < h->loop_count);
	stats_recent(h->view->loops[loop].stats, h->now_ns, &recent);
	write_loop(h, loop, &recent, j);
}

static void write_loops(const struct health *h, struct json *j)
{
	struct balance_figures requests = {0, 0}, busy = {0, 0};
	json_array(j, "loops");
	for (unsigned i = 0; i < h->loop_count; i++) {
		struct stats_recent recent;
		stats_recent(h->view->loops[i].stats, h->now_ns, &recent);
		weigh(&requests, (double)recent.requests);
		weigh(&busy, recent.busy);
		write_loop(h, i, &recent, j);
	}
	json_end(j);
	json_object(j, "imbalance");
	json_real(j, "requests", imbalance(&requests, h->loop_count), 2);
	json_real(j, "busy", imbalance(&busy, h->loop_count), 2);
	json_end(j);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void write_counter(struct json *j, const char *key, const atomic_uint_least64_t *counter)
{
	json_integer(j, key, (int64_t)atomic_load_explicit(counter, memory_order_relaxed));
}

static void write_acceptor(const struct server_view *v, struct json *j)
{
	json_object(j, "acceptor");
	json_text(j, "accept", slice_of(v->accept));
	json_text(j, "dispatch", slice_of(v->dispatch));
	write_counter(j, "accepted", &v->acceptor.accepted);
	write_counter(j, "errors", &v->acceptor.errors);
	write_counter(j, "refused", &v->acceptor.refused);
	write_counter(j, "queue_full", &v->acceptor.queue_full);
	json_end(j);
	/* Apart, so that what was accepted is the sum of what the loops accepted. */
	json_object(j, "control");
	write_counter(j, "accepted", &v->control_acceptor.accepted);
	write_counter(j, "errors", &v->control_acceptor.errors);
	write_counter(j, "refused", &v->control_acceptor.refused);
	json_end(j);
}

static void write_executor(const struct server_view *v, struct json *j)
{
	struct executor_figures f = {0, 0, 0, 0};
	if (v->executor)
		f = executor_figures(v->executor);
	json_object(j, "executor");
	json_integer(j, "threads", f.threads);
	json_integer(j, "active", f.active);
	json_integer(j, "queued", (int64_t)f.queued);
	json_integer(j, "rejected", (int64_t)f.rejected);
	json_end(j);
}

static unsigned count_running(const struct health *h)
{
	unsigned count = 0;
	for (unsigned i = 0; i < h->loop_count; i++)
		count += h->loops[i].state == LOOP_RUNNING || h->loops[i].state == LOOP_DRAINING;
	return count;
}

void health_write(const struct health *h, struct json *j)
{
	const struct server_view *v = h->view;
	json_object(j, NULL);
	json_text(j, "status", slice_of(health_status_text(h->status)));
	write_warnings(h, j);
	json_text(j, "version", slice_of(v->version));
	json_integer(j, "pid", getpid());
	json_real(j, "uptime_s", (double)(h->now_ns - v->started_ns) / (double)NS_PER_S, 1);
	json_integer(j, "generation", v->generation);
	json_integer(j, "loops_configured", v->loop_count);
	json_integer(j, "loops_running", count_running(h));
	json_integer(j, "cpus_available", v->cpus_available);
	write_acceptor(v, j);
	write_loops(h, j);
	write_executor(v, j);
	health_write_upstreams(v, j);
	json_end(j);
}
