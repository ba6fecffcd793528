/* What all policies ask of a server. */
#include "upstream/balance.h"
#include "base/hash.h"
#include "upstream/group.h"

enum { WEIGHT_ONE = 1024, SLOWEST = WEIGHT_ONE / 64 };

bool pick_was_tried(const struct pick *p, const struct member *s)
{
	for (size_t i = 0; i < p->tried_count; i++)
		if (p->tried[i] == s)
			return true;
	return false;
}

bool pick_can_serve(struct pick *p, const struct set_entry *e)
{
	const struct member *s = e->server;
	if (atomic_load_explicit(&s->is_failing, memory_order_relaxed))
		return false;
	if (member_is_ejected(s, p->now_ns) && p->set->taker_count > 1)
		return false;
	if (p->lost_trial && atomic_load_explicit(&s->ejected_until_ns, memory_order_relaxed) != 0)
		return false;
	if (pick_was_tried(p, s)) {
		p->saw_tried = true;
		return false;
	}
	bool full = member_is_full(s);
	p->saw_full |= full;
	return !full;
}

uint64_t pick_weight(const struct pick *p, const struct set_entry *e)
{
	uint64_t weight = (uint64_t)e->weight * WEIGHT_ONE;
	if (p->group->slow_start_ns == 0)
		return weight;
	int64_t since = atomic_load_explicit(&e->server->up_since_ns, memory_order_relaxed);
	int64_t up_ms = (p->now_ns - since) / NS_PER_MS, all_ms = p->group->slow_start_ns / NS_PER_MS;
	if (since == 0 || up_ms >= all_ms)
		return weight;
	uint64_t share = up_ms > 0 ? (uint64_t)(up_ms * WEIGHT_ONE / all_ms) : 0;
	return e->weight * (share > SLOWEST ? share : SLOWEST);
}

/* SplitMix64. */
uint64_t pick_random(struct pick *p)
{
	*p->random += UINT64_C(0x9e3779b97f4a7c15);
	return hash_pair(*p->random, 0);
}
