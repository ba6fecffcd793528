/* The same server for the same key, as far as it can serve: weighted rendezvous hashing. No table is kept, and when
 * servers come or go only the keys move that must. A request without a key has its turn by round-robin. */
#include "base/hash.h"
#include "upstream/balance.h"
#include "upstream/group.h"
#include <math.h>

static const struct set_entry *choose(struct pick *p, const struct set_tier *tier)
{
	const struct set_entry *best = NULL;
	double best_score = 0;
	if (!p->has_key)
		return balance_round_robin.choose(p, tier);
	for (size_t i = tier->begin; i < tier->end; i++) {
		const struct set_entry *e = &p->set->entries[i];
		if (!pick_allows(p, e))
			continue;
		/* In (0, 1): the 53 bits that a double holds, and a half. */
		double chance = ((double)(hash_pair(p->key, e->server->id) >> 11) + .5) / 9007199254740992.;
		double score = -(double)e->weight / log(chance);
		if (best && score <= best_score)
			continue;
		best = e;
		best_score = score;
	}
	return best;
}

const struct balance balance_hash = {"hash", choose};
