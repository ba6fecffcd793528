/*
 * Heads on their way through the proxy: what a request's head becomes towards the
 * upstream, and which lines of an answer's head go on to the client. Bytes only.
 *
 * Fields of one hop and fields named by Connection stay behind (RFC 9110 7.6.1); framing
 * is ours in both directions; who the client is, we say ourselves, and add to what was
 * said before only when a trusted proxy said it.
 */
#ifndef HANDLERS_PROXY_FIELDS_H
#define HANDLERS_PROXY_FIELDS_H

#include "http/message.h"
#include "net/address.h"

struct proxy_request {
	const struct request_head *head;
	struct slice path; /* normalised, begins with '/'; the head's query follows it */
	struct slice host; /* for the Host field */
	const struct address *peer;
	bool peer_is_trusted, is_secure;
	struct slice instance; /* for Via */
	bool closes;           /* no further request follows on the connection */
};

/* The request has been here before (RFC 9110 7.6.3). */
bool proxy_request_loops(const struct proxy_request *);
/* Connection names so many fields that looking for each would be work for nothing. */
bool proxy_request_is_absurd(const struct proxy_request *);
/* At most so many bytes are written. */
size_t proxy_request_room(const struct proxy_request *);
/* Writes the whole head, blank line included; returns its length. */
size_t proxy_request_write(const struct proxy_request *, char *to);

/* Moves the lines that go on to the client together, within the bytes that were parsed, and returns them. The head's
 * fields must not be used afterwards. */
struct slice proxy_answer_lines(struct response_head *);

#endif
