/*
 * Which server is tried, and what a failed try leads to. A request goes out again only
 * when that cannot do harm: nothing of it was sent, or it is idempotent and no byte of an
 * answer came; and only while all of it is still at hand (RFC 9110 9.2.2).
 */
#include "base/check.h"
#include "base/log.h"
#include "handlers/proxy_forward.h"
#include "http/uri.h"
#include "serve/exchange.h"
#include "upstream/offer.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LOG_LINES_A_SECOND = 4 };

static void go_on_with(struct forward *, enum pick_result, int error);
static int find_link(struct forward *);

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
	if (prefix.length == 0 || !uri_path_begins(path, prefix))
		return path;
	return path.length == prefix.length ? SLICE("/") : slice_from(path, prefix.length);
}

/* A client of HTTP/1.0 may name no host; HTTP/1.1 must. */
static struct slice host_for(const struct forward *f)
{
	struct slice host = exchange_head(f->exchange)->host;
	if (f->route->upstream_host.length)
		return f->route->upstream_host;
	if (host.length || !f->server)
		return host;
	return f->server->endpoint.to.any.sa_family == AF_UNIX ? SLICE("localhost") : slice_of(f->server->name);
}

void forward_describe(const struct forward *f, struct proxy_request *ret)
{
	struct mlserve_exchange *x = f->exchange;
	*ret = (struct proxy_request){
	        .head = exchange_head(x),
	        .path = f->rewritten.data ? f->rewritten : strip(mlserve_request_path(x), f->route->strip_prefix),
	        .host = host_for(f),
	        .body_length = forward_body_length(f),
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
static void log_failure(struct forward *f, const char *reason)
{
	struct member_share *share = pool_share(f->pool, f->server);
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
	log_warn("upstream %s: server %s: %s%s%s (request %.*s)", f->pool->group->name, f->server->name,
	        f->has_begun ? "answer truncated: " : "", reason, others, SLICE_ARGS(exchange_request_id(f->exchange)));
}

static void answer_failure(struct forward *f)
{
	struct mlserve_exchange *x = f->exchange;
	if (f->is_spooling) {
		f->answer_is_cut = true;
		return;
	}
	forward_drop_spools(f);
	if (f->has_begun) {
		/* With its head whole, so that the client sees what is missing. */
		mlserve_answer_write(x, NULL, 0);
		mlserve_answer_abort(x);
		return;
	}
	const char *reason = f->status == 504   ? "The upstream server did not answer in time."
	                     : f->status == 502 ? "The upstream server gave no valid answer."
	                                        : "No upstream server can be asked now.";
	forward_refuse(x, f->status, x->error_reason ? x->error_reason : reason);
}

static void answer_because(struct forward *f, unsigned status, const char *reason)
{
	f->status = status;
	f->exchange->error_reason = reason;
	answer_failure(f);
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

/* ---- which server ---------------------------------------------------------------------------- */

/* PICK_DONE: f->server is the next one, and among those tried. */
static enum pick_result pick(struct forward *f)
{
	const struct set_entry *entry;
	struct pick p = {.tried = f->tried,
	        .tried_count = f->tried_count,
	        .key = f->key.hash,
	        .has_key = f->key.has_hash,
	        .sticky = f->key.sticky,
	        .has_sticky = f->key.has_sticky,
	        .now_ns = f->pool->loop->now_ns};
	if (f->tried_count == FORWARD_TRIES)
		return PICK_TRIED;
	enum pick_result result = group_pick(f->pool, &p, &entry);
	if (result != PICK_DONE)
		return result;
	f->server = entry->server;
	f->is_guest = p.sticky_is_full;
	f->tried[f->tried_count++] = f->server;
	return PICK_DONE;
}

/* Picks servers until one gives a connection, f->link, or fails with *ret_error: PICK_DONE. Those without a place are
 * passed over. */
static enum pick_result find_server(struct forward *f, int *ret_error)
{
	size_t before = f->tried_count;
	bool any_full = false;
	enum pick_result result;
	*ret_error = 0;
	while ((result = pick(f)) == PICK_DONE && (*ret_error = find_link(f)) == -EUSERS)
		any_full = true;
	if (result == PICK_DONE)
		return result;
	f->tried_count = before;
	return any_full ? PICK_FULL : result;
}

/* A server that was too slow is not asked again: the client has waited long enough. */
static enum pick_result find_again(struct forward *f, int *ret_error)
{
	enum pick_result result = find_server(f, ret_error);
	if (result != PICK_TRIED || f->status == 504)
		return result;
	f->tried_count = 0;
	return find_server(f, ret_error);
}

static bool may_retry(struct forward *f)
{
	return f->status != 503 && f->retries++ < f->pool->group->retries && pool_may_retry(f->pool);
}

static bool may_repeat(const struct forward *f, struct outcome o)
{
	return !f->has_begun && !o.received && !f->first_is_lost && (!o.sent || is_idempotent(f));
}

/* A connection that went stale while it waited says nothing about its server: that is tried once more. */
static bool is_stale_try(const struct forward *f, struct outcome o)
{
	return o.stale && f->status == 502 && !f->stale_try_is_used && may_repeat(f, o);
}

/* The try is over and f->link gone. */
static void go_on_after(struct forward *f, struct outcome o)
{
	bool is_stale = is_stale_try(f, o);
	enum pick_result result = PICK_TRIED;
	int error = 0;
	f->stale_try_is_used |= is_stale;
	f->head_is_sent = false;
	f->head_deadline_ns = 0;
	/* Without its connection a server that no set names any more may be gone. */
	if (is_stale && set_names(f->pool->set, f->server)) {
		error = find_link(f);
		result = error == -EUSERS ? PICK_FULL : PICK_DONE;
		f->tried_count -= error == -EUSERS;
	} else if (is_stale || (may_repeat(f, o) && may_retry(f))) {
		result = find_again(f, &error);
	}
	go_on_with(f, result, error);
}

/* ---- failures of a try ------------------------------------------------------------------------ */

enum forward_step forward_fail(struct forward *f, unsigned status, const char *reason)
{
	struct outcome o = look_at(f->link);
	f->status = status;
	if (is_stale_try(f, o) && !f->link->out_of_order) {
		link_drop(f->link);
	} else {
		log_failure(f, reason);
		link_drop_failed(f->link, reason);
	}
	f->link = NULL;
	go_on_after(f, o);
	return FORWARD_ENDED;
}

enum forward_step forward_fail_memory(struct forward *f)
{
	struct outcome o = look_at(f->link);
	log_failure(f, "no memory");
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
	forward_drop_spools(f);
	if (f->has_begun)
		mlserve_answer_abort(f->exchange);
	else
		mlserve_answer_error(f->exchange, 400, SLICE_NONE);
	return FORWARD_ENDED;
}

/* ---- tries --------------------------------------------------------------------------------- */

static void on_link_ready(struct link *l)
{
	forward_run(l->owner, forward_advance);
}

static void time_out(struct forward *f)
{
	const char *reason = f->link->phase == LINK_CONNECTING ? "no connection within connect_timeout"
	                     : f->has_begun                    ? "no more of the answer within response_timeout"
	                     : f->upload == UPLOAD_DONE        ? "no answer within response_timeout"
	                                                       : "takes no more of the request within response_timeout";
	forward_fail(f, 504, reason);
}

static void on_link_expired(struct link *l)
{
	if (l->phase == LINK_CONNECTING || !forward_upstream_reads_on(l->owner))
		forward_run(l->owner, time_out);
}

/* Short of something that no other server could help out with. Without IPv6 no address of it is available either. */
static bool is_ours(const struct forward *f, int error)
{
	if (error == -EADDRNOTAVAIL)
		return f->server->endpoint.to.any.sa_family == AF_INET;
	return error == -EMFILE || error == -ENFILE || error == -ENOBUFS || error == -ENOMEM;
}

/* An idle connection, of this loop or another one; NULL: there is none. */
static struct link *reuse(struct forward *f)
{
	struct link *l = pool_take(f->pool, f->server, !is_idempotent(f));
	while (!l && (l = offer_take(f->pool, f->server)) && !link_is_quiet(l)) {
		link_discard_open(l);
		l = NULL;
	}
	return l;
}

static struct link *connect_to(struct forward *f, int *ret_error)
{
	struct link *l = link_open(f->pool, f->server, ret_error), *idle;
	/* Idle ones take up what the server allows, or the process. One of them makes room. */
	if (*ret_error == -EUSERS && (idle = reuse(f)))
		link_discard_open(idle);
	else if ((*ret_error != -EMFILE && *ret_error != -ENFILE) || !pool_drop_oldest(f->pool))
		return l;
	return link_open(f->pool, f->server, ret_error);
}

/* 0, or a negative errno: there is no link. */
static int find_link(struct forward *f)
{
	int error = 0;
	/* After a stale connection none is trusted that could be stale as well. */
	f->link = f->stale_try_is_used ? NULL : reuse(f);
	if (!f->link)
		f->link = connect_to(f, &error);
	return f->link ? 0 : error;
}

static void fail_to_begin(struct forward *f, int error)
{
	f->status = is_ours(f, error) ? 503 : 502;
	if (f->status == 502)
		link_count_failure(f->pool, f->server, strerror(-error));
	log_failure(f, strerror(-error));
	go_on_after(f, (struct outcome){0});
}

/* With the link, or without one because of the error. */
static void begin_on_link(struct forward *f, int error)
{
	if (error)
		return fail_to_begin(f, error);
	link_begin(f->link, on_link_ready, on_link_expired, f);
	if (f->link->phase == LINK_CONNECTING)
		link_deadline(f->link, f->pool->loop->now_ns + f->pool->group->connect_timeout_ns);
	else
		forward_advance(f);
}

/* ---- waiting for a server ------------------------------------------------------------------------- */

/* What went wrong before the wait is what the client hears. */
static void end_wait(struct forward *f, unsigned status, const char *reason)
{
	if (f->status)
		answer_failure(f);
	else
		answer_because(f, status, reason);
}

/* A connection is found before the place in the queue is left. */
static bool on_retry(struct waiter *w)
{
	struct forward *f = CONTAINER_OF(w, struct forward, waiter);
	int error;
	enum pick_result result = find_server(f, &error);
	if (result == PICK_FULL || result == PICK_PENDING)
		return false;
	struct loop *loop = f->pool->loop;
	f->waits = false;
	loop_label(loop, f->exchange->route->name, f->exchange->route->handler_name);
	go_on_with(f, result, error);
	loop_label(loop, NULL, NULL);
	return true;
}

static void on_wait_over(struct waiter *w)
{
	struct forward *f = CONTAINER_OF(w, struct forward, waiter);
	f->waits = false;
	if (set_awaits_names(f->pool->set))
		end_wait(f, 504, "The upstream server's name was not resolved in time.");
	else
		end_wait(f, 503, "No upstream server was free within queue_timeout.");
}

static void wait_for_server(struct forward *f)
{
	const struct group *g = f->pool->group;
	int64_t timeout_ns = set_awaits_names(f->pool->set) ? g->connect_timeout_ns : g->queue_timeout_ns;
	f->waiter = (struct waiter){.retry = on_retry, .expired = on_wait_over, .is_picky = f->tried_count > 0};
	f->waits = queue_add(f->pool, &f->waiter, timeout_ns);
	if (!f->waits)
		end_wait(f, 503, "All upstream servers are busy, and enough requests wait.");
}

/* After 504 the client has waited long enough. */
static void go_on_with(struct forward *f, enum pick_result result, int error)
{
	if (result == PICK_DONE)
		begin_on_link(f, error);
	else if ((result == PICK_FULL || result == PICK_PENDING) && f->status != 504)
		wait_for_server(f);
	else
		end_wait(f, 503, "No upstream server is up.");
}

void forward_try(struct forward *f)
{
	struct group *g = f->pool->group;
	int error;
	pool_count_request(f->pool);
	if (g->key != KEY_NONE || g->sticky_cookie)
		proxy_key_read(f->exchange, g, &f->key);
	/* Those that wait come first; it is looked at with them before this turn ends. */
	if (g->queue > 0 && atomic_load_explicit(&g->waiting, memory_order_relaxed) > 0)
		return wait_for_server(f);
	enum pick_result result = find_server(f, &error);
	go_on_with(f, result, error);
}

void forward_cancel(struct forward *f)
{
	if (f->tunnel.is_open)
		forward_cut_tunnel(f);
	else if (f->link)
		link_drop(f->link);
	if (f->waits)
		queue_remove(f->pool, &f->waiter);
	f->link = NULL;
	f->waits = false;
	forward_drop_spools(f);
}
