/* Windows of seconds, and the names of figures. */
#include "stats/stats.h"
#include "base/check.h"
#include <string.h>

void stats_init(struct stats *s)
{
	memset(s, 0, sizeof *s);
	for (int i = 0; i < STATS_SECONDS; i++)
		atomic_store_explicit(&s->seconds[i].second, -1, memory_order_relaxed);
}

struct stats_second *stats_second(struct stats *s, int64_t now_ns)
{
	int64_t second = now_ns / NS_PER_S;
	struct stats_second *w = &s->seconds[second % STATS_SECONDS];
	if (atomic_load_explicit(&w->second, memory_order_relaxed) == second)
		return w;
	/* Readers skip a second whose number does not fit, so it is taken away while it is emptied. */
	atomic_store_explicit(&w->second, -1, memory_order_release);
	atomic_store_explicit(&w->busy_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->requests, 0, memory_order_relaxed);
	histogram_clear(&w->lag);
	histogram_clear(&w->latency);
	atomic_store_explicit(&w->second, second, memory_order_release);
	return w;
}

/* What the present turn has been busy for and has not yet counted. */
static int64_t unfinished_ns(const struct stats *s, int64_t now_ns)
{
	int64_t since = atomic_load_explicit(&s->status.busy_since_ns, memory_order_relaxed);
	int64_t floor = now_ns - STATS_WINDOW_S * NS_PER_S;
	if (since == 0 || since > now_ns)
		return 0;
	return now_ns - (since < floor ? floor : since);
}

void stats_recent(const struct stats *s, int64_t now_ns, struct stats_recent *ret)
{
	int64_t now = now_ns / NS_PER_S, busy_ns = unfinished_ns(s, now_ns);
	memset(ret, 0, sizeof *ret);
	for (int i = 0; i < STATS_SECONDS; i++) {
		const struct stats_second *w = &s->seconds[i];
		int64_t second = atomic_load_explicit(&w->second, memory_order_acquire);
		if (second < 0 || second <= now - STATS_WINDOW_S || second > now)
			continue;
		busy_ns += atomic_load_explicit(&w->busy_ns, memory_order_relaxed);
		ret->requests += atomic_load_explicit(&w->requests, memory_order_relaxed);
		histogram_view_add(&ret->lag, &w->lag);
		histogram_view_add(&ret->latency, &w->latency);
	}
	/* The window holds nine whole seconds and the begun one. */
	double window_ns = (double)((STATS_WINDOW_S - 1) * NS_PER_S + now_ns % NS_PER_S);
	ret->busy = (double)busy_ns / window_ns;
	if (ret->busy > 1)
		ret->busy = 1;
}

static const struct {
	const char *name, *help;
	bool gauge;
} stats_known[STAT_COUNT] = {
#define COUNTER(name, help) {#name, help, false},
#define GAUGE(name, help) {#name, help, true},
#include "stats/counters.def"
#undef COUNTER
#undef GAUGE
};

const char *stat_name(enum stat_id which)
{
	MUST(which < STAT_COUNT);
	return stats_known[which].name;
}

const char *stat_help(enum stat_id which)
{
	MUST(which < STAT_COUNT);
	return stats_known[which].help;
}

bool stat_is_gauge(enum stat_id which)
{
	MUST(which < STAT_COUNT);
	return stats_known[which].gauge;
}
