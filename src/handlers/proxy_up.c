/* The request on its way up: its head, then its body, as far as the upstream's socket takes it. */
#include "base/check.h"
#include "handlers/proxy_forward.h"
#include "serve/exchange.h"

enum {
	COPIED_BYTES = 4096, /* smaller pieces of a body leave together with what stands before them */
};

static bool add(struct stream *s, struct slice bytes)
{
	char *to = stream_reserve(s, bytes.length);
	if (!to)
		return false;
	memcpy(to, bytes.data, bytes.length);
	stream_commit(s, bytes.length);
	return true;
}

static bool is_chunked(const struct forward *f)
{
	return forward_body_length(f) == LENGTH_UNKNOWN;
}

/* Gets the next bytes of the client's body into f->piece. */
static enum mlserve_body take_piece(struct forward *f)
{
	if (f->request_spool)
		return forward_next_piece(f);
	int64_t length = exchange_head(f->exchange)->body_length;
	if (length >= 0 && f->taken == length)
		return MLSERVE_BODY_END;
	/* Asking for more gives back what was lent before. */
	f->first_is_lost = f->first.length > 0;
	enum mlserve_body result = mlserve_request_body(f->exchange, &f->piece);
	if (result != MLSERVE_BODY_DATA)
		return result;
	if (f->taken == 0)
		f->first = f->piece;
	f->taken += (int64_t)f->piece.length;
	return result;
}

static bool begin_chunk(struct forward *f)
{
	char line[20];
	size_t length = chunked_begin(line, f->piece.length);
	return add(&f->link->stream, (struct slice){line, length});
}

bool forward_send_piece(struct forward *f)
{
	struct stream *s = &f->link->stream;
	while (f->piece.length) {
		size_t length = f->piece.length;
		size_t n = length < COPIED_BYTES ? stream_put(s, f->piece.data, length)
		                                 : stream_send(s, f->piece.data, length);
		f->piece = slice_from(f->piece, n);
		if (f->piece.length && (length >= COPIED_BYTES || stream_flush(s) != STREAM_DONE))
			return false;
	}
	return true;
}

/* The end of a chunked body, with what came behind it. */
static bool add_last_chunk(struct forward *f)
{
	static const size_t around = sizeof("0\r\n\r\n") - 1;
	struct slice trailers = exchange_trailers(f->exchange);
	char *to = stream_reserve(&f->link->stream, trailers.length + around);
	if (!to)
		return false;
	memcpy(to, "0\r\n", 3);
	size_t length = proxy_trailers_write(trailers, &exchange_head(f->exchange)->fields, to + 3);
	memcpy(to + 3 + length, "\r\n", 2);
	stream_commit(&f->link->stream, length + around);
	return true;
}

void forward_stop_upload(struct forward *f)
{
	f->upload = UPLOAD_STOPPED;
	f->piece = SLICE_NONE;
	f->link->reusable = false;
	/* Whatever stopped it is worth a look, whether or not its event was seen yet. */
	f->link->stream.readable = true;
}

/* Moves the next piece of the client's body into the stream. */
static enum forward_step pump_piece(struct forward *f)
{
	if (f->piece.length == 0) {
		enum mlserve_body result = take_piece(f);
		if (result == MLSERVE_BODY_WAIT)
			return FORWARD_WAITS;
		if (result == MLSERVE_BODY_FAILED)
			return f->request_spool ? forward_fail_collected(f) : forward_fail_client(f);
		if (result == MLSERVE_BODY_END) {
			f->upload = UPLOAD_DONE;
			return !is_chunked(f) || add_last_chunk(f) ? FORWARD_WAITS : forward_fail_memory(f);
		}
		if (is_chunked(f) && !begin_chunk(f))
			return forward_fail_memory(f);
	}
	if (!forward_send_piece(f))
		return FORWARD_WAITS;
	if (is_chunked(f) && !add(&f->link->stream, SLICE("\r\n")))
		return forward_fail_memory(f);
	return FORWARD_GOES_ON;
}

/* Moves the client's body into the stream, as far as it goes. */
static enum forward_step pump_up(struct forward *f)
{
	const struct stream *s = &f->link->stream;
	uint64_t most_out = s->bytes_out + FORWARD_BYTES_A_TURN;
	enum forward_step step = FORWARD_GOES_ON;
	for (int pieces = 0; step == FORWARD_GOES_ON && f->upload == UPLOAD_GOES_ON; pieces++) {
		if (pieces == FORWARD_PIECES_A_TURN || s->bytes_out >= most_out) {
			link_again(f->link); /* a fast client and a fast upstream would hold the loop */
			return FORWARD_WAITS;
		}
		if (!forward_splice_up(f, &step))
			step = pump_piece(f);
	}
	return step;
}

enum forward_step forward_upload(struct forward *f)
{
	struct stream *s = &f->link->stream;
	if (f->upload == UPLOAD_STOPPED)
		return FORWARD_WAITS;
	if (pump_up(f) == FORWARD_ENDED)
		return FORWARD_ENDED;
	/* Flushed once more than it seems to need: a failed stream_send shows here. */
	if (stream_flush(s) == STREAM_FAILED)
		forward_stop_upload(f);
	return FORWARD_WAITS;
}

enum forward_step forward_send_head(struct forward *f)
{
	struct mlserve_exchange *x = f->exchange;
	struct proxy_request request;
	forward_describe(f, &request);
	request.upgrade = f->upgrade;
	char *to = stream_reserve(&f->link->stream, proxy_request_room(&request));
	if (!to)
		return forward_fail_memory(f);
	stream_commit(&f->link->stream, proxy_request_write(&request, to));
	f->head_is_sent = true;
	f->splice_up_bytes = forward_splice_begin(forward_body_length(f));
	f->upload = exchange_head(x)->body_length == LENGTH_NONE ? UPLOAD_DONE : UPLOAD_GOES_ON;
	/* For another try: what was taken already stands in f->first. */
	f->piece = f->first;
	forward_rewind(f);
	if (is_chunked(f) && f->piece.length && !begin_chunk(f))
		return forward_fail_memory(f);
	return FORWARD_WAITS;
}
