/* Waits of a connection: which one, since when, until when. */
#include "serve/connection_wait.h"
#include "serve/exchange.h"

static const int64_t LINGER_NS = 5 * NS_PER_S, RATE_WINDOW_NS = 10 * NS_PER_S;
/* While draining, a connection that was just opened may still send its first request. */
static const int64_t FRESH_NS = 300 * NS_PER_MS;

static bool is_receiving_body(const struct connection *c)
{
	const struct mlserve_exchange *x = c->exchange;
	return x && !x->tunnel && !x->body_ended && (x->body_wanted || x->phase == ANSWER_ENDED);
}

static enum wait what_is_waited_for(const struct connection *c)
{
	if (c->state == CONNECTION_LINGER)
		return WAIT_LINGER;
	/* What the socket did not take of a direct write waits at the handler's. */
	if (!stream_is_drained(&c->stream) || (c->exchange && c->exchange->more_wanted))
		return WAIT_ROOM;
	if (c->state == CONNECTION_EXCHANGE)
		return is_receiving_body(c) ? WAIT_BODY : WAIT_NONE;
	/* A fresh connection must send its request as soon as a begun one must. */
	return c->head_begun || c->request_count == 0 ? WAIT_HEAD : WAIT_IDLE;
}

int64_t wait_timeout_ns(const struct connection *c)
{
	switch ((enum wait)c->waiting) {
	case WAIT_IDLE:
		return c->listener->keepalive_timeout_ns;
	case WAIT_HEAD:
		return c->listener->header_timeout_ns;
	case WAIT_BODY:
		return c->listener->body_timeout_ns;
	case WAIT_ROOM:
		return c->listener->send_timeout_ns;
	case WAIT_LINGER:
		return c->context->draining ? FRESH_NS : LINGER_NS;
	default:
		return 0; /* the handler's business */
	}
}

static bool has_min_rate(const struct connection *c)
{
	return c->listener->min_rate > 0 && (c->waiting == WAIT_BODY || c->waiting == WAIT_ROOM);
}

/* Bytes that moved in the direction that is waited for. */
static uint64_t moved_bytes(const struct connection *c)
{
	return c->waiting == WAIT_ROOM ? c->stream.bytes_out : c->stream.bytes_in;
}

/* Notes what is waited for now. Idleness, a head and lingering last from where they began; the wait for a body or for
 * room begins anew with each byte. */
void wait_note(struct connection *c)
{
	enum wait before = c->waiting;
	c->waiting = (uint8_t)what_is_waited_for(c);
	if (c->waiting != WAIT_BODY && c->waiting != WAIT_ROOM)
		return;
	uint64_t moved = moved_bytes(c);
	if (c->waiting == before && moved == c->wait_bytes)
		return;
	c->since_ns = clock_now_ns();
	c->wait_bytes = moved;
	if (c->waiting != before) {
		c->rate_since_ns = c->since_ns;
		c->rate_bytes = moved;
	}
}

void wait_arm(struct connection *c)
{
	int64_t timeout = wait_timeout_ns(c), at = timeout ? c->since_ns + timeout : NO_DEADLINE;
	if (c->context->draining && c->request_count == 0 && c->opened_ns + FRESH_NS < at)
		at = c->opened_ns + FRESH_NS;
	if (has_min_rate(c) && c->rate_since_ns + RATE_WINDOW_NS < at)
		at = c->rate_since_ns + RATE_WINDOW_NS;
	watch_deadline(&c->stream.watch, at);
}

/* Whether the client moved enough bytes in the window that ends now; a new one begins then. */
bool wait_keeps_rate(struct connection *c, int64_t now_ns)
{
	if (!has_min_rate(c) || now_ns < c->rate_since_ns + RATE_WINDOW_NS)
		return true;
	uint64_t moved = moved_bytes(c) - c->rate_bytes;
	c->rate_since_ns = now_ns;
	c->rate_bytes = moved_bytes(c);
	return moved / (uint64_t)(RATE_WINDOW_NS / NS_PER_S) >= (uint64_t)c->listener->min_rate;
}

bool wait_is_fresh(const struct connection *c)
{
	return c->request_count == 0 && clock_now_ns() - c->opened_ns < FRESH_NS;
}
