/*
 * From bytes to heads (RFC 9112), on llhttp, with the strictness that llhttp lacks.
 *
 * A head is checked line by line as its bytes arrive and handed to llhttp once it is
 * whole, so the outcome cannot depend on how the bytes were split. Refused, whatever
 * llhttp says: bare CR or LF, folded lines, blanks before a colon or inside a name, a
 * line without colon, an empty name, control bytes and bytes above 0x7e in the target,
 * two blanks in the request line, no or several Host on 1.1, a Host that is no
 * authority, Content-Length that is not plain digits or repeated or beside
 * Transfer-Encoding, Transfer-Encoding on 1.0 or other than exactly chunked, HTTP/0.9
 * and HTTP/2 or later.
 */
#ifndef HTTP_PARSER_H
#define HTTP_PARSER_H

#include "http/message.h"

/* How far the head that begins at `start` was looked at. Zeroed before a new head. */
struct head_scan {
	size_t checked;    /* bytes of whole lines that are in order */
	size_t skipped;    /* of these, empty lines before the first line (RFC 9112 2.2) */
	size_t line_count; /* lines so far, the first one included, empty ones skipped not */
};

struct head_limits {
	size_t line_bytes; /* the first line, without CRLF: 414 beyond (8192 octets at least are taken) */
	size_t head_bytes; /* the whole head: 431 beyond */
	size_t fields;     /* 431 beyond */
};

enum head_result {
	HEAD_MORE,  /* in order so far; give all bytes again, with more */
	HEAD_READY, /* *ret_length bytes make the head, blank line included */
	HEAD_REFUSED,
};

/* Chooses the build of llhttp that fits this CPU. Once, before any other thread starts. */
void parser_setup(void);

/* Looks at bytes [0, length) of a request head as received so far. HEAD_REFUSED: *ret_status is the answer (400, 414,
 * 431, 501, 505) and *ret_reason a static text for log and error page. */
enum head_result request_scan(struct head_scan *, const char *bytes, size_t length, const struct head_limits *,
        size_t *ret_length, unsigned *ret_status, const char **ret_reason);

/* Parses a whole head found by request_scan. head->fields.items and capacity are set by the caller. false: refused with
 * 400, 417, 501, or 431 when there are more fields than capacity. */
bool request_parse(
        struct request_head *head, const char *bytes, size_t length, unsigned *ret_status, const char **ret_reason);

/* The same for responses (bad ones are the proxy's 502; limits->line_bytes is not looked at). Obsolete folding in a
 * response is replaced by blanks in place (RFC 9112 5.2), so bytes are not const. */
enum head_result response_scan(struct head_scan *, const char *bytes, size_t length, const struct head_limits *,
        size_t *ret_length, const char **ret_reason);
/* `to`: the method of the request, since HEAD has no body and CONNECT tunnels (RFC 9112 6.3). */
bool response_parse(struct response_head *head, char *bytes, size_t length, enum method to, const char **ret_reason);

#endif
