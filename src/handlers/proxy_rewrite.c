/* Location: RFC 9110 10.2.2, RFC 3986 4.2, 4.3. Set-Cookie: as browsers read it, RFC 6265 5.2. */
#include "handlers/proxy_rewrite.h"
#include "base/check.h"
#include "http/byte.h"
#include "http/uri.h"

static char *put(char *to, struct slice s)
{
	if (s.length)
		memcpy(to, s.data, s.length);
	return to + s.length;
}

static bool begins_with(struct slice s, struct slice text)
{
	return s.length >= text.length && slice_equal_nocase((struct slice){s.data, text.length}, text);
}

/* ---- location ---------------------------------------------------------------------------- */

static bool is_uri_text(struct slice s)
{
	for (size_t i = 0; i < s.length; i++)
		if ((!byte_is(s.data[i], BYTE_TARGET) && s.data[i] != '#') || s.data[i] == '\\')
			return false;
	return true;
}

/* Of "https://", "http://" and "//": which begins it; 0: none. */
static size_t scheme_length(struct slice s)
{
	static const struct slice begins[] = {{"https://", 8}, {"http://", 7}, {"//", 2}};
	for (size_t i = 0; i < ARRAY_COUNT(begins); i++)
		if (begins_with(s, begins[i]))
			return begins[i].length;
	return 0;
}

/* Cuts "http://authority" or "//authority" from *rest, of which the latter has the request's scheme. */
static bool take_origin(
        const struct proxy_view *view, struct slice *rest, struct slice *ret_authority, struct slice *ret_usual_port)
{
	size_t scheme = scheme_length(*rest), length = 0;
	struct slice s = slice_from(*rest, scheme);
	bool secure = scheme > 2 ? scheme == 8 : slice_equal(view->scheme, SLICE("https"));
	if (scheme == 0)
		return false;
	while (length < s.length && s.data[length] != '/' && s.data[length] != '?' && s.data[length] != '#')
		length++;
	*ret_authority = (struct slice){s.data, length};
	*ret_usual_port = secure ? SLICE("443") : SLICE("80");
	*rest = slice_from(s, length);
	return true;
}

size_t proxy_location_room(const struct proxy_view *view, size_t length)
{
	return view->scheme.length + sizeof("://") + view->host.length + view->prefix.length + 1 + length;
}

/* By the name that it was asked under, or by its address. */
static bool is_upstream(const struct proxy_view *view, struct slice authority, struct slice usual_port)
{
	return uri_authorities_equal(authority, view->sent_host, usual_port) ||
	       uri_authorities_equal(authority, view->server, usual_port);
}

size_t proxy_location_write(const struct proxy_view *view, struct slice value, char *start)
{
	struct slice authority, usual_port, path = value;
	char *to = start;
	if (value.length == 0 || !is_uri_text(value))
		return 0;
	if (take_origin(view, &path, &authority, &usual_port)) {
		if (view->host.length == 0 || !is_upstream(view, authority, usual_port))
			return 0;
		to = value.data[0] == '/' ? put(to, SLICE("//")) : put(put(to, view->scheme), SLICE("://"));
		to = put(to, view->host);
	} else if (value.data[0] != '/' || view->prefix.length == 0) {
		return 0; /* relative to the request, or as it should be */
	}
	to = put(to, view->prefix);
	if (path.length == 0 || path.data[0] != '/')
		*to++ = '/';
	return (size_t)(put(to, path) - start);
}

/* ---- cookie ------------------------------------------------------------------------------- */

/* Cuts the next part up to ';' from *rest. false: there is none. */
static bool next_part(struct slice *rest, struct slice *ret_part)
{
	if (!rest->data)
		return false;
	const char *end = rest->length ? memchr(rest->data, ';', rest->length) : NULL;
	*ret_part = (struct slice){rest->data, end ? (size_t)(end - rest->data) : rest->length};
	*rest = end ? slice_from(*rest, ret_part->length + 1) : SLICE_NONE;
	return true;
}

/* A Path attribute that is a path; *ret_at: where it begins within the part. */
static bool has_path(struct slice part, size_t *ret_at)
{
	const char *sign = part.length ? memchr(part.data, '=', part.length) : NULL;
	if (!sign)
		return false;
	struct slice name = slice_trim((struct slice){part.data, (size_t)(sign - part.data)});
	struct slice path = slice_trim(slice_from(part, (size_t)(sign - part.data) + 1));
	*ret_at = path.length ? (size_t)(path.data - part.data) : 0;
	return slice_equal_nocase(name, SLICE("path")) && path.length && path.data[0] == '/';
}

size_t proxy_cookie_room(const struct proxy_view *view, struct slice value)
{
	struct slice rest = value, part;
	size_t room = value.length, at;
	while (next_part(&rest, &part))
		room += has_path(part, &at) ? view->prefix.length : 0;
	return room;
}

size_t proxy_cookie_write(const struct proxy_view *view, struct slice value, char *start)
{
	struct slice rest = value, part;
	char *to = start;
	size_t at;
	/* Browsers take a cookie of this name only with Path=/ (RFC 6265bis 4.1.3.2). */
	if (view->prefix.length == 0 || begins_with(value, SLICE("__Host-")) || !next_part(&rest, &part))
		return 0;
	to = put(to, part);
	while (next_part(&rest, &part)) {
		*to++ = ';';
		if (has_path(part, &at)) {
			to = put(put(to, (struct slice){part.data, at}), view->prefix);
			part = slice_from(part, at);
		}
		to = put(to, part);
	}
	size_t length = (size_t)(to - start);
	return length == value.length ? 0 : length;
}
