/* request_buffering: the client's body is read whole before a server is asked, and can be sent to several, one after
 * the other. */
#include "handlers/proxy_forward.h"
#include <string.h>

static const char no_buffer[] = "The request could not be buffered.";

static void refuse(struct forward *f, unsigned status, const char *reason)
{
	forward_drop_spools(f);
	forward_refuse(f->exchange, status, reason);
}

static void refuse_for(struct forward *f, const char *why)
{
	forward_log_spool(f, "request_buffering", why);
	refuse(f, 503, no_buffer);
}

static void refuse_length(struct forward *f)
{
	refuse(f, 413, "The request body is larger than is buffered here.");
}

/* A job is done: there is room for what was taken from the client already, or bytes came back from the disk. */
static void go_on(struct forward *f)
{
	if (f->collects)
		forward_collect(f);
	else if (f->link && f->head_is_sent)
		forward_advance(f);
}

static void on_changed(void *argument)
{
	forward_run(argument, go_on);
}

static void on_again(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	/* Else a job came between. */
	if (f->collects)
		forward_collect(f);
}

/* ---- collecting ---------------------------------------------------------------------------------- */

/* false: the body is refused, or what is left of f->piece has to wait. */
static bool keep_piece(struct forward *f)
{
	switch (spool_append(f->request_spool, &f->piece)) {
	case SPOOL_DONE:
		return true;
	case SPOOL_WAITS:
		return false;
	case SPOOL_FULL:
		refuse_length(f);
		return false;
	case SPOOL_BUSY:
		refuse_for(f, "the executor is full");
		return false;
	default:
		refuse_for(f, strerror(-spool_error(f->request_spool)));
		return false;
	}
}

static void end_collecting(struct forward *f)
{
	f->collects = false;
	forward_try(f);
}

static void refuse_body(struct forward *f)
{
	forward_drop_spools(f);
	mlserve_answer_error(f->exchange, 400, SLICE_NONE);
}

/* false: there is nothing to collect, or it was refused. */
static bool begin_collecting(struct forward *f)
{
	int64_t length = exchange_head(f->exchange)->body_length;
	if (length == LENGTH_NONE) {
		forward_try(f);
		return false;
	}
	if (length > f->route->spool_place.most_bytes) {
		refuse_length(f);
		return false;
	}
	f->request_spool = forward_make_spool(f, true, on_changed);
	if (!f->request_spool)
		refuse(f, 503, "The server is short of memory.");
	f->collects = f->request_spool != NULL;
	return f->collects;
}

void forward_collect(struct forward *f)
{
	if (!f->collects && !begin_collecting(f))
		return;
	for (int pieces = 0; keep_piece(f); pieces++) {
		if (pieces == FORWARD_PIECES_A_TURN)
			return mlserve_exchange_after(f->exchange, 0, on_again);
		switch (mlserve_request_body(f->exchange, &f->piece)) {
		case MLSERVE_BODY_DATA:
			break;
		case MLSERVE_BODY_END:
			return end_collecting(f);
		case MLSERVE_BODY_WAIT:
			return;
		case MLSERVE_BODY_FAILED:
			return refuse_body(f);
		}
	}
}

/* ---- on its way up ---------------------------------------------------------------------------------- */

enum mlserve_body forward_next_piece(struct forward *f)
{
	spool_take(f->request_spool, f->lent);
	f->lent = 0;
	switch (spool_peek(f->request_spool, &f->piece)) {
	case SPOOL_DONE:
		f->lent = f->piece.length;
		return MLSERVE_BODY_DATA;
	case SPOOL_WAITS:
		return MLSERVE_BODY_WAIT;
	case SPOOL_EMPTY:
		return MLSERVE_BODY_END;
	default:
		return MLSERVE_BODY_FAILED;
	}
}

void forward_rewind(struct forward *f)
{
	if (f->request_spool)
		spool_rewind(f->request_spool);
	f->lent = 0;
}

enum forward_step forward_fail_collected(struct forward *f)
{
	int error = spool_error(f->request_spool);
	const char *why = error ? strerror(-error) : "the executor is full";
	/* The server has answered without it. */
	if (f->has_begun) {
		forward_log_spool(f, "request_buffering", why);
		forward_stop_upload(f);
		return FORWARD_WAITS;
	}
	link_drop(f->link);
	f->link = NULL;
	refuse_for(f, why);
	return FORWARD_ENDED;
}
