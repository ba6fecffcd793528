/*
 * One client connection speaking HTTP/1: reads heads, drives exchanges one after the
 * other, flushes, and closes so that the client can read the last answer.
 *
 * One function, the step, changes its state; it runs when the socket is ready, when a
 * deadline passed, or at the end of a turn in which a handler did something. It ends by
 * asserting that something is armed which will run it again.
 */
#ifndef SERVE_CONNECTION_H
#define SERVE_CONNECTION_H

#include "http/parser.h"
#include "net/stream.h"
#include "serve/context.h"

enum connection_state {
	CONNECTION_HEAD,     /* idle, or a head is being read */
	CONNECTION_EXCHANGE, /* a request is in progress */
	CONNECTION_ENDING,   /* the last answer is being written */
	CONNECTION_LINGER,   /* all is written; what the client still sends is read and dropped (RFC 9112 9.6) */
	CONNECTION_GONE,     /* to be freed by the step */
};

enum wait { WAIT_NONE, WAIT_IDLE, WAIT_HEAD, WAIT_BODY, WAIT_ROOM, WAIT_LINGER };

struct connection {
	struct stream stream;
	struct context *context;
	const struct listener_settings *listener;
	struct mlserve_exchange *exchange;
	struct task task;
	struct head_scan scan;
	int64_t opened_ns;
	int64_t since_ns;                 /* when the present wait began, or the last byte moved in it */
	uint64_t wait_bytes;              /* bytes that had moved by then */
	int64_t looked_ns;                /* WAIT_ROOM: when the system was last asked what the client took */
	uint64_t taken_bytes;             /* ... and what it said */
	int64_t rate_since_ns;            /* window of min_rate */
	uint64_t rate_bytes;              /* bytes that had moved at its begin */
	int64_t rate_credit;              /* bytes that moved beyond what earlier windows wanted */
	uint64_t counted_in, counted_out; /* of the stream's bytes, those that the statistics have */
	uint64_t request_count;
	uint64_t answered_epoch; /* the loop's, when the last answer was whole */
	struct address peer;
	uint8_t state;      /* enum connection_state */
	uint8_t waiting;    /* enum wait: for what, when the step last ended */
	bool out_of_budget; /* the last step ended so, not for want of bytes */
	bool stepping, head_begun, counted_idle, client_gone;
	bool lingers; /* the client may still be sending when all is written */
	bool resets;  /* a clean end would look like the end of the answer, or nobody reads what is left */
};

/* Takes over an accepted, non-blocking socket, reads what it has sent already, and serves it at the end of this turn.
 * When memory is short the socket is closed. The loop's thread. */
void connection_open(struct context *, const struct listener_settings *, int fd, const struct address *peer);
/* Something was done to the connection's exchange outside of its step: it will be looked at before the loop sleeps. */
void connection_touch(struct connection *);
/* Graceful end: idle ones close now, the others after the answer in progress. */
void connections_drain(struct context *);
/* The end: all that are left are closed; requests in progress are counted as cut. */
void connections_cut(struct context *);

#endif
