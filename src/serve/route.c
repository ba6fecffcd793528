/* The routing table, and how a request finds its way through it. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "serve/route.h"
#include "base/arena.h"
#include "base/check.h"
#include "config/config.h"
#include "serve/route_host.h"
#include "serve/route_methods.h"
#include "serve/route_path.h"
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum path_kind { PATH_EXACT, PATH_REGEX, PATH_PREFIX };
enum host_kind { HOST_EXACT, HOST_WILDCARD, HOST_ANY, HOST_KINDS };

struct entry {
	struct route route;
	enum path_kind kind;
	struct slice path;
	pcre2_code *regex;
	struct route_host *hosts;
	size_t host_count;
	bool *listeners; /* by index */
	struct route_methods methods;
	bool own_methods; /* set by the configuration, not the handler's */
	bool sound;
};

struct routes {
	struct arena arena;
	struct entry *entries;
	size_t count, listener_count;
};

struct route_match {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack; /* NULL: there is no JIT here */
	int error;              /* of PCRE2 in the last route_find that failed */
	char reason[128];
};

/* ---- building ------------------------------------------------------------------------ */

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

static bool compile_regex(struct entry *e, const struct mlserve_settings *s)
{
	int error;
	PCRE2_SIZE at;
	PCRE2_UCHAR message[128];
	e->regex = pcre2_compile((PCRE2_SPTR)e->path.data, e->path.length, 0, &error, &at, NULL);
	if (!e->regex) {
		pcre2_get_error_message(error, message, sizeof message);
		mlserve_setting_fault(
		        s, "path", 0, "regular expression is wrong at byte %zu: %s", (size_t)at, (const char *)message);
		return false;
	}
	pcre2_jit_compile(e->regex, PCRE2_JIT_COMPLETE); /* where there is no JIT the interpreter serves */
	return true;
}

static bool read_path(struct entry *e, const struct mlserve_settings *s)
{
	struct slice path = slice_trim(slice_of(mlserve_setting_text(s, "path")));
	e->kind = PATH_PREFIX;
	if (path.length > 1 && (path.data[0] == '=' || path.data[0] == '~') &&
	        (path.data[1] == ' ' || path.data[1] == '\t')) {
		e->kind = path.data[0] == '=' ? PATH_EXACT : PATH_REGEX;
		path = slice_trim(slice_from(path, 1));
	}
	e->path = path;
	if (e->kind == PATH_REGEX)
		return compile_regex(e, s);
	if (!route_path_check(s, e->kind == PATH_EXACT ? "= " : "", path))
		return false;
	if (e->kind == PATH_PREFIX && path.data[path.length - 1] == '/')
		e->path.length--; /* /api and /api/ are one */
	if (e->kind == PATH_PREFIX)
		e->route.prefix = e->path;
	return true;
}

static bool read_hosts(struct routes *routes, struct entry *e, const struct mlserve_settings *s)
{
	const char *const *hosts;
	size_t count = mlserve_setting_list(s, "host", &hosts);
	e->hosts = arena_alloc(&routes->arena, count * sizeof *e->hosts);
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
static bool may_serve(const struct entry *e, const struct mlserve_settings *listener)
{
	return e->route.handler->for_control || !is_for_control(listener);
}

static bool add_listener(
        struct entry *e, const struct mlserve_settings *s, size_t item, const struct mlserve_settings *listener)
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
        struct routes *routes, struct entry *e, const struct config *config, const struct mlserve_settings *s)
{
	const char *const *names;
	size_t count = mlserve_setting_list(s, "listener", &names);
	bool fine = true;
	e->listeners = arena_alloc(&routes->arena, routes->listener_count * sizeof *e->listeners);
	if (!e->listeners)
		return false;
	for (size_t i = 0; count == 0 && i < routes->listener_count; i++)
		e->listeners[i] = may_serve(e, config_at(config, CONFIG_LISTENER, i));
	for (size_t i = 0; i < count; i++) {
		/* A name that is not there was reported by the configuration. */
		const struct mlserve_settings *l = config_find(config, CONFIG_LISTENER, names[i]);
		fine = l && add_listener(e, s, i, l) && fine;
	}
	return fine;
}

static bool read_methods(struct routes *routes, struct entry *e, const struct mlserve_settings *s)
{
	if (!route_methods_read(&routes->arena, s, e->route.handler, &e->methods))
		return false;
	e->own_methods = mlserve_setting_is_set(s, "methods");
	const char *text = route_methods_text(&routes->arena, &e->methods);
	const char *allow = text ? arena_format(&routes->arena, "Allow: %s\r\n", text) : NULL;
	e->route.allow = slice_of(allow);
	return allow != NULL;
}

static bool read_entry(struct routes *routes, struct entry *e, const struct config *config, size_t index,
        route_handler_find *find, void *find_context)
{
	const struct mlserve_settings *s = config_at(config, CONFIG_ROUTE, index);
	const char *reason = NULL, *handler = mlserve_setting_text(s, "handler");
	e->route.name = intern(config_name(s));
	e->route.index = (unsigned)index;
	/* Each step reports its own faults; all are tried, so that one run shows every fault. */
	bool fine = read_path(e, s);
	fine = read_hosts(routes, e, s) && fine;
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
	fine = read_listeners(routes, e, config, s) && fine;
	fine = read_methods(routes, e, s) && fine;
	e->sound = config_is_sound(s) && fine;
	return config_is_sound(s) && e->route.handler->configure(s, &e->route.state) && fine;
}

/* ---- routes that are never reached ----------------------------------------------------- */

static bool hosts_within(const struct entry *a, const struct entry *b)
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
static bool methods_equal(const struct entry *a, const struct entry *b)
{
	return (!a->own_methods && !b->own_methods) || route_methods_equal(&a->methods, &b->methods);
}

static bool is_same(const struct routes *routes, const struct entry *a, const struct entry *b)
{
	return a->kind == b->kind && slice_equal(a->path, b->path) && (a->host_count == 0) == (b->host_count == 0) &&
	       hosts_within(a, b) && hosts_within(b, a) && methods_equal(a, b) &&
	       memcmp(a->listeners, b->listeners, routes->listener_count * sizeof *a->listeners) == 0;
}

static void fault_same(const struct config *config, size_t first, size_t second)
{
	const struct mlserve_settings *s = config_at(config, CONFIG_ROUTE, first);
	char place[CONFIG_PLACE_BYTES];
	config_place(s, NULL, 0, place);
	mlserve_setting_fault(config_at(config, CONFIG_ROUTE, second), "path", 0,
	        "is never reached: [route %s] at %s has the same path, hosts, listeners and methods; "
	        "allowed: one route of a kind",
	        config_name(s), place);
}

/* Only exact sameness, where one of the two is a slip for sure. */
static bool check_same(const struct routes *routes, const struct config *config)
{
	bool fine = true;
	for (size_t i = 1; i < routes->count; i++) {
		size_t k = 0;
		while (k < i && !(routes->entries[i].sound && routes->entries[k].sound &&
		                        is_same(routes, &routes->entries[k], &routes->entries[i])))
			k++;
		if (k == i)
			continue;
		fault_same(config, k, i);
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
		fine = read_entry(routes, &routes->entries[i], config, i, find, find_context) && fine;
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
	for (size_t i = 0; i < r->count; i++) {
		struct entry *e = &r->entries[i];
		pcre2_code_free(e->regex);
		if (e->route.handler && e->route.handler->release && e->route.state)
			e->route.handler->release(e->route.state);
	}
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

struct route_match *route_match_create(const struct routes *routes)
{
	/* Without a stack of its own an expression gets 32 KiB, which some need more of for the longest path. */
	enum { STACK_BYTES = 32 * 1024, STACK_MOST_BYTES = 1024 * 1024 };
	(void)routes;
	struct route_match *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->data = pcre2_match_data_create(1, NULL);
	m->context = pcre2_match_context_create(NULL);
	m->stack = pcre2_jit_stack_create(STACK_BYTES, STACK_MOST_BYTES, NULL);
	if (!m->data || !m->context) {
		route_match_free(&m);
		return NULL;
	}
	pcre2_jit_stack_assign(m->context, NULL, m->stack);
	return m;
}

void route_match_free(struct route_match **m)
{
	if (!*m)
		return;
	pcre2_match_data_free((*m)->data);
	pcre2_match_context_free((*m)->context);
	pcre2_jit_stack_free((*m)->stack);
	free(*m);
	*m = NULL;
}

const char *route_match_reason(struct route_match *m)
{
	if (pcre2_get_error_message(m->error, (PCRE2_UCHAR *)m->reason, sizeof m->reason) < 0)
		return "unknown error";
	return m->reason;
}

/* ---- finding ----------------------------------------------------------------------- */

static bool takes_host(const struct entry *e, enum host_kind kind, struct slice host)
{
	if (kind == HOST_ANY || e->host_count == 0)
		return kind == HOST_ANY && e->host_count == 0;
	for (size_t i = 0; i < e->host_count; i++)
		if (e->hosts[i].wildcard == (kind == HOST_WILDCARD) && route_host_matches(&e->hosts[i], host))
			return true;
	return false;
}

/* An expression that gives up (match limit, memory) has said neither yes nor no. It counts as a match, so that no
 * route behind it is asked, which may be the open one behind a locked one; route_find then fails. */
static bool takes_regex(const pcre2_code *regex, struct route_match *m, struct slice path)
{
	int result = pcre2_match(regex, (PCRE2_SPTR)path.data, path.length, 0, 0, m->data, m->context);
	if (result < 0 && result != PCRE2_ERROR_NOMATCH)
		m->error = result;
	return result != PCRE2_ERROR_NOMATCH;
}

static bool takes_path(const struct entry *e, struct route_match *m, struct slice path)
{
	switch (e->kind) {
	case PATH_EXACT:
		return slice_equal(e->path, path);
	case PATH_REGEX:
		return takes_regex(e->regex, m, path);
	default:
		return slice_starts(path, e->path) &&
		       (path.length == e->path.length || path.data[e->path.length] == '/');
	}
}

/* Better in the order of the contract: exact, then regular expressions as they stand, then the longest prefix. */
static bool is_better(const struct entry *candidate, const struct entry *best)
{
	if (!best || candidate->kind != best->kind)
		return !best || candidate->kind < best->kind;
	return candidate->kind == PATH_PREFIX && candidate->path.length > best->path.length;
}

/* The best route of one kind of host; NULL: none. */
static const struct entry *find_for_host(const struct routes *routes, struct route_match *m, unsigned listener,
        enum host_kind kind, struct slice host, struct slice path)
{
	const struct entry *best = NULL;
	for (size_t i = 0; i < routes->count; i++) {
		const struct entry *e = &routes->entries[i];
		if (!e->listeners[listener])
			continue;
		if (takes_host(e, kind, host) && is_better(e, best) && takes_path(e, m, path))
			best = e;
	}
	return best;
}

enum route_verdict route_find(const struct routes *routes, struct route_match *m, unsigned listener, struct slice host,
        struct slice path, struct slice method, const struct route **ret)
{
	const struct entry *found = NULL;
	host = route_host_asked(host);
	m->error = 0;
	for (int kind = HOST_EXACT; !found && kind < HOST_KINDS; kind++)
		found = find_for_host(routes, m, listener, (enum host_kind)kind, host, path);
	if (!found)
		return ROUTE_NOT_FOUND;
	*ret = &found->route;
	/* An exact path may still have been better than the expression that gave up. */
	if (found->kind == PATH_REGEX && m->error)
		return ROUTE_FAILED;
	return route_methods_have(&found->methods, method) ? ROUTE_FOUND : ROUTE_METHOD_REFUSED;
}
