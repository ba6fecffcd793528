/* Servers: making them, counting their connections, and telling those that fail. */
#include "upstream/member.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "upstream/group.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const int64_t TRIAL_NS = NS_PER_S; /* as long a trial has before another request may try */

struct member *member_create(
        struct group *group, const char *name, const char *found_by, const struct endpoint *endpoint)
{
	size_t bytes = sizeof(struct member) + group->loop_count * sizeof(struct member_share);
	struct member *s = aligned_alloc(alignof(struct member), bytes);
	if (!s)
		return NULL;
	memset(s, 0, bytes);
	list_init(&s->node);
	s->group = group;
	s->endpoint = *endpoint;
	s->name = strdup(name);
	s->found_by = found_by ? strdup(found_by) : NULL;
	s->id = hash_bytes(slice_of(name), 0);
	s->share_count = group->loop_count;
	for (unsigned i = 0; i < s->share_count; i++)
		list_init(&s->shares[i].idle);
	if (!s->name || (found_by && !s->found_by))
		member_free(&s);
	return s;
}

void member_free(struct member **server)
{
	struct member *s = *server;
	if (!s)
		return;
	list_remove(&s->node);
	free(s->name);
	free(s->found_by);
	free(s);
	*server = NULL;
}

bool member_is_unused(const struct member *s)
{
	/* In this order: with no set to pick it from, exchanges only end; with no exchange, connections only close.
	 * Acquire: whoever counted down is done with the server. */
	return atomic_load_explicit(&s->set_count, memory_order_acquire) == 0 &&
	       atomic_load_explicit(&s->active, memory_order_acquire) == 0 &&
	       atomic_load_explicit(&s->connections, memory_order_acquire) == 0;
}

/* ---- connections --------------------------------------------------------------------------- */

bool member_reserve(struct member *s)
{
	int64_t open = atomic_load_explicit(&s->connections, memory_order_relaxed);
	do
		if (s->limit && open >= s->limit)
			return false;
	while (!atomic_compare_exchange_weak_explicit(
	        &s->connections, &open, open + 1, memory_order_seq_cst, memory_order_relaxed));
	return true;
}

void member_unreserve(struct member *s)
{
	/* Sequentially consistent: whoever waits counted itself, then looked at this. */
	atomic_fetch_sub_explicit(&s->connections, 1, memory_order_seq_cst);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Looked at first: the line is shared by all loops and seldom changes. */
static void set_flag(atomic_bool *flag, bool value)
{
	if (atomic_load_explicit(flag, memory_order_relaxed) != value)
		atomic_store_explicit(flag, value, memory_order_relaxed);
}

static bool is_old_news(const struct member *s, int64_t begun_ns)
{
	return begun_ns < atomic_load_explicit(&s->ejected_at_ns, memory_order_relaxed);
}

void member_note_success(struct member *s, int64_t begun_ns, int64_t now_ns)
{
	set_flag(&s->is_unreachable, false);
	if (atomic_load_explicit(&s->failures_in_a_row, memory_order_relaxed) == 0 || is_old_news(s, begun_ns))
		return;
	atomic_store_explicit(&s->failures_in_a_row, 0, memory_order_relaxed);
	if (atomic_exchange_explicit(&s->ejected_until_ns, 0, memory_order_relaxed) == 0)
		return;
	atomic_store_explicit(&s->up_since_ns, now_ns, memory_order_relaxed);
	log_info("upstream %s: server %s: answers again, and is no longer ejected", s->group->name, s->name);
}

/* The one that changes the instant says so. */
static void eject(struct member *s, int64_t now_ns, unsigned failures, const char *reason)
{
	int64_t before = atomic_load_explicit(&s->ejected_until_ns, memory_order_relaxed);
	atomic_store_explicit(&s->ejected_at_ns, now_ns, memory_order_relaxed);
	if (!atomic_compare_exchange_strong_explicit(&s->ejected_until_ns, &before, now_ns + s->group->eject_ns,
	            memory_order_relaxed, memory_order_relaxed))
		return;
	if (before == 0)
		log_warn("upstream %s: server %s: ejected for %" PRId64 " ms after %u failures in a row, the last: %s",
		        s->group->name, s->name, s->group->eject_ns / NS_PER_MS, failures, reason);
}

void member_note_failure(struct member *s, int64_t begun_ns, int64_t now_ns, bool connecting, const char *reason)
{
	if (connecting)
		set_flag(&s->is_unreachable, true);
	if (is_old_news(s, begun_ns))
		return;
	unsigned failures = 1 + atomic_fetch_add_explicit(&s->failures_in_a_row, 1, memory_order_relaxed);
	/* Without another server there would be nothing but errors in its place. */
	bool is_only = atomic_load_explicit(&s->group->size, memory_order_relaxed) == 1;
	if (s->group->eject_errors && failures >= s->group->eject_errors && !is_only)
		eject(s, now_ns, failures, reason);
}

bool member_claim_trial(struct member *s, int64_t now_ns)
{
	int64_t until = atomic_load_explicit(&s->ejected_until_ns, memory_order_relaxed);
	if (until == 0)
		return true;
	return until <= now_ns && atomic_compare_exchange_strong_explicit(&s->ejected_until_ns, &until,
	                                  now_ns + TRIAL_NS, memory_order_relaxed, memory_order_relaxed);
}

/* ---- figures ---------------------------------------------------------------------------------- */

void member_figures(const struct member *s, int64_t now_ns, struct member_figures *ret)
{
	bool down = atomic_load_explicit(&s->is_failing, memory_order_relaxed) ||
	            atomic_load_explicit(&s->is_unreachable, memory_order_relaxed) || member_is_ejected(s, now_ns);
	*ret = (struct member_figures){
	        .server = s->name,
	        .found_by = s->found_by,
	        .state = down ? MEMBER_DOWN : MEMBER_UP,
	        .active = atomic_load_explicit(&s->active, memory_order_relaxed),
	};
	for (unsigned i = 0; i < s->share_count; i++) {
		const struct member_share *share = &s->shares[i];
		ret->idle += atomic_load_explicit(&share->idle_count, memory_order_relaxed);
		ret->requests += atomic_load_explicit(&share->requests, memory_order_relaxed);
		ret->failures += atomic_load_explicit(&share->failures, memory_order_relaxed);
	}
}

const char *member_state_text(enum member_state state)
{
	static const char *const texts[] = {
	        [MEMBER_UP] = "up",
	        [MEMBER_DOWN] = "down",
	        [MEMBER_DRAINING] = "draining",
	        [MEMBER_UNRESOLVED] = "unresolved",
	};
	return texts[state];
}
