#include "upstream/upkeep.h"
#include "base/check.h"
#include "upstream/probe.h"
#include "upstream/source.h"
#include <stdlib.h>

enum { TICK_US = 1000000 };

struct upkeep {
	struct groups *groups;
	struct loop *loop;
	struct blocks *blocks;
	struct resolver *resolver;
	struct source *sources;
	size_t source_count;
	struct timer tick; /* only with names or checks */
};

static size_t count_names(const struct groups *groups)
{
	size_t count = 0;
	for (size_t i = 0; i < groups_count(groups); i++) {
		const struct group *g = groups_at(groups, i);
		for (size_t k = 0; k < g->line_count; k++)
			count += g->lines[k].kind != SERVER_FIXED;
	}
	return count;
}

static bool has_checks(const struct groups *groups)
{
	for (size_t i = 0; i < groups_count(groups); i++)
		if (groups_at(groups, i)->check.path)
			return true;
	return false;
}

bool upkeep_needs_resolver(const struct groups *groups)
{
	return count_names(groups) > 0;
}

static struct sources_of sources_of(struct upkeep *u, const struct group *g)
{
	struct sources_of s = {NULL, 0};
	for (size_t i = 0; i < u->source_count; i++) {
		if (u->sources[i].group != g)
			continue;
		s.first = s.first ? s.first : &u->sources[i];
		s.count++;
	}
	return s;
}

/* What is short of memory is tried again at the next tick. */
static void update(struct upkeep *u, struct group *g)
{
	bool is_published = source_publish(g, sources_of(u, g), u->loop->now_ns);
	g->is_outdated = !probes_update(g, u->loop, u->blocks) || !is_published;
}

static void on_source_changed(struct source *s)
{
	update(s->owner, s->group);
}

static void on_tick(struct timer *t)
{
	struct upkeep *u = CONTAINER_OF(t, struct upkeep, tick);
	for (size_t i = 0; i < groups_count(u->groups); i++) {
		struct group *g = groups_at(u->groups, i);
		if (g->is_outdated)
			update(u, g);
		group_collect(g);
	}
	timer_start(u->loop, &u->tick, TICK_US);
}

static void start_sources(struct upkeep *u)
{
	for (size_t i = 0; i < groups_count(u->groups); i++) {
		struct group *g = groups_at(u->groups, i);
		for (size_t k = 0; k < g->line_count; k++) {
			if (g->lines[k].kind == SERVER_FIXED)
				continue;
			source_init(&u->sources[u->source_count++], g, k, on_source_changed, u);
		}
	}
	for (size_t i = 0; i < u->source_count; i++)
		source_start(&u->sources[i], u->loop, u->resolver);
}

struct upkeep *upkeep_start(struct groups *groups, struct loop *loop, struct blocks *blocks, struct resolver *resolver)
{
	struct upkeep *u = calloc(1, sizeof *u);
	size_t names = count_names(groups);
	if (!u)
		return NULL;
	*u = (struct upkeep){.groups = groups, .loop = loop, .blocks = blocks, .resolver = resolver};
	timer_init(&u->tick, on_tick);
	u->sources = calloc(names + 1, sizeof *u->sources);
	if (!u->sources) {
		free(u);
		return NULL;
	}
	for (size_t i = 0; i < groups_count(groups); i++)
		groups_at(groups, i)->is_outdated = !probes_update(groups_at(groups, i), loop, blocks);
	if (names > 0) {
		MUST(resolver);
		start_sources(u);
	}
	if (names > 0 || has_checks(groups))
		timer_start(loop, &u->tick, TICK_US);
	return u;
}

void upkeep_stop(struct upkeep **upkeep)
{
	struct upkeep *u = *upkeep;
	if (!u)
		return;
	for (size_t i = 0; i < u->source_count; i++)
		source_stop(&u->sources[i]);
	for (size_t i = 0; i < groups_count(u->groups); i++)
		probes_stop(groups_at(u->groups, i));
	timer_stop(u->loop, &u->tick);
	free(u->sources);
	free(u);
	*upkeep = NULL;
}
