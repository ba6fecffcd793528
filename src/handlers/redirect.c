/* Sends the client elsewhere: to `to`, with the rest of the path and the query behind it. */
#include "base/check.h"
#include "config/options.h"
#include "handlers/handlers.h"
#include <stdlib.h>

struct redirect {
	unsigned status;
	bool appends_rest; /* not on "= /exact" routes, where no path is left over */
	struct slice to;
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

static void serve(struct mlserve_exchange *x)
{
	const struct redirect *r = mlserve_exchange_route(x);
	struct slice to = r->to, rest = r->appends_rest ? mlserve_request_rest(x) : SLICE_NONE;
	struct slice query = mlserve_request_query(x);
	if (rest.length && to.data[to.length - 1] == '/')
		rest = slice_from(rest, 1);
	char *location = mlserve_exchange_alloc(x, to.length + rest.length + 1 + query.length), *end = location;
	if (!location) {
		mlserve_answer_error(x, 503, SLICE_NONE);
		return;
	}
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
        .release = free,
        .serve = serve,
};
