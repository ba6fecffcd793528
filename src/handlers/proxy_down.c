/* The answer on its way down: interim heads, the head, then the body, as far as the client takes it. */
#include "handlers/proxy_forward.h"
#include "handlers/proxy_rewrite.h"
#include "http/uri.h"
#include "serve/exchange.h"

enum {
	INTERIM_ANSWERS = 64, /* as many are passed on for one request */
	INTERIM_BYTES = 64 * 1024,
};

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

/* By which the client comes back to this server. */
static void send_cookie(struct forward *f)
{
	char line[PROXY_COOKIE_BYTES];
	size_t length = proxy_key_cookie(f->pool->group, f->server, exchange_is_secure(f->exchange), line);
	mlserve_answer_fields(f->exchange, (struct slice){line, length});
}

static bool is_http_scheme(struct slice s)
{
	return slice_equal(s, SLICE("http")) || slice_equal(s, SLICE("https"));
}

/* As the client asked, or the trusted proxy before us was asked. */
static struct proxy_view view_of(const struct forward *f)
{
	struct proxy_request request;
	forward_describe(f, &request);
	struct proxy_view view = {.prefix = f->route->strip_prefix,
	        .sent_host = request.host,
	        .server = slice_of(f->server->name),
	        .scheme = request.is_secure ? SLICE("https") : SLICE("http"),
	        .host = request.head->host};
	const struct fields *fields = &request.head->fields;
	struct slice given, name, port;
	if (!request.peer_is_trusted)
		return view;
	if (fields_find(fields, FIELD_X_FORWARDED_PROTO, &given) && is_http_scheme(given))
		view.scheme = given;
	if (fields_find(fields, FIELD_X_FORWARDED_HOST, &given) && uri_split_authority(given, &name, &port))
		view.host = given;
	return view;
}

/* The value in new memory, or the old one when it stays or memory is short. */
static struct slice rewrite(struct forward *f, const struct proxy_view *view, const struct field *field, bool is_cookie)
{
	size_t room =
	        is_cookie ? proxy_cookie_room(view, field->value) : proxy_location_room(view, field->value.length);
	char *to = mlserve_exchange_alloc(f->exchange, room + 1);
	if (!to)
		return field->value;
	size_t length =
	        is_cookie ? proxy_cookie_write(view, field->value, to) : proxy_location_write(view, field->value, to);
	return length ? (struct slice){to, length} : field->value;
}

/* A line that grows has no room where it stands: it is written apart. All cookies are, so that they keep their order.
 */
static void put_rewritten(struct forward *f, struct response_head *head)
{
	struct proxy_view view = view_of(f);
	for (size_t i = 0; i < head->fields.count; i++) {
		struct field *field = &head->fields.items[i];
		const char *name = field->id == FIELD_LOCATION ? "Location" : NULL;
		if (field->id == FIELD_OTHER && slice_equal_nocase(field->name, SLICE("content-location")))
			name = "Content-Location";
		bool is_cookie = field->id == FIELD_OTHER && slice_equal_nocase(field->name, SLICE("set-cookie"));
		if (is_cookie)
			name = "Set-Cookie";
		if (!name || !(is_cookie ? f->route->rewrites_cookie_path : f->route->rewrites_location))
			continue;
		if (fields_have_member(&head->fields, FIELD_CONNECTION, field->name))
			continue;
		mlserve_answer_field(f->exchange, name, rewrite(f, &view, field, is_cookie));
		proxy_answer_drop(field);
	}
}

static enum forward_step begin_answer(struct forward *f, struct response_head *head, size_t length)
{
	/* An early answer: how much of the upload the upstream will still take is not known (RFC 9112 9.5). */
	exchange_may_leave_body(f->exchange);
	mlserve_answer_begin(f->exchange, head->status, announced_length(f, head));
	f->drops_trailers = proxy_nominates(&head->fields);
	if (f->route->rewrites_location || f->route->rewrites_cookie_path)
		put_rewritten(f, head);
	mlserve_answer_fields(f->exchange, proxy_answer_lines(head));
	if (f->pool->group->sticky_cookie && !f->is_guest && !(f->key.has_sticky && f->key.sticky == f->server->id))
		send_cookie(f);
	link_note_answer(f->link);
	f->has_begun = true;
	f->splice_down_bytes = forward_splice_begin(head->body_length);
	/* The server has decided, and does not want the rest: a successful answer may still be made from it. */
	if (f->upload == UPLOAD_GOES_ON && (head->status >= 400 || !head->keep_alive))
		forward_stop_upload(f);
	if (f->upload != UPLOAD_GOES_ON)
		spool_free(&f->request_spool); /* an answer that may last long needs it no more */
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
	if (head.status == 101)
		return forward_open_tunnel(f, &head, length);
	if (head.status < 100)
		return forward_fail(f, 502, "answered with a status that was not asked for");
	return pass_interim(f, &head, length);
}

static enum forward_step finish(struct forward *f)
{
	struct link *link = f->link;
	struct slice trailers = SLICE_NONE;
	if (f->upload == UPLOAD_GOES_ON)
		link->reusable = false;
	if (!f->drops_trailers && link->trailers.length) {
		trailers.data = link->trailers.lines;
		trailers.length = proxy_trailers_write(trailers_lines(&link->trailers), NULL, link->trailers.lines);
	}
	f->link = NULL;
	spool_free(&f->request_spool);
	if (f->is_spooling)
		forward_end_later(f, trailers);
	else
		mlserve_answer_end_with(f->exchange, trailers);
	link_release(link);
	return FORWARD_ENDED;
}

static enum forward_step pass_body(struct forward *f)
{
	struct slice data;
	enum forward_step step;
	if (forward_splice_down(f, &step))
		return step;
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
	if (f->is_spooling)
		return forward_spool(f, data);
	size_t taken = mlserve_answer_write(f->exchange, data.data, data.length);
	link_take_body(f->link, taken);
	f->client_is_full = taken < data.length;
	if (f->client_is_full && f->route->buffers_answer)
		return forward_spool(f, slice_from(data, taken));
	return f->client_is_full ? FORWARD_WAITS : FORWARD_GOES_ON;
}

enum forward_step forward_download(struct forward *f)
{
	enum forward_step step = FORWARD_GOES_ON;
	uint64_t most_in = f->link->stream.bytes_in + FORWARD_BYTES_A_TURN;
	for (int i = 0; step == FORWARD_GOES_ON; i++) {
		if (i == FORWARD_PIECES_A_TURN || f->link->stream.bytes_in >= most_in) {
			link_again(f->link);
			return FORWARD_WAITS;
		}
		step = f->has_begun ? pass_body(f) : read_head(f);
	}
	return step;
}
