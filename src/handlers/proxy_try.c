/*
 * Which server is tried, and what a failed try leads to. A request goes out again only
 * when that cannot do harm: nothing of it was sent, or it is idempotent and no byte of an
 * answer came; and only while all of it is still at hand (RFC 9110 9.2.2).
 */
#include "base/check.h"
#include "base/log.h"
#include "handlers/proxy_forward.h"
#include "serve/exchange.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LOG_LINES_A_SECOND = 4 };

static void begin_try(struct forward *, bool fresh);

/* ---- the request ------------------------------------------------------------------------- */

bool forward_find_pool(struct mlserve_exchange *x, struct proxy_local *local, size_t upstream)
{
	const struct proxy_route *route = mlserve_exchange_route(x);
	struct groups *groups = exchange_view(x)->upstreams;
	struct group *group = groups ? groups_find(groups, route->split.names[upstream]) : NULL;
	local->pools[upstream] = group ? pool_get(group, exchange_loop(x), &x->context->blocks) : NULL;
	if (local->pools[upstream])
		local->instance = groups_instance(groups);
	return local->pools[upstream] != NULL;
}

/* Cut at a segment's border only. */
static struct slice strip(struct slice path, struct slice prefix)
{
	if (prefix.length == 0 || !slice_starts(path, prefix))
		return path;
	struct slice rest = slice_from(path, prefix.length);
	if (rest.length == 0)
		return SLICE("/");
	return rest.data[0] == '/' ? rest : path;
}

/* A client of HTTP/1.0 may name no host; HTTP/1.1 must. */
static struct slice host_for(const struct forward *f)
{
	struct slice host = exchange_head(f->exchange)->host;
	if (f->route->upstream_host.length)
		return f->route->upstream_host;
	if (host.length || f->tried_count == 0)
		return host;
	const struct group_server *server = &f->pool->group->servers[f->tried[f->tried_count - 1]];
	return server->endpoint.to.any.sa_family == AF_UNIX ? SLICE("localhost") : slice_of(server->name);
}

void forward_describe(const struct forward *f, struct proxy_request *ret)
{
	struct mlserve_exchange *x = f->exchange;
	*ret = (struct proxy_request){
	        .head = exchange_head(x),
	        .path = f->rewritten.data ? f->rewritten : strip(mlserve_request_path(x), f->route->strip_prefix),
	        .host = host_for(f),
	        .peer = exchange_peer(x),
	        .peer_is_trusted = exchange_peer_is_trusted(x),
	        .is_secure = exchange_is_secure(x),
	        .instance = f->instance,
	        .closes = f->pool->group->keepalive == 0,
	};
}

static bool is_idempotent(const struct forward *f)
{
	switch (exchange_head(f->exchange)->method) {
	case METHOD_GET:
	case METHOD_HEAD:
	case METHOD_PUT:
	case METHOD_DELETE:
	case METHOD_OPTIONS:
		return true;
	default:
		return false;
	}
}

/* ---- failures ---------------------------------------------------------------------------- */

/* A server that fails fails often: a few lines a second tell the reasons, a number tells the rest. */
static void log_failure(struct forward *f, uint16_t server, const char *reason)
{
	struct server_share *share = &f->pool->shares[server];
	int64_t second = f->pool->loop->now_ns / NS_PER_S;
	char others[64] = "";
	if (second != share->log_second) {
		share->log_second = second;
		share->log_lines = 0;
	}
	if (share->log_lines == LOG_LINES_A_SECOND) {
		share->unlogged++;
		return;
	}
	if (share->unlogged)
		snprintf(others, sizeof others, " (and %u failures before it without a line)", share->unlogged);
	share->log_lines++;
	share->unlogged = 0;
	log_warn("upstream %s: server %s: %s%s%s (request %.*s)", f->pool->group->name,
	        f->pool->group->servers[server].name, f->has_begun ? "answer truncated: " : "", reason, others,
	        SLICE_ARGS(exchange_request_id(f->exchange)));
}

static void answer_failure(struct forward *f)
{
	struct mlserve_exchange *x = f->exchange;
	if (f->has_begun) {
		/* With its head whole, so that the client sees what is missing. */
		mlserve_answer_write(x, NULL, 0);
		mlserve_answer_abort(x);
		return;
	}
	if (f->status == 504)
		x->error_reason = "The upstream server did not answer in time.";
	else if (f->status == 502)
		x->error_reason = "The upstream server gave no valid answer.";
	else
		x->error_reason = "No upstream server can be asked now.";
	mlserve_answer_error(x, f->status, f->status == 503 ? SLICE("Retry-After: 1\r\n") : SLICE_NONE);
}

/* What a failed try leaves of the request's progress. */
struct outcome {
	bool sent, received, stale;
};

static struct outcome look_at(const struct link *l)
{
	struct outcome o = {.sent = link_has_sent(l), .received = link_has_received(l)};
	o.stale = l->reused && !o.received;
	return o;
}

/* false: every server was tried. */
static bool pick(struct forward *f)
{
	uint16_t server;
	if (f->tried_count == FORWARD_TRIES || !group_pick(f->pool->group, f->tried, f->tried_count, &server))
		return false;
	f->tried[f->tried_count++] = server;
	return true;
}

/* A server that was too slow is not asked again: the client has waited long enough. */
static bool pick_again(struct forward *f)
{
	if (f->retries++ >= f->pool->group->retries)
		return false;
	if (pick(f))
		return true;
	f->tried_count = 0;
	return f->status != 504 && pick(f);
}

/* The try is over and f->link gone. */
static void go_on_after(struct forward *f, struct outcome o)
{
	bool may_repeat = !f->has_begun && !o.received && !f->first_is_lost && (!o.sent || is_idempotent(f));
	bool is_stale_try = o.stale && f->status == 502 && !f->stale_try_is_used;
	f->stale_try_is_used |= is_stale_try;
	f->head_is_sent = false;
	f->head_deadline_ns = 0;
	if (may_repeat && (is_stale_try || (f->status != 503 && pick_again(f))))
		begin_try(f, is_stale_try);
	else
		answer_failure(f);
}

enum forward_step forward_fail(struct forward *f, unsigned status, const char *reason)
{
	struct outcome o = look_at(f->link);
	f->status = status;
	/* A connection that went stale while it waited says nothing about its server. */
	if (o.stale && status == 502 && !f->link->out_of_order && !f->stale_try_is_used) {
		link_drop(f->link);
	} else {
		log_failure(f, f->link->server, reason);
		link_drop_failed(f->link);
	}
	f->link = NULL;
	go_on_after(f, o);
	return FORWARD_ENDED;
}

enum forward_step forward_fail_memory(struct forward *f)
{
	struct outcome o = look_at(f->link);
	log_failure(f, f->link->server, "no memory");
	link_drop(f->link);
	f->link = NULL;
	f->status = 503;
	go_on_after(f, o);
	return FORWARD_ENDED;
}

enum forward_step forward_fail_client(struct forward *f)
{
	link_drop(f->link);
	f->link = NULL;
	if (f->has_begun)
		mlserve_answer_abort(f->exchange);
	else
		mlserve_answer_error(f->exchange, 400, SLICE_NONE);
	return FORWARD_ENDED;
}

/* ---- tries --------------------------------------------------------------------------------- */

/* The status line says what the loop runs: these are no callbacks of the exchange, which would say so itself. */
static struct loop *label(const struct forward *f)
{
	const struct route *route = f->exchange->route;
	loop_label(f->pool->loop, route->name, route->handler_name);
	return f->pool->loop;
}

static void on_link_ready(struct link *l)
{
	struct loop *loop = label(l->owner);
	forward_advance(l->owner);
	loop_label(loop, NULL, NULL);
}

static void on_link_expired(struct link *l)
{
	struct forward *f = l->owner;
	if (l->phase != LINK_CONNECTING && forward_upstream_reads_on(f))
		return;
	struct loop *loop = label(f);
	const char *reason = l->phase == LINK_CONNECTING ? "no connection within connect_timeout"
	                     : f->has_begun              ? "no more of the answer within response_timeout"
	                     : f->upload == UPLOAD_DONE  ? "no answer within response_timeout"
	                                                 : "takes no more of the request within response_timeout";
	forward_fail(f, 504, reason);
	loop_label(loop, NULL, NULL);
}

/* Short of something that no other server could help out with. */
static bool is_ours(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM || error == -EADDRNOTAVAIL;
}

static void begin_try(struct forward *f, bool fresh)
{
	uint16_t server = f->tried[f->tried_count - 1];
	int error = 0;
	f->link = fresh ? NULL : pool_take(f->pool, server, !is_idempotent(f));
	if (!f->link)
		f->link = link_open(f->pool, server, &error);
	if (!f->link) {
		f->status = is_ours(error) ? 503 : 502;
		if (f->status == 502)
			link_count_failure(f->pool, server);
		log_failure(f, server, strerror(-error));
		go_on_after(f, (struct outcome){0});
		return;
	}
	link_begin(f->link, on_link_ready, on_link_expired, f);
	if (f->link->phase == LINK_CONNECTING)
		link_deadline(f->link, f->pool->loop->now_ns + f->pool->group->connect_timeout_ns);
	else
		forward_advance(f);
}

void forward_try(struct forward *f)
{
	MUST(pick(f));
	begin_try(f, false);
}
