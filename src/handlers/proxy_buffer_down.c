/*
 * response_buffering: what a client does not take at once waits in a spool, and its server
 * is free as soon as it has sent all. A fast client gets each byte as it comes: there is no
 * spool then.
 */
#include "handlers/proxy_forward.h"
#include <errno.h>
#include <string.h>

static const int64_t busy_us = 20000; /* until the executor is asked again */

/* A job is done: bytes came back from the disk, or there is room for more from the upstream. */
static void go_on(struct forward *f)
{
	if (forward_drain(f))
		forward_advance(f);
}

static void on_changed(void *argument)
{
	forward_run(argument, go_on);
}

static void on_again(struct mlserve_exchange *x)
{
	struct forward *f = mlserve_exchange_state(x);
	if (f->is_spooling)
		go_on(f);
}

/* ---- in ---------------------------------------------------------------------------------------- */

/* The answer goes on as without buffering: its server waits for the client. */
static void tell_fault(struct forward *f, const char *reason)
{
	if (!f->spool_fault_is_told)
		forward_log_spool(f, "response_buffering", reason);
	f->spool_fault_is_told = true;
}

enum forward_step forward_spool(struct forward *f, struct slice data)
{
	size_t given = data.length;
	f->client_is_full = true;
	if (!f->answer_spool)
		f->answer_spool = forward_make_spool(f, false, on_changed);
	if (!f->answer_spool) {
		tell_fault(f, strerror(ENOMEM));
		return FORWARD_WAITS;
	}
	enum spool_result result = spool_append(f->answer_spool, &data);
	link_take_body(f->link, given - data.length);
	f->is_spooling = !spool_is_empty(f->answer_spool);
	f->client_is_full = result != SPOOL_DONE;
	if (result == SPOOL_FAILED)
		tell_fault(f, strerror(-spool_error(f->answer_spool)));
	else if (result == SPOOL_BUSY)
		tell_fault(f, "the executor is full");
	return f->client_is_full ? FORWARD_WAITS : FORWARD_GOES_ON;
}

void forward_end_later(struct forward *f, struct slice trailers)
{
	char *copy = trailers.length ? mlserve_exchange_alloc(f->exchange, trailers.length) : NULL;
	if (copy)
		memcpy(copy, trailers.data, trailers.length);
	f->answer_trailers = (struct slice){copy, copy ? trailers.length : 0};
	f->answer_is_cut = trailers.length && !copy;
	f->answer_is_over = !f->answer_is_cut;
}

/* ---- out --------------------------------------------------------------------------------------- */

static void cut(struct forward *f)
{
	forward_drop_spools(f);
	mlserve_answer_write(f->exchange, NULL, 0);
	mlserve_answer_abort(f->exchange);
}

/* The client has all that there was. */
static enum forward_step catch_up(struct forward *f)
{
	f->is_spooling = false;
	spool_free(&f->answer_spool);
	if (!f->answer_is_over && !f->answer_is_cut)
		return FORWARD_GOES_ON;
	if (f->answer_is_cut) {
		cut(f);
	} else {
		forward_drop_spools(f);
		mlserve_answer_end_with(f->exchange, f->answer_trailers);
	}
	return FORWARD_ENDED;
}

/* Bytes on the disk are lost. */
static enum forward_step fail(struct forward *f)
{
	forward_log_spool(f, "response_buffering", strerror(-spool_error(f->answer_spool)));
	if (f->link)
		link_drop(f->link);
	f->link = NULL;
	cut(f);
	return FORWARD_ENDED;
}

static enum forward_step come_back(struct forward *f, int64_t us)
{
	mlserve_exchange_after(f->exchange, us, on_again);
	return FORWARD_WAITS;
}

static enum forward_step drain(struct forward *f)
{
	struct slice data;
	for (int pieces = 0; pieces < FORWARD_PIECES_A_TURN; pieces++) {
		switch (spool_peek(f->answer_spool, &data)) {
		case SPOOL_DONE:
			break;
		case SPOOL_WAITS:
			return FORWARD_WAITS;
		case SPOOL_EMPTY:
			return catch_up(f);
		case SPOOL_BUSY:
			return come_back(f, busy_us);
		default:
			return fail(f);
		}
		size_t taken = mlserve_answer_write(f->exchange, data.data, data.length);
		spool_take(f->answer_spool, taken);
		if (taken < data.length)
			return FORWARD_WAITS;
	}
	return come_back(f, 0);
}

bool forward_drain(struct forward *f)
{
	bool upstream_waits = f->client_is_full;
	f->client_is_full = false;
	return drain(f) != FORWARD_ENDED && upstream_waits && f->link;
}
