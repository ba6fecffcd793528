/* In turns, by weight: the schedule was laid out when the group was made; the ticket is shared, so turns hold over all
 * loops. */
#include "upstream/balance.h"
#include "upstream/group.h"

static bool pick(struct group *g, const uint16_t *tried, size_t tried_count, uint16_t *ret_server)
{
	size_t turn = atomic_fetch_add_explicit(&g->ticket, 1, memory_order_relaxed);
	for (size_t i = 0; i < g->schedule_length; i++) {
		uint16_t server = g->schedule[(turn + i) % g->schedule_length];
		if (balance_was_tried(tried, tried_count, server))
			continue;
		*ret_server = server;
		return true;
	}
	return false;
}

const struct balance balance_round_robin = {"round-robin", pick};
