/*
 * The proxy: gets an answer from a server of an upstream group and passes it on while it
 * arrives. Joins an exchange (serve) with a link (upstream); neither knows the other.
 * Holds of one exchange what both streams' buffers hold, and nothing else.
 *
 * This file holds the handler and its steps. Bytes go up in proxy_up.c and come down in
 * proxy_down.c; what a failed try leads to is in proxy_try.c; proxy_tunnel.c is what
 * follows an answer 101; with buffering, bodies wait in proxy_buffer_up.c and
 * proxy_buffer_down.c.
 */
#include "base/check.h"
#include "config/options.h"
#include "handlers/handlers.h"
#include "handlers/proxy_forward.h"
#include "http/uri.h"
#include "serve/exchange.h"
#include "serve/route_path.h"
#include <stdlib.h>

/* ---- steps -------------------------------------------------------------------------------------- */

/* Bytes wait that the socket does not take. */
static bool upstream_is_full(const struct forward *f)
{
	return f->upload != UPLOAD_STOPPED && (f->piece.length || !stream_is_drained(&f->link->stream));
}

static void set_deadline(struct forward *f)
{
	bool full = upstream_is_full(f);
	int64_t at = f->pool->loop->now_ns + f->pool->group->response_timeout_ns;
	if (full)
		f->upstream_taken = stream_taken(&f->link->stream);
	if (!full && (f->upload == UPLOAD_GOES_ON || f->client_is_full)) {
		link_deadline(f->link, NO_DEADLINE); /* the client's turn: its own timeouts run */
		return;
	}
	if (!full && !f->has_begun) {
		/* The head as a whole has this time, not each piece of it. */
		if (f->head_deadline_ns == 0)
			f->head_deadline_ns = at;
		at = f->head_deadline_ns;
	}
	link_deadline(f->link, at);
}

bool forward_upstream_reads_on(struct forward *f)
{
	if (!upstream_is_full(f) || stream_taken(&f->link->stream) == f->upstream_taken)
		return false;
	set_deadline(f);
	return true;
}

void forward_advance(struct forward *f)
{
	if (!f->head_is_sent) {
		enum link_result connected = link_connected(f->link);
		if (connected == LINK_AGAIN)
			return;
		if (connected == LINK_FAILED) {
			forward_fail(f, 502, f->link->reason);
			return;
		}
		if (forward_send_head(f) == FORWARD_ENDED)
			return;
	}
	if (forward_upload(f) == FORWARD_ENDED || forward_download(f) == FORWARD_ENDED)
		return;
	set_deadline(f);
}

void forward_run(struct forward *f, void (*event)(struct forward *))
{
	struct loop *loop = f->pool->loop;
	const struct route *route = f->exchange->route;
	loop_label(loop, route->name, route->handler_name);
	event(f);
	loop_label(loop, NULL, NULL);
}

void forward_refuse(struct mlserve_exchange *x, unsigned status, const char *reason)
{
	x->error_reason = reason;
	mlserve_answer_error(x, status, status == 503 ? SLICE("Retry-After: 1\r\n") : SLICE_NONE);
}

static void serve(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	struct proxy_request request;
	struct proxy_local *local = mlserve_exchange_local(x);
	f->exchange = x;
	f->route = mlserve_exchange_route(x);
	unsigned status = f->route->rewrite ? exchange_rewrite(x, f->route->rewrite, &f->rewritten) : 0;
	if (status == 400) {
		forward_refuse(x, 400, "The rewritten path is malformed or leaves the root.");
		return;
	}
	size_t upstream = proxy_split_next(&f->route->split, &local->turn);
	if (status || (!local->pools[upstream] && !forward_find_pool(x, local, upstream))) {
		forward_refuse(x, 503, "The server is short of memory.");
		return;
	}
	f->pool = local->pools[upstream];
	f->instance = local->instance;
	exchange_keep_trailers(x);
	proxy_request_upgrades(exchange_head(x), &f->upgrade);
	forward_describe(f, &request);
	if (proxy_request_loops(&request))
		forward_refuse(x, 508, "The request came back to this server.");
	else if (proxy_request_is_absurd(&request))
		forward_refuse(x, 400, "The Connection field names too many fields.");
	else if (f->route->buffers_request)
		forward_collect(f);
	else
		forward_try(f);
}

static void on_body(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	if (f->tunnel.is_open)
		forward_tunnel(f);
	else if (f->collects)
		forward_collect(f);
	else if (f->link && f->head_is_sent)
		forward_advance(f);
}

static void on_more(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	if (f->is_spooling && !forward_drain(f))
		return;
	f->client_is_full = false;
	if (f->tunnel.is_open)
		forward_tunnel(f);
	else
		forward_advance(f);
}

static void on_cancel(struct mlserve_exchange *x)
{
	forward_cancel(mlserve_exchange_state(x));
}

/* ---- the route ------------------------------------------------------------------------------------ */

/* "/api/" and "/api" are one; "/" cuts nothing. */
static bool read_prefix(const struct mlserve_settings *s, struct slice *ret_prefix)
{
	struct slice prefix = slice_of(mlserve_setting_text(s, "strip_prefix"));
	if (prefix.length && prefix.data[0] != '/') {
		mlserve_setting_fault(s, "strip_prefix", 0, "does not begin with /; allowed: a path such as /api");
		return false;
	}
	while (prefix.length && prefix.data[prefix.length - 1] == '/')
		prefix.length--;
	*ret_prefix = prefix;
	if (prefix.length && !uri_is_normal(prefix)) {
		mlserve_setting_fault(s, "strip_prefix", 0,
		        "is no path as requests have it once they are normalised; allowed: a path such as /api");
		return false;
	}
	if (!route_path_may_begin(s, prefix)) {
		mlserve_setting_fault(s, "strip_prefix", 0,
		        "can cut nothing: no path of this route begins with it; allowed: a part of the route's path, "
		        "such as "
		        "/api");
		return false;
	}
	return true;
}

static bool read_host(const struct mlserve_settings *s, struct slice *ret_host)
{
	struct slice host = slice_of(mlserve_setting_text(s, "upstream_host")), name, port;
	if (host.length && !uri_split_authority(host, &name, &port)) {
		mlserve_setting_fault(s, "upstream_host", 0, "is no host name; allowed: NAME or NAME:PORT");
		return false;
	}
	*ret_host = host;
	return true;
}

static bool read_rewrite(const struct mlserve_settings *s, struct route_rewrite **ret_rewrite)
{
	const char *text = mlserve_setting_text(s, "rewrite");
	if (text && mlserve_setting_text(s, "strip_prefix")) {
		mlserve_setting_fault(s, "rewrite", 0, "stands beside strip_prefix; allowed: one of the two");
		return false;
	}
	return !text || route_rewrite_read(s, "rewrite", slice_of(text), ret_rewrite);
}

static void release(void *route)
{
	struct proxy_route *r = route;
	proxy_split_fini(&r->split);
	route_rewrite_free(&r->rewrite);
	free(r);
}

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	struct proxy_route *route = calloc(1, sizeof *route);
	if (!route) {
		mlserve_setting_fault(s, NULL, 0, "no memory");
		return false;
	}
	bool fine = proxy_split_read(s, &route->split);
	route->tunnel_timeout_ns = mlserve_setting_number(s, "tunnel_timeout") * NS_PER_US;
	route->half_close_timeout_ns = mlserve_setting_number(s, "half_close_timeout") * NS_PER_US;
	route->rewrites_location = mlserve_setting_number(s, "rewrite_location");
	route->rewrites_cookie_path = mlserve_setting_number(s, "rewrite_cookie_path");
	fine = read_prefix(s, &route->strip_prefix) && fine;
	fine = read_rewrite(s, &route->rewrite) && fine;
	fine = read_host(s, &route->upstream_host) && fine;
	fine = proxy_buffer_configure(s, route) && fine;
	if (fine)
		*ret_route = route;
	else
		release(route);
	return fine;
}

static bool attach(void *route, unsigned loop, void **ret_local)
{
	const struct proxy_split *split = &((struct proxy_route *)route)->split;
	struct proxy_local *l = calloc(1, sizeof *l + split->count * sizeof(struct pool *));
	if (l)
		l->turn = loop % split->length; /* else each loop's first request would go to the same one */
	*ret_local = l;
	return l != NULL;
}

static void detach(void *route, void *local)
{
	const struct proxy_route *r = route;
	struct proxy_local *l = local;
	for (size_t i = 0; i < r->split.count; i++)
		if (l->pools[i])
			pool_close(l->pools[i]);
	free(l);
}

const struct mlserve_handler handler_proxy = {
        .abi = MLSERVE_HANDLER_ABI,
        .name = "proxy",
        .methods = "GET HEAD POST PUT PATCH DELETE OPTIONS COPY LOCK MKCOL MOVE PROPFIND PROPPATCH SEARCH UNLOCK BIND "
                   "REBIND UNBIND ACL REPORT MKACTIVITY CHECKOUT MERGE M-SEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE PURGE "
                   "MKCALENDAR LINK UNLINK",
        .options = options_proxy,
        .state_bytes = sizeof(struct forward),
        .configure = configure,
        .release = release,
        .attach = attach,
        .detach = detach,
        .serve = serve,
        .body = on_body,
        .more = on_more,
        .cancel = on_cancel,
};
