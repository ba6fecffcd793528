/*
 * One connection to an upstream server, and one exchange after another over it: connects,
 * reads the head of an answer and takes its body out of its framing. What is sent, and
 * what an answer means, is its owner's. Owned by one loop's thread.
 *
 * The owner writes to link->stream itself. Body bytes are lent from the stream's buffer
 * and consumed as the owner gets rid of them, so nothing is read ahead of a slow client
 * but one buffer.
 */
#ifndef UPSTREAM_LINK_H
#define UPSTREAM_LINK_H

#include "http/chunked.h"
#include "http/message.h"
#include "http/parser.h"
#include "http/trailers.h"
#include "net/address.h"
#include "net/stream.h"

struct pool;
struct member;
struct member_set;

enum { LINK_HEAD_BYTES = 65536, LINK_HEAD_FIELDS = 256 };

enum link_phase { LINK_CONNECTING, LINK_OPEN, LINK_IDLE };

enum link_result {
	LINK_DONE,
	LINK_AGAIN,  /* ready() will be called */
	LINK_END,    /* the body ended */
	LINK_FAILED, /* link->reason says why */
};

struct link {
	struct stream stream;
	struct pool *pool; /* NULL: a health check's */
	struct member *server;
	enum link_phase phase;
	bool reused;       /* kept alive since an earlier exchange */
	bool reusable;     /* as far as both heads say */
	bool out_of_order; /* the server broke the protocol, rather than the connection */
	struct list node, age;
	struct link *next_free;
	int8_t offer;                 /* idle: its place among those offered, -1: none */
	bool is_lost;                 /* another loop took the connection over, and we know */
	struct post given_back;       /* by that loop */
	int64_t begun_ns;             /* this exchange */
	const struct member_set *set; /* the pool's when it began; only compared */
	uint64_t in_mark, out_mark;   /* the stream's figures when it began */

	/* Set by the owner at link_begin. Neither may be NULL. */
	void (*ready)(struct link *);   /* something changed: look at everything */
	void (*expired)(struct link *); /* the deadline set by link_deadline */
	void *owner;
	struct task again;

	/* the answer */
	struct head_scan scan;
	struct chunked chunked;
	struct trailers trailers; /* of the answer, once its body ended */
	int64_t body_left;
	size_t piece; /* body bytes at the begin of the stream's input */
	bool is_chunked, until_close, ended;
	const char *reason;
};

/* Opens a connection; it may be in LINK_CONNECTING still. NULL: *ret_error is a negative errno; -EUSERS: the server has
 * as many connections as it may. */
struct link *link_open(struct pool *, struct member *, int *ret_error);
/* The same for a health check, without a pool: connects the caller's zeroed link to any address. 0 or a negative errno.
 * Ended by link_disconnect. */
int link_connect(struct link *, struct loop *, struct blocks *, const struct endpoint *);
void link_disconnect(struct link *);
/* A link for the socket of an idle connection, counted among the server's, that was another loop's. NULL: no memory;
 * the socket was closed. */
struct link *link_adopt(struct pool *, struct member *, int fd);
/* Begins an exchange on a link from link_open or pool_take. */
void link_begin(struct link *, void (*ready)(struct link *), void (*expired)(struct link *), void *owner);
/* The same for a link from link_connect. */
void link_expect(struct link *, void (*ready)(struct link *), void (*expired)(struct link *), void *owner);
/* Whether the connection is made: LINK_DONE, AGAIN or FAILED. */
enum link_result link_connected(struct link *);
/* An instant, or NO_DEADLINE. */
static inline void link_deadline(struct link *l, int64_t at_ns)
{
	watch_deadline(&l->stream.watch, at_ns);
}
/* Calls ready() at the end of this turn. */
static inline void link_again(struct link *l)
{
	loop_defer(l->stream.loop, &l->again);
}

/* Reads until a head is whole. LINK_DONE: *ret_head points into the stream's bytes, *ret_length of them, until
 * link_take_head. ret_head->fields.items and capacity are set by the caller, LINK_HEAD_FIELDS. */
enum link_result link_head(struct link *, enum method to, struct response_head *ret_head, size_t *ret_length);
/* Consumes the head; for a final answer (status 200 and above) its body follows. */
void link_take_head(struct link *, enum method to, const struct response_head *, size_t length);
/* LINK_DONE: *ret_bytes is what there is of the body, at least a byte. The same bytes are returned until they are
 * taken. */
enum link_result link_body(struct link *, struct slice *ret_bytes);
void link_take_body(struct link *, size_t bytes);
/* Whether the rest of the body is a run of bytes that ends by its length, none of which has been read. */
static inline bool link_fits_pipe(const struct link *l)
{
	return !l->is_chunked && !l->until_close && l->body_left > 0 && l->piece == 0 &&
	       stream_bytes(&l->stream).length == 0;
}
/* LINK_DONE: an empty pipe holds the body's next bytes, which are taken then; at most `bytes`. LINK_END: the kernel
 * does not do that. */
enum link_result link_body_to(struct link *, struct pipe *, size_t bytes);

static inline bool link_has_sent(const struct link *l)
{
	return l->stream.bytes_out != l->out_mark;
}
static inline bool link_has_received(const struct link *l)
{
	return l->stream.bytes_in != l->in_mark;
}

/* Ends the exchange: keeps the connection when it can serve another one, else closes it. */
void link_release(struct link *);
/* Ends the exchange, or an idle connection, by closing it. */
void link_drop(struct link *);
/* The same for a try that failed: counted against the server. */
void link_drop_failed(struct link *, const char *reason);
/* An answer came whose head is in order: counted for the server. */
void link_note_answer(struct link *);
/* A try that failed before there was a link. */
void link_count_failure(struct pool *, struct member *, const char *reason);

/* For the pool: the server has neither closed nor sent anything. Asks the system. */
bool link_is_quiet(const struct link *);
/* For the pool: the server has sent nothing, as far as this epoch of the loop can tell; whether it has closed is not
 * looked at, which is cheaper. */
bool link_has_no_input(const struct link *);
/* For the pool: closes an idle link that pool_remove took out. */
void link_discard_open(struct link *);
/* For the pool: gives back what is left of a link whose socket went to another loop. */
void link_discard(struct link *);
/* For the pool: closes the socket of an idle link whose loop is gone. */
void link_abandon(struct link *);

#endif
