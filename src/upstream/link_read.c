/* Reading answers from a link: the head, then the body out of its framing (RFC 9112 6.3). */
#include "base/check.h"
#include "upstream/link.h"
#include <string.h>

static const struct head_limits limits = {
        .line_bytes = 8192, .head_bytes = LINK_HEAD_BYTES, .fields = LINK_HEAD_FIELDS};

static const char too_long[] = "answer head longer than the limit of 65536 bytes";

static enum link_result fail(struct link *l, const char *reason)
{
	l->reason = reason;
	return LINK_FAILED;
}

static enum link_result refuse(struct link *l, const char *reason)
{
	l->out_of_order = true;
	return fail(l, reason);
}

/* ---- head ---------------------------------------------------------------------------- */

/* LINK_AGAIN: the bytes here do not make a head yet. */
static enum link_result look_for_head(struct link *l, enum method to, struct response_head *head, size_t *ret_length)
{
	struct slice bytes = stream_bytes(&l->stream);
	const char *reason = "malformed answer";
	size_t length;
	if (bytes.length == 0)
		return LINK_AGAIN;
	switch (response_scan(&l->scan, bytes.data, bytes.length, &limits, &length, &reason)) {
	case HEAD_MORE:
		/* Something else than HTTP may never send a line's end. */
		if (memcmp(bytes.data, "HTTP/1.", bytes.length < 7 ? bytes.length : 7) != 0)
			return refuse(l, "answer is not HTTP/1.x");
		return bytes.length > LINK_HEAD_BYTES ? refuse(l, "answer head over the limit of 65536 bytes")
		                                      : LINK_AGAIN;
	case HEAD_REFUSED:
		return refuse(l, bytes.length > LINK_HEAD_BYTES ? too_long : reason);
	case HEAD_READY:
		break;
	}
	/* The bytes are our own buffer's. */
	if (!response_parse(head, l->stream.in + l->stream.in_start, length, to, &reason))
		return refuse(l, reason);
	*ret_length = length;
	return LINK_DONE;
}

/* A head that fills the buffer gets a bigger one. */
static enum link_result make_room(struct link *l)
{
	size_t room = 2 * (size_t)l->stream.in_capacity;
	size_t most = LINK_HEAD_BYTES + l->stream.blocks->bytes;
	if (room > most)
		room = most;
	if (room <= l->stream.in_capacity)
		return refuse(l, too_long);
	return stream_grow(&l->stream, room) ? LINK_DONE : fail(l, "no memory");
}

/* LINK_DONE: bytes came; LINK_END: the server ended its side. */
static enum link_result read_more(struct link *l)
{
	switch (stream_read(&l->stream)) {
	case STREAM_DONE:
		return LINK_DONE;
	case STREAM_AGAIN:
		return LINK_AGAIN;
	case STREAM_FULL:
		return make_room(l);
	case STREAM_CLOSED:
		return LINK_END;
	case STREAM_FAILED:
		break;
	}
	return fail(l, strerror(l->stream.error));
}

enum link_result link_head(struct link *l, enum method to, struct response_head *ret_head, size_t *ret_length)
{
	for (;;) {
		enum link_result result = look_for_head(l, to, ret_head, ret_length);
		if (result == LINK_AGAIN)
			result = read_more(l);
		else
			return result;
		if (result == LINK_END)
			return fail(l,
			        link_has_received(l) ? "closed within the answer's head" : "closed without an answer");
		if (result != LINK_DONE)
			return result;
	}
}

void link_take_head(struct link *l, enum method to, const struct response_head *head, size_t length)
{
	bool bodyless = to == METHOD_HEAD || head->status == 204 || head->status == 304;
	memset(&l->scan, 0, sizeof l->scan);
	stream_consume(&l->stream, length);
	if (head->status < 200)
		return;
	l->is_chunked = !bodyless && head->chunked;
	l->until_close = !bodyless && head->until_close;
	l->body_left = bodyless || l->is_chunked || l->until_close ? 0 : head->body_length;
	l->ended = !l->is_chunked && !l->until_close && l->body_left == 0;
	if (!head->keep_alive || l->until_close)
		l->reusable = false;
	if (l->is_chunked) {
		chunked_init(&l->chunked);
		l->chunked.gives_trailers = true;
	}
}

/* ---- body ---------------------------------------------------------------------------- */

/* Finds the next piece among the bytes here. LINK_AGAIN: there is none. */
static enum link_result find_chunk_piece(struct link *l)
{
	struct slice bytes = stream_bytes(&l->stream), rest = bytes, data = SLICE_NONE;
	const char *reason = "malformed chunk";
	enum chunked_result result;
	do
		result = chunked_decode(&l->chunked, &rest, &data, &reason);
	while (result == CHUNKED_TRAILERS && trailers_add(&l->trailers, data));
	switch (result) {
	case CHUNKED_TRAILERS:
		return fail(l, "no memory");
	case CHUNKED_DATA:
		MUST(data.data + data.length == rest.data);
		stream_consume(&l->stream, (size_t)(data.data - bytes.data));
		l->piece = data.length;
		return LINK_DONE;
	case CHUNKED_MORE:
		stream_consume(&l->stream, bytes.length);
		return LINK_AGAIN;
	case CHUNKED_END:
		stream_consume(&l->stream, bytes.length - rest.length);
		l->ended = true;
		return LINK_END;
	case CHUNKED_REFUSED:
		break;
	}
	return refuse(l, reason);
}

static enum link_result find_piece(struct link *l)
{
	size_t here = stream_bytes(&l->stream).length;
	if (here == 0)
		return LINK_AGAIN;
	if (l->is_chunked)
		return find_chunk_piece(l);
	l->piece = !l->until_close && (int64_t)here > l->body_left ? (size_t)l->body_left : here;
	return LINK_DONE;
}

static enum link_result end_by_close(struct link *l)
{
	/* After a failed write the end is the echo of a reset: nobody knows what was lost. */
	if (!l->until_close || l->stream.error)
		return fail(l, "closed within the answer's body");
	l->ended = true;
	return LINK_END;
}

enum link_result link_body(struct link *l, struct slice *ret_bytes)
{
	while (l->piece == 0) {
		if (l->ended)
			return LINK_END;
		enum link_result result = find_piece(l);
		if (result == LINK_AGAIN)
			result = read_more(l);
		if (result == LINK_END && !l->ended)
			return end_by_close(l);
		if (result != LINK_DONE)
			return result;
	}
	*ret_bytes = (struct slice){stream_bytes(&l->stream).data, l->piece};
	return LINK_DONE;
}

enum link_result link_body_to(struct link *l, struct pipe *pipe, size_t bytes)
{
	if ((int64_t)bytes > l->body_left)
		bytes = (size_t)l->body_left;
	switch (stream_read_to(&l->stream, pipe, bytes)) {
	case STREAM_DONE:
		break;
	case STREAM_AGAIN:
		return LINK_AGAIN;
	case STREAM_FULL:
		return LINK_END;
	case STREAM_CLOSED:
		return end_by_close(l);
	default:
		return fail(l, strerror(l->stream.error));
	}
	l->body_left -= (int64_t)pipe->held;
	l->ended = l->body_left == 0;
	return LINK_DONE;
}

void link_take_body(struct link *l, size_t bytes)
{
	MUST(bytes <= l->piece);
	stream_consume(&l->stream, bytes);
	l->piece -= bytes;
	if (l->is_chunked || l->until_close)
		return;
	l->body_left -= (int64_t)bytes;
	l->ended = l->body_left == 0;
}
