/* The server with the fewest requests in progress for its weight, counted over all loops. The search begins at the next
 * server in weighted turns, so that equals take these. */
#include "upstream/balance.h"
#include "upstream/group.h"

static const struct set_entry *choose(struct pick *p, const struct set_tier *tier)
{
	size_t count = tier->end - tier->begin, start = tier->turns[group_turn(p->group) % tier->turn_count];
	const struct set_entry *best = NULL;
	uint64_t best_active = 0, best_weight = 0;
	for (size_t i = 0; i < count; i++) {
		const struct set_entry *e = &p->set->entries[tier->begin + (start + i) % count];
		if (!pick_allows(p, e))
			continue;
		uint64_t active = (uint64_t)atomic_load_explicit(&e->server->active, memory_order_relaxed);
		uint64_t weight = pick_weight(p, e);
		if (best && active * best_weight >= best_active * weight)
			continue;
		best = e;
		best_active = active;
		best_weight = weight;
	}
	return best;
}

const struct balance balance_least_requests = {"least-requests", choose};
