/* The view holds the groups as a void pointer, since the serve room may not know them; here they get their type back.
 */
#include "handlers/health_upstreams.h"
#include "base/clock.h"
#include "upstream/group.h"
#include <stdio.h>

typedef void each_server(void *context, const struct group *, const struct member_figures *);

/* Returns whether one is up: draining ones are no fault by themselves, but somebody has to serve. */
static bool for_each_of(struct group *g, each_server *action, void *context)
{
	struct member_set *set = group_hold_set(g);
	struct member_figures figures;
	bool any_is_up = false;
	for (size_t i = 0; i < set->count; i++) {
		member_figures(set->entries[i].server, clock_now_ns(), &figures);
		if (set->entries[i].is_draining)
			figures.state = MEMBER_DRAINING;
		any_is_up |= figures.state == MEMBER_UP;
		action(context, g, &figures);
	}
	for (size_t i = 0; i < set->unresolved_count; i++) {
		figures = (struct member_figures){.server = set->unresolved[i], .state = MEMBER_UNRESOLVED};
		action(context, g, &figures);
	}
	set_release(set);
	return any_is_up;
}

static bool is_out(const struct member_figures *f)
{
	return f->state == MEMBER_DOWN || f->state == MEMBER_UNRESOLVED;
}

static void note_out(void *context, const struct group *group, const struct member_figures *f)
{
	bool *any = context;
	(void)group;
	*any |= is_out(f);
}

bool health_upstream_is_down(const struct server_view *view)
{
	bool any = false;
	const struct groups *groups = view->upstreams;
	for (size_t i = 0; groups && i < groups_count(groups) && !any; i++)
		if (!for_each_of(groups_at(groups, i), note_out, &any))
			any = true;
	return any;
}

static void warn(void *context, const struct group *group, const struct member_figures *f)
{
	char text[256];
	if (!is_out(f))
		return;
	snprintf(text, sizeof text, "upstream %.100s: server %.100s is %s", group->name, f->server,
	        member_state_text(f->state));
	json_text(context, NULL, slice_of(text));
}

void health_warn_of_upstreams(const struct server_view *view, struct json *j)
{
	const struct groups *groups = view->upstreams;
	char text[160];
	for (size_t i = 0; groups && i < groups_count(groups); i++) {
		if (for_each_of(groups_at(groups, i), warn, j))
			continue;
		snprintf(text, sizeof text, "upstream %.100s: no server is up", groups_at(groups, i)->name);
		json_text(j, NULL, slice_of(text));
	}
}

static void write_server(void *context, const struct group *group, const struct member_figures *f)
{
	struct json *j = context;
	(void)group;
	json_object(j, NULL);
	json_text(j, "server", slice_of(f->server));
	if (f->found_by)
		json_text(j, "found_by", slice_of(f->found_by));
	json_text(j, "state", slice_of(member_state_text(f->state)));
	json_integer(j, "active", f->active);
	json_integer(j, "idle", f->idle);
	json_integer(j, "requests", f->requests);
	json_integer(j, "failures", f->failures);
	json_end(j);
}

void health_write_upstreams(const struct server_view *view, struct json *j)
{
	const struct groups *groups = view->upstreams;
	json_object(j, "upstreams");
	for (size_t i = 0; groups && i < groups_count(groups); i++) {
		struct group *g = groups_at(groups, i);
		json_array(j, g->name);
		for_each_of(g, write_server, j);
		json_end(j);
	}
	json_end(j);
}
