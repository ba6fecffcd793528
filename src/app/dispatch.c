/*
 * A connection that was assigned and not yet taken says nothing of load while its loop
 * sleeps: it is being woken, and until then connections, counted at the decision, tell
 * the loops apart. The queue of a loop that has not come round for long is load.
 */
#include "app/dispatch.h"
#include <stdlib.h>
#include <sys/random.h>

static const int64_t LONG_TURN_NS = 20 * NS_PER_MS, LATE_LOAD = 1000000;

bool dispatch_init(struct dispatch *d, enum dispatch_policy policy, struct loop_view *views, unsigned count)
{
	*d = (struct dispatch){.policy = policy, .views = views, .count = count};
	d->chosen = calloc(count, sizeof *d->chosen);
	if (getrandom(&d->random, sizeof d->random, GRND_NONBLOCK) != sizeof d->random)
		d->random = (uint64_t)clock_now_ns();
	d->random |= 1;
	return d->chosen != NULL;
}

void dispatch_fini(struct dispatch *d)
{
	free(d->chosen);
	d->chosen = NULL;
}

void dispatch_look(struct dispatch *d, int64_t now_ns)
{
	d->now_ns = now_ns;
}

static int64_t load_of(const struct dispatch *d, unsigned i)
{
	const struct stats *stats = d->views[i].stats;
	int64_t busy_since = atomic_load_explicit(&stats->status.busy_since_ns, memory_order_relaxed);
	bool late = busy_since && d->now_ns - busy_since > LONG_TURN_NS;
	/* One that may be stuck comes last: others may still count a request that they have just answered. */
	return stat_get(stats, STAT_active_requests) + (late ? LATE_LOAD + loop_view_queued(&d->views[i]) : 0);
}

static bool is_open(const struct dispatch *d, unsigned i, const bool *skip)
{
	return !skip[i] && atomic_load_explicit(&d->views[i].stats->status.state, memory_order_seq_cst) == LOOP_RUNNING;
}

/* Whether a is a better choice than b. */
static bool is_better(const struct dispatch *d, unsigned a, unsigned b, bool by_load)
{
	if (by_load) {
		int64_t load_a = load_of(d, a), load_b = load_of(d, b);
		if (load_a != load_b)
			return load_a < load_b;
	}
	int64_t connections_a = loop_view_connections(&d->views[a]),
	        connections_b = loop_view_connections(&d->views[b]);
	if (connections_a != connections_b)
		return connections_a < connections_b;
	return d->chosen[a] < d->chosen[b];
}

static int least(const struct dispatch *d, const bool *skip, bool by_load)
{
	int best = DISPATCH_NONE;
	for (unsigned i = 0; i < d->count; i++)
		if (is_open(d, i, skip) && (best == DISPATCH_NONE || is_better(d, i, (unsigned)best, by_load)))
			best = (int)i;
	return best;
}

static int round_robin(struct dispatch *d, const bool *skip)
{
	for (unsigned i = 0; i < d->count; i++) {
		unsigned at = (d->next + i) % d->count;
		if (is_open(d, at, skip)) {
			d->next = at + 1;
			return (int)at;
		}
	}
	return DISPATCH_NONE;
}

/* xorshift64*: spread matters here, secrecy does not. */
static uint64_t next_random(struct dispatch *d)
{
	d->random ^= d->random >> 12;
	d->random ^= d->random << 25;
	d->random ^= d->random >> 27;
	return d->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* The open loop of that rank, from 0. */
static int open_at(const struct dispatch *d, const bool *skip, unsigned rank)
{
	for (unsigned i = 0; i < d->count; i++)
		if (is_open(d, i, skip) && rank-- == 0)
			return (int)i;
	return DISPATCH_NONE;
}

static unsigned count_open(const struct dispatch *d, const bool *skip)
{
	unsigned open = 0;
	for (unsigned i = 0; i < d->count; i++)
		open += is_open(d, i, skip);
	return open;
}

static int random_one(struct dispatch *d, const bool *skip)
{
	unsigned open = count_open(d, skip);
	return open ? open_at(d, skip, (unsigned)(next_random(d) % open)) : DISPATCH_NONE;
}

static int two_choices(struct dispatch *d, const bool *skip)
{
	unsigned open = count_open(d, skip);
	if (open < 2)
		return random_one(d, skip);
	unsigned a = (unsigned)(next_random(d) % open), b = (unsigned)(next_random(d) % (open - 1));
	int first = open_at(d, skip, a), second = open_at(d, skip, b >= a ? b + 1 : b);
	/* One may have stopped since they were counted. */
	if (first == DISPATCH_NONE || second == DISPATCH_NONE)
		return first == DISPATCH_NONE ? second : first;
	return is_better(d, (unsigned)second, (unsigned)first, true) ? second : first;
}

int dispatch_pick(struct dispatch *d, const bool *skip)
{
	int picked = DISPATCH_NONE;
	switch (d->policy) {
	case DISPATCH_LEAST_LOAD:
		picked = least(d, skip, true);
		break;
	case DISPATCH_LEAST_CONNECTIONS:
		picked = least(d, skip, false);
		break;
	case DISPATCH_ROUND_ROBIN:
		picked = round_robin(d, skip);
		break;
	case DISPATCH_TWO_CHOICES:
		picked = two_choices(d, skip);
		break;
	case DISPATCH_RANDOM:
		picked = random_one(d, skip);
		break;
	}
	if (picked != DISPATCH_NONE) {
		d->chosen[picked] = ++d->decisions;
		atomic_fetch_add_explicit(&d->views[picked].assigned, 1, memory_order_relaxed);
	}
	return picked;
}

void dispatch_undo(struct dispatch *d, int loop)
{
	atomic_fetch_sub_explicit(&d->views[loop].assigned, 1, memory_order_relaxed);
}
