/*
 * The proxy: gets an answer from a server of an upstream group and passes it on while it
 * arrives. Joins an exchange (serve) with a link (upstream); neither knows the other.
 * Holds of one exchange what both streams' buffers hold, and nothing else.
 *
 * This file moves bytes. What a failed try leads to is in proxy_try.c.
 */
#include "base/check.h"
#include "config/options.h"
#include "handlers/handlers.h"
#include "handlers/proxy_forward.h"
#include "http/uri.h"
#include "serve/exchange.h"
#include <stdlib.h>

enum {
	COPIED_BYTES = 4096,  /* smaller pieces of a body leave together with what stands before them */
	PIECES_A_TURN = 32,   /* then other connections have their turn */
	INTERIM_ANSWERS = 64, /* as many are passed on for one request */
	INTERIM_BYTES = 64 * 1024,
};

/* ---- the request on its way up ------------------------------------------------------------ */

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
	return exchange_head(f->exchange)->body_length == LENGTH_UNKNOWN;
}

/* Gets the next bytes of the client's body into f->piece. */
static enum mlserve_body take_piece(struct forward *f)
{
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

/* false: the socket is full. */
static bool send_piece(struct forward *f)
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

/* The upstream takes no more of the request; an answer may be there all the same (RFC 9112 9.5). */
static void stop_upload(struct forward *f)
{
	f->upload = UPLOAD_STOPPED;
	f->piece = SLICE_NONE;
	f->link->reusable = false;
	/* Whatever stopped it is worth a look, whether or not its event was seen yet. */
	f->link->stream.readable = true;
}

/* Moves the client's body into the stream, as far as it goes. */
static enum forward_step pump_up(struct forward *f)
{
	struct stream *s = &f->link->stream;
	for (int pieces = 0; f->upload == UPLOAD_GOES_ON; pieces++) {
		if (pieces == PIECES_A_TURN) {
			link_again(f->link); /* a fast client and a fast upstream would hold the loop */
			return FORWARD_WAITS;
		}
		if (f->piece.length == 0) {
			enum mlserve_body result = take_piece(f);
			if (result == MLSERVE_BODY_WAIT)
				return FORWARD_WAITS;
			if (result == MLSERVE_BODY_FAILED)
				return forward_fail_client(f);
			if (result == MLSERVE_BODY_END) {
				f->upload = UPLOAD_DONE;
				return !is_chunked(f) || add(s, SLICE("0\r\n\r\n")) ? FORWARD_WAITS
				                                                    : forward_fail_memory(f);
			}
			if (is_chunked(f) && !begin_chunk(f))
				return forward_fail_memory(f);
		}
		if (!send_piece(f))
			return FORWARD_WAITS;
		if (is_chunked(f) && !add(s, SLICE("\r\n")))
			return forward_fail_memory(f);
	}
	return FORWARD_WAITS;
}

static enum forward_step upload(struct forward *f)
{
	struct stream *s = &f->link->stream;
	if (f->upload == UPLOAD_STOPPED)
		return FORWARD_WAITS;
	if (pump_up(f) == FORWARD_ENDED)
		return FORWARD_ENDED;
	/* Flushed once more than it seems to need: a failed stream_send shows here. */
	if (stream_flush(s) == STREAM_FAILED)
		stop_upload(f);
	return FORWARD_WAITS;
}

static enum forward_step send_head(struct forward *f)
{
	struct mlserve_exchange *x = f->exchange;
	struct proxy_request request;
	forward_describe(f, &request);
	char *to = stream_reserve(&f->link->stream, proxy_request_room(&request));
	if (!to)
		return forward_fail_memory(f);
	stream_commit(&f->link->stream, proxy_request_write(&request, to));
	f->head_is_sent = true;
	f->upload = exchange_head(x)->body_length == LENGTH_NONE ? UPLOAD_DONE : UPLOAD_GOES_ON;
	/* For another try: what was taken already stands in f->first. */
	f->piece = f->first;
	if (is_chunked(f) && f->piece.length && !begin_chunk(f))
		return forward_fail_memory(f);
	return FORWARD_WAITS;
}

/* ---- the answer on its way down -------------------------------------------------------------- */

static int64_t announced_length(const struct forward *f, const struct response_head *head)
{
	int64_t length = MLSERVE_LENGTH_UNKNOWN;
	struct slice value;
	if (exchange_head(f->exchange)->method != METHOD_HEAD)
		return head->body_length;
	/* What GET would have sent; a malformed one did not pass the parser. */
	if (fields_find(&head->fields, FIELD_CONTENT_LENGTH, &value) && !slice_to_number(value, &length))
		return MLSERVE_LENGTH_UNKNOWN;
	return length;
}

static enum forward_step begin_answer(struct forward *f, struct response_head *head, size_t length)
{
	/* An early answer: how much of the upload the upstream will still take is not known (RFC 9112 9.5). */
	exchange_may_leave_body(f->exchange);
	mlserve_answer_begin(f->exchange, head->status, announced_length(f, head));
	mlserve_answer_fields(f->exchange, proxy_answer_lines(head));
	f->has_begun = true;
	/* The server has decided, and does not want the rest: a successful answer may still be made from it. */
	if (f->upload == UPLOAD_GOES_ON && (head->status >= 400 || !head->keep_alive))
		stop_upload(f);
	link_take_head(f->link, exchange_head(f->exchange)->method, head, length);
	return FORWARD_GOES_ON;
}

static enum forward_step pass_interim(struct forward *f, struct response_head *head, size_t length)
{
	f->interim_bytes += length;
	if (++f->interim_count > INTERIM_ANSWERS || f->interim_bytes > INTERIM_BYTES)
		return forward_fail(f, 502, "more interim answers than are taken (64, or 64 KiB)");
	/* 100 answers an Expect that was not ours to pass on. */
	if (head->status != 100)
		mlserve_answer_interim(f->exchange, head->status, proxy_answer_lines(head));
	link_take_head(f->link, exchange_head(f->exchange)->method, head, length);
	f->head_deadline_ns = 0;
	return FORWARD_GOES_ON;
}

static enum forward_step read_head(struct forward *f)
{
	struct field fields[LINK_HEAD_FIELDS];
	struct response_head head = {.fields = {.items = fields, .capacity = LINK_HEAD_FIELDS}};
	size_t length;
	switch (link_head(f->link, exchange_head(f->exchange)->method, &head, &length)) {
	case LINK_DONE:
		break;
	case LINK_AGAIN:
		return FORWARD_WAITS;
	default:
		return forward_fail(f, 502, f->link->reason);
	}
	if (head.status >= 200)
		return begin_answer(f, &head, length);
	if (head.status == 101 || head.status < 100)
		return forward_fail(f, 502, "answered with a status that was not asked for");
	return pass_interim(f, &head, length);
}

static enum forward_step finish(struct forward *f)
{
	if (f->upload == UPLOAD_GOES_ON)
		f->link->reusable = false;
	link_release(f->link);
	f->link = NULL;
	mlserve_answer_end(f->exchange);
	return FORWARD_ENDED;
}

static enum forward_step pass_body(struct forward *f)
{
	struct slice data;
	switch (link_body(f->link, &data)) {
	case LINK_DONE:
		break;
	case LINK_AGAIN:
		/* The head does not wait for a body that may be long in coming. */
		if (!f->body_has_begun)
			mlserve_answer_write(f->exchange, NULL, 0);
		f->body_has_begun = true;
		return FORWARD_WAITS;
	case LINK_END:
		return finish(f);
	default:
		return forward_fail(f, 502, f->link->reason);
	}
	f->body_has_begun = true;
	size_t taken = mlserve_answer_write(f->exchange, data.data, data.length);
	link_take_body(f->link, taken);
	f->client_is_full = taken < data.length;
	return f->client_is_full ? FORWARD_WAITS : FORWARD_GOES_ON;
}

static enum forward_step download(struct forward *f)
{
	enum forward_step step = FORWARD_GOES_ON;
	for (int i = 0; step == FORWARD_GOES_ON; i++) {
		if (i == PIECES_A_TURN) {
			link_again(f->link);
			return FORWARD_WAITS;
		}
		step = f->has_begun ? pass_body(f) : read_head(f);
	}
	return step;
}

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
		if (send_head(f) == FORWARD_ENDED)
			return;
	}
	if (upload(f) == FORWARD_ENDED || download(f) == FORWARD_ENDED)
		return;
	set_deadline(f);
}

static void refuse(struct mlserve_exchange *x, unsigned status, const char *reason)
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
	if (!local->pool && !forward_find_pool(x, local)) {
		refuse(x, 503, "The server is short of memory.");
		return;
	}
	f->pool = local->pool;
	f->instance = local->instance;
	forward_describe(f, &request);
	if (proxy_request_loops(&request))
		refuse(x, 508, "The request came back to this server.");
	else if (proxy_request_is_absurd(&request))
		refuse(x, 400, "The Connection field names too many fields.");
	else
		forward_try(f);
}

static void on_body(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	if (f->link && f->head_is_sent)
		forward_advance(f);
}

static void on_more(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	f->client_is_full = false;
	forward_advance(f);
}

static void on_cancel(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	if (f->link)
		link_drop(f->link);
	f->link = NULL;
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

static bool configure(const struct mlserve_settings *s, void **ret_route)
{
	struct proxy_route *route = calloc(1, sizeof *route);
	if (!route) {
		mlserve_setting_fault(s, NULL, 0, "no memory");
		return false;
	}
	route->upstream = mlserve_setting_text(s, "upstream");
	bool fine = read_prefix(s, &route->strip_prefix);
	fine = read_host(s, &route->upstream_host) && fine;
	if (fine)
		*ret_route = route;
	else
		free(route);
	return fine;
}

static bool attach(void *route, unsigned loop, void **ret_local)
{
	(void)route, (void)loop;
	*ret_local = calloc(1, sizeof(struct proxy_local));
	return *ret_local != NULL;
}

static void detach(void *route, void *local)
{
	struct proxy_local *l = local;
	(void)route;
	if (l->pool)
		pool_close(l->pool);
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
        .release = free,
        .attach = attach,
        .detach = detach,
        .serve = serve,
        .body = on_body,
        .more = on_more,
        .cancel = on_cancel,
};
