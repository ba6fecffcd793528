/* See routing.h. */
#include "routing.h"
#include "base/check.h"
#include "serve/route_match.h"
#include "serve/route_rewrite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- handlers that note who configured them --------------------------------------------------- */

struct routing routing;

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	(void)s;
	routing.configured++;
	*ret_route = malloc(1);
	return true;
}

static bool configure_and_fail(const struct mlserve_settings *s, void **ret_route)
{
	configure(s, ret_route);
	mlserve_setting_fault(s, "path", 0, "the handler does not like it");
	return false;
}

static bool configure_rewrite(const struct mlserve_settings *s, void **ret_route)
{
	struct route_rewrite *r = NULL;
	configure(s, ret_route);
	bool fine = route_rewrite_read(s, "path", SLICE("/$1"), &r);
	route_rewrite_free(&r);
	return fine;
}

static void release(void *route)
{
	routing.released++;
	free(route);
}

static const struct mlserve_option no_options[] = {{0}};
static const struct mlserve_handler getter = {
        .name = "getter", .methods = "GET HEAD", .options = no_options, .configure = configure, .release = release};
static const struct mlserve_handler poster = {
        .name = "poster", .methods = "POST", .options = no_options, .configure = configure, .release = release};

static const struct mlserve_handler tracer = {.name = "tracer",
        .methods = "GET TRACE GET CONNECT FLY PURGE",
        .options = no_options,
        .configure = configure,
        .release = release};
static const struct mlserve_handler moody = {
        .name = "moody", .methods = "GET", .options = no_options, .configure = configure_and_fail, .release = release};
static const struct mlserve_handler rewriter = {.name = "rewriter",
        .methods = "GET",
        .options = no_options,
        .configure = configure_rewrite,
        .release = release};
static const struct mlserve_handler *const all[] = {&getter, &poster, &tracer, &moody, &rewriter};

static const struct mlserve_handler *find(void *context, const char *name, const char **ret_reason)
{
	assert_ptr_equal(context, &routing.configured);
	*ret_reason = NULL;
	for (size_t i = 0; i < ARRAY_COUNT(all); i++)
		if (strcmp(name, all[i]->name) == 0)
			return all[i];
	return NULL;
}

static const struct mlserve_option *find_options(void *context, const char *name, const char **ret_reason)
{
	return find(context, name, ret_reason) ? no_options : NULL;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static void load(const char *text)
{
	char whole[4096];
	snprintf(whole, sizeof whole,
	        "[listener main]\nbind = 127.0.0.1:8080\n[listener admin]\nbind = 127.0.0.1:8081\n%s", text);
	struct config_source source = {.path = "t.ini",
	        .handlers = {.find = find_options,
	                .names = "getter poster tracer moody rewriter",
	                .context = &routing.configured}};
	FILE *stream = fmemopen(whole, strlen(whole), "r");
	routing.configured = routing.released = 0;
	faults_init(&routing.faults);
	routing.config = config_load_stream(&source, stream, &routing.faults);
	fclose(stream);
	if (!routing.config)
		faults_print(&routing.faults, stderr);
	assert_non_null(routing.config);
}

void routing_build(const char *text)
{
	load(text);
	routing.routes = routes_create(routing.config, find, &routing.configured, &routing.faults);
	if (!routing.routes)
		faults_print(&routing.faults, stderr);
	assert_non_null(routing.routes);
	routing.match = route_match_create(routes_group_count(routing.routes));
	assert_non_null(routing.match);
}

void routing_drop(void)
{
	route_match_free(&routing.match);
	routes_free(&routing.routes);
	assert_int_equal(routing.configured, routing.released);
	config_free(&routing.config);
	faults_fini(&routing.faults);
}

const char *routing_ask(unsigned listener, const struct route_request *request)
{
	static char refused[64];
	const struct route *r = NULL;
	struct route_failure failure = {0};
	switch (route_find(routing.routes, routing.match, listener, request, &r, &failure)) {
	case ROUTE_FOUND:
		return r->name;
	case ROUTE_METHOD_REFUSED:
		snprintf(refused, sizeof refused, "!%s", r->name);
		return refused;
	case ROUTE_FAILED:
		snprintf(refused, sizeof refused, "?%s", r->name);
		snprintf(routing.failure, sizeof routing.failure, "%s: %s", failure.option,
		        route_match_reason(routing.match, &failure));
		return refused;
	default:
		return "-";
	}
}

const char *routing_find(unsigned listener, const char *host, const char *path, const char *method)
{
	static const struct fields no_fields;
	return routing_ask(listener, &(struct route_request){.host = slice_of(host),
	                                     .path = slice_of(path),
	                                     .method = slice_of(method),
	                                     .fields = &no_fields});
}

char *routing_told(void)
{
	char *told = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&told, &length);
	faults_print(&routing.faults, out);
	fclose(out);
	return told;
}

void routing_expect_faults(const char *text, size_t count, const char *const *parts)
{
	load(text);
	assert_null(routes_create(routing.config, find, &routing.configured, &routing.faults));
	assert_int_equal(routing.configured, routing.released);
	char *said = routing_told();
	assert_int_equal(routing.faults.count, count);
	for (size_t i = 0; parts[i]; i++)
		if (!strstr(said, parts[i]))
			fail_msg("no \"%s\" in: %s", parts[i], said);
	free(said);
	config_free(&routing.config);
	faults_fini(&routing.faults);
}
