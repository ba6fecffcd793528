/* The routing table, and how a request finds its way through it. */
#include "serve/route.h"
#include "base/check.h"
#include "http/uri.h"
#include "serve/route_entry.h"
#include <stdlib.h>

enum host_kind { HOST_EXACT, HOST_WILDCARD, HOST_ANY, HOST_KINDS };

struct routes {
	struct arena arena;
	struct route_entry *entries;
	size_t count, listener_count;
};

/* ---- building ------------------------------------------------------------------------ */

static void fault_same(const struct routes *routes, const struct config *config, size_t first, size_t second)
{
	bool conditional = !route_conditions_are_none(&routes->entries[second].conditions);
	const struct mlserve_settings *s = config_at(config, CONFIG_ROUTE, first);
	char place[CONFIG_PLACE_BYTES];
	config_place(s, NULL, 0, place);
	mlserve_setting_fault(config_at(config, CONFIG_ROUTE, second), "path", 0,
	        "is never reached: [route %s] at %s has the same path, hosts, listeners and methods%s; "
	        "allowed: %s",
	        config_name(s), place, conditional ? ", and no condition that this one has not" : "",
	        conditional ? "the one with more conditions first" : "one route of a kind");
}

static bool check_same(const struct routes *routes, const struct config *config)
{
	bool fine = true;
	for (size_t i = 1; i < routes->count; i++) {
		size_t k = 0;
		while (k < i && !route_entry_hides(&routes->entries[k], &routes->entries[i], routes->listener_count))
			k++;
		if (k == i)
			continue;
		fault_same(routes, config, k, i);
		fine = false;
	}
	return fine;
}

/* ---- the table --------------------------------------------------------------------------- */

struct routes *routes_create(
        const struct config *config, route_handler_find *find, void *find_context, struct faults *faults)
{
	struct routes *routes = calloc(1, sizeof *routes);
	size_t count = config_count(config, CONFIG_ROUTE);
	if (routes)
		routes->entries = calloc(count + 1, sizeof *routes->entries);
	if (!routes || !routes->entries) {
		faults_add(faults, NULL, 0, NULL, NULL, "no memory for routes");
		routes_free(&routes);
		return NULL;
	}
	arena_init(&routes->arena);
	routes->listener_count = config_count(config, CONFIG_LISTENER);
	size_t before = faults->count;
	bool fine = true;
	for (size_t i = 0; i < count; i++) {
		routes->count = i + 1;
		fine = route_entry_read(&routes->arena, &routes->entries[i], config, i, find, find_context) && fine;
	}
	fine = check_same(routes, config) && fine;
	if (fine && faults->count == before)
		return routes;
	if (faults->count == 0)
		faults_add(faults, NULL, 0, NULL, NULL, "no memory for routes");
	routes_free(&routes);
	return NULL;
}

void routes_free(struct routes **routes)
{
	struct routes *r = *routes;
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		route_entry_fini(&r->entries[i]);
	arena_fini(&r->arena);
	free(r->entries);
	free(r);
	*routes = NULL;
}

size_t routes_count(const struct routes *r)
{
	return r->count;
}

const struct route *routes_at(const struct routes *r, size_t index)
{
	MUST(index < r->count);
	return &r->entries[index].route;
}

size_t routes_group_count(const struct routes *r)
{
	size_t most = 0;
	for (size_t i = 0; i < r->count; i++) {
		const struct route_entry *e = &r->entries[i];
		size_t count = e->regex ? route_regex_group_count(e->regex) : 0;
		most = count > most ? count : most;
	}
	return most;
}

/* ---- finding ----------------------------------------------------------------------- */

static bool takes_host(const struct route_entry *e, enum host_kind kind, struct slice host)
{
	if (kind == HOST_ANY || e->host_count == 0)
		return kind == HOST_ANY && e->host_count == 0;
	for (size_t i = 0; i < e->host_count; i++)
		if (e->hosts[i].wildcard == (kind == HOST_WILDCARD) && route_host_matches(&e->hosts[i], host))
			return true;
	return false;
}

static enum route_answer takes_path(
        const struct route_entry *e, struct route_match *m, struct slice path, struct route_failure *ret_failure)
{
	bool takes;
	switch (e->kind) {
	case PATH_EXACT:
		takes = slice_equal(e->path, path);
		break;
	case PATH_REGEX:
		return route_match_path(m, e->regex, path, ret_failure);
	default:
		takes = uri_path_begins(path, e->path);
	}
	return takes ? ROUTE_YES : ROUTE_NO;
}

/* Better in the order of the contract: exact, then regular expressions as they stand, then the longest prefix. */
static bool is_better(const struct route_entry *candidate, const struct route_entry *best)
{
	if (!best || candidate->kind != best->kind)
		return !best || candidate->kind < best->kind;
	return candidate->kind == PATH_PREFIX && candidate->path.length > best->path.length;
}

struct found {
	const struct route_entry *entry; /* NULL: none */
	struct route_failure failure;    /* whether it takes the request is not sure */
};

/* One that is unsure counts as a match, so that no route behind it is asked; route_find then fails. */
static void try_entry(
        struct found *best, const struct route_entry *e, struct route_match *m, const struct route_request *request)
{
	struct route_failure failure = {0};
	enum route_answer path = takes_path(e, m, request->path, &failure), conditions = ROUTE_YES;
	if (path != ROUTE_NO && !route_conditions_are_none(&e->conditions))
		conditions = route_conditions_hold(&e->conditions, m, request, &failure);
	if (path == ROUTE_NO || conditions == ROUTE_NO)
		return;
	*best = (struct found){.entry = e};
	if (path == ROUTE_UNSURE || conditions == ROUTE_UNSURE)
		best->failure = failure;
}

/* The best route of one kind of host. */
static struct found find_for_host(const struct routes *routes, struct route_match *m, unsigned listener,
        enum host_kind kind, struct slice host, const struct route_request *request)
{
	struct found best = {0};
	for (size_t i = 0; i < routes->count; i++) {
		const struct route_entry *e = &routes->entries[i];
		if (!e->listeners[listener])
			continue;
		if (takes_host(e, kind, host) && is_better(e, best.entry))
			try_entry(&best, e, m, request);
	}
	return best;
}

enum route_verdict route_find(const struct routes *routes, struct route_match *m, unsigned listener,
        const struct route_request *request, const struct route **ret, struct route_failure *ret_failure)
{
	struct found found = {0};
	struct slice host = route_host_asked(request->host);
	for (int kind = HOST_EXACT; !found.entry && kind < HOST_KINDS; kind++)
		found = find_for_host(routes, m, listener, (enum host_kind)kind, host, request);
	if (!found.entry)
		return ROUTE_NOT_FOUND;
	*ret = &found.entry->route;
	if (found.failure.error) {
		*ret_failure = found.failure;
		return ROUTE_FAILED;
	}
	return route_methods_have(&found.entry->methods, request->method) ? ROUTE_FOUND : ROUTE_METHOD_REFUSED;
}
