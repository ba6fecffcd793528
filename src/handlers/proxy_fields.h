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
	struct slice path;   /* normalised, begins with '/'; the head's query follows it */
	struct slice host;   /* for the Host field */
	int64_t body_length; /* as in the head, or that of a chunked body which is here as a whole */
	const struct address *peer;
	bool peer_is_trusted, is_secure;
	struct slice instance; /* for Via */
	bool closes;           /* no further request follows on the connection */
	struct slice upgrade;  /* the protocol that is asked for; empty: none */
};

/* The request has been here before (RFC 9110 7.6.3). */
bool proxy_request_loops(const struct proxy_request *);
/* Connection names so many fields that looking for each would be work for nothing. */
bool proxy_request_is_absurd(const struct proxy_request *);
/* At most so many bytes are written. */
size_t proxy_request_room(const struct proxy_request *);
/* Writes the whole head, blank line included; returns its length. */
size_t proxy_request_write(const struct proxy_request *, char *to);

/* Whether the request asks for a protocol that may be passed on, and which (RFC 9110 7.8): just one, in a GET of
 * HTTP/1.1 without a body, and none that carries HTTP. Otherwise Upgrade is a field of one hop that stays behind. */
bool proxy_request_upgrades(const struct request_head *, struct slice *ret_protocol);
/* Whether an answer 101 switches to that protocol. */
bool proxy_answer_upgrades(const struct response_head *, struct slice protocol);

/* This line does not go on. */
static inline void proxy_answer_drop(struct field *f)
{
	f->id = FIELD_KEEP_ALIVE; /* goes the way of such fields */
}
/* Moves the lines that go on to the client together, within the bytes that were parsed, and returns them. The head's
 * fields must not be used afterwards. */
struct slice proxy_answer_lines(struct response_head *);

/* Whether a name begins with that text (in small letters), in any case and with `_` for `-`: CGI and what came after it
 * write `-` as `_` (RFC 3875 4.1.18). */
bool proxy_name_begins(struct slice name, struct slice text);
/* Whether Connection names fields of this head, or may. */
bool proxy_nominates(const struct fields *);
/* Copies the lines of a trailer section that may go on to `to`, which may be where they stand; returns their length.
 * `head`: fields of the same message, for what its Connection names; NULL: names nothing. */
size_t proxy_trailers_write(struct slice lines, const struct fields *head, char *to);

#endif
