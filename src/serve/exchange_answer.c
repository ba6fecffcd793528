/* Building an answer in the stream's out buffer: head, framing, body, end. */
#include "base/check.h"
#include "http/byte.h"
#include "http/media_type.h"
#include "http/status.h"
#include "serve/connection.h"
#include "serve/error_page.h"
#include "serve/exchange.h"
#include "serve/exchange_log.h"
#include <stdio.h>
#include <string.h>

enum {
	DIRECT_BYTES = 4096, /* larger writes go out from where they lie */
	COPY_BYTES = 4096,   /* smaller memory is copied behind the head */
	CHUNK_OVERHEAD = 18 + 2,
	LAST_CHUNK_BYTES = 5,
};

/* The answer cannot go on; a handler that has not ended it will hear by cancel(). */
static void lose(struct mlserve_exchange *x)
{
	x->phase = ANSWER_ABORTED;
	connection_touch(x->connection);
}

static void add(struct mlserve_exchange *x, struct slice bytes)
{
	char *to = x->phase == ANSWER_ABORTED ? NULL : stream_reserve(x->stream, bytes.length);
	if (!to)
		return lose(x);
	if (bytes.length)
		memcpy(to, bytes.data, bytes.length);
	stream_commit(x->stream, bytes.length);
}

/* ---- head ---------------------------------------------------------------------------- */

static bool status_is_bodyless(unsigned status)
{
	return status < 200 || status == 204 || status == 304;
}

/* Whether the connection can serve another request after this one. */
static bool can_go_on(const struct mlserve_exchange *x)
{
	const struct listener_settings *l = x->listener;
	if (!x->head.keep_alive || x->context->draining || x->body_failed)
		return false;
	if (l->keepalive_requests && x->connection->request_count >= l->keepalive_requests)
		return false;
	/* A handler that has begun to read the body reads it to its end; one that does not is seen when it has ended.
	 */
	bool reads_on = !x->body_unsure && (x->body_taken || x->body_wanted);
	if (x->body_ended || reads_on)
		return true;
	/* An unread body: one that the client holds back, or a long one, is not waited for (RFC 9112 9.3). */
	return !x->continue_due && !exchange_body_is_long(x);
}

static size_t put_text(char *to, struct slice text)
{
	memcpy(to, text.data, text.length);
	return text.length;
}

static size_t put_number(char *to, uint64_t number)
{
	char digits[20];
	size_t count = 0;
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	for (size_t i = 0; i < count; i++)
		to[i] = digits[count - 1 - i];
	return count;
}

static size_t put_status_line(char *to, unsigned status)
{
	struct slice line = status_line(status);
	if (line.length)
		return put_text(to, line);
	return (size_t)sprintf(to, "HTTP/1.1 %u Unknown\r\n", status);
}

static size_t put_framing(struct mlserve_exchange *x, char *to, int64_t length)
{
	size_t n = 0;
	if (x->answer_chunked) {
		n = put_text(to, SLICE("Transfer-Encoding: chunked\r\n"));
	} else if (length >= 0 && !status_is_bodyless(x->status)) {
		n = put_text(to, SLICE("Content-Length: "));
		n += put_number(to + n, (uint64_t)length);
		n += put_text(to + n, SLICE("\r\n"));
	}
	if (x->status == 101)
		n += put_text(to + n, SLICE("Connection: Upgrade\r\n"));
	else if (x->answer_closes)
		n += put_text(to + n, SLICE("Connection: close\r\n"));
	else if (x->head.minor == 0)
		n += put_text(to + n, SLICE("Connection: keep-alive\r\n"));
	if (x->route && x->route->debug_headers)
		n += (size_t)sprintf(to + n, "X-Mlserve-Loop: %u\r\n", x->context->loop->id);
	return n;
}

void mlserve_answer_begin(struct mlserve_exchange *x, unsigned status, int64_t length)
{
	enum { HEAD_ROOM = 384 };
	if (x->phase == ANSWER_ABORTED)
		return;
	MUST(x->phase == ANSWER_NONE);
	if (status < 101 || (status > 101 && status < 200) || status > 999) {
		exchange_log_misuse(x, LOG_LEVEL_ERROR, "%u is no status of a final answer", status);
		return lose(x);
	}
	x->phase = ANSWER_HEAD;
	x->status = status;
	x->answer_left = length;
	x->answer_bodyless = x->head.method == METHOD_HEAD || status_is_bodyless(status);
	x->answer_closes = !can_go_on(x);
	if (length == MLSERVE_LENGTH_UNKNOWN && !x->answer_bodyless) {
		x->answer_chunked = x->head.minor > 0;
		x->answer_closes |= !x->answer_chunked;
	}
	char *to = stream_reserve(x->stream, HEAD_ROOM);
	if (!to)
		return lose(x);
	size_t n = put_status_line(to, status);
	n += put_text(to + n, context_common_fields(x->context));
	n += put_framing(x, to + n, length);
	stream_commit(x->stream, n);
}

/* Fields that frame the message or name the hop: the server's own. */
static bool is_reserved(struct slice name)
{
	static const char *const reserved[] = {
	        "content-length", "transfer-encoding", "connection", "keep-alive", "date", "server", "trailer"};
	for (size_t i = 0; i < ARRAY_COUNT(reserved); i++)
		if (slice_equal_nocase(name, slice_of(reserved[i])))
			return true;
	return false;
}

static bool is_field_text(struct slice s)
{
	for (size_t i = 0; i < s.length; i++)
		if (((unsigned char)s.data[i] < 0x20 && s.data[i] != '\t') || s.data[i] == 0x7f)
			return false;
	return true;
}

void mlserve_answer_field(struct mlserve_exchange *x, const char *name, struct slice value)
{
	if (x->phase == ANSWER_ABORTED)
		return;
	MUST(x->phase == ANSWER_HEAD);
	struct slice field = slice_of(name);
	if (!byte_is_token(field) || is_reserved(field) || !is_field_text(value)) {
		exchange_log_misuse(x, LOG_LEVEL_WARN, "field %s is refused", name);
		return;
	}
	char *to = stream_reserve(x->stream, field.length + value.length + 4);
	if (!to)
		return lose(x);
	size_t n = put_text(to, field);
	n += put_text(to + n, SLICE(": "));
	if (value.length)
		n += put_text(to + n, value);
	n += put_text(to + n, SLICE("\r\n"));
	stream_commit(x->stream, n);
}

void mlserve_answer_fields(struct mlserve_exchange *x, struct slice lines)
{
	if (x->phase == ANSWER_ABORTED || lines.length == 0)
		return;
	MUST(x->phase == ANSWER_HEAD);
	add(x, lines);
}

void mlserve_answer_interim(struct mlserve_exchange *x, unsigned status, struct slice fields)
{
	if (x->phase == ANSWER_ABORTED)
		return;
	MUST(x->phase == ANSWER_NONE && status >= 100 && status < 200 && status != 101);
	if (x->head.minor == 0)
		return; /* RFC 9110 15.2: not to HTTP/1.0 */
	char *to = stream_reserve(x->stream, 64 + fields.length + 2);
	if (!to)
		return lose(x);
	size_t n = put_status_line(to, status);
	if (fields.length)
		n += put_text(to + n, fields);
	n += put_text(to + n, SLICE("\r\n"));
	stream_commit(x->stream, n);
	stat_add(x->context->loop->stats, STAT_answers_1xx, 1);
	connection_touch(x->connection);
}

static void close_head(struct mlserve_exchange *x)
{
	if (x->phase != ANSWER_HEAD)
		return;
	x->phase = ANSWER_BODY;
	add(x, SLICE("\r\n"));
	connection_touch(x->connection);
}

/* ---- body ------------------------------------------------------------------------------ */

static size_t write_chunks(struct mlserve_exchange *x, const char *data, size_t length)
{
	size_t taken = 0;
	while (taken < length) {
		size_t room = stream_room(x->stream);
		if (room <= CHUNK_OVERHEAD + LAST_CHUNK_BYTES) {
			if (stream_flush(x->stream) != STREAM_DONE)
				break;
			continue;
		}
		size_t part = length - taken;
		if (part > room - CHUNK_OVERHEAD)
			part = room - CHUNK_OVERHEAD;
		char *to = stream_reserve(x->stream, part + CHUNK_OVERHEAD);
		if (!to)
			break;
		size_t n = chunked_begin(to, part);
		memcpy(to + n, data + taken, part);
		memcpy(to + n + part, "\r\n", 2);
		stream_commit(x->stream, n + part + 2);
		taken += part;
	}
	return taken;
}

static size_t write_plain(struct mlserve_exchange *x, const char *data, size_t length)
{
	if (length < DIRECT_BYTES)
		return stream_put(x->stream, data, length);
	return stream_send(x->stream, data, length);
}

size_t mlserve_answer_write(struct mlserve_exchange *x, const void *data, size_t length)
{
	close_head(x);
	connection_touch(x->connection);
	if (x->phase == ANSWER_ABORTED || length == 0)
		return length;
	MUST(x->phase == ANSWER_BODY);
	if (x->answer_bodyless)
		return length;
	size_t given = length;
	if (x->answer_left >= 0 && (int64_t)length > x->answer_left) {
		exchange_log_misuse(x, LOG_LEVEL_ERROR, "wrote more than it announced");
		length = (size_t)x->answer_left;
	}
	size_t taken = x->answer_chunked ? write_chunks(x, data, length) : write_plain(x, data, length);
	if (x->answer_left >= 0)
		x->answer_left -= (int64_t)taken;
	x->more_wanted |= taken < length;
	/* The socket takes more, so only memory can be short: nothing would ever call more(). */
	if (taken == 0 && stream_is_drained(x->stream) && x->stream->writable && !x->stream->error)
		lose(x);
	/* What is too much is swallowed: a handler that saw less taken would wait for more(), which never comes. */
	return taken < length ? taken : given;
}

/* Whether the body, announced with a length, still takes these bytes as a segment. */
static bool takes_segment(struct mlserve_exchange *x, int64_t length)
{
	close_head(x);
	if (x->phase == ANSWER_ABORTED)
		return false;
	MUST(x->phase == ANSWER_BODY && length >= 0);
	if (x->answer_chunked || (x->answer_left >= 0 && length > x->answer_left)) {
		exchange_log_misuse(x, LOG_LEVEL_ERROR, "a body given as a whole must have the announced length");
		lose(x);
		return false;
	}
	if (x->answer_left >= 0)
		x->answer_left -= length;
	connection_touch(x->connection);
	return !x->answer_bodyless && length > 0;
}

static void call_done(void (*done)(void *), void *argument)
{
	if (done)
		done(argument);
}

void mlserve_answer_memory(
        struct mlserve_exchange *x, const void *data, size_t length, void (*done)(void *), void *argument)
{
	if (!takes_segment(x, (int64_t)length))
		return call_done(done, argument);
	if (length <= COPY_BYTES) {
		add(x, (struct slice){data, length});
		return call_done(done, argument);
	}
	stream_put_memory(x->stream, data, length, done, argument);
}

void mlserve_answer_file(
        struct mlserve_exchange *x, int fd, int64_t offset, int64_t length, void (*done)(void *), void *argument)
{
	if (!takes_segment(x, length))
		return call_done(done, argument);
	stream_put_file(x->stream, fd, offset, length, done, argument);
}

bool exchange_takes_pipe(const struct mlserve_exchange *x)
{
	return x->phase == ANSWER_BODY && x->answer_left > 0 && !x->answer_bodyless && x->stream->writable &&
	       !x->stream->error && stream_is_drained(x->stream);
}

bool exchange_write_pipe(struct mlserve_exchange *x, struct pipe *pipe)
{
	MUST(x->phase == ANSWER_BODY && (int64_t)pipe->held <= x->answer_left);
	x->answer_left -= (int64_t)pipe->held;
	stream_put_pipe(x->stream, pipe);
	bool is_out = stream_flush(x->stream) == STREAM_DONE;
	x->more_wanted |= !is_out;
	connection_touch(x->connection);
	return is_out;
}

/* ---- end --------------------------------------------------------------------------------- */

void mlserve_answer_end_with(struct mlserve_exchange *x, struct slice trailers)
{
	x->served = false;
	exchange_stop_waiting(x);
	close_head(x);
	if (x->phase == ANSWER_ABORTED)
		return;
	MUST(x->phase == ANSWER_BODY);
	if (x->status == 101 && !x->tunnel)
		return lose(x); /* nothing could follow it */
	if (x->answer_chunked) {
		add(x, SLICE("0\r\n"));
		add(x, trailers);
		add(x, SLICE("\r\n"));
	}
	if (x->phase == ANSWER_ABORTED)
		return;
	if (!x->answer_bodyless && x->answer_left > 0)
		return lose(x);
	x->phase = ANSWER_ENDED;
	exchange_stop_waiting(x);
	connection_touch(x->connection);
}

void mlserve_answer_end(struct mlserve_exchange *x)
{
	mlserve_answer_end_with(x, SLICE_NONE);
}

void mlserve_answer_abort(struct mlserve_exchange *x)
{
	x->served = false;
	close_head(x);
	lose(x);
}

void mlserve_answer_whole(struct mlserve_exchange *x, unsigned status, const char *content_type, struct slice body)
{
	mlserve_answer_begin(x, status, (int64_t)body.length);
	if (content_type)
		mlserve_answer_field(x, "Content-Type", slice_of(content_type));
	mlserve_answer_memory(x, body.data, body.length, NULL, NULL);
	mlserve_answer_end(x);
}

struct slice exchange_request_id(struct mlserve_exchange *x)
{
	if (!x->has_request_id)
		context_request_id(x->context, x->request_id);
	x->has_request_id = true;
	return (struct slice){x->request_id, REQUEST_ID_BYTES};
}

void mlserve_answer_error(struct mlserve_exchange *x, unsigned status, struct slice fields)
{
	char page[ERROR_PAGE_BYTES];
	if (x->phase != ANSWER_NONE)
		return mlserve_answer_abort(x);
	exchange_may_leave_body(x);
	if (x->body_failed)
		status = x->body_status;
	struct slice id = exchange_request_id(x);
	bool json = media_type_prefers_json(&x->head.fields);
	size_t length = error_page_write(page, status, x->error_reason, id, json);
	mlserve_answer_begin(x, status, (int64_t)length);
	mlserve_answer_field(x, "Content-Type", json ? SLICE("application/json") : SLICE("text/html; charset=utf-8"));
	mlserve_answer_field(x, "Vary", SLICE("Accept")); /* whatever was chosen (RFC 9110 12.5.5) */
	mlserve_answer_field(x, "X-Request-Id", id);
	mlserve_answer_fields(x, fields);
	mlserve_answer_memory(x, page, length, NULL, NULL); /* is copied: ERROR_PAGE_BYTES <= COPY_BYTES */
	mlserve_answer_end(x);
	exchange_log_error(x, status);
}
