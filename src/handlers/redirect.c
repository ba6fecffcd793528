/* Sends the client elsewhere: to `to`, with the rest of the path, or captures in it, and the query behind it. */
#include "base/check.h"
#include "config/options.h"
#include "handlers/handlers.h"
#include "serve/exchange.h"
#include <stdlib.h>

struct redirect {
	unsigned status;
	bool appends_rest;             /* not on "= /exact" routes, where no path is left over, nor behind captures */
	struct slice to;               /* or, with captures, what stands before its path */
	struct route_rewrite *rewrite; /* the path with captures; NULL: there are none */
	char memory[];
};

/* What is wrong with the target, or NULL. */
static const char *check(const char *to)
{
	for (const char *c = to; *c; c++) {
		if (*c <= 0x20 || *c >= 0x7f)
			return "holds a byte that a URL cannot";
		if (*c == '?' || *c == '#')
			return "holds a query or fragment, but the rest of the path and the query are appended";
	}
	const char *scheme_end = strstr(to, "://");
	if (to[0] != '/' && (!scheme_end || scheme_end == to))
		return "is neither a path nor a URL";
	return NULL;
}

/* Bytes of "http://host" or "//host" in front of the path. */
static size_t origin_length(const char *to)
{
	const char *scheme_end = strstr(to, "//"), *path = to;
	if (to[0] != '/' || to[1] == '/')
		path = strchrnul(scheme_end + 2, '/');
	return (size_t)(path - to);
}

/* Without captures it is a literal after all. */
static void undo_captures(struct redirect *r)
{
	struct slice path = route_rewrite_start(r->rewrite);
	memcpy(r->memory + r->to.length, path.data, path.length);
	r->to.length += path.length;
	route_rewrite_free(&r->rewrite);
}

/* Which host is meant does not depend on the request, so that nobody can be sent to one that is not ours. */
static bool read_captures(struct redirect *r, const struct mlserve_settings *s)
{
	size_t length = origin_length(r->memory);
	struct slice path = slice_from(r->to, length);
	if (memchr(r->memory, '$', length)) {
		mlserve_setting_fault(
		        s, "to", 0, "has a '$' in its host; allowed: captures behind the / that follows the host");
		return false;
	}
	if (!route_rewrite_read(s, "to", path, &r->rewrite))
		return false;
	r->to.length = length;
	if (route_rewrite_has_captures(r->rewrite))
		r->appends_rest = false;
	else
		undo_captures(r);
	return true;
}

static void release(void *route)
{
	struct redirect *r = route;
	route_rewrite_free(&r->rewrite);
	free(r);
}

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	const char *to = mlserve_setting_text(s, "to"), *wrong = to ? check(to) : "is missing";
	size_t length = to ? strlen(to) : 0;
	if (wrong) {
		mlserve_setting_fault(s, "to", 0, "%s; allowed: /path or http://host/path", wrong);
		return false;
	}
	struct redirect *r = calloc(1, sizeof *r + length + 1);
	if (!r) {
		mlserve_setting_fault(s, NULL, 0, "no memory");
		return false;
	}
	memcpy(r->memory, to, length);
	r->to = (struct slice){r->memory, length};
	r->appends_rest = mlserve_setting_text(s, "path")[0] != '=';
	r->status = (unsigned)atoi(mlserve_setting_text(s, "status"));
	if (strchr(to, '$') && !read_captures(r, s)) {
		release(r);
		return false;
	}
	*ret_route = r;
	return true;
}

static char *append(char *at, struct slice s)
{
	/* Both come from a parsed and normalised target. */
	MUST(!memchr(s.data, '\r', s.length) && !memchr(s.data, '\n', s.length));
	memcpy(at, s.data, s.length);
	return at + s.length;
}

/* What follows `to`. 0, or the status to refuse the request with. */
static unsigned find_path(struct mlserve_exchange *x, const struct redirect *r, struct slice *ret_path)
{
	if (r->rewrite)
		return exchange_rewrite(x, r->rewrite, ret_path);
	*ret_path = r->appends_rest ? mlserve_request_rest(x) : SLICE_NONE;
	if (ret_path->length && r->to.data[r->to.length - 1] == '/')
		*ret_path = slice_from(*ret_path, 1);
	return 0;
}

static void serve(struct mlserve_exchange *x)
{
	const struct redirect *r = mlserve_exchange_route(x);
	struct slice to = r->to, rest, query = mlserve_request_query(x);
	unsigned status = find_path(x, r, &rest);
	if (status == 400)
		x->error_reason = "The rewritten path is malformed or leaves the root.";
	if (status) {
		mlserve_answer_error(x, status, SLICE_NONE);
		return;
	}
	char *location = mlserve_exchange_alloc(x, to.length + rest.length + 1 + query.length), *end = location;
	if (!location) {
		mlserve_answer_error(x, 503, SLICE_NONE);
		return;
	}
	if (to.length)
		end = append(end, to);
	if (rest.length)
		end = append(end, rest);
	if (query.data) {
		end = append(end, SLICE("?"));
		if (query.length)
			end = append(end, query);
	}
	mlserve_answer_begin(x, r->status, 0);
	mlserve_answer_field(x, "Location", (struct slice){location, (size_t)(end - location)});
	mlserve_answer_end(x);
}

const struct mlserve_handler handler_redirect = {
        .abi = MLSERVE_HANDLER_ABI,
        .name = "redirect",
        .methods = "GET HEAD POST PUT PATCH DELETE OPTIONS",
        .options = options_redirect,
        .configure = configure,
        .release = release,
        .serve = serve,
};
