/*
 * One loop that serves a table of small test handlers, and one client on the other end of
 * a socket pair. Both live in the test's own thread: the client sends, the loop runs until
 * what the test waits for is there, the test looks.
 *
 * Handlers are routes of their own name; what they do is told in handlers.c. Arguments
 * come in the query: "/pulled?n=100000&piece=4096&chunked".
 */
#ifndef TESTS_SERVE_SERVING_H
#define TESTS_SERVE_SERVING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/config.h"
#include "serve/connection.h"

/* What the handlers saw and did, since setup. */
struct handled {
	int served, cancelled, done, timed, worked, then, dropped, attached, detached, more;
	enum mlserve_body last_body;
};

struct serving {
	struct stats stats;
	struct loop loop;
	struct loop_view loop_view;
	struct server_view view;
	struct context context;
	struct listener_settings listener;
	struct config *config;
	struct routes *routes;
	struct faults faults;
	struct handled handled;
};

struct client {
	int fd;
	char *in; /* ended by zero */
	size_t length;
	int pieces; /* how many reads brought something: on SOCK_SEQPACKET the server's writes */
	bool closed, reset;
};

extern struct serving serving;
extern struct client client;

/* cmocka setup and teardown; the latter holds that every connection, exchange, timer and job was given back. */
int serving_setup(void **state);
int serving_teardown(void **state);
/* Lets the loop come round so many times without sleeping. */
void serving_turns(int turns);
/* Until done() says so, at a turn's end; fails the test after ten seconds. */
void serving_until(bool (*done)(void));
int64_t serving_stat(enum stat_id);

/* A socket pair of that type, SOCK_STREAM or SOCK_SEQPACKET; its other end goes to connection_open. */
void client_open(int type);
/* The same over TCP on 127.0.0.1. */
void client_open_tcp(void);
/* The server's end sends from a buffer as small as the kernel allows. */
void client_open_narrow(void);
void client_close(void);
/* Closes so that the server gets a reset (TCP only). */
void client_reset(void);
void client_end(void); /* its sending side */
void client_send(const char *text);
void client_send_bytes(const char *bytes, size_t length);
/* Forgets what was received so far. */
void client_clear(void);
/* Until all that was received ends with this text. */
void client_until(const char *end);
/* Until this text stands somewhere in it. */
void client_until_has(const char *text);
void client_until_closed(void);
void client_until_length(size_t length);
bool client_has(const char *text);
int client_count(const char *text);
/* Behind the first head. */
const char *client_body(void);

/* handlers.c */
extern const struct mlserve_handler *const test_handlers[];
enum { PATTERN_BYTES = 1 << 20 };
extern const char test_handler_names[];
const char *test_pattern(void); /* PATTERN_BYTES in which every place is told from its neighbours */
const struct mlserve_handler *test_handler_find(void *context, const char *name, const char **ret_reason);
const struct mlserve_option *test_handler_options(void *context, const char *name, const char **ret_reason);

#endif
