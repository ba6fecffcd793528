/* Waits of a connection: which one, since when, until when. */
#include "serve/connection_wait.h"
#include "serve/exchange.h"

enum { LOOKS_A_TIMEOUT = 4, RATE_WINDOW_S = 10, CREDIT_S = 30 };

static const int64_t LINGER_NS = 5 * NS_PER_S, RATE_WINDOW_NS = RATE_WINDOW_S * NS_PER_S;
/* While draining, a connection that was just opened may still send its first request. */
static const int64_t FRESH_NS = 300 * NS_PER_MS;

static bool is_receiving_body(const struct connection *c)
{
	const struct mlserve_exchange *x = c->exchange;
	return x && !x->body_ended && (x->body_wanted || x->phase == ANSWER_ENDED);
}

static enum wait what_is_waited_for(const struct connection *c)
{
	if (c->state == CONNECTION_LINGER)
		return WAIT_LINGER;
	if (c->exchange && c->exchange->tunnel && c->exchange->phase < ANSWER_ENDED)
		return WAIT_NONE;
	/* What the socket did not take of a direct write waits at the handler's. */
	if (!stream_is_drained(&c->stream) || (c->exchange && c->exchange->more_wanted))
		return WAIT_ROOM;
	if (c->state == CONNECTION_EXCHANGE)
		return is_receiving_body(c) ? WAIT_BODY : WAIT_NONE;
	/* A fresh connection must send its request as soon as a begun one must. */
	return c->head_begun || c->request_count == 0 ? WAIT_HEAD : WAIT_IDLE;
}

/* The listener's timeout for it; 0: none, it is the handler's business. */
static int64_t timeout_ns(const struct connection *c)
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

/* A system's socket buffer lets a client seem to stand still for long: the peer's opens its window by large steps. So
 * what moved beyond a window's want counts for the next ones. */
static void add_credit(struct connection *c, uint64_t bytes)
{
	int64_t most = c->listener->min_rate * CREDIT_S, more = bytes > (uint64_t)most ? most : (int64_t)bytes;
	c->rate_credit = c->rate_credit + more < most ? c->rate_credit + more : most;
}

/* What the client took since the last look is progress, even if the socket has no room yet. */
static void look_at_client(struct connection *c, int64_t now_ns)
{
	uint64_t taken = stream_taken(&c->stream);
	if (taken != c->taken_bytes)
		c->since_ns = now_ns;
	c->taken_bytes = taken;
	c->looked_ns = now_ns;
}

static uint64_t moved_bytes(const struct connection *c)
{
	return c->waiting == WAIT_ROOM ? c->taken_bytes : c->stream.bytes_in;
}

static void begin_rate(struct connection *c)
{
	c->rate_since_ns = c->since_ns;
	c->rate_bytes = moved_bytes(c);
	c->rate_credit = 0;
	if (c->waiting == WAIT_ROOM)
		add_credit(c, c->taken_bytes);
}

/* Notes what is waited for now. Idleness, a head and lingering last from where they began; the wait for a body or for
 * room begins anew with each byte. */
void wait_note(struct connection *c)
{
	enum wait before = c->waiting;
	c->waiting = (uint8_t)what_is_waited_for(c);
	if (c->waiting != WAIT_BODY && c->waiting != WAIT_ROOM)
		return;
	uint64_t moved = c->waiting == WAIT_ROOM ? c->stream.bytes_out : c->stream.bytes_in;
	if (c->waiting == before && moved == c->wait_bytes)
		return;
	c->since_ns = clock_now_ns();
	c->wait_bytes = moved;
	if (c->waiting == WAIT_ROOM)
		look_at_client(c, c->since_ns);
	if (c->waiting != before)
		begin_rate(c);
}

void wait_arm(struct connection *c)
{
	int64_t timeout = timeout_ns(c), at = timeout ? c->since_ns + timeout : NO_DEADLINE;
	if (c->context->draining && c->request_count == 0 && c->opened_ns + FRESH_NS < at)
		at = c->opened_ns + FRESH_NS;
	if (has_min_rate(c) && c->rate_since_ns + RATE_WINDOW_NS < at)
		at = c->rate_since_ns + RATE_WINDOW_NS;
	if (c->waiting == WAIT_ROOM && timeout && c->looked_ns + timeout / LOOKS_A_TIMEOUT < at)
		at = c->looked_ns + timeout / LOOKS_A_TIMEOUT;
	watch_deadline(&c->stream.watch, at);
}

/* Whether the client moved enough bytes in the window that ends now, if one does; a new one begins then. */
static bool keeps_rate(struct connection *c, int64_t now_ns)
{
	if (!has_min_rate(c) || now_ns < c->rate_since_ns + RATE_WINDOW_NS)
		return true;
	uint64_t moved = moved_bytes(c);
	if (moved > c->rate_bytes)
		add_credit(c, moved - c->rate_bytes);
	c->rate_credit -= c->listener->min_rate * RATE_WINDOW_S;
	c->rate_since_ns = now_ns;
	c->rate_bytes = moved;
	return c->rate_credit >= 0;
}

const char *wait_is_over(struct connection *c, int64_t now_ns)
{
	int64_t timeout = timeout_ns(c);
	if (c->waiting == WAIT_ROOM)
		look_at_client(c, now_ns);
	if (!keeps_rate(c, now_ns))
		return "slower than min_rate";
	if (timeout && now_ns >= c->since_ns + timeout)
		return c->waiting == WAIT_ROOM ? "nothing taken within send_timeout" : "nothing sent in time";
	return NULL;
}

bool wait_is_fresh(const struct connection *c)
{
	return c->request_count == 0 && clock_now_ns() - c->opened_ns < FRESH_NS;
}
