/*
 * One request and its answer, from the inside: what the connection drives and what the
 * functions of mlserve/handler.h work on. Handlers of ours may use the few functions at
 * the end that modules have no need of.
 *
 * Nothing here calls a handler but exchange_begin and exchange_advance, which only the
 * connection calls; what a handler calls changes the exchange and asks for a step.
 */
#ifndef SERVE_EXCHANGE_H
#define SERVE_EXCHANGE_H

#include "base/arena.h"
#include "http/chunked.h"
#include "http/message.h"
#include "http/trailers.h"
#include "net/stream.h"
#include "serve/context.h"
#include "serve/route_rewrite.h"
#include <stddef.h>

struct connection;

enum answer_phase {
	ANSWER_NONE,    /* no final answer begun */
	ANSWER_HEAD,    /* fields may be added */
	ANSWER_BODY,    /* the head is closed */
	ANSWER_ENDED,   /* whole, as far as the handler is concerned */
	ANSWER_ABORTED, /* must be cut */
};

struct exchange_job;

struct mlserve_exchange {
	struct connection *connection;
	struct context *context;
	struct stream *stream; /* of the connection */
	const struct listener_settings *listener;
	const struct route *route; /* NULL: none fits, the server itself answers */
	struct mlserve_exchange *next_free;
	int64_t started_ns;

	struct request_head head;
	struct slice path, rest; /* normalised */
	struct arena arena;
	const char *error_reason; /* for log and error page, or NULL */
	char request_id[REQUEST_ID_BYTES];
	bool has_request_id;

	/* request body */
	int64_t body_left; /* of a body with length */
	int64_t body_taken, body_limit;
	size_t body_lent; /* in a tunnel: bytes given out by the last mlserve_request_body, still in the stream */
	struct chunked chunked;
	struct trailers trailers; /* of the body that was taken, see exchange_keep_trailers */
	bool counted;             /* among active_requests */
	bool served;              /* the handler knows this exchange */
	bool body_unsure;         /* the handler may stop reading the body, see exchange_may_leave_body */
	bool body_ended, body_wanted, body_failed, continue_due;
	bool tunnel, drain_is_told;
	unsigned body_status; /* why it failed: 400, 408, 413 */

	/* answer */
	enum answer_phase phase;
	unsigned status;
	int64_t answer_left; /* bytes of an announced length; LENGTH_UNKNOWN */
	bool answer_chunked, answer_bodyless, answer_closes, more_wanted;

	struct timer timer;
	void (*then)(struct mlserve_exchange *);
	struct exchange_job *job;
	_Alignas(max_align_t) char state[]; /* the handler's */
};

/* Takes an exchange from the context; NULL: no memory. */
struct mlserve_exchange *exchange_create(
        struct context *, struct connection *, struct stream *, const struct listener_settings *);
/* Whether it counts among the requests in progress; from exchange_create on it does. */
void exchange_count(struct mlserve_exchange *, bool active);
/* Gives it back. Its handler does not know it any more. */
void exchange_free(struct mlserve_exchange *);

/* Finds the route for the parsed head and calls serve(), or answers with an error. `status` 0, or the error that the
 * connection found in the request with its reason. */
void exchange_begin(struct mlserve_exchange *, unsigned status, const char *reason);
/* Calls body() and more() when they are due. true: something was called, look again. */
bool exchange_advance(struct mlserve_exchange *);
/* The handler will hear that the body failed, and can still answer so. */
bool exchange_can_be_told(const struct mlserve_exchange *);
/* Stops its timer and job. */
void exchange_stop_waiting(struct mlserve_exchange *);
/* Ends it from outside: timer and job are stopped, cancel() is called unless the answer has ended. */
void exchange_cut(struct mlserve_exchange *);
/* Nothing of the request is left to read, so that the next one can follow. Takes body bytes that nobody wanted, if they
 * are here already and few. */
bool exchange_body_is_done(struct mlserve_exchange *);
/* What is left of the request body is too much, or nobody knows how much, to be read only to be dropped. */
bool exchange_body_is_long(const struct mlserve_exchange *);
/* For a handler that takes no body: drops what is here of a chunked one, so that the connection can be kept when that
 * is all of it. false: it is malformed or too large, and body_status says how to answer. */
bool exchange_drop_chunks_here(struct mlserve_exchange *);

/* ---- for handlers of ours ------------------------------------------------------------ */

static inline struct loop *exchange_loop(const struct mlserve_exchange *x)
{
	return x->context->loop;
}
static inline struct server_view *exchange_view(const struct mlserve_exchange *x)
{
	return x->context->view;
}
static inline const struct request_head *exchange_head(const struct mlserve_exchange *x)
{
	return &x->head;
}
/* Within serve(): the path that the route's rewriting makes of the request's, normalised. 0, or the status to refuse
 * the request with. */
unsigned exchange_rewrite(struct mlserve_exchange *, const struct route_rewrite *, struct slice *ret_path);
const struct address *exchange_peer(const struct mlserve_exchange *);
/* Whether the peer is in trusted_proxies of its listener. */
bool exchange_peer_is_trusted(const struct mlserve_exchange *);
bool exchange_is_secure(const struct mlserve_exchange *);
/* Number of this request on its connection, from 0. */
uint64_t exchange_number(const struct mlserve_exchange *);
/* The request id (made on first use), REQUEST_ID_BYTES. */
struct slice exchange_request_id(struct mlserve_exchange *);
/* Before the body is read: its trailers are to be kept, for exchange_trailers once MLSERVE_BODY_END was told. They must
 * never be taken for fields of the head (RFC 9110 6.5.1). */
static inline void exchange_keep_trailers(struct mlserve_exchange *x)
{
	x->chunked.gives_trailers = true;
}
static inline struct slice exchange_trailers(const struct mlserve_exchange *x)
{
	return trailers_lines(&x->trailers);
}
/* Before the answer begins: what is left of the request body may never be read, so the connection cannot be promised to
 * go on unless that is short. */
static inline void exchange_may_leave_body(struct mlserve_exchange *x)
{
	x->body_unsure = true;
}
/* The end of the connection is the end of the answer, so a cut must not look like one. */
static inline bool exchange_ends_by_close(const struct mlserve_exchange *x)
{
	return x->status && !x->answer_chunked && !x->answer_bodyless && x->answer_left < 0;
}
/* Memory was short: cancel() is to come. */
static inline bool exchange_is_lost(const struct mlserve_exchange *x)
{
	return x->phase == ANSWER_ABORTED;
}
/* Whether the rest of the request's body is a run of bytes of the announced length, none of which was read. */
bool exchange_fills_pipe(const struct mlserve_exchange *);
/* As mlserve_request_body, but an empty pipe holds the data then; at most `bytes`. MLSERVE_BODY_END: the kernel does
 * not do that. */
enum mlserve_body exchange_body_to(struct mlserve_exchange *, struct pipe *, size_t bytes);
/* Whether the rest of the answer's body is a run of bytes of the announced length, and all before it is on its way:
 * then it may go out through a pipe. */
bool exchange_takes_pipe(const struct mlserve_exchange *);
/* The next bytes of the body are what the pipe holds, which is given back then. false: the client has not taken all of
 * it yet, and more() will be called. */
bool exchange_write_pipe(struct mlserve_exchange *, struct pipe *);
/* In a tunnel: no more goes to the client, once all that was written did; what it sends is read on. */
void exchange_end_writing(struct mlserve_exchange *);
/* An answer has begun (an error page cannot be sent any more). */
static inline bool exchange_has_begun(const struct mlserve_exchange *x)
{
	return x->phase != ANSWER_NONE;
}

#endif
