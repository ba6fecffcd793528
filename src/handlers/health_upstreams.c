/* The view holds the groups as a void pointer, since the serve room may not know them; here they get their type back.
 */
#include "handlers/health_upstreams.h"
#include "upstream/group.h"
#include <stdio.h>

typedef void each_server(void *context, const struct group *, const struct server_figures *);

static void for_each(const struct server_view *view, each_server *action, void *context)
{
	const struct groups *groups = view->upstreams;
	for (size_t g = 0; groups && g < groups_count(groups); g++) {
		const struct group *group = groups_at(groups, g);
		for (size_t s = 0; s < group_server_count(group); s++) {
			struct server_figures figures;
			group_server_figures(group, s, &figures);
			action(context, group, &figures);
		}
	}
}

static void note_down(void *context, const struct group *group, const struct server_figures *f)
{
	bool *any = context;
	(void)group;
	*any |= f->state == SERVER_DOWN;
}

bool health_upstream_is_down(const struct server_view *view)
{
	bool any = false;
	for_each(view, note_down, &any);
	return any;
}

static void warn(void *context, const struct group *group, const struct server_figures *f)
{
	char text[256];
	if (f->state != SERVER_DOWN)
		return;
	snprintf(text, sizeof text, "upstream %.100s: server %.100s is down", group_name(group), f->server);
	json_text(context, NULL, slice_of(text));
}

void health_warn_of_upstreams(const struct server_view *view, struct json *j)
{
	for_each(view, warn, j);
}

static void write_server(const struct group *group, size_t number, struct json *j)
{
	struct server_figures f;
	group_server_figures(group, number, &f);
	json_object(j, NULL);
	json_text(j, "server", slice_of(f.server));
	json_text(j, "state", slice_of(server_state_text(f.state)));
	json_integer(j, "active", f.active);
	json_integer(j, "idle", f.idle);
	json_integer(j, "requests", f.requests);
	json_integer(j, "failures", f.failures);
	json_end(j);
}

void health_write_upstreams(const struct server_view *view, struct json *j)
{
	const struct groups *groups = view->upstreams;
	json_object(j, "upstreams");
	for (size_t g = 0; groups && g < groups_count(groups); g++) {
		const struct group *group = groups_at(groups, g);
		json_array(j, group_name(group));
		for (size_t s = 0; s < group_server_count(group); s++)
			write_server(group, s, j);
		json_end(j);
	}
	json_end(j);
}
