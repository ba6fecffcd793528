/* In turns, by weight: they were laid out when the set was made; the ticket is shared, so turns hold over all loops. A
 * server that starts slowly gives up some of its turns. */
#include "upstream/balance.h"
#include "upstream/group.h"

static bool gives_up_turn(struct pick *p, const struct set_entry *e)
{
	uint64_t full = (uint64_t)e->weight * 1024, now = pick_weight(p, e);
	return now < full && pick_random(p) % full >= now;
}

static const struct set_entry *choose(struct pick *p, const struct set_tier *tier)
{
	size_t turn = group_turn(p->group);
	const struct set_entry *slow = NULL;
	for (size_t i = 0; i < tier->turn_count; i++) {
		const struct set_entry *e = &p->set->entries[tier->begin + tier->turns[(turn + i) % tier->turn_count]];
		if (!pick_allows(p, e))
			continue;
		if (!gives_up_turn(p, e))
			return e;
		slow = slow ? slow : e;
	}
	return slow;
}

const struct balance balance_round_robin = {"round-robin", choose};
