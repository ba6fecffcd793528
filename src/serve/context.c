/* What connections of one loop share. */
#include "serve/context.h"
#include "base/check.h"
#include "base/log.h"
#include "serve/exchange.h"
#include "serve/route_match.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { FREE_FIELDS_KEPT = 256 };

static size_t largest_state(const struct routes *routes)
{
	size_t largest = 0;
	for (size_t i = 0; i < routes_count(routes); i++) {
		size_t bytes = routes_at(routes, i)->handler->state_bytes;
		if (bytes > largest)
			largest = bytes;
	}
	return largest;
}

static void make_request_id_prefix(struct context *c)
{
	uint64_t random = 0;
	/* Ids are for finding lines in logs, not for secrets: a clock is good enough where there is no randomness yet.
	 */
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
		random = (uint64_t)clock_now_ns() * UINT64_C(0x9e3779b97f4a7c15) + c->loop->id;
	snprintf(c->request_id_prefix, sizeof c->request_id_prefix, "%016llx", (unsigned long long)random);
}

static const int64_t TRIM_NS = NS_PER_S;

static void on_trim(struct watch *w)
{
	struct context *c = CONTAINER_OF(w, struct context, trim);
	if (blocks_trim(&c->blocks))
		watch_deadline(w, c->loop->now_ns + TRIM_NS);
}

static void on_crowded(struct blocks *b)
{
	struct context *c = CONTAINER_OF(b, struct context, blocks);
	watch_deadline(&c->trim, c->loop->now_ns + TRIM_NS);
}

bool context_init(struct context *c, struct loop *l, const struct routes *routes, struct server_view *view,
        struct loop_view *self, size_t max_fields)
{
	*c = (struct context){
	        .loop = l, .routes = routes, .view = view, .self = self, .max_fields = max_fields, .date_s = -1};
	context_saw_request(c);
	c->exchange_bytes = sizeof(struct mlserve_exchange) + largest_state(routes);
	blocks_init(&c->blocks, view->buffer_bytes ? view->buffer_bytes : BLOCK_BYTES);
	pipes_init(&c->pipes);
	make_request_id_prefix(c);
	c->trim.expired = on_trim;
	if (!loop_adopt(l, &c->trim))
		return false;
	c->blocks.crowded = on_crowded;
	c->match = route_match_create(routes_group_count(routes));
	c->locals = calloc(routes_count(routes) + 1, sizeof *c->locals);
	if (c->match && c->locals)
		return true;
	context_fini(c);
	return false;
}

void context_fini(struct context *c)
{
	for (size_t i = 0; c->locals && i < routes_count(c->routes); i++) {
		const struct route *r = routes_at(c->routes, i);
		if (c->locals[i] && r->handler->detach)
			r->handler->detach(r->state, c->locals[i]);
	}
	free(c->locals);
	c->locals = NULL;
	route_match_free(&c->match);
	while (c->free_exchanges) {
		struct mlserve_exchange *x = c->free_exchanges;
		c->free_exchanges = x->next_free;
		free(x);
	}
	while (c->free_field_count)
		free(context_take_fields(c));
	pipes_fini(&c->pipes);
	if (c->trim.loop)
		loop_release(&c->trim);
	blocks_fini(&c->blocks);
}

struct field *context_take_fields(struct context *c)
{
	void *fields = c->free_fields;
	if (c->free_field_count == 0)
		return malloc(c->max_fields * sizeof(struct field));
	memcpy(&c->free_fields, fields, sizeof c->free_fields);
	c->free_field_count--;
	return fields;
}

void context_give_fields(struct context *c, struct field *fields)
{
	if (c->free_field_count >= FREE_FIELDS_KEPT) {
		free(fields);
		return;
	}
	memcpy(fields, &c->free_fields, sizeof c->free_fields);
	c->free_fields = fields;
	c->free_field_count++;
}

struct slice context_common_fields(struct context *c)
{
	static const char begin[] = "Server: mlserve\r\nDate: ";
	time_t now = clock_wall_s();
	if (now != c->date_s) {
		c->date_s = now;
		memcpy(c->common, begin, sizeof begin - 1);
		date_format(now, c->common + sizeof begin - 1);
		c->common_length = sizeof begin - 1 + DATE_BYTES;
		memcpy(c->common + c->common_length, "\r\n", 2);
		c->common_length += 2;
	}
	return (struct slice){c->common, c->common_length};
}

bool context_may_log(struct context *c)
{
	enum { LINES_A_SECOND = 10 };
	time_t now = clock_wall_s();
	c->logged = now == c->logged_s ? c->logged + 1 : 1;
	c->logged_s = now;
	return c->logged <= LINES_A_SECOND;
}

void context_drop_socket(struct context *c, const struct listener_settings *listener, int fd)
{
	close(fd);
	if (context_may_log(c))
		log_warn("listener %s: a connection was dropped: no memory", listener->name);
	if (c->self)
		atomic_fetch_add_explicit(&c->self->closed, 1, memory_order_seq_cst);
}

enum { READ_AFTER_LUCK = 4, PROBE = 16 };

bool context_reads_at_once(struct context *c)
{
	c->opened++;
	if (c->draining)
		return true; /* after a long turn it may count as idle at once, with its request unread */
	if (c->reads_at_once == 0)
		return c->opened % PROBE == 0;
	c->reads_at_once--;
	return true;
}

void context_saw_request(struct context *c)
{
	c->reads_at_once = READ_AFTER_LUCK;
}

void context_request_id(struct context *c, char to[REQUEST_ID_BYTES])
{
	char number[9];
	snprintf(number, sizeof number, "%08x", (unsigned)c->request_number++);
	memcpy(to, c->request_id_prefix, REQUEST_ID_BYTES - 8);
	memcpy(to + REQUEST_ID_BYTES - 8, number, 8);
}
