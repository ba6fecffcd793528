/*
 * What of a request ties it to a server: the key of a hash policy, and the sticky cookie.
 */
#ifndef HANDLERS_PROXY_KEY_H
#define HANDLERS_PROXY_KEY_H

#include "mlserve/handler.h"
#include "upstream/group.h"

struct proxy_key {
	uint64_t hash, sticky;
	bool has_hash, has_sticky;
};

/* Of the request, for this group. */
void proxy_key_read(struct mlserve_exchange *, const struct group *, struct proxy_key *ret);

enum { PROXY_COOKIE_BYTES = STICKY_NAME_BYTES + 96 };

/* The Set-Cookie line, CRLF included, by which the client comes back to this server; returns its length. */
size_t proxy_key_cookie(const struct group *, const struct member *, bool is_secure, char to[PROXY_COOKIE_BYTES]);

#endif
