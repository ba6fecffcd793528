/* Two servers by chance, weighted, and of these the one with fewer requests in progress for its weight: nearly as even
 * as least-requests, and no search over all. */
#include "upstream/balance.h"
#include "upstream/group.h"

static const struct set_entry *by_chance(struct pick *p, const struct set_tier *tier)
{
	return &p->set->entries[tier->begin + tier->turns[pick_random(p) % tier->turn_count]];
}

/* Of equals the first one is taken, which chance named by its weight. */
static bool is_better(const struct pick *p, const struct set_entry *a, const struct set_entry *b)
{
	uint64_t active_a = (uint64_t)atomic_load_explicit(&a->server->active, memory_order_relaxed);
	uint64_t active_b = (uint64_t)atomic_load_explicit(&b->server->active, memory_order_relaxed);
	return active_a * pick_weight(p, b) < active_b * pick_weight(p, a);
}

static const struct set_entry *choose(struct pick *p, const struct set_tier *tier)
{
	const struct set_entry *a = by_chance(p, tier), *b = by_chance(p, tier);
	/* Two of many are seldom the same; of two they are half of the time. */
	for (int i = 0; i < 4 && a == b; i++)
		b = by_chance(p, tier);
	bool takes_a = pick_allows(p, a), takes_b = pick_allows(p, b);
	if (takes_a && takes_b)
		return is_better(p, b, a) ? b : a;
	if (takes_a || takes_b)
		return takes_a ? a : b;
	return balance_least_requests.choose(p, tier);
}

const struct balance balance_two_choices = {"two-choices", choose};
