/* Making groups from the configuration, and handing new sets of servers to the loops. */
#include "upstream/group.h"
#include "base/check.h"
#include "http/byte.h"
#include "upstream/pool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct groups {
	struct group *items;
	size_t count;
	char instance[32];
};

/* ---- settings ---------------------------------------------------------------------------- */

static const struct {
	struct slice text; /* what `balance` begins with */
	const struct balance *balance;
	enum key_kind key;
	bool has_name;
} policies[] = {
        {{"least-requests", 14}, &balance_least_requests, KEY_NONE, false},
        {{"round-robin", 11}, &balance_round_robin, KEY_NONE, false},
        {{"two-choices", 11}, &balance_two_choices, KEY_NONE, false},
        {{"hash:client-ip", 14}, &balance_hash, KEY_CLIENT_IP, false},
        {{"hash:uri", 8}, &balance_hash, KEY_URI, false},
        {{"hash:header=", 12}, &balance_hash, KEY_HEADER, true},
        {{"hash:cookie=", 12}, &balance_hash, KEY_COOKIE, true},
};

static bool read_balance(struct group *g, const struct mlserve_settings *settings)
{
	struct slice text = slice_of(mlserve_setting_text(settings, "balance"));
	for (size_t i = 0; i < ARRAY_COUNT(policies); i++) {
		struct slice name = slice_from(text, policies[i].text.length);
		bool fits = policies[i].has_name ? slice_starts(text, policies[i].text) && byte_is_token(name)
		                                 : slice_equal(text, policies[i].text);
		if (!fits)
			continue;
		g->balance = policies[i].balance;
		g->key = policies[i].key;
		g->key_name = policies[i].has_name ? name : SLICE_NONE;
		return true;
	}
	mlserve_setting_fault(settings, "balance", 0,
	        "does not know \"%.*s\"; allowed: least-requests, round-robin, two-choices, hash:client-ip, hash:uri, "
	        "hash:header=NAME, hash:cookie=NAME",
	        SLICE_ARGS(text));
	return false;
}

static bool read_sticky(struct group *g, const struct mlserve_settings *settings)
{
	g->sticky_cookie = mlserve_setting_text(settings, "sticky_cookie");
	if (!g->sticky_cookie)
		return true;
	struct slice name = slice_of(g->sticky_cookie);
	if (byte_is_token(name) && name.length <= STICKY_NAME_BYTES)
		return true;
	mlserve_setting_fault(settings, "sticky_cookie", 0,
	        "\"%s\" is no name of a cookie; allowed: up to %d letters, digits and !#$%%&'*+-.^_`|~",
	        g->sticky_cookie, STICKY_NAME_BYTES);
	return false;
}

static int64_t duration_ns(const struct mlserve_settings *settings, const char *name)
{
	int64_t us = mlserve_setting_number(settings, name);
	return us == MLSERVE_AUTO_VALUE ? 0 : us * NS_PER_US;
}

static unsigned count_of(const struct mlserve_settings *settings, const char *name)
{
	return (unsigned)mlserve_setting_number(settings, name);
}

static bool read_check(struct check_settings *c, const struct mlserve_settings *settings)
{
	c->path = mlserve_setting_text(settings, "health_path");
	c->interval_ns = duration_ns(settings, "health_interval");
	c->timeout_ns = duration_ns(settings, "health_timeout");
	c->rise = count_of(settings, "health_rise");
	c->fall = count_of(settings, "health_fall");
	/* It becomes a part of a request line. */
	struct slice path = slice_of(c->path ? c->path : "/");
	bool fine = path.length > 0 && path.length <= CHECK_PATH_BYTES && path.data[0] == '/';
	for (size_t i = 0; i < path.length; i++)
		fine = fine && byte_is(path.data[i], BYTE_TARGET);
	if (!fine)
		mlserve_setting_fault(settings, "health_path", 0,
		        "\"%s\" is no path; it begins with /, as in /healthz, and has no blanks, no # and at most %d "
		        "bytes",
		        c->path, CHECK_PATH_BYTES);
	return fine;
}

static bool read_times(struct group *g, const struct mlserve_settings *settings)
{
	g->connect_timeout_ns = duration_ns(settings, "connect_timeout");
	g->response_timeout_ns = duration_ns(settings, "response_timeout");
	g->queue_timeout_ns = duration_ns(settings, "queue_timeout");
	g->eject_ns = duration_ns(settings, "eject_time");
	g->slow_start_ns = duration_ns(settings, "slow_start");
	g->resolve_ns = duration_ns(settings, "resolve_interval");
	g->ttl_min_ns = duration_ns(settings, "resolve_min_ttl");
	g->ttl_max_ns = duration_ns(settings, "resolve_max_ttl");
	if (g->ttl_min_ns <= g->ttl_max_ns)
		return true;
	mlserve_setting_fault(settings, "resolve_min_ttl", 0, "is more than resolve_max_ttl; allowed: as much or less");
	return false;
}

static bool read_lines(struct group *g, const struct mlserve_settings *settings)
{
	const char *const *values;
	size_t count = mlserve_setting_list(settings, "server", &values);
	int64_t limit = mlserve_setting_number(settings, "max_connections");
	if (count == 0 || count > SET_MEMBERS) {
		mlserve_setting_fault(settings, count ? "server" : NULL, 0, "needs 1 to %d servers", SET_MEMBERS);
		return false;
	}
	g->lines = calloc(count, sizeof *g->lines);
	if (!g->lines)
		return false;
	g->line_count = count;
	bool fine = true;
	for (size_t i = 0; i < count; i++) {
		fine = server_line_read(&g->lines[i], settings, i, values[i]) && fine;
		if (g->lines[i].limit < 0)
			g->lines[i].limit = limit;
	}
	return fine;
}

/* ---- sets -------------------------------------------------------------------------------------- */

void group_collect(struct group *g)
{
	LIST_EACH_SAFE (node, &g->servers) {
		struct member *s = CONTAINER_OF(node, struct member, node);
		if (atomic_load_explicit(&s->is_retired, memory_order_relaxed) && !s->probe && member_is_unused(s))
			member_free(&s);
	}
}

/* Before the loops hear of the set, so that none of them keeps a connection that it would not look at again. */
static void note_retired(struct group *g, const struct member_set *set)
{
	LIST_EACH (node, &g->servers)
		CONTAINER_OF(node, struct member, node)->is_listed = false;
	for (size_t i = 0; i < set->count; i++)
		set->entries[i].server->is_listed = true;
	LIST_EACH (node, &g->servers) {
		struct member *m = CONTAINER_OF(node, struct member, node);
		atomic_store_explicit(&m->is_retired, !m->is_listed, memory_order_relaxed);
	}
}

bool group_publish(struct group *g, const struct set_entry *entries, size_t count, const char *const *unresolved,
        size_t unresolved_count, bool is_pending)
{
	struct member_set *set = set_create(entries, count, unresolved, unresolved_count, is_pending);
	if (!set)
		return false;
	note_retired(g, set);
	pthread_mutex_lock(&g->set_lock);
	struct member_set *before = g->set;
	g->set = set;
	pthread_mutex_unlock(&g->set_lock);
	set_release(before);
	atomic_store_explicit(&g->size, set->taker_count, memory_order_relaxed);
	for (unsigned i = 0; i < g->loop_count; i++)
		pool_send_set(g->pools[i], set);
	group_collect(g);
	return true;
}

struct member_set *group_hold_set(struct group *g)
{
	pthread_mutex_lock(&g->set_lock);
	struct member_set *set = g->set;
	set_hold(set);
	pthread_mutex_unlock(&g->set_lock);
	return set;
}

struct member *group_add_member(struct group *g, size_t line, const struct endpoint *endpoint)
{
	char text[ENDPOINT_TEXT_BYTES];
	const struct server_line *l = &g->lines[line];
	endpoint_format(endpoint, text);
	bool is_fixed = l->kind == SERVER_FIXED;
	struct member *s = member_create(g, is_fixed ? l->text : text, is_fixed ? NULL : l->text, endpoint);
	if (!s)
		return NULL;
	s->line = line;
	s->limit = l->limit;
	atomic_store_explicit(&s->is_retired, true, memory_order_relaxed); /* until a set names it */
	list_append(&g->servers, &s->node);
	return s;
}

/* The first set: the servers that are given by address. */
static bool publish_fixed(struct group *g)
{
	struct set_entry *entries = calloc(g->line_count, sizeof *entries);
	const char **unresolved = calloc(g->line_count, sizeof *unresolved);
	size_t count = 0, unresolved_count = 0;
	bool fine = entries && unresolved;
	for (size_t i = 0; fine && i < g->line_count; i++) {
		const struct server_line *l = &g->lines[i];
		if (l->kind != SERVER_FIXED) {
			unresolved[unresolved_count++] = l->text;
			continue;
		}
		struct member *s = group_add_member(g, i, &l->endpoint);
		entries[count++] = (struct set_entry){s, l->weight, l->is_backup, l->is_draining};
		fine = s != NULL;
	}
	fine = fine && group_publish(g, entries, count, unresolved, unresolved_count, unresolved_count > 0);
	free(entries);
	free((void *)unresolved);
	return fine;
}

/* ---- groups ------------------------------------------------------------------------------ */

static bool make_pools(struct group *g)
{
	g->pools = calloc(g->loop_count, sizeof *g->pools);
	bool fine = g->pools != NULL;
	for (unsigned i = 0; g->pools && i < g->loop_count; i++) {
		g->pools[i] = pool_create(g, i);
		fine = fine && g->pools[i];
	}
	return fine;
}

static bool make_group(struct group *g, const struct mlserve_settings *settings, unsigned loop_count)
{
	list_init(&g->servers);
	pthread_mutex_init(&g->set_lock, NULL);
	g->name = slice_copy(slice_of(config_name(settings)));
	g->loop_count = loop_count + 1;
	g->keepalive = count_of(settings, "keepalive");
	g->retries = count_of(settings, "retries");
	g->retry_percent = count_of(settings, "retry_budget");
	g->queue = count_of(settings, "queue");
	g->eject_errors = count_of(settings, "eject_errors");
	/* Each reports its own faults. */
	bool fine = read_times(g, settings);
	fine = read_balance(g, settings) && fine;
	fine = read_sticky(g, settings) && fine;
	fine = read_check(&g->check, settings) && fine;
	fine = read_lines(g, settings) && fine;
	return make_pools(g) && fine && g->name && publish_fixed(g);
}

static void free_group(struct group *g)
{
	for (unsigned i = 0; g->pools && i < g->loop_count; i++)
		pool_free(g->pools[i]);
	set_release(g->set);
	LIST_EACH_SAFE (node, &g->servers) {
		struct member *s = CONTAINER_OF(node, struct member, node);
		member_free(&s);
	}
	for (size_t i = 0; i < g->line_count; i++)
		server_line_fini(&g->lines[i]);
	pthread_mutex_destroy(&g->set_lock);
	free(g->lines);
	free(g->pools);
	free(g->name);
}

static bool name_instance(struct groups *all)
{
	uint64_t number;
	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return false;
	snprintf(all->instance, sizeof all->instance, "mlserve-%016llx", (unsigned long long)number);
	return true;
}

struct groups *groups_create(const struct config *config, unsigned loop_count)
{
	struct groups *all = calloc(1, sizeof *all);
	size_t count = config_count(config, CONFIG_UPSTREAM);
	if (!all)
		return NULL;
	all->items = aligned_alloc(alignof(struct group), (count ? count : 1) * sizeof *all->items);
	bool fine = all->items && name_instance(all);
	if (all->items)
		memset(all->items, 0, count * sizeof *all->items);
	for (size_t i = 0; all->items && i < count; i++) {
		all->count++;
		fine = make_group(&all->items[i], config_at(config, CONFIG_UPSTREAM, i), loop_count) && fine;
	}
	if (!fine)
		groups_free(&all);
	return all;
}

void groups_free(struct groups **all)
{
	if (!*all)
		return;
	for (size_t i = 0; i < (*all)->count; i++)
		free_group(&(*all)->items[i]);
	free((*all)->items);
	free(*all);
	*all = NULL;
}

size_t groups_count(const struct groups *all)
{
	return all->count;
}

struct group *groups_at(const struct groups *all, size_t index)
{
	MUST(index < all->count);
	return &all->items[index];
}

struct group *groups_find(const struct groups *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->items[i].name, name) == 0)
			return &all->items[i];
	return NULL;
}

struct slice groups_instance(const struct groups *all)
{
	return slice_of(all->instance);
}
