/* The state of one client connection, and the step that changes it. */
#include "serve/connection.h"
#include "base/check.h"
#include "serve/connection_count.h"
#include "serve/connection_wait.h"
#include "serve/exchange.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum {
	STEPS_A_TURN = 64, /* some twenty pipelined requests; then the others have their turn */
	LINGER_READS = 16, /* in one step; then the others have their turn */
};

static void connection_step(struct connection *);

/* ---- the end --------------------------------------------------------------------------------- */

static void drop_exchange(struct connection *c)
{
	if (!c->exchange)
		return;
	exchange_cut(c->exchange);
	exchange_free(c->exchange);
	c->exchange = NULL;
}

static void connection_free(struct connection *c)
{
	struct context *context = c->context;
	const struct mlserve_exchange *x = c->exchange;
	c->resets |= x && exchange_ends_by_close(x) && !(x->phase == ANSWER_ENDED && stream_is_drained(&c->stream));
	/* Before the exchange, whose memory it may be. */
	stream_drop_segment(&c->stream);
	drop_exchange(c);
	connection_count_idle(c, false);
	connection_count_bytes(c);
	task_cancel(&c->task);
	if (c->resets)
		stream_reset_on_close(&c->stream);
	/* Counted before it is closed, as the client may be back at once. */
	stat_add(context->loop->stats, STAT_connections, -1);
	context->connections--;
	if (context->self)
		atomic_fetch_add_explicit(&context->self->closed, 1, memory_order_seq_cst);
	stream_close(&c->stream);
	free(c);
	if (context->self)
		server_view_made_room(context->view);
}

/* Nobody can be answered: the client is gone, or the server has `reason` to wait for it no longer. */
static bool lose_for(struct connection *c, const char *reason)
{
	const struct mlserve_exchange *x = c->exchange;
	bool whole = x && x->phase == ANSWER_ENDED && stream_is_drained(&c->stream) && !c->stream.error;
	if (whole) /* only a rest of the request was waited for */
		connection_count_answer(c);
	else if (x && reason)
		connection_count_cut(c, reason);
	else if (x)
		stat_add(c->context->loop->stats, STAT_client_aborts, 1);
	c->state = CONNECTION_GONE;
	return true;
}

static bool lose(struct connection *c)
{
	return lose_for(c, NULL);
}

/* No further request: flush, then close. `lingers`: the client may still be sending, and a close now would reset the
 * connection and with it the answer. */
static bool end(struct connection *c, bool lingers)
{
	c->lingers |= lingers || stream_bytes(&c->stream).length > 0;
	c->lingers &= !c->resets; /* its end would come before the reset, and look clean */
	stream_unpin(&c->stream);
	connection_count_idle(c, false);
	c->state = CONNECTION_ENDING;
	return true;
}

/* ---- a head ------------------------------------------------------------------------------------ */

static bool begin_exchange(struct connection *c, const char *bytes, size_t length, unsigned status, const char *reason)
{
	struct mlserve_exchange *x = exchange_create(c->context, c, &c->stream, c->listener);
	int64_t lag_ns = c->context->answered_ns - c->context->loop->now_ns;
	if (!x)
		return lose(c);
	connection_count_idle(c, false);
	c->state = CONNECTION_EXCHANGE;
	c->waiting = WAIT_NONE;
	c->exchange = x;
	c->request_count++;
	x->started_ns = c->head_begun ? c->since_ns : c->context->loop->now_ns;
	histogram_add(&c->context->loop->second->lag, lag_ns > 0 ? (uint64_t)(lag_ns / NS_PER_US) : 0);
	if (!status && !request_parse(&x->head, bytes, length, &status, &reason))
		MUST(status);
	if (status) {
		/* What is known of a refused head is not to be trusted, but an answer to HEAD must not have a body. */
		x->head.method = length >= 5 && memcmp(bytes, "HEAD ", 5) == 0 ? METHOD_HEAD : METHOD_UNKNOWN;
		x->head.keep_alive = false;
		x->head.body_length = LENGTH_NONE;
		x->head.minor = x->head.minor ? x->head.minor : 1;
		c->lingers = true;
	}
	exchange_begin(x, status, reason);
	return true;
}

/* Room for the largest head and the body bytes behind it. */
static bool make_room(struct connection *c)
{
	return stream_grow(&c->stream, c->listener->max_header_bytes + c->context->blocks.bytes / 4);
}

/* A head begins with its first byte that is no line end: a stray one behind a body begins nothing (RFC 9112 2.2). */
static void note_head(struct connection *c)
{
	struct slice bytes = stream_bytes(&c->stream);
	if (c->head_begun)
		return;
	while (bytes.length && (bytes.data[0] == '\r' || bytes.data[0] == '\n'))
		bytes = slice_from(bytes, 1);
	c->head_begun = bytes.length > 0;
	if (c->head_begun)
		c->since_ns = c->context->loop->now_ns;
}

/* While draining: nothing of a next request is here, so the connection ends. One whose last answer promised to keep it
 * may cross with a request on its way, whose reset must not hit that answer. true: it ends. */
static bool end_idle(struct connection *c)
{
	bool answered_lately = c->request_count && clock_now_ns() - c->since_ns < NS_PER_S;
	if (c->head_begun || wait_is_fresh(c))
		return false;
	return end(c, answered_lately);
}

/* Reads until there is something new to scan. true: go on with the step. */
static bool read_more(struct connection *c)
{
	switch (stream_read(&c->stream)) {
	case STREAM_DONE:
		/* May have been sent after the turn's look at the sockets, knowing the last answer. */
		c->context->loop->epoch += c->head_begun || c->answered_epoch == c->context->loop->epoch;
		note_head(c);
		return true;
	case STREAM_FULL:
		return make_room(c) ? true : lose(c);
	case STREAM_CLOSED:
		return end(c, false);
	case STREAM_FAILED:
		return lose(c);
	default:
		return c->context->draining && end_idle(c);
	}
}

/* Answers gather before a write while more requests are here already. */
static bool has_room_for_more(const struct connection *c)
{
	return c->stream.segment.kind == SEGMENT_NONE && stream_room(&c->stream) >= c->context->blocks.bytes / 2;
}

/* Answers to earlier requests of a pipeline are written before too many gather. */
static bool may_answer_more(struct connection *c)
{
	if (stream_is_drained(&c->stream))
		return true;
	if (has_room_for_more(c))
		return true;
	return stream_flush(&c->stream) == STREAM_DONE;
}

static bool step_head(struct connection *c)
{
	struct slice bytes = stream_bytes(&c->stream);
	struct head_limits limits = {REQUEST_LINE_BYTES, c->listener->max_header_bytes, c->listener->max_fields};
	size_t length = 0;
	unsigned status = 0;
	const char *reason = NULL, *head = bytes.data;
	if (bytes.length == 0)
		return read_more(c);
	if (!may_answer_more(c))
		return false;
	switch (request_scan(&c->scan, bytes.data, bytes.length, &limits, &length, &status, &reason)) {
	case HEAD_MORE:
		return read_more(c);
	case HEAD_REFUSED:
		return begin_exchange(c, bytes.data, bytes.length, status, reason);
	default:
		return stream_pin(&c->stream, length, &head) ? begin_exchange(c, head, length, 0, NULL) : lose(c);
	}
}

/* ---- an exchange --------------------------------------------------------------------------------- */

/* The answer is written whole. */
static bool finish_exchange(struct connection *c)
{
	struct mlserve_exchange *x = c->exchange;
	/* While draining, one that was promised to go on ends in end_idle, once what came meanwhile is answered. */
	bool closes = x->answer_closes || x->body_failed;
	/* A client that did not ask for the end may have sent its next request already. */
	bool may_send = !x->body_ended || x->head.keep_alive;
	connection_count_answer(c);
	exchange_free(x);
	c->exchange = NULL;
	c->answered_epoch = c->context->loop->epoch;
	if (closes)
		return end(c, may_send);
	stream_unpin(&c->stream);
	c->scan = (struct head_scan){0};
	c->head_begun = false;
	note_head(c);
	/* A pipelined request may have been sent after whatever this turn has looked at so far. */
	c->context->loop->epoch += c->head_begun;
	c->state = CONNECTION_HEAD;
	connection_count_idle(c, true);
	return true;
}

/* Cut short: what was written goes out, the end that would make it look whole does not (RFC 9112 8). */
static bool abort_exchange(struct connection *c)
{
	struct mlserve_exchange *x = c->exchange;
	bool begun = x->status != 0, may_send = !x->body_ended || x->head.keep_alive;
	c->resets = exchange_ends_by_close(x);
	connection_count_answer(c);
	stream_drop_lent(&c->stream);
	drop_exchange(c);
	return begun ? end(c, may_send) : lose(c);
}

/* The answer has ended for the handler: writes it, and drops what is left of the request's body. */
static bool step_ended(struct connection *c)
{
	struct mlserve_exchange *x = c->exchange;
	if (!x->answer_closes && !exchange_body_is_done(x)) {
		x->answer_closes = exchange_body_is_long(x);
		x->body_wanted = !x->answer_closes;
	}
	bool body_done = x->answer_closes || x->body_ended || x->body_failed;
	bool more_follows = body_done && !x->answer_closes && stream_bytes(&c->stream).length > 0;
	if (more_follows && has_room_for_more(c))
		return finish_exchange(c);
	/* The client may ask again, on another connection, before we are back from the last write: by then the request
	 * must not count as in flight any more, or the acceptor takes this loop for a busy one. */
	exchange_count(x, false);
	bool flushed = stream_flush(&c->stream) == STREAM_DONE;
	if (flushed && body_done)
		return finish_exchange(c);
	exchange_count(x, true);
	return c->stream.error ? lose(c) : false;
}

static bool step_exchange(struct connection *c)
{
	struct mlserve_exchange *x = c->exchange;
	/* A direct write that failed leaves nothing to flush: nobody else would notice. */
	if (c->stream.error)
		return lose(c);
	bool called = exchange_advance(x);
	if (x->phase == ANSWER_ABORTED)
		return abort_exchange(c);
	if (x->phase == ANSWER_ENDED)
		return step_ended(c);
	if (called)
		return true;
	if (stream_is_drained(&c->stream))
		return false;
	uint64_t before = c->stream.bytes_out;
	enum stream_result result = stream_flush(&c->stream);
	if (result == STREAM_FAILED)
		return lose(c);
	return x->more_wanted && c->stream.bytes_out != before &&
	       stream_room(&c->stream) >= c->context->blocks.bytes / 2;
}

/* ---- closing ---------------------------------------------------------------------------------------- */

static bool step_ending(struct connection *c)
{
	switch (stream_flush(&c->stream)) {
	case STREAM_AGAIN:
		return false;
	case STREAM_FAILED:
		return lose(c);
	default:
		break;
	}
	if (!c->lingers)
		return lose(c);
	shutdown(c->stream.fd, SHUT_WR);
	c->state = CONNECTION_LINGER;
	c->since_ns = clock_now_ns();
	return true;
}

static bool step_linger(struct connection *c)
{
	for (int i = 0; i < LINGER_READS; i++) {
		stream_consume(&c->stream, stream_bytes(&c->stream).length);
		enum stream_result result = stream_read(&c->stream);
		if (result == STREAM_AGAIN)
			return false;
		if (result != STREAM_DONE)
			return lose(c);
	}
	stream_consume(&c->stream, stream_bytes(&c->stream).length);
	loop_defer(c->context->loop, &c->task);
	return false;
}

/* ---- the step ------------------------------------------------------------------------------------------ */

static bool step_once(struct connection *c)
{
	switch ((enum connection_state)c->state) {
	case CONNECTION_HEAD:
		return step_head(c);
	case CONNECTION_EXCHANGE:
		return step_exchange(c);
	case CONNECTION_ENDING:
		return step_ending(c);
	case CONNECTION_LINGER:
		return step_linger(c);
	default:
		return false;
	}
}

/* Before waiting: nothing may lie unwritten, and the socket and a deadline must be armed. */
static void settle(struct connection *c)
{
	struct stream *s = &c->stream;
	bool waited = !stream_is_drained(s);
	if (c->state != CONNECTION_GONE && waited && s->writable && stream_flush(s) == STREAM_FAILED)
		lose(c);
	/* An answer that is still being made has no reader. */
	if (c->client_gone && c->state == CONNECTION_EXCHANGE)
		lose(c);
	if (c->state != CONNECTION_GONE && stream_wait(s) < 0)
		lose(c);
	if (c->state == CONNECTION_GONE)
		return;
	/* A budget, not the socket, stopped the flush: go on after the others. All written just now: no event will tell
	 * the step. */
	if (stream_is_drained(s) ? waited : s->writable)
		loop_defer(c->context->loop, &c->task);
	connection_count_bytes(c);
	wait_note(c);
	wait_arm(c);
}

static void connection_step(struct connection *c)
{
	c->stepping = true;
	int budget = STEPS_A_TURN;
	while (budget > 0 && step_once(c))
		budget--;
	settle(c);
	c->out_of_budget = budget == 0;
	if (c->out_of_budget && c->state != CONNECTION_GONE)
		loop_defer(c->context->loop, &c->task);
	c->stepping = false;
	if (c->state == CONNECTION_GONE)
		connection_free(c);
}

static void on_task(struct task *t)
{
	struct connection *c = CONTAINER_OF(t, struct connection, task);
	/* It goes on reading, later than the turn's look at the set. */
	c->context->loop->epoch += c->out_of_budget;
	connection_step(c);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct connection *c = CONTAINER_OF(w, struct connection, stream.watch);
	stream_note(&c->stream, events);
	/* Reset, or both sides ended, which in a tunnel leaves bytes to read. It may come together with the last
	 * request, and it is told once. */
	bool tunnel = c->exchange && c->exchange->tunnel;
	c->client_gone |= (events & (tunnel ? EPOLLERR : EPOLLHUP | EPOLLERR)) != 0;
	connection_step(c);
}

void connection_touch(struct connection *c)
{
	if (!c->stepping)
		loop_defer(c->context->loop, &c->task);
}

/* ---- deadlines ------------------------------------------------------------------------------------------- */

static void time_out(struct connection *c, const char *reason)
{
	stat_add(c->context->loop->stats, STAT_timeouts, 1);
	if (c->waiting == WAIT_HEAD && c->head_begun) {
		struct slice bytes = stream_bytes(&c->stream);
		begin_exchange(c, bytes.data, bytes.length, 408, "The request head did not arrive in time.");
	} else if (c->waiting == WAIT_BODY && exchange_can_be_told(c->exchange)) {
		c->exchange->body_failed = true;
		c->exchange->body_status = 408;
		c->exchange->error_reason = "The request body did not arrive in time.";
	} else {
		/* Else the kernel would keep what is left for a client that does not read. */
		c->resets = c->waiting == WAIT_ROOM;
		lose_for(c, reason);
	}
}

static void on_expired(struct watch *w)
{
	struct connection *c = CONTAINER_OF(w, struct connection, stream.watch);
	const char *reason = wait_is_over(c, clock_now_ns());
	if (reason)
		time_out(c, reason);
	connection_step(c);
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

void connection_open(
        struct context *context, const struct listener_settings *listener, int fd, const struct address *peer)
{
	struct connection *c = calloc(1, sizeof *c);
	if (!c || !stream_open(&c->stream, context->loop, &context->blocks, fd)) {
		free(c);
		context_drop_socket(context, listener, fd);
		return;
	}
	c->stream.watch.ready = on_ready;
	c->stream.watch.expired = on_expired;
	c->context = context;
	c->listener = listener;
	c->peer = *peer;
	c->opened_ns = c->since_ns = context->loop->now_ns;
	task_init(&c->task, on_task);
	stat_add(context->loop->stats, STAT_accepted, 1);
	stat_add(context->loop->stats, STAT_connections, 1);
	context->connections++;
	connection_count_idle(c, true);
	/* All sockets that came together are read before the first is served: so one look at a file serves all of them.
	 * What goes wrong here shows again in the step. */
	c->stream.readable = context_reads_at_once(context); /* else being registered brings what is here */
	if (stream_read(&c->stream) == STREAM_DONE) {
		note_head(c);
		context_saw_request(context);
	}
	loop_defer(context->loop, &c->task);
}

static void for_each(struct context *context, void (*action)(struct connection *))
{
	struct loop *l = context->loop;
	for (uint32_t slot = 0; slot < l->capacity; slot++) {
		struct watch *w = l->watches[slot];
		if (w && w->ready == on_ready)
			action(CONTAINER_OF(w, struct connection, stream.watch));
	}
}

/* Idle ones close in the step; one whose next request is here already is served. */
static void drain_one(struct connection *c)
{
	if (c->state == CONNECTION_EXCHANGE && !c->exchange->tunnel)
		return;            /* it learns when it has answered */
	c->context->loop->epoch++; /* this is no look at the set, but reads */
	c->stream.readable = true;
	connection_step(c);
}

void connections_drain(struct context *context)
{
	context->draining = true;
	for_each(context, drain_one);
}

static void cut_one(struct connection *c)
{
	if (c->exchange)
		stat_add(c->context->loop->stats, STAT_cut, 1);
	c->state = CONNECTION_GONE;
	connection_free(c);
}

void connections_cut(struct context *context)
{
	context->draining = true;
	for_each(context, cut_one);
}
