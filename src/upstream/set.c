/* Sets of servers: made whole, then only read. */
#include "upstream/set.h"
#include "base/check.h"
#include "upstream/turns.h"
#include <stdlib.h>
#include <string.h>

static void set_free(struct member_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		/* Release: this thread is done with the server. */
		atomic_fetch_sub_explicit(&s->entries[i].server->set_count, 1, memory_order_release);
	for (size_t i = 0; i < s->unresolved_count; i++)
		free(s->unresolved[i]);
	for (size_t i = 0; i < SET_TIERS; i++)
		free(s->tiers[i].turns);
	free(s->unresolved);
	free(s);
}

static void add_tier(struct member_set *s, const struct set_entry *entries, size_t count, size_t number)
{
	struct set_tier *tier = &s->tiers[number];
	tier->begin = s->count;
	for (size_t i = 0; i < count; i++) {
		if (entries[i].is_backup != (number > 0))
			continue;
		s->entries[s->count++] = entries[i];
		s->taker_count += !entries[i].is_draining;
		atomic_fetch_add_explicit(&entries[i].server->set_count, 1, memory_order_relaxed);
	}
	tier->end = s->count;
}

static bool lay_turns(struct member_set *s, struct set_tier *tier)
{
	unsigned weights[SET_MEMBERS];
	size_t count = tier->end - tier->begin;
	for (size_t i = 0; i < count; i++)
		weights[i] = s->entries[tier->begin + i].weight;
	return count == 0 || turns_lay(weights, count, &tier->turns, &tier->turn_count);
}

static bool copy_names(struct member_set *s, const char *const *names, size_t count)
{
	s->unresolved = calloc(count + 1, sizeof *s->unresolved);
	for (size_t i = 0; s->unresolved && i < count; i++) {
		s->unresolved[i] = strdup(names[i]);
		s->unresolved_count += s->unresolved[i] != NULL;
		if (!s->unresolved[i])
			return false;
	}
	return s->unresolved != NULL;
}

struct member_set *set_create(const struct set_entry *entries, size_t count, const char *const *unresolved,
        size_t unresolved_count, bool is_pending)
{
	MUST(count <= SET_MEMBERS);
	struct member_set *s = calloc(1, sizeof *s + count * sizeof s->entries[0]);
	if (!s)
		return NULL;
	atomic_init(&s->references, 1);
	s->is_pending = is_pending;
	bool fine = copy_names(s, unresolved, unresolved_count);
	for (size_t i = 0; i < SET_TIERS; i++) {
		add_tier(s, entries, count, i);
		fine = lay_turns(s, &s->tiers[i]) && fine;
	}
	if (fine)
		return s;
	set_free(s);
	return NULL;
}

void set_release(struct member_set *s)
{
	/* What other threads read of it was read before it is freed. */
	if (s && atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) == 1)
		set_free(s);
}

bool set_names(const struct member_set *s, const struct member *member)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->entries[i].server == member)
			return true;
	return false;
}
