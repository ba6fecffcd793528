/* Splitting of authorities (RFC 3986 3.2): a host and a port, never userinfo. */
#include "http/byte.h"
#include "http/uri.h"
#include <arpa/inet.h>

enum { PORT_DIGITS = 5, PORT_LAST = 65535 };

/* What follows the host: nothing, or ':' and a port, which may be empty (RFC 3986 3.2.3). */
static bool take_port(struct slice rest, struct slice *ret_port)
{
	unsigned number = 0;
	if (rest.length == 0) {
		*ret_port = rest;
		return true;
	}
	if (rest.data[0] != ':' || rest.length > 1 + PORT_DIGITS)
		return false;
	for (size_t i = 1; i < rest.length; i++) {
		if (!byte_is(rest.data[i], BYTE_DIGIT))
			return false;
		number = number * 10 + (unsigned)(rest.data[i] - '0');
	}
	*ret_port = slice_from(rest, 1);
	return number <= PORT_LAST;
}

/* "v1.something" (RFC 3986 IPvFuture). */
static bool is_future_address(struct slice s)
{
	const char *end = s.data + s.length;
	if (s.length < 4 || (s.data[0] | 0x20) != 'v')
		return false;
	const char *at = s.data + 1;
	size_t version = byte_run(at, end, BYTE_HEX);
	at += version;
	if (version == 0 || at == end || *at != '.' || ++at == end)
		return false;
	while (at < end && (byte_is(*at, BYTE_NAME) || *at == ':'))
		at++;
	return at == end;
}

static bool is_address_literal(struct slice s)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	if (s.length >= sizeof text || s.length == 0 || memchr(s.data, 0, s.length))
		return false;
	memcpy(text, s.data, s.length);
	text[s.length] = 0;
	return inet_pton(AF_INET6, text, &address) == 1;
}

static bool split_literal(struct slice authority, struct slice *ret_host, struct slice *ret_port)
{
	const char *bracket = memchr(authority.data, ']', authority.length);
	if (!bracket)
		return false;
	struct slice inside = {authority.data + 1, (size_t)(bracket - authority.data) - 1}, port;
	if (!is_address_literal(inside) && !is_future_address(inside))
		return false;
	if (!take_port(slice_from(authority, inside.length + 2), &port))
		return false;
	*ret_host = inside;
	*ret_port = port;
	return true;
}

/* An escape of no control byte. */
static bool is_escape(const char *at, const char *end)
{
	if (end - at < 3 || *at != '%' || !byte_is(at[1], BYTE_HEX) || !byte_is(at[2], BYTE_HEX))
		return false;
	unsigned byte = byte_hex_value(at[1]) << 4 | byte_hex_value(at[2]);
	return byte >= 0x20 && byte != 0x7f;
}

/* Bytes of a registered name or IPv4 address: unreserved, sub-delims and escapes. No comma, though it is a sub-delim:
 * two Host lines that somebody joined to a list have one. */
static size_t name_length(const char *at, const char *end)
{
	const char *start = at;
	while (at < end) {
		if (byte_is(*at, BYTE_NAME) && *at != ',')
			at++;
		else if (is_escape(at, end))
			at += 3;
		else
			break;
	}
	return (size_t)(at - start);
}

bool uri_split_authority(struct slice authority, struct slice *ret_host, struct slice *ret_port)
{
	if (authority.length == 0)
		return false;
	if (authority.data[0] == '[')
		return split_literal(authority, ret_host, ret_port);
	struct slice host = {authority.data, name_length(authority.data, authority.data + authority.length)}, port;
	if (host.length == 0 || !take_port(slice_from(authority, host.length), &port))
		return false;
	*ret_host = host;
	*ret_port = port;
	return true;
}

static bool port_equal(struct slice a, struct slice b, struct slice usual)
{
	return slice_equal(a.length ? a : usual, b.length ? b : usual);
}

bool uri_authorities_equal(struct slice a, struct slice b, struct slice usual_port)
{
	struct slice a_host, a_port, b_host, b_port;
	return uri_split_authority(a, &a_host, &a_port) && uri_split_authority(b, &b_host, &b_port) &&
	       slice_equal_nocase(a_host, b_host) && port_equal(a_port, b_port, usual_port);
}
