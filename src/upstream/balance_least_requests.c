/* The server with the fewest requests in progress for its weight, counted over all loops. The search begins at another
 * server each time, so that equals take turns. */
#include "upstream/balance.h"
#include "upstream/group.h"

static const struct set_entry *choose(struct pick *p, const struct set_tier *tier)
{
	size_t count = tier->end - tier->begin, turn = group_turn(p->group);
	const struct set_entry *best = NULL;
	uint64_t best_active = 0, best_weight = 0;
	for (size_t i = 0; i < count; i++) {
		const struct set_entry *e = &p->set->entries[tier->begin + (turn + i) % count];
		if (!pick_allows(p, e))
			continue;
		uint64_t active = 1 + (uint64_t)atomic_load_explicit(&e->server->active, memory_order_relaxed);
		uint64_t weight = pick_weight(p, e);
		if (best && active * best_weight >= best_active * weight)
			continue;
		best = e;
		best_active = active;
		best_weight = weight;
	}
	return best;
}

const struct balance balance_least_requests = {"least-requests", false, choose};
