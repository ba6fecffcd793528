/* Keys of requests. */
#include "handlers/proxy_key.h"
#include "base/check.h"
#include "base/hash.h"
#include "http/byte.h"
#include "serve/exchange.h"
#include <inttypes.h>
#include <stdio.h>

enum { ID_DIGITS = 16 };

/* Behind a proxy that is believed: the client that it named last. Peers of a unix socket have no address. */
static bool hash_client(struct mlserve_exchange *x, uint64_t *ret)
{
	const struct address *peer = exchange_peer(x);
	struct slice list, member;
	if (exchange_peer_is_trusted(x) && fields_find(&exchange_head(x)->fields, FIELD_X_FORWARDED_FOR, &list)) {
		bool found = false;
		while (slice_next_member(&list, &member)) {
			*ret = hash_bytes(member, 0);
			found = true;
		}
		if (found)
			return true;
	}
	*ret = hash_bytes((struct slice){(const char *)peer->bytes, sizeof peer->bytes}, 0);
	return peer->family == AF_INET || peer->family == AF_INET6;
}

static bool read_hash(struct mlserve_exchange *x, const struct group *g, uint64_t *ret)
{
	const struct request_head *head = exchange_head(x);
	struct slice value;
	switch (g->key) {
	case KEY_CLIENT_IP:
		return hash_client(x, ret);
	case KEY_URI:
		*ret = hash_bytes(mlserve_request_path(x), hash_bytes(head->query, 0));
		return true;
	case KEY_HEADER:
		if (!fields_find_name(&head->fields, g->key_name, &value))
			return false;
		break;
	case KEY_COOKIE:
		if (!fields_find_cookie(&head->fields, g->key_name, &value))
			return false;
		break;
	default:
		return false;
	}
	*ret = hash_bytes(value, 0);
	return true;
}

static bool read_id(struct slice text, uint64_t *ret)
{
	uint64_t id = 0;
	if (text.length != ID_DIGITS)
		return false;
	for (size_t i = 0; i < ID_DIGITS; i++) {
		if (!byte_is(text.data[i], BYTE_HEX))
			return false;
		id = id << 4 | byte_hex_value(text.data[i]);
	}
	*ret = id;
	return true;
}

void proxy_key_read(struct mlserve_exchange *x, const struct group *g, struct proxy_key *ret)
{
	struct slice cookie;
	*ret = (struct proxy_key){0};
	ret->has_hash = g->key != KEY_NONE && read_hash(x, g, &ret->hash);
	ret->has_sticky = g->sticky_cookie &&
	                  fields_find_cookie(&exchange_head(x)->fields, slice_of(g->sticky_cookie), &cookie) &&
	                  read_id(cookie, &ret->sticky);
}

size_t proxy_key_cookie(const struct group *g, const struct member *s, bool is_secure, char to[PROXY_COOKIE_BYTES])
{
	int length =
	        snprintf(to, PROXY_COOKIE_BYTES, "Set-Cookie: %s=%016" PRIx64 "; Path=/; HttpOnly; SameSite=Lax%s\r\n",
	                g->sticky_cookie, s->id, is_secure ? "; Secure" : "");
	MUST(length > 0 && length < PROXY_COOKIE_BYTES);
	return (size_t)length;
}
