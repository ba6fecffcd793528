/* Addresses, networks, endpoints. */
#include "net/address.h"
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

struct address address_of(const struct sockaddr *sa, socklen_t length)
{
	struct address a = {.family = length >= sizeof sa->sa_family ? (uint8_t)sa->sa_family : 0};
	if (a.family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;
		a.port = ntohs(in->sin_port);
		memcpy(a.bytes, &in->sin_addr, 4);
	} else if (a.family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;
		a.port = ntohs(in6->sin6_port);
		memcpy(a.bytes, &in6->sin6_addr, 16);
		if (memcmp(a.bytes, mapped_prefix, sizeof mapped_prefix) == 0) {
			a.family = AF_INET;
			memmove(a.bytes, a.bytes + 12, 4);
			memset(a.bytes + 4, 0, 12);
		}
	}
	return a;
}

/* For each proxied request: inet_ntop goes through printf. */
static size_t format_v4(const uint8_t bytes[4], char *to)
{
	char *at = to;
	for (int i = 0; i < 4; i++) {
		unsigned byte = bytes[i];
		if (i)
			*at++ = '.';
		if (byte >= 100)
			*at++ = (char)('0' + byte / 100);
		if (byte >= 10)
			*at++ = (char)('0' + byte / 10 % 10);
		*at++ = (char)('0' + byte % 10);
	}
	*at = 0;
	return (size_t)(at - to);
}

size_t address_format(const struct address *a, char to[ADDRESS_TEXT_BYTES])
{
	if (a->family == AF_INET)
		return format_v4(a->bytes, to);
	if (a->family != AF_INET6)
		strcpy(to, a->family == AF_UNIX ? "unix" : "unknown");
	else if (!inet_ntop(a->family, a->bytes, to, ADDRESS_TEXT_BYTES))
		strcpy(to, "unknown");
	return strlen(to);
}

bool address_is_loopback(const struct address *a)
{
	static const uint8_t v6_loopback[16] = {[15] = 1};
	switch (a->family) {
	case AF_INET:
		return a->bytes[0] == 127;
	case AF_INET6:
		return memcmp(a->bytes, v6_loopback, sizeof v6_loopback) == 0;
	default:
		return a->family == AF_UNIX;
	}
}

/* Copies a short text so that the C library can read it. */
static bool to_text(struct slice s, char *to, size_t room)
{
	if (s.length == 0 || s.length >= room || memchr(s.data, 0, s.length))
		return false;
	memcpy(to, s.data, s.length);
	to[s.length] = 0;
	return true;
}

static bool parse_ip(struct slice s, struct address *ret)
{
	char text[INET6_ADDRSTRLEN];
	struct address a = {0};
	if (!to_text(s, text, sizeof text))
		return false;
	a.family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(a.family, text, a.bytes) != 1)
		return false;
	*ret = a;
	return true;
}

bool network_parse(struct slice s, struct network *ret)
{
	struct network n = {0};
	const char *slash = s.length ? memchr(s.data, '/', s.length) : NULL;
	struct slice ip = {s.data, slash ? (size_t)(slash - s.data) : s.length};
	if (slice_equal(s, SLICE("unix"))) {
		*ret = (struct network){.address.family = AF_UNIX};
		return true;
	}
	if (!parse_ip(ip, &n.address))
		return false;
	int64_t most = n.address.family == AF_INET ? 32 : 128, bits = most;
	if (slash && (!slice_to_number(slice_from(s, ip.length + 1), &bits) || bits > most))
		return false;
	n.bits = (unsigned)bits;
	*ret = n;
	return true;
}

bool network_holds(const struct network *n, const struct address *a)
{
	if (n->address.family != a->family)
		return false;
	unsigned whole = n->bits / 8, rest = n->bits % 8;
	if (memcmp(n->address.bytes, a->bytes, whole) != 0)
		return false;
	return rest == 0 || ((n->address.bytes[whole] ^ a->bytes[whole]) >> (8 - rest)) == 0;
}

static bool parse_unix(struct slice path, struct endpoint *ret, const char **ret_reason)
{
	struct endpoint e = {.to.un = {.sun_family = AF_UNIX}};
	if (!to_text(path, e.to.un.sun_path, sizeof e.to.un.sun_path)) {
		*ret_reason = "a unix socket's path has 1 to 107 bytes";
		return false;
	}
	e.length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.length + 1);
	*ret = e;
	return true;
}

static bool parse_port(struct slice s, uint16_t *ret_port)
{
	int64_t port;
	if (!slice_to_number(s, &port) || port > 65535 || (s.length > 1 && s.data[0] == '0'))
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

struct endpoint endpoint_of(const struct address *a, uint16_t port)
{
	struct endpoint e = {0};
	if (a->family == AF_INET) {
		e.to.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
		memcpy(&e.to.v4.sin_addr, a->bytes, 4);
		e.length = sizeof e.to.v4;
	} else {
		e.to.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
		memcpy(&e.to.v6.sin6_addr, a->bytes, 16);
		e.length = sizeof e.to.v6;
	}
	return e;
}

static bool from_ip(const struct address *a, uint16_t port, struct endpoint *ret)
{
	*ret = endpoint_of(a, port);
	return true;
}

bool endpoint_parse(struct slice s, bool localhost, struct endpoint *ret, const char **ret_reason)
{
	struct address a;
	struct slice unix_prefix = SLICE("unix:"), host = s;
	uint16_t port;
	if (slice_starts(s, unix_prefix))
		return parse_unix(slice_from(s, unix_prefix.length), ret, ret_reason);
	const char *colon = s.length ? memrchr(s.data, ':', s.length) : NULL;
	*ret_reason = "not ADDRESS:PORT, [IPV6]:PORT or unix:/PATH";
	if (!colon || !parse_port(slice_from(s, (size_t)(colon - s.data) + 1), &port))
		return false;
	host.length = (size_t)(colon - s.data);
	if (host.length > 2 && host.data[0] == '[' && host.data[host.length - 1] == ']') {
		if (!parse_ip((struct slice){host.data + 1, host.length - 2}, &a) || a.family != AF_INET6)
			return false;
		return from_ip(&a, port, ret);
	}
	if (memchr(host.data, ':', host.length))
		return false;
	if (parse_ip(host, &a))
		return from_ip(&a, port, ret);
	/* RFC 6761 6.3: this name needs no resolver, and a bare machine has none that knows it. */
	return localhost && slice_equal_nocase(host, SLICE("localhost")) && parse_ip(SLICE("127.0.0.1"), &a) &&
	       from_ip(&a, port, ret);
}

uint16_t endpoint_port(const struct endpoint *e)
{
	switch (e->to.any.sa_family) {
	case AF_INET:
		return ntohs(e->to.v4.sin_port);
	case AF_INET6:
		return ntohs(e->to.v6.sin6_port);
	default:
		return 0;
	}
}

void endpoint_set_port(struct endpoint *e, uint16_t port)
{
	if (e->to.any.sa_family == AF_INET)
		e->to.v4.sin_port = htons(port);
	else if (e->to.any.sa_family == AF_INET6)
		e->to.v6.sin6_port = htons(port);
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	if (a->to.any.sa_family != b->to.any.sa_family || endpoint_port(a) != endpoint_port(b))
		return false;
	switch (a->to.any.sa_family) {
	case AF_INET:
		return a->to.v4.sin_addr.s_addr == b->to.v4.sin_addr.s_addr;
	case AF_INET6:
		return memcmp(&a->to.v6.sin6_addr, &b->to.v6.sin6_addr, sizeof a->to.v6.sin6_addr) == 0 &&
		       a->to.v6.sin6_scope_id == b->to.v6.sin6_scope_id;
	default:
		return a->length == b->length && memcmp(&a->to.un, &b->to.un, a->length) == 0;
	}
}

void endpoint_format(const struct endpoint *e, char to[ENDPOINT_TEXT_BYTES])
{
	char ip[INET6_ADDRSTRLEN] = "?";
	switch (e->to.any.sa_family) {
	case AF_UNIX:
		snprintf(to, ENDPOINT_TEXT_BYTES, "unix:%.*s", (int)sizeof e->to.un.sun_path, e->to.un.sun_path);
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &e->to.v6.sin6_addr, ip, sizeof ip);
		snprintf(to, ENDPOINT_TEXT_BYTES, "[%s]:%u", ip, ntohs(e->to.v6.sin6_port));
		break;
	default:
		inet_ntop(AF_INET, &e->to.v4.sin_addr, ip, sizeof ip);
		snprintf(to, ENDPOINT_TEXT_BYTES, "%s:%u", ip, ntohs(e->to.v4.sin_port));
	}
}
