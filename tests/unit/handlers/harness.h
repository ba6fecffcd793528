/*
 * A server of one loop without a socket to listen on: configuration, routes and one
 * connection over a socket pair, all of them the real ones.
 */
#ifndef TESTS_UNIT_HANDLERS_HARNESS_H
#define TESTS_UNIT_HANDLERS_HARNESS_H

#include "base/slice.h"
#include "handlers/handlers.h"
#include "serve/connection.h"

struct harness {
	struct handlers handlers;
	struct faults faults;
	struct config *config;
	struct routes *routes;
	struct stats stats;
	struct loop loop;
	struct loop_view self;
	struct server_view view;
	struct listener_settings listener;
	struct context context;
	int client; /* the other end of the connection; -1: closed */
	char *answer;
	size_t answer_length, answer_room;
};

/* Fails the test when the configuration has faults. */
void harness_start(struct harness *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same but for the connection; a fault's text, to be freed, or NULL. */
char *harness_faults(const char *format, ...) __attribute__((format(printf, 1, 2)));
void harness_stop(struct harness *);

/* A new connection in place of the present one, from that address. */
void harness_connect(struct harness *, const char *peer);
void harness_close(struct harness *);
/* Sends a request: the first line without version, then fields as lines ended by CRLF, or "". */
void harness_send(struct harness *, const char *line, const char *fields);
/* Turns the loop until an answer is whole, or the connection ended. Its head and body stay valid until the next call.
 */
struct answer {
	unsigned status; /* 0: the connection ended without one */
	struct slice head, body;
	bool is_whole; /* all that was announced came */
};
struct answer harness_receive(struct harness *, bool to_head);
struct answer harness_ask(struct harness *, const char *line, const char *fields);
/* A field's value; "" when there is none. In a static buffer. */
const char *answer_field(const struct answer *, const char *name);
/* One turn of the loop, without waiting. */
void harness_turn(struct harness *);

#endif
