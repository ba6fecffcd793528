/* Making groups from the configuration, and what others may see of them. */
#include "upstream/group.h"
#include "base/check.h"
#include "config/options.h"
#include "upstream/pool.h"
#include "upstream/turns.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { MAX_SERVERS = 1024 };

struct groups {
	struct group *items;
	size_t count;
	char instance[32];
};

/* ---- one server ------------------------------------------------------------------------ */

/* No server can be reached at port 0, which is only asked for when listening. */
static bool has_port_zero(const struct endpoint *e)
{
	return e->to.any.sa_family != AF_UNIX && endpoint_port(e) == 0;
}

/* What stands behind the address. false: a fault was reported. */
static bool read_parameters(
        struct group_server *s, const struct mlserve_settings *settings, size_t item, struct slice rest)
{
	struct slice word;
	bool has_weight = false;
	while (slice_next_word(&rest, &word)) {
		if (!turns_read_weight(word, &s->weight)) {
			mlserve_setting_fault(settings, "server", item,
			        "does not know \"%.*s\"; after the address weight=1..%d is allowed", SLICE_ARGS(word),
			        TURNS_MAX_WEIGHT);
			return false;
		}
		if (has_weight) {
			mlserve_setting_fault(settings, "server", item,
			        "repeats weight (\"%.*s\"); after the address one weight=1..%d is allowed",
			        SLICE_ARGS(word), TURNS_MAX_WEIGHT);
			return false;
		}
		has_weight = true;
	}
	return true;
}

/* One value of `server`. false: a fault was reported, or no memory. */
static bool make_server(struct group_server *s, const struct mlserve_settings *settings, size_t item, const char *value)
{
	struct slice rest = slice_of(value), word;
	const char *reason = NULL;
	s->weight = 1;
	if (!slice_next_word(&rest, &word)) {
		mlserve_setting_fault(settings, "server", item, "is empty; ADDRESS:PORT or unix:/PATH is wanted");
		return false;
	}
	if (!endpoint_parse(word, true, &s->endpoint, &reason)) {
		mlserve_setting_fault(settings, "server", item, "%.*s: %s", SLICE_ARGS(word), reason);
		return false;
	}
	if (has_port_zero(&s->endpoint)) {
		mlserve_setting_fault(settings, "server", item,
		        "%.*s: there is no port 0; a port from 1 to 65535 is wanted", SLICE_ARGS(word));
		return false;
	}
	s->name = slice_copy(word);
	return read_parameters(s, settings, item, rest) && s->name;
}

static bool make_servers(struct group *g, const struct mlserve_settings *settings)
{
	const char *const *values;
	size_t count = mlserve_setting_list(settings, "server", &values);
	if (count == 0 || count > MAX_SERVERS) {
		mlserve_setting_fault(settings, count ? "server" : NULL, 0, "needs 1 to %d servers", MAX_SERVERS);
		return false;
	}
	g->servers = aligned_alloc(alignof(struct group_server), count * sizeof *g->servers);
	if (!g->servers)
		return false;
	memset(g->servers, 0, count * sizeof *g->servers);
	g->server_count = count;
	bool fine = true;
	for (size_t i = 0; i < count; i++)
		fine = make_server(&g->servers[i], settings, i, values[i]) && fine;
	return fine;
}

/* ---- groups ------------------------------------------------------------------------------ */

static bool lay_schedule(struct group *g)
{
	unsigned weights[MAX_SERVERS];
	for (size_t i = 0; i < g->server_count; i++)
		weights[i] = g->servers[i].weight;
	return turns_lay(weights, g->server_count, &g->schedule, &g->schedule_length);
}

static bool make_group(struct group *g, const struct mlserve_settings *settings, unsigned loop_count)
{
	static const struct balance *const policies[] = {
	        [CONFIG_BALANCE_LEAST_REQUESTS] = &balance_least_requests,
	        [CONFIG_BALANCE_ROUND_ROBIN] = &balance_round_robin,
	};
	int64_t policy = mlserve_setting_number(settings, "balance");
	MUST(policy >= 0 && (size_t)policy < ARRAY_COUNT(policies));
	g->name = slice_copy(slice_of(config_name(settings)));
	g->balance = policies[policy];
	g->connect_timeout_ns = mlserve_setting_number(settings, "connect_timeout") * NS_PER_US;
	g->response_timeout_ns = mlserve_setting_number(settings, "response_timeout") * NS_PER_US;
	g->keepalive = (unsigned)mlserve_setting_number(settings, "keepalive");
	g->retries = (unsigned)mlserve_setting_number(settings, "retries");
	g->pools = calloc(loop_count + 1, sizeof *g->pools);
	g->pool_count = loop_count + 1;
	return make_servers(g, settings) && lay_schedule(g) && g->name && g->pools;
}

static void free_group(struct group *g)
{
	for (unsigned i = 0; g->pools && i < g->pool_count; i++)
		pool_free(atomic_load_explicit(&g->pools[i], memory_order_acquire));
	for (size_t i = 0; i < g->server_count; i++)
		free(g->servers[i].name);
	free(g->servers);
	free(g->schedule);
	free((void *)g->pools);
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

const char *group_name(const struct group *g)
{
	return g->name;
}

size_t group_server_count(const struct group *g)
{
	return g->server_count;
}

const char *server_state_text(enum server_state state)
{
	return state == SERVER_UP ? "up" : "down";
}

void group_server_figures(const struct group *g, size_t index, struct server_figures *ret)
{
	MUST(index < g->server_count);
	const struct group_server *s = &g->servers[index];
	*ret = (struct server_figures){
	        .server = s->name,
	        .state = atomic_load_explicit(&s->down, memory_order_relaxed) ? SERVER_DOWN : SERVER_UP,
	        .active = atomic_load_explicit(&s->active, memory_order_relaxed),
	};
	for (unsigned i = 0; i < g->pool_count; i++) {
		const struct pool *pool = atomic_load_explicit(&g->pools[i], memory_order_acquire);
		if (pool)
			pool_add_figures(pool, index, ret);
	}
}

bool group_pick(struct group *g, const uint16_t *tried, size_t tried_count, uint16_t *ret_server)
{
	if (g->server_count > 1)
		return g->balance->pick(g, tried, tried_count, ret_server);
	*ret_server = 0;
	return tried_count == 0;
}
