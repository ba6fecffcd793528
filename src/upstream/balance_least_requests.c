/* The server with the fewest requests in progress for its weight, counted over all loops. The search begins at another
 * server each time, so that equals take turns. */
#include "upstream/balance.h"
#include "upstream/group.h"

static bool pick(struct group *g, const uint16_t *tried, size_t tried_count, uint16_t *ret_server)
{
	size_t turn = atomic_fetch_add_explicit(&g->ticket, 1, memory_order_relaxed);
	const struct group_server *best = NULL;
	int64_t best_active = 0;
	for (size_t i = 0; i < g->server_count; i++) {
		uint16_t server = (uint16_t)((turn + i) % g->server_count);
		const struct group_server *candidate = &g->servers[server];
		if (balance_was_tried(tried, tried_count, server))
			continue;
		int64_t active = 1 + atomic_load_explicit(&candidate->active, memory_order_relaxed);
		if (best && active * best->weight >= best_active * candidate->weight)
			continue;
		best = candidate;
		best_active = active;
		*ret_server = server;
	}
	return best != NULL;
}

const struct balance balance_least_requests = {"least-requests", pick};
