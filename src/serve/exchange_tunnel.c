/*
 * An exchange whose connection became a stream of raw bytes both ways. It may live for
 * hours and be idle for most of them, so it keeps neither the head of its request nor the
 * buffer that holds it; and none of the listener's timeouts is about it.
 */
#include "base/check.h"
#include "serve/connection.h"
#include "serve/exchange.h"
#include "serve/exchange_log.h"

/* Logs need the request's id and the route's name only. */
static void forget_head(struct mlserve_exchange *x)
{
	struct request_head *head = &x->head;
	context_give_fields(x->context, head->fields.items);
	head->fields = (struct fields){0};
	head->method_text = head->target = head->host = head->path = head->query = SLICE_NONE;
	x->path = x->rest = SLICE_NONE;
	stream_unpin(x->stream);
}

void mlserve_answer_tunnel(struct mlserve_exchange *x)
{
	mlserve_answer_write(x, NULL, 0);
	if (x->phase == ANSWER_ABORTED)
		return;
	MUST(x->status == 101 && !x->tunnel);
	if (!x->body_ended) {
		exchange_log_misuse(x, LOG_LEVEL_ERROR, "a request whose body was not read cannot become a tunnel");
		x->phase = ANSWER_ABORTED;
		return;
	}
	x->tunnel = true;
	x->answer_bodyless = false;
	x->answer_closes = true;
	x->answer_left = MLSERVE_LENGTH_UNKNOWN;
	x->body_ended = false;
	forget_head(x);
}

void exchange_end_writing(struct mlserve_exchange *x)
{
	MUST(x->tunnel);
	stream_end(x->stream);
	connection_touch(x->connection);
}

bool mlserve_exchange_drains(const struct mlserve_exchange *x)
{
	return x->context->draining;
}
