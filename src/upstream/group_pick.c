/* Which server a request goes to: the client's own if it has one, else what the group's policy says of the primaries,
 * else of the backups. */
#include "upstream/balance.h"
#include "upstream/group.h"
#include "upstream/pool.h"

static const int64_t TRIAL_INTERVAL_NS = NS_PER_S;

/* Draining servers go on serving their own clients. */
static const struct set_entry *choose_sticky(struct pick *p)
{
	for (size_t i = 0; p->has_sticky && i < p->set->count; i++) {
		const struct set_entry *e = &p->set->entries[i];
		if (e->server->id != p->sticky)
			continue;
		bool is_allowed = pick_can_serve(p, e);
		p->sticky_is_full = !is_allowed && p->saw_full;
		return is_allowed ? e : NULL;
	}
	return NULL;
}

static bool choose_in(struct pick *p, const struct set_tier *tier, const struct set_entry **ret)
{
	if (tier->turn_count == 0)
		return false;
	*ret = p->group->balance->choose(p, tier);
	return *ret != NULL;
}

static bool choose_once(struct pick *p, const struct set_entry **ret)
{
	*ret = choose_sticky(p);
	return *ret || choose_in(p, &p->set->tiers[0], ret) || choose_in(p, &p->set->tiers[1], ret);
}

/* A server that was ejected and whose time is over is tried by one request while the others go elsewhere, if there is
 * an elsewhere. */
static bool choose(struct pick *p, const struct set_entry **ret)
{
	const struct set_entry *second;
	p->lost_trial = false;
	if (!choose_once(p, ret))
		return false;
	if (member_claim_trial((*ret)->server, p->now_ns))
		return true;
	p->lost_trial = true;
	if (choose_once(p, &second) && member_claim_trial(second->server, p->now_ns))
		*ret = second;
	return true;
}

/* Whether this server is out of service for nothing but failed requests, and the request may try it. */
static bool may_try_ejected(const struct pick *p, const struct set_entry *e)
{
	return !e->is_draining && !pick_was_tried(p, e->server) &&
	       !atomic_load_explicit(&e->server->is_failing, memory_order_relaxed) &&
	       member_is_ejected(e->server, p->now_ns) && !member_is_full(e->server);
}

/* With all servers ejected one request a second tries the one that is due first, so that the first to recover is found
 * soon. */
static bool choose_ejected(struct pick *p, const struct set_entry **ret)
{
	const struct set_entry *first = NULL;
	int64_t first_ns = 0, next_ns = atomic_load_explicit(&p->group->next_trial_ns, memory_order_relaxed);
	if (p->now_ns < next_ns)
		return false;
	for (size_t i = 0; i < p->set->count; i++) {
		const struct set_entry *e = &p->set->entries[i];
		int64_t until_ns = atomic_load_explicit(&e->server->ejected_until_ns, memory_order_relaxed);
		if (!may_try_ejected(p, e) || (first && until_ns >= first_ns))
			continue;
		first = e;
		first_ns = until_ns;
	}
	*ret = first;
	return first && atomic_compare_exchange_strong_explicit(&p->group->next_trial_ns, &next_ns,
	                        p->now_ns + TRIAL_INTERVAL_NS, memory_order_relaxed, memory_order_relaxed);
}

enum pick_result group_pick(struct pool *pool, struct pick *p, const struct set_entry **ret)
{
	p->group = pool->group;
	p->set = pool->set;
	p->random = &pool->random;
	p->saw_full = p->saw_tried = p->sticky_is_full = false;
	if (choose(p, ret))
		return PICK_DONE;
	if (p->saw_full)
		return PICK_FULL;
	if (p->saw_tried)
		return PICK_TRIED;
	if (choose_ejected(p, ret))
		return PICK_DONE;
	return set_awaits_names(p->set) ? PICK_PENDING : PICK_DOWN;
}
