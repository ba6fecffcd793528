/*
 * Values of an answer that are about the upstream's own addresses, in the client's view:
 * what strip_prefix cut from the path stands in front again, and an absolute URI names the
 * host that the client asked. Whatever is not well-formed, or is about others, stays.
 * Bytes only.
 */
#ifndef HANDLERS_PROXY_REWRITE_H
#define HANDLERS_PROXY_REWRITE_H

#include "base/slice.h"

struct proxy_view {
	struct slice prefix;       /* without a trailing '/'; empty: none was cut */
	struct slice sent_host;    /* the Host field that the upstream got */
	struct slice server;       /* its address, ADDRESS:PORT */
	struct slice scheme, host; /* as the client asked; host empty: not known */
};

/* At most so many bytes are written for a value of that length. */
size_t proxy_location_room(const struct proxy_view *, size_t length);
/* Writes what a Location becomes and returns its length; 0: it stays as it is. */
size_t proxy_location_write(const struct proxy_view *, struct slice value, char *to);

/* The same for Set-Cookie. */
size_t proxy_cookie_room(const struct proxy_view *, struct slice value);
size_t proxy_cookie_write(const struct proxy_view *, struct slice value, char *to);

#endif
