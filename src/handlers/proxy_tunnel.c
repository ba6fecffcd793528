/*
 * A tunnel: after an answer 101 the client's connection and the upstream's are one stream
 * of bytes each way, which nobody reads but to find where a WebSocket's frames end.
 *
 * Each way ends by itself: an end goes on to the other side behind the last byte, and the
 * other way goes on. Whatever is not such an end is a reset to both sides. Waiting for room
 * is what holds a fast side back; a tunnel has no memory of its own.
 */
#include "base/check.h"
#include "handlers/proxy_forward.h"
#include "serve/exchange.h"
#include <errno.h>

/* ---- ends ----------------------------------------------------------------------------------- */

void forward_cut_tunnel(struct forward *f)
{
	stream_reset_on_close(&f->link->stream);
	link_drop(f->link);
	f->link = NULL;
}

static enum forward_step cut(struct forward *f)
{
	forward_cut_tunnel(f);
	mlserve_answer_abort(f->exchange);
	return FORWARD_ENDED;
}

static enum forward_step finish(struct forward *f)
{
	link_drop(f->link);
	f->link = NULL;
	mlserve_answer_end(f->exchange);
	return FORWARD_ENDED;
}

/* ---- up ---------------------------------------------------------------------------------------- */

/* The upstream takes no more. EPIPE: it had ended its own side before, and what it said stands in the socket still. Any
 * other error was told once: from now on the socket would only show an end that was none. */
static enum forward_step stop_up(struct forward *f)
{
	if (f->link->stream.error != EPIPE)
		return cut(f);
	f->tunnel.up_is_over = true;
	f->piece = SLICE_NONE;
	f->link->stream.readable = true;
	return FORWARD_WAITS;
}

static enum forward_step move_up(struct forward *f)
{
	struct tunnel *t = &f->tunnel;
	struct stream *s = &f->link->stream;
	for (int i = 0; !t->client_has_ended || f->piece.length; i++) {
		if (i == FORWARD_PIECES_A_TURN) {
			link_again(f->link);
			break;
		}
		if (f->piece.length == 0) {
			enum mlserve_body result = mlserve_request_body(f->exchange, &f->piece);
			if (result == MLSERVE_BODY_FAILED)
				return cut(f);
			if (result == MLSERVE_BODY_WAIT)
				break;
			t->client_has_ended = result == MLSERVE_BODY_END;
		}
		if (!forward_send_piece(f))
			break;
	}
	if (t->client_has_ended)
		stream_end(s);
	if (stream_flush(s) == STREAM_FAILED)
		return stop_up(f);
	t->up_is_over |= t->client_has_ended && stream_is_drained(s);
	return FORWARD_WAITS;
}

/* ---- down -------------------------------------------------------------------------------------- */

/* While the server drains, the client of a WebSocket is told to go, at the first end of a frame, which may be within a
 * message (RFC 6455 5.4). Then nothing more may follow (5.5.1), so that way ends; the client's own close frame and its
 * end make the upstream end too. Other protocols have no such word: they go on until they are cut. */
static void say_goodbye(struct forward *f)
{
	struct tunnel *t = &f->tunnel;
	bool may_begin = t->is_websocket && !t->is_deaf && !t->down_is_over && websocket_is_at_border(&t->frame);
	if (may_begin && mlserve_exchange_drains(f->exchange)) {
		t->is_deaf = true;
		t->goodbye = WEBSOCKET_GOING_AWAY;
	}
	if (t->goodbye.length == 0)
		return;
	size_t n = mlserve_answer_write(f->exchange, t->goodbye.data, t->goodbye.length);
	t->goodbye = slice_from(t->goodbye, n);
	f->client_is_full = t->goodbye.length > 0;
	if (!f->client_is_full)
		exchange_end_writing(f->exchange);
}

/* How much may go down before the next look at the drain. */
static struct slice part_to_pass(const struct forward *f, struct slice bytes)
{
	struct websocket_frame frame = f->tunnel.frame;
	if (f->tunnel.is_websocket && mlserve_exchange_drains(f->exchange))
		bytes.length = websocket_take(&frame, bytes);
	return bytes;
}

static void note_passed(struct tunnel *t, struct slice bytes)
{
	while (t->is_websocket && bytes.length)
		bytes = slice_from(bytes, websocket_take(&t->frame, bytes));
}

static enum forward_step read_down(struct forward *f)
{
	switch (stream_read(&f->link->stream)) {
	case STREAM_DONE:
		return FORWARD_GOES_ON;
	case STREAM_AGAIN:
	case STREAM_FULL: /* cannot be: all buffered bytes were taken */
		return FORWARD_WAITS;
	case STREAM_CLOSED:
		f->tunnel.down_is_over = true;
		exchange_end_writing(f->exchange);
		return FORWARD_WAITS;
	case STREAM_FAILED:
		break;
	}
	return cut(f);
}

static enum forward_step pass_down(struct forward *f)
{
	struct stream *s = &f->link->stream;
	struct slice bytes = stream_bytes(s);
	if (bytes.length == 0)
		return read_down(f);
	if (f->tunnel.is_deaf) {
		stream_consume(s, bytes.length);
		return FORWARD_GOES_ON;
	}
	bytes = part_to_pass(f, bytes);
	size_t taken = mlserve_answer_write(f->exchange, bytes.data, bytes.length);
	note_passed(&f->tunnel, (struct slice){bytes.data, taken});
	stream_consume(s, taken);
	f->client_is_full = taken < bytes.length;
	return FORWARD_GOES_ON;
}

static enum forward_step move_down(struct forward *f)
{
	enum forward_step step = FORWARD_GOES_ON;
	for (int i = 0; step == FORWARD_GOES_ON && !f->tunnel.down_is_over; i++) {
		if (f->client_is_full)
			return FORWARD_WAITS;
		if (i == FORWARD_PIECES_A_TURN) {
			link_again(f->link);
			return FORWARD_WAITS;
		}
		say_goodbye(f);
		if (!f->client_is_full)
			step = pass_down(f);
	}
	return step;
}

/* ---- time ---------------------------------------------------------------------------------------- */

static uint64_t moved(const struct forward *f)
{
	const struct tunnel *t = &f->tunnel;
	/* An end counts as a byte: the other side has its time from then on. */
	return f->exchange->stream->bytes_in + f->link->stream.bytes_in + t->client_has_ended + t->down_is_over +
	       t->is_deaf;
}

/* A side takes no more now. */
static bool is_full(const struct forward *f)
{
	return f->piece.length || f->client_is_full || !stream_is_drained(&f->link->stream);
}

static uint64_t taken(const struct forward *f)
{
	return stream_taken(f->exchange->stream) + stream_taken(&f->link->stream);
}

static void set_deadline(struct forward *f)
{
	const struct tunnel *t = &f->tunnel;
	bool one_has_ended = t->client_has_ended || t->down_is_over || t->is_deaf;
	f->tunnel.moved = moved(f);
	f->tunnel.taken = is_full(f) ? taken(f) : 0; /* two system calls */
	link_deadline(f->link,
	        clock_now_ns() + (one_has_ended ? f->route->half_close_timeout_ns : f->route->tunnel_timeout_ns));
}

static void time_out(struct forward *f)
{
	bool waits = is_full(f) || !stream_is_drained(f->exchange->stream);
	uint64_t now_taken = waits ? taken(f) : 0;
	if (now_taken != f->tunnel.taken) {
		set_deadline(f);
		f->tunnel.taken = now_taken;
		return;
	}
	stat_add(exchange_loop(f->exchange)->stats, STAT_timeouts, 1);
	/* Nothing is lost when nothing is under way. */
	if (waits)
		cut(f);
	else
		finish(f);
}

/* ---- steps --------------------------------------------------------------------------------------- */

void forward_tunnel(struct forward *f)
{
	const struct tunnel *t = &f->tunnel;
	if (!t->up_is_over && move_up(f) == FORWARD_ENDED)
		return;
	if (move_down(f) == FORWARD_ENDED)
		return;
	if (t->up_is_over && t->down_is_over)
		finish(f);
	else if (moved(f) != t->moved)
		set_deadline(f);
}

static void on_link_ready(struct link *l)
{
	forward_run(l->owner, forward_tunnel);
}

static void on_link_expired(struct link *l)
{
	forward_run(l->owner, time_out);
}

enum forward_step forward_open_tunnel(struct forward *f, struct response_head *head, size_t length)
{
	struct mlserve_exchange *x = f->exchange;
	if (!proxy_answer_upgrades(head, f->upgrade))
		return forward_fail(f, 502, "switched to a protocol that was not asked for");
	mlserve_answer_begin(x, 101, 0);
	mlserve_answer_field(x, "Upgrade", f->upgrade);
	mlserve_answer_fields(x, proxy_answer_lines(head));
	link_take_head(f->link, METHOD_GET, head, length);
	f->tunnel.is_websocket = slice_equal_nocase(f->upgrade, SLICE("websocket"));
	mlserve_answer_tunnel(x);
	f->upgrade = SLICE_NONE; /* went with the head */
	if (exchange_is_lost(x)) {
		forward_cut_tunnel(f);
		return FORWARD_ENDED;
	}
	f->tunnel.is_open = true;
	f->link->reusable = false;
	f->link->ready = on_link_ready;
	f->link->expired = on_link_expired;
	set_deadline(f);
	forward_tunnel(f);
	return FORWARD_ENDED;
}
