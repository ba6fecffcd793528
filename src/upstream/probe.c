#include "upstream/probe.h"
#include "base/check.h"
#include "base/log.h"
#include "upstream/link.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTERIM_ANSWERS = 8, REQUEST_BYTES = 1024, SPREAD_US = 1000 };

struct probe {
	struct member *server;
	struct loop *loop;
	struct blocks *blocks;
	struct link link;
	bool is_running, is_sent;
	int64_t begun_ns;
	unsigned passes, misses; /* in a row */
	unsigned interims;
	struct timer timer; /* the next check */
};

static const struct check_settings *settings_of(const struct probe *p)
{
	return &p->server->group->check;
}

/* ---- results ------------------------------------------------------------------------------ */

static bool any_is_up(const struct group *g)
{
	for (size_t i = 0; i < g->set->count; i++)
		if (!g->set->entries[i].is_draining &&
		        !atomic_load_explicit(&g->set->entries[i].server->is_failing, memory_order_relaxed))
			return true;
	return false;
}

static void note_pass(struct probe *p)
{
	struct member *s = p->server;
	p->misses = 0;
	p->passes++;
	if (!atomic_load_explicit(&s->is_failing, memory_order_relaxed))
		return;
	/* With nobody up the first that passes is better than nobody. */
	if (p->passes < settings_of(p)->rise && any_is_up(s->group))
		return;
	member_note_success(s, p->begun_ns, p->loop->now_ns);
	atomic_store_explicit(&s->up_since_ns, p->loop->now_ns, memory_order_relaxed);
	atomic_store_explicit(&s->is_failing, false, memory_order_relaxed);
	log_info("upstream %s: server %s: up: passed %u health check%s in a row", s->group->name, s->name, p->passes,
	        p->passes == 1 ? "" : "s");
}

static void note_miss(struct probe *p, const char *reason)
{
	struct member *s = p->server;
	p->passes = 0;
	p->misses++;
	if (atomic_load_explicit(&s->is_failing, memory_order_relaxed) || p->misses < settings_of(p)->fall)
		return;
	atomic_store_explicit(&s->is_failing, true, memory_order_relaxed);
	log_warn("upstream %s: server %s: down: failed %u health check%s in a row, the last: %s", s->group->name,
	        s->name, p->misses, p->misses == 1 ? "" : "s", reason);
}

/* From begin to begin, but never before this one has ended. */
static void schedule_next(struct probe *p)
{
	int64_t wait_ns = p->begun_ns + settings_of(p)->interval_ns - clock_now_ns();
	timer_start(p->loop, &p->timer, wait_ns > 0 ? wait_ns / NS_PER_US : 0);
}

/* `reason` NULL: passed. */
static void end_check(struct probe *p, const char *reason)
{
	if (p->is_running)
		link_disconnect(&p->link);
	p->is_running = false;
	if (reason)
		note_miss(p, reason);
	else
		note_pass(p);
	schedule_next(p);
}

/* ---- one check ------------------------------------------------------------------------------ */

static bool send_request(struct probe *p)
{
	char request[REQUEST_BYTES];
	const struct member *s = p->server;
	bool is_unix = s->endpoint.to.any.sa_family == AF_UNIX;
	int length = snprintf(request, sizeof request,
	        "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: mlserve\r\nAccept: */*\r\nConnection: close\r\n\r\n",
	        settings_of(p)->path, is_unix ? "localhost" : s->name);
	MUST(length > 0 && length < REQUEST_BYTES); /* the path was bounded when it was read */
	p->is_sent = true;
	return stream_put(&p->link.stream, request, (size_t)length) == (size_t)length;
}

/* Looks for the head of the final answer. */
static void read_answer(struct probe *p)
{
	struct field fields[LINK_HEAD_FIELDS];
	struct response_head head = {.fields = {.items = fields, .capacity = LINK_HEAD_FIELDS}};
	char reason[64];
	size_t length;
	for (;;) {
		enum link_result result = link_head(&p->link, METHOD_GET, &head, &length);
		if (result == LINK_AGAIN)
			return;
		if (result != LINK_DONE)
			return end_check(p, p->link.reason);
		if (head.status >= 200)
			break;
		if (++p->interims > INTERIM_ANSWERS)
			return end_check(p, "too many interim answers");
		link_take_head(&p->link, METHOD_GET, &head, length);
	}
	snprintf(reason, sizeof reason, "answered with status %u", head.status);
	end_check(p, head.status < 400 ? NULL : reason);
}

static void on_ready(struct link *l)
{
	struct probe *p = l->owner;
	enum link_result connected = link_connected(l);
	if (connected == LINK_AGAIN)
		return;
	if (connected == LINK_FAILED)
		return end_check(p, l->reason);
	if (!p->is_sent && !send_request(p))
		return end_check(p, "no memory");
	/* What a reset server says last may still be there. */
	if (stream_flush(&l->stream) == STREAM_FAILED)
		l->stream.readable = true;
	read_answer(p);
}

static void on_expired(struct link *l)
{
	end_check(l->owner, l->phase == LINK_CONNECTING ? "no connection within health_timeout"
	                                                : "no answer within health_timeout");
}

static void begin_check(struct timer *t)
{
	struct probe *p = CONTAINER_OF(t, struct probe, timer);
	p->begun_ns = clock_now_ns();
	p->is_sent = false;
	p->interims = 0;
	memset(&p->link, 0, sizeof p->link);
	int error = link_connect(&p->link, p->loop, p->blocks, &p->server->endpoint);
	if (error)
		return end_check(p, strerror(-error));
	p->is_running = true;
	link_expect(&p->link, on_ready, on_expired, p);
	link_deadline(&p->link, p->begun_ns + settings_of(p)->timeout_ns);
	if (p->link.phase == LINK_OPEN)
		on_ready(&p->link);
}

/* ---- probers ---------------------------------------------------------------------------------- */

static bool start(struct member *s, struct loop *loop, struct blocks *blocks, int64_t after_us)
{
	struct probe *p = calloc(1, sizeof *p);
	if (!p)
		return false;
	p->server = s;
	p->loop = loop;
	p->blocks = blocks;
	timer_init(&p->timer, begin_check);
	s->probe = p;
	timer_start(loop, &p->timer, after_us);
	return true;
}

static void stop(struct member *s)
{
	struct probe *p = s->probe;
	if (!p)
		return;
	timer_stop(p->loop, &p->timer);
	if (p->is_running)
		link_disconnect(&p->link);
	s->probe = NULL;
	free(p);
}

bool probes_update(struct group *g, struct loop *loop, struct blocks *blocks)
{
	bool fine = true;
	int64_t after_us = 0;
	LIST_EACH (node, &g->servers) {
		struct member *s = CONTAINER_OF(node, struct member, node);
		bool is_retired = atomic_load_explicit(&s->is_retired, memory_order_relaxed);
		if (is_retired)
			stop(s);
		else if (g->check.path && !s->probe)
			fine = start(s, loop, blocks, after_us += SPREAD_US) && fine;
	}
	return fine;
}

void probes_stop(struct group *g)
{
	LIST_EACH (node, &g->servers)
		stop(CONTAINER_OF(node, struct member, node));
}
