/* One proxied exchange, shared by proxy.c (handler and steps), proxy_up.c (the request), proxy_down.c (the answer),
 * proxy_splice.c (long bodies), proxy_try.c (servers, failures, repeats) and proxy_buffer*.c (bodies that wait in
 * memory and on disk). */
#ifndef HANDLERS_PROXY_FORWARD_H
#define HANDLERS_PROXY_FORWARD_H

#include "handlers/proxy_fields.h"
#include "handlers/proxy_key.h"
#include "handlers/proxy_split.h"
#include "http/websocket.h"
#include "mlserve/handler.h"
#include "net/spool.h"
#include "serve/exchange.h"
#include "upstream/pool.h"

enum {
	FORWARD_TRIES = 16,
	FORWARD_PIECES_A_TURN = 32, /* then other connections have their turn */
	FORWARD_BYTES_A_TURN = 2 << 20,
};

struct proxy_route {
	struct proxy_split split;
	struct slice strip_prefix;     /* without a trailing '/'; empty: none */
	struct route_rewrite *rewrite; /* NULL: none */
	struct slice upstream_host;
	int64_t tunnel_timeout_ns, half_close_timeout_ns;
	bool rewrites_location, rewrites_cookie_path;
	bool buffers_request, buffers_answer;
	struct spool_place spool_place;
};

/* Of one route in one loop. */
struct proxy_local {
	size_t turn; /* of the split */
	struct slice instance;
	struct pool *pools[]; /* of each upstream; filled by its first exchange */
};

enum upload {
	UPLOAD_GOES_ON,
	UPLOAD_DONE,    /* the whole request is in the stream */
	UPLOAD_STOPPED, /* the upstream takes no more */
};

/* After an answer 101. "Up" is what the client sends, "down" what the upstream does. */
struct tunnel {
	bool is_open, is_websocket;
	bool client_has_ended;
	bool up_is_over;              /* all of it is sent, or the upstream takes no more */
	bool down_is_over;            /* the upstream has ended */
	bool is_deaf;                 /* the client was told to go; what the upstream still says is dropped */
	struct slice goodbye;         /* what is left to tell */
	struct websocket_frame frame; /* of what went down */
	uint64_t moved;               /* bytes and ends that came from both sides, when the deadline was set */
	uint64_t taken;               /* by the peers' systems, if one was full then */
};

struct forward {
	struct mlserve_exchange *exchange;
	const struct proxy_route *route;
	struct pool *pool;
	struct link *link; /* NULL: none */
	struct slice instance;
	struct slice rewritten; /* path; data NULL: it is the request's */
	struct slice upgrade;   /* the protocol asked for; until the tunnel opens */
	struct tunnel tunnel;

	struct member *server;               /* of this try; NULL: none was picked yet */
	struct member *tried[FORWARD_TRIES]; /* in this round over the servers, the present one last; only compared */
	size_t tried_count;
	unsigned retries; /* so far */
	unsigned status;  /* of the last failure */
	bool stale_try_is_used;
	bool waits; /* for a server, as `waiter` */
	struct waiter waiter;
	struct proxy_key key;
	bool is_guest; /* its own server is busy: no new cookie */

	enum upload upload;
	bool head_is_sent;
	struct slice piece;          /* of the client's body, not in the stream yet */
	struct slice first;          /* the first piece as it was lent, for another try */
	bool first_is_lost;          /* it was given back */
	size_t splice_up_bytes;      /* of the body, to be moved at once through a pipe; 0: it is copied */
	int64_t taken;               /* body bytes taken from the client */
	bool collects;               /* the body, before a server is tried */
	struct spool *request_spool; /* all of the body; NULL: it goes on as it comes */
	size_t lent;                 /* bytes of it that f->piece began with */

	bool has_begun;      /* the final answer */
	bool body_has_begun; /* the client has the head whole */
	bool client_is_full;
	size_t splice_down_bytes; /* of the answer's body, to be moved at once through a pipe; 0: it is copied */
	bool drops_trailers;      /* of the answer: its Connection named fields, and is gone when they come */
	unsigned interim_count;
	size_t interim_bytes;
	int64_t head_deadline_ns;   /* 0: not set */
	uint64_t upstream_taken;    /* of what was written, when the deadline was set */
	struct spool *answer_spool; /* what the client has not taken yet */
	bool is_spooling;           /* there is something in it */
	bool spool_fault_is_told;
	bool answer_is_over, answer_is_cut; /* there is no link any more: so it ends when the spool is empty */
	struct slice answer_trailers;
};

/* Of the request's body, towards the upstream. With trailers behind it it stays chunked, or nobody would see them. */
static inline int64_t forward_body_length(const struct forward *f)
{
	bool is_here = f->request_spool && exchange_trailers(f->exchange).length == 0;
	return is_here ? spool_total(f->request_spool) : exchange_head(f->exchange)->body_length;
}

enum forward_step {
	FORWARD_GOES_ON,
	FORWARD_WAITS, /* for an event */
	FORWARD_ENDED, /* answered, or handed to another try: *f may not be touched */
};

/* ---- proxy.c --------------------------------------------------------------------------------- */

/* Does what can be done now. There is a link. */
void forward_advance(struct forward *);
/* The deadline has passed: whether the upstream still takes what waits for it; then it has more time. */
bool forward_upstream_reads_on(struct forward *);

/* Runs an event of it that is no callback of the exchange, which would tell the status line what runs. */
void forward_run(struct forward *, void (*event)(struct forward *));
/* Answers with the error page; 503 says when to come back. The exchange ends. */
void forward_refuse(struct mlserve_exchange *, unsigned status, const char *reason);

/* ---- proxy_up.c ------------------------------------------------------------------------------ */

/* Puts the head into the stream. */
enum forward_step forward_send_head(struct forward *);
/* Moves what there is of the body. Never FORWARD_GOES_ON. */
enum forward_step forward_upload(struct forward *);
/* Puts f->piece into the stream; false: the socket is full. */
bool forward_send_piece(struct forward *);
/* The upstream takes no more of the request; an answer may be there all the same (RFC 9112 9.5). */
void forward_stop_upload(struct forward *);

/* ---- proxy_down.c ---------------------------------------------------------------------------- */

/* Moves what there is of the answer. Never FORWARD_GOES_ON. */
enum forward_step forward_download(struct forward *);

/* ---- proxy_splice.c -------------------------------------------------------------------------- */

/* For splice_up_bytes and splice_down_bytes: how a body of that length, or of an unknown one, begins. */
size_t forward_splice_begin(int64_t body_length);

/* Moves the next part of the body through a pipe, if it is one that can go so: true, and *ret_step says how to go on.
 * false: nothing was done, it is to be copied. */
bool forward_splice_up(struct forward *, enum forward_step *ret_step);
bool forward_splice_down(struct forward *, enum forward_step *ret_step);

/* ---- proxy_tunnel.c -------------------------------------------------------------------------- */

/* An answer 101 came: passes it on if it was asked for; the connections are one tunnel then. FORWARD_ENDED. */
enum forward_step forward_open_tunnel(struct forward *, struct response_head *, size_t length);
/* Moves what there is, both ways. */
void forward_tunnel(struct forward *);
/* Ends the tunnel so that the upstream does not take it for its client's end. */
void forward_cut_tunnel(struct forward *);

/* ---- proxy_try.c ----------------------------------------------------------------------------- */

/* false: no memory, or no such group. */
bool forward_find_pool(struct mlserve_exchange *, struct proxy_local *, size_t upstream);
/* What the request's head is made of. */
void forward_describe(const struct forward *, struct proxy_request *ret);
/* Begins the exchange with a server, as soon as one can be had. */
void forward_try(struct forward *);
/* The client is gone: the try, or the wait for a server, ends. */
void forward_cancel(struct forward *);
/* This try failed: another one, the error, or a cut when the answer has begun. FORWARD_ENDED. */
enum forward_step forward_fail(struct forward *, unsigned status, const char *reason);
enum forward_step forward_fail_memory(struct forward *);
/* The client's body is malformed, too large or incomplete. FORWARD_ENDED. */
enum forward_step forward_fail_client(struct forward *);

/* ---- proxy_buffer.c -------------------------------------------------------------------------- */

/* The route's buffer options; false: they have a fault. */
bool proxy_buffer_configure(const struct mlserve_settings *, struct proxy_route *);
/* `keeps` as in spool_create; NULL: no memory, or nothing to work with. */
struct spool *forward_make_spool(struct forward *, bool keeps, void (*changed)(void *));
/* Says in the log why a body cannot be buffered. */
void forward_log_spool(struct forward *, const char *option, const char *reason);
/* Before the exchange ends. */
void forward_drop_spools(struct forward *);

/* ---- proxy_buffer_up.c ----------------------------------------------------------------------- */

/* Takes what there is of the body; a server is tried once it is whole. */
void forward_collect(struct forward *);
/* Gets the next bytes of the collected body into f->piece; FAILED: they cannot be had, see forward_fail_collected. */
enum mlserve_body forward_next_piece(struct forward *);
/* Before the body goes to another server. */
void forward_rewind(struct forward *);
enum forward_step forward_fail_collected(struct forward *);

/* ---- proxy_buffer_down.c --------------------------------------------------------------------- */

/* Keeps a piece of the answer that the client does not take now; as much of it as there is room for. */
enum forward_step forward_spool(struct forward *, struct slice data);
/* The server has sent all: the answer ends once the client has taken what was kept. */
void forward_end_later(struct forward *, struct slice trailers);
/* Moves what was kept to the client. true: the upstream's turn, as it was made to wait. */
bool forward_drain(struct forward *);

#endif
