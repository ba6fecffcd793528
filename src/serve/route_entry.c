/* Reading one [route], and telling whether an earlier one leaves anything to it. */
#include "serve/route_entry.h"
#include "config/config.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- reading --------------------------------------------------------------------------- */

/* Names in the status line are read by other threads at any time, so they are never freed: a small table that only
 * grows while configurations are loaded, by the control thread. */
static const char *intern(const char *text)
{
	static struct interned {
		struct interned *next;
		char text[];
	} * all;
	for (struct interned *i = all; i; i = i->next)
		if (strcmp(i->text, text) == 0)
			return i->text;
	size_t length = strlen(text);
	struct interned *added = malloc(sizeof *added + length + 1);
	if (!added)
		return "?";
	memcpy(added->text, text, length + 1);
	added->next = all;
	all = added;
	return added->text;
}

static bool read_path(struct route_entry *e, const struct mlserve_settings *s)
{
	e->kind = route_path_split(slice_of(mlserve_setting_text(s, "path")), &e->path);
	if (e->kind == PATH_REGEX) {
		e->regex = route_regex_compile(s, "path", 0, e->path);
		return e->regex != NULL;
	}
	if (!route_path_check(s, e->kind == PATH_EXACT ? "= " : "", e->path))
		return false;
	if (e->kind == PATH_PREFIX && e->path.data[e->path.length - 1] == '/')
		e->path.length--; /* /api and /api/ are one */
	if (e->kind == PATH_PREFIX)
		e->route.prefix = e->path;
	return true;
}

static bool read_hosts(struct arena *arena, struct route_entry *e, const struct mlserve_settings *s)
{
	const char *const *hosts;
	size_t count = mlserve_setting_list(s, "host", &hosts);
	e->hosts = arena_alloc(arena, count * sizeof *e->hosts);
	if (!e->hosts)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (route_host_read(slice_of(hosts[i]), &e->hosts[e->host_count]))
			e->host_count++;
		else
			mlserve_setting_fault(s, "host", i,
			        "\"%s\" is no host that a request can be for; allowed: names without port such as "
			        "www.example.com, IPv4 addresses, [IPv6] addresses and *.example.com",
			        hosts[i]);
	}
	return e->host_count == count;
}

static bool is_for_control(const struct mlserve_settings *listener)
{
	return strcmp(mlserve_setting_text(listener, "served_by"), "control") == 0;
}

/* Listeners served by the control thread take only what cannot hold it up. */
static bool may_serve(const struct route_entry *e, const struct mlserve_settings *listener)
{
	return e->route.handler->for_control || !is_for_control(listener);
}

static bool add_listener(
        struct route_entry *e, const struct mlserve_settings *s, size_t item, const struct mlserve_settings *listener)
{
	bool fits = may_serve(e, listener);
	if (!fits)
		mlserve_setting_fault(s, "listener", item,
		        "[listener %s] is served by the control thread, which handler %s could hold up; "
		        "allowed there: health",
		        config_name(listener), e->route.handler->name);
	e->listeners[config_index(listener)] = fits;
	return fits;
}

static bool read_listeners(
        struct arena *arena, struct route_entry *e, const struct config *config, const struct mlserve_settings *s)
{
	const char *const *names;
	size_t count = mlserve_setting_list(s, "listener", &names);
	size_t listener_count = config_count(config, CONFIG_LISTENER);
	bool fine = true;
	e->listeners = arena_alloc(arena, listener_count * sizeof *e->listeners);
	if (!e->listeners)
		return false;
	for (size_t i = 0; count == 0 && i < listener_count; i++)
		e->listeners[i] = may_serve(e, config_at(config, CONFIG_LISTENER, i));
	for (size_t i = 0; i < count; i++) {
		/* A name that is not there was reported by the configuration. */
		const struct mlserve_settings *l = config_find(config, CONFIG_LISTENER, names[i]);
		fine = l && add_listener(e, s, i, l) && fine;
	}
	return fine;
}

/* A route for requests that it then refuses serves nobody. */
static bool check_if_method(const struct route_entry *e, const struct mlserve_settings *s)
{
	const struct route_methods *asked = &e->conditions.methods;
	for (size_t i = 0; i < asked->count; i++)
		if (route_methods_have(&e->methods, asked->items[i]))
			return true;
	if (asked->count)
		mlserve_setting_fault(s, "if_method", 0,
		        "names no method that this route serves; allowed: one of those in %.*s",
		        SLICE_ARGS(slice_trim(e->route.allow)));
	return asked->count == 0;
}

static bool read_methods(struct arena *arena, struct route_entry *e, const struct mlserve_settings *s)
{
	if (!route_methods_read(arena, s, e->route.handler, &e->methods))
		return false;
	e->own_methods = mlserve_setting_is_set(s, "methods");
	const char *text = route_methods_text(arena, &e->methods);
	const char *allow = text ? arena_format(arena, "Allow: %s\r\n", text) : NULL;
	e->route.allow = slice_of(allow);
	return allow != NULL;
}

bool route_entry_read(struct arena *arena, struct route_entry *e, const struct config *config, size_t index,
        route_handler_find *find, void *find_context)
{
	const struct mlserve_settings *s = config_at(config, CONFIG_ROUTE, index);
	const char *reason = NULL, *handler = mlserve_setting_text(s, "handler");
	e->route.name = intern(config_name(s));
	e->route.index = (unsigned)index;
	/* Each step reports its own faults; all are tried, so that one run shows every fault. */
	bool fine = read_path(e, s);
	fine = read_hosts(arena, e, s) && fine;
	fine = route_conditions_read(arena, s, &e->conditions) && fine;
	/* A section with faults is looked at no further than it is sound: each fault is told once. */
	e->route.handler = handler ? find(find_context, handler, &reason) : NULL;
	if (!e->route.handler && config_is_sound(s))
		mlserve_setting_fault(s, "handler", 0, "%s", reason ? reason : "no such handler");
	if (!e->route.handler)
		return false;
	e->route.handler_name = intern(e->route.handler->name);
	e->route.max_body_size =
	        mlserve_setting_is_set(s, "max_body_size") ? mlserve_setting_number(s, "max_body_size") : -1;
	e->route.debug_headers = mlserve_setting_number(s, "debug_headers") != 0;
	fine = read_listeners(arena, e, config, s) && fine;
	fine = read_methods(arena, e, s) && fine;
	fine = fine && check_if_method(e, s);
	e->sound = config_is_sound(s) && fine;
	return config_is_sound(s) && e->route.handler->configure(s, &e->route.state) && fine;
}

void route_entry_fini(struct route_entry *e)
{
	pcre2_code_free(e->regex);
	route_conditions_fini(&e->conditions);
	if (e->route.handler && e->route.handler->release && e->route.state)
		e->route.handler->release(e->route.state);
}

/* ---- routes that are never reached ----------------------------------------------------- */

static bool hosts_within(const struct route_entry *a, const struct route_entry *b)
{
	for (size_t i = 0; i < a->host_count; i++) {
		size_t k = 0;
		while (k < b->host_count && !route_host_equal(&a->hosts[i], &b->hosts[k]))
			k++;
		if (k == b->host_count)
			return false;
	}
	return true;
}

/* Methods that neither sets are no difference, though their handlers may serve others. */
static bool methods_equal(const struct route_entry *a, const struct route_entry *b)
{
	return (!a->own_methods && !b->own_methods) || route_methods_equal(&a->methods, &b->methods);
}

bool route_entry_hides(const struct route_entry *a, const struct route_entry *b, size_t listener_count)
{
	return a->sound && b->sound && a->kind == b->kind && slice_equal(a->path, b->path) &&
	       (a->host_count == 0) == (b->host_count == 0) && hosts_within(a, b) && hosts_within(b, a) &&
	       methods_equal(a, b) && memcmp(a->listeners, b->listeners, listener_count * sizeof *a->listeners) == 0 &&
	       route_conditions_within(&a->conditions, &b->conditions);
}
