/* Hosts of routes. Nothing is resolved, and addresses are compared as they are written. */
#include "serve/route_host.h"
#include "http/byte.h"
#include "http/uri.h"

static bool ends_with_dot(struct slice s)
{
	return s.length && s.data[s.length - 1] == '.';
}

/* Fewer bytes than RFC 3986 lets a registered name have: what else it may hold (commas, escapes) is a slip here. */
static bool is_label_byte(char c)
{
	return byte_is(c, BYTE_UNRESERVED) && c != '.' && c != '~';
}

static bool is_name(struct slice s)
{
	bool in_label = false;
	for (size_t i = 0; i < s.length; i++) {
		if (s.data[i] != '.' && !is_label_byte(s.data[i]))
			return false;
		if (s.data[i] == '.' && !in_label)
			return false;
		in_label = s.data[i] != '.';
	}
	return in_label;
}

static bool read_literal(struct slice text, struct route_host *ret_host)
{
	struct slice host, port;
	if (!uri_split_authority(text, &host, &port) || text.data[text.length - 1] != ']')
		return false;
	*ret_host = (struct route_host){.name = host};
	return true;
}

bool route_host_read(struct slice text, struct route_host *ret_host)
{
	if (text.length && text.data[0] == '[')
		return read_literal(text, ret_host);
	bool wildcard = slice_starts(text, SLICE("*."));
	struct slice name = slice_from(text, wildcard ? 2 : 0);
	if (ends_with_dot(name))
		name.length--;
	if (!is_name(name))
		return false;
	*ret_host = (struct route_host){name, wildcard};
	return true;
}

struct slice route_host_asked(struct slice host)
{
	if (ends_with_dot(host))
		host.length--;
	return host;
}

bool route_host_matches(const struct route_host *h, struct slice asked)
{
	if (!h->wildcard)
		return slice_equal_nocase(h->name, asked);
	/* "*.example.com" covers every name below, not example.com itself. */
	if (asked.length < h->name.length + 2)
		return false;
	size_t dot = asked.length - h->name.length - 1;
	return asked.data[dot] == '.' && slice_equal_nocase(h->name, slice_from(asked, dot + 1));
}

bool route_host_equal(const struct route_host *a, const struct route_host *b)
{
	return a->wildcard == b->wildcard && slice_equal_nocase(a->name, b->name);
}
