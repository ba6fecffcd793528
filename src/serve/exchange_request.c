/* What a handler may ask of the request, and its body. */
#include "base/check.h"
#include "http/uri.h"
#include "serve/connection.h"
#include "serve/exchange.h"
#include <string.h>

enum { DRAIN_BYTES = 64 * 1024 }; /* so much of an unread body is read and dropped, a longer one ends the connection */

struct slice mlserve_request_method(const struct mlserve_exchange *x)
{
	return x->head.method_text;
}

struct slice mlserve_request_target(const struct mlserve_exchange *x)
{
	return x->head.target;
}

struct slice mlserve_request_path(const struct mlserve_exchange *x)
{
	return x->path;
}

struct slice mlserve_request_rest(const struct mlserve_exchange *x)
{
	return x->rest;
}

struct slice mlserve_request_query(const struct mlserve_exchange *x)
{
	return x->head.query;
}

struct slice mlserve_request_host(const struct mlserve_exchange *x)
{
	return x->head.host;
}

unsigned exchange_rewrite(struct mlserve_exchange *x, const struct route_rewrite *r, struct slice *ret_path)
{
	const struct route_match *m = x->context->match;
	struct slice path = {NULL, route_rewrite_length(r, m, x->path)};
	char *raw = mlserve_exchange_alloc(x, 2 * path.length + 1);
	if (!raw)
		return 503;
	route_rewrite_write(r, m, x->path, raw);
	path.data = raw;
	/* Only captures can bring one, out of parts of segments: it would lead out of what the operator wrote. */
	if (uri_has_dot_segment(path))
		return 400;
	char *normal = raw + path.length;
	if (!uri_is_normal(path)) {
		if (!uri_normalise(path, normal, &path.length))
			return 400;
		path.data = normal;
	}
	*ret_path = path;
	return 0;
}

const struct address *exchange_peer(const struct mlserve_exchange *x)
{
	return &x->connection->peer;
}

struct slice mlserve_request_peer(struct mlserve_exchange *x)
{
	char *text = mlserve_exchange_alloc(x, ADDRESS_TEXT_BYTES);
	if (!text)
		return SLICE("unknown");
	return (struct slice){text, address_format(exchange_peer(x), text)};
}

bool mlserve_request_is_loopback(const struct mlserve_exchange *x)
{
	return address_is_loopback(exchange_peer(x));
}

bool exchange_peer_is_trusted(const struct mlserve_exchange *x)
{
	for (size_t i = 0; i < x->listener->trusted_count; i++)
		if (network_holds(&x->listener->trusted[i], exchange_peer(x)))
			return true;
	return false;
}

bool exchange_is_secure(const struct mlserve_exchange *x)
{
	(void)x;
	return false; /* listeners speak plain HTTP only, so far */
}

uint64_t exchange_number(const struct mlserve_exchange *x)
{
	return x->connection->request_count - 1;
}

bool mlserve_request_field(const struct mlserve_exchange *x, const char *name, struct slice *ret_value)
{
	return fields_find_name(&x->head.fields, slice_of(name), ret_value);
}

bool mlserve_request_field_at(
        const struct mlserve_exchange *x, size_t index, struct slice *ret_name, struct slice *ret_value)
{
	if (index >= x->head.fields.count)
		return false;
	*ret_name = x->head.fields.items[index].name;
	*ret_value = x->head.fields.items[index].value;
	return true;
}

int64_t mlserve_request_body_length(const struct mlserve_exchange *x)
{
	return x->head.body_length;
}

/* ---- the body ------------------------------------------------------------------------ */

static enum mlserve_body fail(struct mlserve_exchange *x, unsigned status, const char *reason)
{
	if (!x->body_failed)
		x->error_reason = reason;
	x->body_failed = true;
	x->body_status = status;
	return MLSERVE_BODY_FAILED;
}

/* Asks a waiting client to go on, unless it did not wait. */
static void send_continue(struct mlserve_exchange *x)
{
	x->continue_due = false;
	if (x->phase == ANSWER_NONE && stream_bytes(x->stream).length == 0)
		mlserve_answer_interim(x, 100, SLICE_NONE);
}

static enum mlserve_body take_plain(struct mlserve_exchange *x, struct slice *ret_data)
{
	struct slice data = stream_bytes(x->stream);
	if ((int64_t)data.length > x->body_left)
		data.length = (size_t)x->body_left;
	stream_consume(x->stream, data.length);
	x->body_left -= (int64_t)data.length;
	x->body_ended = x->body_left == 0;
	*ret_data = data;
	return MLSERVE_BODY_DATA;
}

/* Here no pinned head keeps the buffer: it goes back once it is empty, so what is lent is consumed by the next call. */
static enum mlserve_body take_raw(struct mlserve_exchange *x, struct slice *ret_data)
{
	*ret_data = stream_bytes(x->stream);
	x->body_lent = ret_data->length;
	return MLSERVE_BODY_DATA;
}

static enum mlserve_body take_chunked(struct mlserve_exchange *x, struct slice *ret_data)
{
	struct slice bytes = stream_bytes(x->stream), rest = bytes, data = SLICE_NONE;
	const char *reason = NULL;
	enum chunked_result result;
	do
		result = chunked_decode(&x->chunked, &rest, &data, &reason);
	while (result == CHUNKED_TRAILERS && trailers_add(&x->trailers, data));
	stream_consume(x->stream, bytes.length - rest.length);
	switch (result) {
	case CHUNKED_DATA:
		*ret_data = data;
		return MLSERVE_BODY_DATA;
	case CHUNKED_MORE:
		return MLSERVE_BODY_WAIT;
	case CHUNKED_END:
		x->body_ended = true;
		return MLSERVE_BODY_END;
	case CHUNKED_TRAILERS:
		return fail(x, 503, "The server is short of memory.");
	default:
		return fail(x, 400, reason);
	}
}

static enum mlserve_body take_buffered(struct mlserve_exchange *x, struct slice *ret_data)
{
	if (stream_bytes(x->stream).length == 0)
		return MLSERVE_BODY_WAIT;
	if (x->tunnel)
		return take_raw(x, ret_data);
	bool chunked = x->head.body_length == LENGTH_UNKNOWN;
	enum mlserve_body result = chunked ? take_chunked(x, ret_data) : take_plain(x, ret_data);
	if (result == MLSERVE_BODY_FAILED)
		return result;
	if (result == MLSERVE_BODY_DATA)
		x->body_taken += (int64_t)ret_data->length;
	/* The size of a chunk tells before its bytes are here. */
	if (x->body_taken > x->body_limit ||
	        (chunked && chunked_due(&x->chunked) > (uint64_t)(x->body_limit - x->body_taken)))
		return fail(x, 413, "The request body is larger than allowed here.");
	return result;
}

/* A read that brought no bytes. */
static enum mlserve_body read_nothing(struct mlserve_exchange *x, enum stream_result result)
{
	switch (result) {
	case STREAM_AGAIN:
	case STREAM_FULL: /* cannot be: all buffered bytes were taken */
		x->body_wanted = true;
		connection_touch(x->connection); /* the wait for the client has a deadline */
		return MLSERVE_BODY_WAIT;
	case STREAM_CLOSED:
		/* After a failed write an end is the echo of a reset. */
		if (x->tunnel && !x->stream->error) {
			x->body_ended = true;
			return MLSERVE_BODY_END;
		}
		return fail(x, 400, "The request body ended early.");
	default:
		return fail(x, 400, "The connection broke within the request body.");
	}
}

enum mlserve_body mlserve_request_body(struct mlserve_exchange *x, struct slice *ret_data)
{
	if (x->body_lent)
		stream_consume(x->stream, x->body_lent);
	x->body_lent = 0;
	if (x->body_failed)
		return MLSERVE_BODY_FAILED;
	if (x->body_ended)
		return MLSERVE_BODY_END;
	if (x->continue_due)
		send_continue(x);
	for (;;) {
		enum mlserve_body result = take_buffered(x, ret_data);
		if (result != MLSERVE_BODY_WAIT)
			return result;
		enum stream_result read = stream_read(x->stream);
		if (read != STREAM_DONE)
			return read_nothing(x, read);
	}
}

bool exchange_fills_pipe(const struct mlserve_exchange *x)
{
	return x->head.body_length >= 0 && x->body_left > 0 && !x->body_failed && !x->continue_due &&
	       stream_bytes(x->stream).length == 0;
}

enum mlserve_body exchange_body_to(struct mlserve_exchange *x, struct pipe *pipe, size_t bytes)
{
	if ((int64_t)bytes > x->body_left)
		bytes = (size_t)x->body_left;
	enum stream_result read = stream_read_to(x->stream, pipe, bytes);
	if (read == STREAM_FULL)
		return MLSERVE_BODY_END;
	if (read != STREAM_DONE)
		return read_nothing(x, read);
	x->body_left -= (int64_t)pipe->held;
	x->body_taken += (int64_t)pipe->held;
	x->body_ended = x->body_left == 0;
	return MLSERVE_BODY_DATA;
}

bool exchange_drop_chunks_here(struct mlserve_exchange *x)
{
	struct slice dropped;
	enum mlserve_body result = MLSERVE_BODY_DATA;
	if (x->head.body_length != LENGTH_UNKNOWN || x->continue_due)
		return true;
	while (result == MLSERVE_BODY_DATA && !x->body_ended)
		result = take_buffered(x, &dropped);
	return result != MLSERVE_BODY_FAILED;
}

bool exchange_body_is_long(const struct mlserve_exchange *x)
{
	return x->head.body_length == LENGTH_UNKNOWN || x->body_left > DRAIN_BYTES;
}

bool exchange_body_is_done(struct mlserve_exchange *x)
{
	struct slice dropped;
	x->continue_due = false;
	x->body_limit = INT64_MAX; /* it was short enough to go on (RFC 9112 9.3), whatever the route takes */
	while (!x->body_ended && !x->body_failed)
		if (mlserve_request_body(x, &dropped) == MLSERVE_BODY_WAIT)
			return false;
	return true;
}
