/* The answer on its way down: interim heads, the head, then the body, as far as the client takes it. */
#include "handlers/proxy_forward.h"
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

static enum forward_step begin_answer(struct forward *f, struct response_head *head, size_t length)
{
	/* An early answer: how much of the upload the upstream will still take is not known (RFC 9112 9.5). */
	exchange_may_leave_body(f->exchange);
	mlserve_answer_begin(f->exchange, head->status, announced_length(f, head));
	f->drops_trailers = proxy_nominates(&head->fields);
	mlserve_answer_fields(f->exchange, proxy_answer_lines(head));
	f->has_begun = true;
	/* The server has decided, and does not want the rest: a successful answer may still be made from it. */
	if (f->upload == UPLOAD_GOES_ON && (head->status >= 400 || !head->keep_alive))
		forward_stop_upload(f);
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
	mlserve_answer_end_with(f->exchange, trailers);
	link_release(link);
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

enum forward_step forward_download(struct forward *f)
{
	enum forward_step step = FORWARD_GOES_ON;
	for (int i = 0; step == FORWARD_GOES_ON; i++) {
		if (i == FORWARD_PIECES_A_TURN) {
			link_again(f->link);
			return FORWARD_WAITS;
		}
		step = f->has_begun ? pass_body(f) : read_head(f);
	}
	return step;
}
