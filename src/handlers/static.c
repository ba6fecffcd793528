/* Files below a directory. What a file is and whether it is current is static_cache's; answering it is here. */
#include "base/check.h"
#include "config/options.h"
#include "handlers/handlers.h"
#include "handlers/static_cache.h"
#include "http/conditional.h"
#include "http/range.h"
#include "serve/exchange.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	CONDITIONS = 1 << FIELD_RANGE | 1 << FIELD_IF_RANGE | 1 << FIELD_IF_MATCH | 1 << FIELD_IF_NONE_MATCH |
	             1 << FIELD_IF_MODIFIED_SINCE | 1 << FIELD_IF_UNMODIFIED_SINCE,
	CONTENT_RANGE_BYTES = 96,
};

/* ---- configuration ---------------------------------------------------------------------- */

static bool check_index(const struct mlserve_settings *s, const struct static_site *site)
{
	bool fine = true;
	for (size_t i = 0; i < site->index_count; i++) {
		const char *name = site->index[i];
		if (!strchr(name, '/') && name[0] != '.' && strlen(name) <= NAME_MAX)
			continue;
		mlserve_setting_fault(s, "index", i,
		        "\"%s\" is no file of the directory that is asked for; allowed: names without /", name);
		fine = false;
	}
	return fine;
}

static bool check_root(const struct mlserve_settings *s, const char *root)
{
	int error = root ? static_root_check(root) : -ENOENT;
	if (error == -ENOSYS)
		mlserve_setting_fault(
		        s, "root", 0, "the kernel cannot confine lookups to it (openat2); needed: Linux 5.6");
	else if (error)
		mlserve_setting_fault(
		        s, "root", 0, "%s: %s; allowed: a readable directory", root ? root : "unset", strerror(-error));
	return !error;
}

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	struct static_site site = {.root = mlserve_setting_text(s, "root")};
	site.index_count = mlserve_setting_list(s, "index", &site.index);
	bool root_is_fine = check_root(s, site.root), index_is_fine = check_index(s, &site);
	if (!root_is_fine || !index_is_fine)
		return false;
	struct static_site *kept = malloc(sizeof *kept);
	if (!kept) {
		mlserve_setting_fault(s, NULL, 0, "no memory");
		return false;
	}
	*kept = site;
	*ret_route = kept;
	return true;
}

static bool attach(void *route, unsigned loop, void **ret_local)
{
	(void)loop;
	*ret_local = static_cache_create(route);
	return *ret_local != NULL;
}

static void detach(void *route, void *local)
{
	struct static_cache *cache = local;
	(void)route;
	static_cache_free(&cache);
}

/* ---- answering ------------------------------------------------------------------------------ */

static void send_part(struct mlserve_exchange *x, struct static_entry *e, int64_t first, int64_t length)
{
	if (length > 0 && exchange_head(x)->method != METHOD_HEAD) {
		static_entry_hold(e);
		if (e->fd >= 0)
			mlserve_answer_file(x, e->fd, first, length, static_entry_drop, e);
		else
			mlserve_answer_memory(x, e->content.data + first, (size_t)length, static_entry_drop, e);
	}
	mlserve_answer_end(x);
}

static void answer_whole(struct mlserve_exchange *x, struct static_entry *e)
{
	mlserve_answer_begin(x, 200, e->size);
	mlserve_answer_fields(x, e->fields);
	send_part(x, e, 0, e->size);
}

static void answer_part(struct mlserve_exchange *x, struct static_entry *e, int64_t first, int64_t length)
{
	char line[CONTENT_RANGE_BYTES];
	int n = snprintf(line, sizeof line, "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)first,
	        (long long)(first + length - 1), (long long)e->size);
	mlserve_answer_begin(x, 206, length);
	mlserve_answer_fields(x, e->fields);
	mlserve_answer_fields(x, (struct slice){line, (size_t)n});
	send_part(x, e, first, length);
}

static void answer_unsatisfiable(struct mlserve_exchange *x, const struct static_entry *e)
{
	char line[CONTENT_RANGE_BYTES];
	int n = snprintf(line, sizeof line, "Content-Range: bytes */%lld\r\n", (long long)e->size);
	mlserve_answer_error(x, 416, (struct slice){line, (size_t)n});
}

static void answer_unmodified(struct mlserve_exchange *x, const struct static_entry *e)
{
	mlserve_answer_begin(x, 304, e->size);
	mlserve_answer_fields(x, e->validators);
	mlserve_answer_end(x);
}

/* With preconditions or a range (RFC 9110 13.2.2). */
static void answer_conditionally(struct mlserve_exchange *x, struct static_entry *e)
{
	const struct request_head *head = exchange_head(x);
	struct validators v = {.etag = e->etag, .modified = e->modified};
	/* Two seconds of whole numbers are more than one of real time. */
	v.modified_is_strong = clock_wall_s() - e->modified >= 2;
	unsigned status = conditional_evaluate(head, &v);
	if (status == 304)
		return answer_unmodified(x, e);
	if (status)
		return mlserve_answer_error(x, status, SLICE_NONE);
	struct slice range;
	int64_t first = 0, length = e->size;
	/* RFC 9110 14.2: Range is for GET only. */
	if (head->method != METHOD_GET || !fields_find(&head->fields, FIELD_RANGE, &range) ||
	        !conditional_range_holds(head, &v))
		return answer_whole(x, e);
	switch (range_parse(range, e->size, &first, &length)) {
	case RANGE_PART:
		return answer_part(x, e, first, length);
	case RANGE_UNSATISFIABLE:
		return answer_unsatisfiable(x, e);
	default:
		return answer_whole(x, e);
	}
}

/* A directory without its slash: relative links in it would lead astray. */
static void redirect_to_directory(struct mlserve_exchange *x)
{
	struct slice path = mlserve_request_path(x), query = mlserve_request_query(x);
	size_t length = path.length;
	char *location = mlserve_exchange_alloc(x, path.length + 2 + query.length);
	if (!location)
		return mlserve_answer_error(x, 503, SLICE_NONE);
	memcpy(location, path.data, path.length);
	location[length++] = '/';
	if (query.data)
		location[length++] = '?';
	if (query.length)
		memcpy(location + length, query.data, query.length);
	mlserve_answer_begin(x, 301, 0);
	mlserve_answer_field(x, "Location", (struct slice){location, length + query.length});
	mlserve_answer_end(x);
}

static void serve(struct mlserve_exchange *x)
{
	struct static_cache *cache = mlserve_exchange_local(x);
	unsigned status = 0;
	struct static_entry *e = static_cache_get(cache, mlserve_request_rest(x), exchange_loop(x)->epoch, &status);
	if (e && !(exchange_head(x)->fields.seen & CONDITIONS))
		answer_whole(x, e);
	else if (e)
		answer_conditionally(x, e);
	else if (status == 301)
		redirect_to_directory(x);
	else
		mlserve_answer_error(x, status, status == 503 ? SLICE("Retry-After: 1\r\n") : SLICE_NONE);
}

const struct mlserve_handler handler_static = {
        .abi = MLSERVE_HANDLER_ABI,
        .name = "static",
        .methods = "GET HEAD",
        .options = options_static,
        .configure = configure,
        .release = free,
        .attach = attach,
        .detach = detach,
        .serve = serve,
};
