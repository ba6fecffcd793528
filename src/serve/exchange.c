/* The life of an exchange: from the pool, through the route's handler, back to the pool. */
#include "serve/exchange.h"
#include "base/check.h"
#include "base/log.h"
#include "http/uri.h"
#include "serve/connection.h"
#include "serve/route_match.h"
#include <stdlib.h>
#include <string.h>

enum { FREE_EXCHANGES_KEPT = 256 };

struct exchange_job {
	struct job job;
	struct mlserve_exchange *exchange; /* NULL: cancelled meanwhile */
	void (*then)(struct mlserve_exchange *, void *argument);
	void (*drop)(void *argument);
	struct stats *stats;
};

static void on_timer(struct timer *t)
{
	struct mlserve_exchange *x = CONTAINER_OF(t, struct mlserve_exchange, timer);
	stat_add(x->context->loop->stats, STAT_pending_tasks, -1);
	loop_label(x->context->loop, x->route->name, x->route->handler_name);
	x->then(x);
	loop_label(x->context->loop, NULL, NULL);
	connection_touch(x->connection);
}

void exchange_count(struct mlserve_exchange *x, bool active)
{
	if (x->counted != active)
		stat_add(x->context->loop->stats, STAT_active_requests, active ? 1 : -1);
	x->counted = active;
}

static void put_back(struct mlserve_exchange *x)
{
	struct context *c = x->context;
	if (c->free_exchange_count >= FREE_EXCHANGES_KEPT) {
		free(x);
		return;
	}
	x->next_free = c->free_exchanges;
	c->free_exchanges = x;
	c->free_exchange_count++;
}

struct mlserve_exchange *exchange_create(struct context *c, struct connection *connection, struct stream *stream,
        const struct listener_settings *listener)
{
	struct mlserve_exchange *x = c->free_exchanges;
	if (x) {
		c->free_exchanges = x->next_free;
		c->free_exchange_count--;
	} else if (!(x = malloc(c->exchange_bytes))) {
		return NULL;
	}
	memset(x, 0, sizeof *x);
	x->context = c;
	x->head.fields.items = context_take_fields(c);
	if (!x->head.fields.items) {
		put_back(x);
		return NULL;
	}
	x->connection = connection;
	x->stream = stream;
	x->listener = listener;
	x->head.fields.capacity = c->max_fields < listener->max_fields ? c->max_fields : listener->max_fields;
	timer_init(&x->timer, on_timer);
	exchange_count(x, true);
	return x;
}

void exchange_stop_waiting(struct mlserve_exchange *x)
{
	if (timer_is_running(&x->timer)) {
		timer_stop(x->context->loop, &x->timer);
		stat_add(x->context->loop->stats, STAT_pending_tasks, -1);
	}
	struct exchange_job *job = x->job;
	if (!job)
		return;
	x->job = NULL;
	job->exchange = NULL;
	if (!executor_withdraw(x->context->view->executor, &job->job))
		return; /* it runs: on_job_done drops it */
	stat_add(job->stats, STAT_pending_tasks, -1);
	job->drop(job->job.argument);
	free(job);
}

void exchange_free(struct mlserve_exchange *x)
{
	struct context *c = x->context;
	exchange_stop_waiting(x);
	arena_fini(&x->arena);
	trailers_fini(&x->trailers);
	exchange_count(x, false);
	if (x->head.fields.items)
		context_give_fields(c, x->head.fields.items);
	put_back(x);
}

void exchange_cut(struct mlserve_exchange *x)
{
	exchange_stop_waiting(x);
	if (x->served && x->route->handler->cancel)
		x->route->handler->cancel(x);
	x->phase = ANSWER_ABORTED;
}

/* ---- beginning ---------------------------------------------------------------------- */

/* Of the server as a whole, where no route is asked for. */
#define ALLOW_ANY SLICE("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n")

/* OPTIONS * asks about the server as a whole (RFC 9110 9.3.7). */
static void answer_options(struct mlserve_exchange *x)
{
	mlserve_answer_begin(x, 204, 0);
	mlserve_answer_fields(x, ALLOW_ANY);
	mlserve_answer_end(x);
}

static bool normalise_path(struct mlserve_exchange *x)
{
	struct slice raw = x->head.path;
	x->path = raw;
	if (uri_is_normal(raw))
		return true;
	char *normal = mlserve_exchange_alloc(x, raw.length + 1);
	if (!normal || !uri_normalise(raw, normal, &x->path.length))
		return false;
	x->path.data = normal;
	return true;
}

static bool find_local(struct mlserve_exchange *x)
{
	const struct route *r = x->route;
	void **local = &x->context->locals[r->index];
	if (*local || !r->handler->attach)
		return true;
	return r->handler->attach(r->state, x->context->loop->id, local);
}

static void set_body_limit(struct mlserve_exchange *x)
{
	x->body_limit = x->route->max_body_size >= 0 ? x->route->max_body_size : x->listener->max_body_bytes;
}

static void call_serve(struct mlserve_exchange *x)
{
	struct loop *l = x->context->loop;
	const struct route *r = x->route;
	x->rest = slice_from(x->path, r->prefix.length);
	memset(x->state, 0, r->handler->state_bytes);
	x->served = true;
	loop_label(l, r->name, r->handler_name);
	r->handler->serve(x);
	loop_label(l, NULL, NULL);
}

static void refuse(struct mlserve_exchange *x, unsigned status, const char *reason, struct slice fields)
{
	/* What follows is a body that nobody reads, or whose end nobody knows. */
	bool body_follows = status == 411 || status == 413;
	x->head.keep_alive &= !body_follows;
	x->connection->lingers |= body_follows;
	x->error_reason = reason;
	mlserve_answer_error(x, status, fields);
}

/* TRACE where no route fits, and CONNECT, whose target has no path to find one by. Routes refuse TRACE themselves,
 * since none can have it, and know what they allow (RFC 9110 10.2.1). */
static void refuse_everywhere(struct mlserve_exchange *x)
{
	refuse(x, 405, "TRACE and CONNECT are not served.", ALLOW_ANY);
}

/* The limit that a regular expression ran into is nothing to tell the client about. */
static void refuse_unrouted(struct mlserve_exchange *x, const struct route_failure *failure)
{
	if (context_may_log(x->context))
		log_warn("route %s: %s: regular expression came to no result: %s", x->route->name, failure->option,
		        route_match_reason(x->context->match, failure));
	refuse(x, 500, "The server could not tell what serves this address.", SLICE_NONE);
}

static void serve_route(struct mlserve_exchange *x)
{
	struct slice port;
	struct route_failure failure;
	struct route_request request = {
	        .path = x->path, .query = x->head.query, .method = x->head.method_text, .fields = &x->head.fields};
	if (x->head.host.length && !uri_split_authority(x->head.host, &request.host, &port))
		return refuse(x, 400, "The Host field is no host name.", SLICE_NONE);
	switch (route_find(x->context->routes, x->context->match, x->listener->index, &request, &x->route, &failure)) {
	case ROUTE_NOT_FOUND:
		if (x->head.method == METHOD_TRACE)
			return refuse_everywhere(x);
		return refuse(x, 404, "Nothing is served under this address.", SLICE_NONE);
	case ROUTE_METHOD_REFUSED:
		return refuse(x, 405, "This address does not take that method.", x->route->allow);
	case ROUTE_FAILED:
		return refuse_unrouted(x, &failure);
	case ROUTE_FOUND:
		break;
	}
	set_body_limit(x);
	if (x->head.body_length > x->body_limit)
		return refuse(x, 413, "The request body is larger than allowed here.", SLICE_NONE);
	if (!x->route->handler->body && !exchange_drop_chunks_here(x))
		return refuse(x, x->body_status, x->error_reason, SLICE_NONE);
	if (!find_local(x))
		return refuse(x, 503, "The server is short of memory.", SLICE("Retry-After: 1\r\n"));
	call_serve(x);
}

/* HTTP/1.0 has no other way to tell where a body ends (RFC 1945 7.2.2); in 1.1 no length means no body. */
static bool lacks_length(const struct request_head *head)
{
	struct slice length;
	bool has_body = head->method == METHOD_POST || head->method == METHOD_PUT || head->method == METHOD_PATCH;
	return head->minor == 0 && has_body && !fields_find(&head->fields, FIELD_CONTENT_LENGTH, &length);
}

void exchange_begin(struct mlserve_exchange *x, unsigned status, const char *reason)
{
	stat_add(x->context->loop->stats, STAT_requests, 1);
	x->body_left = x->head.body_length;
	x->body_ended = x->head.body_length == LENGTH_NONE;
	x->body_limit = x->listener->max_body_bytes;
	x->continue_due = x->head.expects_continue && !x->body_ended;
	chunked_init(&x->chunked);
	if (status)
		return refuse(x, status, reason, SLICE_NONE);
	if (x->head.method == METHOD_CONNECT)
		return refuse_everywhere(x);
	if (lacks_length(&x->head))
		return refuse(x, 411, "A request with a body needs Content-Length in HTTP/1.0.", SLICE_NONE);
	if (slice_equal(x->head.path, SLICE("*")))
		return answer_options(x);
	if (!normalise_path(x))
		return refuse(x, 400, "The path is malformed or leaves the root.", SLICE_NONE);
	serve_route(x);
}

/* ---- going on ------------------------------------------------------------------------ */

static void call(struct mlserve_exchange *x, void (*callback)(struct mlserve_exchange *))
{
	loop_label(x->context->loop, x->route->name, x->route->handler_name);
	callback(x);
	loop_label(x->context->loop, NULL, NULL);
}

static bool has_body_news(struct mlserve_exchange *x)
{
	return x->body_failed || x->body_ended || stream_bytes(x->stream).length || x->stream->readable;
}

bool exchange_can_be_told(const struct mlserve_exchange *x)
{
	return x->phase == ANSWER_NONE && !x->body_failed && x->route && x->route->handler->body;
}

/* The handler of a tunnel hears once that the server is ending. */
static bool tell_drain(struct mlserve_exchange *x)
{
	if (!x->tunnel || x->drain_is_told || !x->context->draining || !x->route->handler->more)
		return false;
	x->drain_is_told = true;
	call(x, x->route->handler->more);
	return true;
}

bool exchange_advance(struct mlserve_exchange *x)
{
	if (x->phase >= ANSWER_ENDED || !x->route)
		return false;
	if (tell_drain(x))
		return true;
	if (x->body_wanted && has_body_news(x) && x->route->handler->body) {
		x->body_wanted = false;
		call(x, x->route->handler->body);
		/* Asked for and found nothing: that is no progress. */
		return !x->body_wanted || x->phase >= ANSWER_ENDED;
	}
	/* Bytes that are sent from where they lie need room in the socket, not in the buffer. */
	bool has_room =
	        x->stream->writable && !x->stream->error && stream_room(x->stream) >= x->context->blocks.bytes / 2;
	if (x->more_wanted && has_room && x->route->handler->more) {
		x->more_wanted = false;
		call(x, x->route->handler->more);
		return true;
	}
	return false;
}

/* ---- what handlers call ---------------------------------------------------------------- */

void *mlserve_exchange_state(struct mlserve_exchange *x)
{
	return x->state;
}

void *mlserve_exchange_route(struct mlserve_exchange *x)
{
	return x->route->state;
}

void *mlserve_exchange_local(struct mlserve_exchange *x)
{
	return x->context->locals[x->route->index];
}

unsigned mlserve_exchange_loop(const struct mlserve_exchange *x)
{
	return x->context->loop->id;
}

void *mlserve_exchange_alloc(struct mlserve_exchange *x, size_t bytes)
{
	return arena_alloc(&x->arena, bytes);
}

void mlserve_exchange_after(struct mlserve_exchange *x, int64_t us, void (*then)(struct mlserve_exchange *))
{
	if (!timer_is_running(&x->timer))
		stat_add(x->context->loop->stats, STAT_pending_tasks, 1);
	x->then = then;
	timer_start(x->context->loop, &x->timer, us);
}

static void on_job_done(struct loop *l, struct job *done)
{
	struct exchange_job *job = CONTAINER_OF(done, struct exchange_job, job);
	struct mlserve_exchange *x = job->exchange;
	stat_add(job->stats, STAT_pending_tasks, -1);
	if (x) {
		x->job = NULL;
		loop_label(l, x->route->name, x->route->handler_name);
		job->then(x, done->argument);
		loop_label(l, NULL, NULL);
		connection_touch(x->connection);
	} else {
		job->drop(done->argument);
	}
	free(job);
}

bool mlserve_exchange_run(struct mlserve_exchange *x, void (*work)(void *argument), void *argument,
        void (*then)(struct mlserve_exchange *, void *argument), void (*drop)(void *argument))
{
	struct loop *l = x->context->loop;
	struct exchange_job *job = malloc(sizeof *job);
	MUST(!x->job);
	if (!job || !x->context->view->executor) {
		free(job);
		return false;
	}
	*job = (struct exchange_job){.exchange = x, .then = then, .drop = drop, .stats = l->stats};
	job->job.work = work;
	job->job.argument = argument;
	job->job.done = on_job_done;
	x->job = job;
	stat_add(l->stats, STAT_pending_tasks, 1);
	if (executor_submit(x->context->view->executor, l, &job->job))
		return true;
	stat_add(l->stats, STAT_pending_tasks, -1);
	x->job = NULL;
	free(job);
	return false;
}
