/*
 * The handler interface: what a handler is, and all that it may do with a request.
 *
 * Built-in handlers and modules (.so files named by `handler = /path/x.so`) use this
 * same interface. A module exports one symbol, `mlserve_handler`, of type
 * `const struct mlserve_handler`.
 *
 * Threads: configure and release run in the control thread. Every other callback of
 * one exchange runs in one loop thread, never two at once; none may block. The
 * functions below are called from the exchange's own callbacks only, but for
 * mlserve_exchange_run, whose `work` runs elsewhere. No function below calls back
 * into the handler: what follows from a call happens after the callback returned.
 *
 * A handler answers in one of three ways:
 *   at once    serve() calls mlserve_answer_begin .. mlserve_answer_end;
 *   later      serve() starts a timer (mlserve_exchange_after), work in the executor
 *              (mlserve_exchange_run) or an upstream, and answers in that callback;
 *   pulled     serve() begins an answer and writes what there is; when
 *              mlserve_answer_write takes less than it was given, more() is called
 *              once there is room again.
 * An exchange ends with mlserve_answer_end or mlserve_answer_abort, or with cancel()
 * when the client left or the server cut it. After any of these the exchange must
 * not be used, and no callback of it comes any more.
 */
#ifndef MLSERVE_HANDLER_H
#define MLSERVE_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MLSERVE_HANDLER_ABI 1u
#define MLSERVE_API __attribute__((visibility("default")))

struct mlserve_exchange; /* one request and its answer */
struct mlserve_settings; /* one section of the configuration, values checked */

/* Bytes owned by somebody else; no terminating zero. */
struct mlserve_slice {
	const char *data;
	size_t length;
};

/* ---- options ------------------------------------------------------------------ */

enum mlserve_option_type {
	MLSERVE_BOOL,     /* on off yes no true false; number 1 or 0 */
	MLSERVE_COUNT,    /* plain decimal, min..max */
	MLSERVE_SIZE,     /* 64k 8m 1g or bytes; number in bytes */
	MLSERVE_DURATION, /* 500us 100ms 5s 2m 1h or 0; number in microseconds */
	MLSERVE_CHOICE,   /* one of `choices`; number is its index */
	MLSERVE_TEXT,     /* the rest of the line */
	MLSERVE_WORDS,    /* blank-separated words */
};

enum {
	MLSERVE_REPEATS = 1,  /* TEXT, WORDS: may stand several times; each adds a value (TEXT) or its words (WORDS) */
	MLSERVE_REQUIRED = 2, /* must be set */
	MLSERVE_AUTO = 4,     /* also takes `auto`; number is MLSERVE_AUTO_VALUE */
	/* TEXT or WORDS that name a section, which must exist; a TEXT by its first word */
	MLSERVE_NAMES_LISTENER = 8,
	MLSERVE_NAMES_UPSTREAM = 16,
};

#define MLSERVE_AUTO_VALUE (-1)

/* One option; a table of them ends with a NULL name. */
struct mlserve_option {
	const char *name;
	enum mlserve_option_type type;
	unsigned flags;
	const char *initial; /* as it would stand in the file; NULL: unset */
	const char *choices; /* MLSERVE_CHOICE: blank-separated names; others NULL */
	int64_t min, max;    /* COUNT, SIZE, DURATION: bounds, in the unit of the number */
	const char *help;    /* one or two sentences for --help-config and the manual */
};

/* Values by name, while configuring. Asking for a name that is not in the handler's table is a bug and ends the
 * program. Texts and words live as long as the route. */
/* Unset and without a default: MLSERVE_AUTO_VALUE. */
MLSERVE_API int64_t mlserve_setting_number(const struct mlserve_settings *, const char *name);
/* For TEXT and, as its name, CHOICE. NULL: unset. */
MLSERVE_API const char *mlserve_setting_text(const struct mlserve_settings *, const char *name);
/* For WORDS, and TEXT that repeats. */
MLSERVE_API size_t mlserve_setting_list(
        const struct mlserve_settings *, const char *name, const char *const **ret_items);
MLSERVE_API bool mlserve_setting_is_set(
        const struct mlserve_settings *, const char *name); /* to a value, in a file or by -o */
/* Reports a fault of this setting with its file and line; the configuration is then refused. `name` NULL: the
 * section itself. `item`: which of several values, from 0. */
MLSERVE_API void mlserve_setting_fault(const struct mlserve_settings *, const char *name, size_t item,
        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- the handler -------------------------------------------------------------- */

struct mlserve_handler {
	unsigned abi;        /* MLSERVE_HANDLER_ABI */
	const char *name;    /* for logs and statistics */
	bool for_control;    /* may also be served by the control thread: answers at once, whatever the load */
	const char *methods; /* served ones, blank-separated, e.g. "GET HEAD"; others get 405 with Allow */
	const struct mlserve_option *options;
	size_t state_bytes; /* of each exchange's own state, zeroed; see mlserve_exchange_state */

	/* Makes the state of one route from its settings. On a fault: reports it and returns false. */
	bool (*configure)(const struct mlserve_settings *, void **ret_route);
	void (*release)(void *route); /* may be NULL */
	/* What a loop keeps for one route without sharing it (caches, pools): made in the loop's thread before the
	 * first exchange of that route, ended with the loop. Both may be NULL. attach: false when memory is short
	 * (503). */
	bool (*attach)(void *route, unsigned loop, void **ret_local);
	void (*detach)(void *route, void *local);

	void (*serve)(struct mlserve_exchange *);
	void (*body)(struct mlserve_exchange
	                *); /* request body bytes came, or its end, after MLSERVE_BODY_WAIT; may be NULL */
	void (*more)(struct mlserve_exchange *);   /* room for more answer bytes; may be NULL */
	void (*cancel)(struct mlserve_exchange *); /* drop what this exchange holds; may be NULL */
};

MLSERVE_API void *mlserve_exchange_state(struct mlserve_exchange *);         /* state_bytes, zeroed before serve() */
MLSERVE_API void *mlserve_exchange_route(struct mlserve_exchange *);         /* what configure returned */
MLSERVE_API void *mlserve_exchange_local(struct mlserve_exchange *);         /* what attach returned */
MLSERVE_API unsigned mlserve_exchange_loop(const struct mlserve_exchange *); /* the number of its loop */
/* Zeroed memory until the exchange ends; NULL when memory is short. */
MLSERVE_API void *mlserve_exchange_alloc(struct mlserve_exchange *, size_t bytes);

/* ---- the request: slices live until the exchange ends or becomes a tunnel -------- */

MLSERVE_API struct mlserve_slice mlserve_request_method(const struct mlserve_exchange *);
MLSERVE_API struct mlserve_slice mlserve_request_target(const struct mlserve_exchange *); /* as received */
/* The path, normalised (RFC 3986 6.2.2): begins with '/', unreserved escapes decoded, no dot or empty segments. */
MLSERVE_API struct mlserve_slice mlserve_request_path(const struct mlserve_exchange *);
/* The path after the route's prefix; begins with '/' or is empty. The whole path for "=" and "~" routes. */
MLSERVE_API struct mlserve_slice mlserve_request_rest(const struct mlserve_exchange *);
MLSERVE_API struct mlserve_slice mlserve_request_query(
        const struct mlserve_exchange *); /* without '?'; data NULL: none */
MLSERVE_API struct mlserve_slice mlserve_request_host(
        const struct mlserve_exchange *);                                         /* with its port, may be empty */
MLSERVE_API struct mlserve_slice mlserve_request_peer(struct mlserve_exchange *); /* client address, no port */
MLSERVE_API bool mlserve_request_is_loopback(
        const struct mlserve_exchange *); /* client on 127/8, ::1 or a unix socket */
/* The first field of that name (any case); false: there is none. */
MLSERVE_API bool mlserve_request_field(
        const struct mlserve_exchange *, const char *name, struct mlserve_slice *ret_value);
/* Field number `index` from 0 in order of arrival; false past the last. */
MLSERVE_API bool mlserve_request_field_at(
        const struct mlserve_exchange *, size_t index, struct mlserve_slice *ret_name, struct mlserve_slice *ret_value);

enum mlserve_body {
	MLSERVE_BODY_DATA,   /* *ret_data holds at least a byte, valid until the next call */
	MLSERVE_BODY_END,    /* whole body was taken, or there is none */
	MLSERVE_BODY_WAIT,   /* body() will be called when there is more */
	MLSERVE_BODY_FAILED, /* malformed or too large: answer with mlserve_answer_error(x, 400, ...), which sends the
	                        status that fits, or abort */
};

/* Takes the next piece of the request body. Nothing is read from the client unless this is called; the first call
 * sends 100 (Continue) when the client waits for it. */
MLSERVE_API enum mlserve_body mlserve_request_body(struct mlserve_exchange *, struct mlserve_slice *ret_data);
MLSERVE_API int64_t mlserve_request_body_length(
        const struct mlserve_exchange *); /* bytes; 0: none; -1: not announced */

/* ---- the answer ------------------------------------------------------------------ */

#define MLSERVE_LENGTH_UNKNOWN (-1) /* chunked, or ended by close towards HTTP/1.0 */

/* Sends an interim answer (100..199, not 101) with preformatted field lines (each ended by CRLF; may be empty). */
MLSERVE_API void mlserve_answer_interim(struct mlserve_exchange *, unsigned status, struct mlserve_slice fields);
/* Begins the final answer: status line, Server, Date and framing. `length` of the body in bytes, or
 * MLSERVE_LENGTH_UNKNOWN. For HEAD, 204 and 304 no body is sent whatever is written (RFC 9110 9.3.2, 6.4.1). */
MLSERVE_API void mlserve_answer_begin(struct mlserve_exchange *, unsigned status, int64_t length);
/* The head goes out with the first body bytes; writing none sends it by itself.
 * After begin, before the body. Framing fields, Date, Server and Connection are the server's own and are refused. */
MLSERVE_API void mlserve_answer_field(struct mlserve_exchange *, const char *name, struct mlserve_slice value);
/* The same for preformatted lines, each ended by CRLF; for tables made once. */
MLSERVE_API void mlserve_answer_fields(struct mlserve_exchange *, struct mlserve_slice lines);
/* Writes body bytes; returns how many were taken (maybe 0). Less than given: more() comes when there is room. Writing
 * nothing sends the head alone, for a body that may be long in coming. */
MLSERVE_API size_t mlserve_answer_write(struct mlserve_exchange *, const void *data, size_t length);
/* The whole body, or all of its rest, of an announced length, as memory or as part of a file. The bytes, or the
 * descriptor, must stay valid until `done(argument)` is called, once, in this loop's thread, when nothing needs them
 * any more. done may be NULL. */
MLSERVE_API void mlserve_answer_memory(
        struct mlserve_exchange *, const void *data, size_t length, void (*done)(void *), void *argument);
MLSERVE_API void mlserve_answer_file(
        struct mlserve_exchange *, int fd, int64_t offset, int64_t length, void (*done)(void *), void *argument);
/* Ends the exchange. `trailers`: preformatted lines, only for answers of unknown length; may be empty. Fewer bytes
 * than announced is the same as abort. */
MLSERVE_API void mlserve_answer_end(struct mlserve_exchange *);
MLSERVE_API void mlserve_answer_end_with(struct mlserve_exchange *, struct mlserve_slice trailers);
/* Cuts the answer so that the client can tell (RFC 9112 8), and ends the exchange. */
MLSERVE_API void mlserve_answer_abort(struct mlserve_exchange *);
/* begin, Content-Type, write and end in one. The body is copied or, when large, must live as long as the route. */
MLSERVE_API void mlserve_answer_whole(
        struct mlserve_exchange *, unsigned status, const char *content_type, struct mlserve_slice body);
/* The server's error page for a status of 400..599 (JSON or HTML by Accept, with a request id), and ends the exchange.
 * `fields`: more preformatted field lines, may be empty. */
MLSERVE_API void mlserve_answer_error(struct mlserve_exchange *, unsigned status, struct mlserve_slice fields);
/* After mlserve_answer_begin(x, 101, 0) and its fields (Upgrade among them; Connection is the server's), for a request
 * without a body left to read: both directions become raw bytes; mlserve_request_body and mlserve_answer_write carry
 * them. MLSERVE_BODY_END says that the client has ended its side. No timeout of the listener applies any more. What the
 * server knows of the request is given up: its slices are gone. more() is also called once when the server drains. */
MLSERVE_API void mlserve_answer_tunnel(struct mlserve_exchange *);
/* The server is ending: what goes on will be cut after shutdown_timeout. */
MLSERVE_API bool mlserve_exchange_drains(const struct mlserve_exchange *);

/* ---- later ----------------------------------------------------------------------- */

/* Calls `then` once, `us` microseconds from now (0: in this turn of the loop, after other ready work). One timer an
 * exchange: a second call replaces the first. Ending the exchange stops it. */
MLSERVE_API void mlserve_exchange_after(struct mlserve_exchange *, int64_t us, void (*then)(struct mlserve_exchange *));
/* Runs work(argument) in the executor, then `then` in the exchange's loop. `argument` must outlive the exchange if it
 * is cancelled meanwhile: then `drop(argument)` is called instead of `then`, in the loop's thread. false: the executor
 * is full (answer 503 with Retry-After). */
MLSERVE_API bool mlserve_exchange_run(struct mlserve_exchange *, void (*work)(void *argument), void *argument,
        void (*then)(struct mlserve_exchange *, void *argument), void (*drop)(void *argument));

#ifdef __cplusplus
}
#endif

#endif
