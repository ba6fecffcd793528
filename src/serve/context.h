/*
 * What all connections of one loop share: configuration, buffers, free exchanges, the
 * Date field of this second. One a loop, used by its thread only.
 */
#ifndef SERVE_CONTEXT_H
#define SERVE_CONTEXT_H

#include "http/date.h"
#include "net/address.h"
#include "net/blocks.h"
#include "net/pipes.h"
#include "serve/route.h"
#include "serve/view.h"

enum { REQUEST_LINE_BYTES = 8192 }; /* 414 beyond; RFC 9112 3 asks for 8000 at least */

/* One [listener], as connections see it. */
struct listener_settings {
	const char *name;
	unsigned index;
	int64_t header_timeout_ns, body_timeout_ns, send_timeout_ns, keepalive_timeout_ns;
	int64_t min_rate;            /* bytes a second; 0: off */
	uint64_t keepalive_requests; /* 0: no limit */
	size_t max_header_bytes, max_fields;
	int64_t max_body_bytes;
	struct network *trusted;
	size_t trusted_count;
};

struct field;
struct mlserve_exchange;

struct context {
	struct loop *loop;
	struct blocks blocks;
	struct watch trim; /* its deadline: when blocks are trimmed */
	struct pipes pipes;
	const struct routes *routes;
	struct route_match *match;
	void **locals; /* of handlers, by route index */
	struct server_view *view;
	struct loop_view *self; /* this loop's part of the view; NULL for the control thread's loop */
	struct mlserve_exchange *free_exchanges;
	size_t free_exchange_count, exchange_bytes, max_fields;
	void *free_fields; /* arrays of max_fields that wait for an exchange */
	size_t free_field_count;
	time_t date_s;   /* the second of date_line */
	char common[64]; /* "Server: mlserve\r\nDate: ...\r\n" of this second */
	size_t common_length;
	uint64_t request_number; /* for request ids */
	char request_id_prefix[20];
	bool draining;
	time_t logged_s; /* the second in which `logged` lines were written */
	unsigned logged;
	int64_t answered_ns; /* when the last answer was whole: the next ready connection waited from the turn's begin
	                        till then */
	uint64_t connections, opened;
	unsigned reads_at_once; /* so many new connections more */
};

/* In the loop's own thread or before it starts. `self`: NULL for the control thread's loop.
 * `max_fields`: the largest of all listeners. false: no memory. */
bool context_init(struct context *, struct loop *, const struct routes *, struct server_view *, struct loop_view *self,
        size_t max_fields);
/* After every connection was closed; detaches handlers. */
void context_fini(struct context *);
/* "Server: mlserve\r\nDate: ...\r\n" of now. */
struct slice context_common_fields(struct context *);
/* An array of max_fields for a head. It is apart from its exchange, which in a tunnel lives long and needs none. NULL:
 * no memory. */
struct field *context_take_fields(struct context *);
void context_give_fields(struct context *, struct field *);
/* Memory is short: closes a socket that was just handed over. */
void context_drop_socket(struct context *, const struct listener_settings *, int fd);
/* Whether the first request of the next new connection is probably here already. A read too many costs a system call,
 * a read too few costs two, and mostly it is as it was with the connections before. */
bool context_reads_at_once(struct context *);
/* A new connection was read at once, and something was there. */
void context_saw_request(struct context *);
/* Whether a line about a failed request may be logged: some a second, so that a dead upstream cannot flood the log. */
bool context_may_log(struct context *);
/* A new request id of 24 hexadecimal digits, unique to this process and time. */
enum { REQUEST_ID_BYTES = 24 };
void context_request_id(struct context *, char to[REQUEST_ID_BYTES]);

#endif
