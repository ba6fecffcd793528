/*
 * Normalising and decoding of paths. Output never grows, so the caller's buffer of the
 * input's length is enough. Splitting of queries is here too; authorities are in authority.c.
 */
#include "http/uri.h"
#include "http/byte.h"

struct path_writer {
	char *start, *at;
	char *segment; /* first byte of the segment being written */
};

static char upper_hex(char digit)
{
	return digit >= 'a' ? (char)(digit - 0x20) : digit;
}

/* Ends the segment, "." and ".." by going back. false: above the root. */
static bool segment_end(struct path_writer *w)
{
	size_t length = (size_t)(w->at - w->segment);
	if (length == 1 && w->segment[0] == '.')
		w->at = w->segment;
	if (length == 2 && w->segment[0] == '.' && w->segment[1] == '.') {
		if (w->segment - w->start < 2)
			return false;
		w->at = w->segment - 1;
		while (w->at[-1] != '/')
			w->at--;
		w->segment = w->at;
	}
	return true;
}

/* Copies one segment up to '/' or the end. false: a byte or an escape that may not be. */
static bool segment_copy(struct path_writer *w, const char **at, const char *end)
{
	const char *from = *at;
	for (; from < end && *from != '/'; from++) {
		char byte = *from;
		if (byte != '%') {
			if (byte == '?' || byte == '\\' || !byte_is(byte, BYTE_TARGET))
				return false;
			*w->at++ = byte;
			continue;
		}
		if (!byte_read_escape(from, end, &byte) || byte == 0)
			return false;
		if (byte_is(byte, BYTE_UNRESERVED)) {
			*w->at++ = byte;
		} else {
			*w->at++ = '%';
			*w->at++ = upper_hex(from[1]);
			*w->at++ = upper_hex(from[2]);
		}
		from += 2;
	}
	*at = from;
	return true;
}

/* What some take for the border of a segment, or of its name: an escaped slash or backslash, or a parameter. */
static size_t border_length(const char *at, const char *end)
{
	if (at < end && (*at == '/' || *at == ';'))
		return 1;
	bool is_escape = end - at >= 3 && (memcmp(at, "%2F", 3) == 0 || memcmp(at, "%5C", 3) == 0);
	return is_escape ? 3 : 0;
}

/* Whether a path that is normal else has a ".." that an upstream which unescapes once more, or cuts "..;x" at its
 * parameter, would follow to where another route decides. */
static bool has_hidden_dots(struct slice path)
{
	const char *at = path.data, *end = at + path.length;
	while ((at = memmem(at, (size_t)(end - at), "..", 2))) {
		bool begins = at[-1] == '/' || (at - path.data > 3 && border_length(at - 3, at) == 3);
		at += 2;
		if (begins && (at == end || border_length(at, end)))
			return true;
	}
	return false;
}

bool uri_normalise(struct slice path, char *to, size_t *ret_length)
{
	const char *at = path.data, *end = at + path.length;
	if (path.length == 0 || *at != '/')
		return false;
	struct path_writer w = {.start = to, .at = to};
	*w.at++ = '/';
	for (;;) {
		while (at < end && *at == '/')
			at++;
		w.segment = w.at;
		if (!segment_copy(&w, &at, end) || !segment_end(&w))
			return false;
		if (at == end)
			break;
		if (w.at > w.segment)
			*w.at++ = '/';
	}
	size_t length = (size_t)(w.at - w.start);
	if (has_hidden_dots((struct slice){to, length}))
		return false;
	*ret_length = length;
	return true;
}

static bool escape_is_normal(const char *at, const char *end)
{
	char byte;
	return byte_read_escape(at, end, &byte) && byte != 0 && !byte_is(byte, BYTE_UNRESERVED) && at[1] < 'a' &&
	       at[2] < 'a';
}

/* After a '/': whether an empty or a dot segment begins here. The empty one at the end of the path is normal. */
static bool segment_begins_normal(const char *at, const char *end)
{
	if (at < end && *at == '/')
		return false;
	if (at == end || *at != '.')
		return true;
	at += end - at > 1 && at[1] == '.' ? 2 : 1;
	return at < end && *at != '/';
}

bool uri_is_normal(struct slice path)
{
	const char *at = path.data, *end = at + path.length;
	if (path.length == 0 || *at != '/')
		return false;
	while (at < end) {
		if (byte_is(*at, BYTE_PLAIN)) {
			at++;
		} else if (*at == '/') {
			if (!segment_begins_normal(++at, end))
				return false;
		} else if (*at == '%' && escape_is_normal(at, end)) {
			at += 3;
		} else {
			return false;
		}
	}
	return !has_hidden_dots(path);
}

bool uri_decode(struct slice path, char *to, size_t *ret_length)
{
	const char *end = path.data + path.length;
	char *start = to;
	for (const char *at = path.data; at < end; at++) {
		char byte = *at;
		if (byte == '%') {
			if (!byte_read_escape(at, end, &byte) || byte == 0 || byte == '/')
				return false;
			at += 2;
		}
		*to++ = byte;
	}
	*ret_length = (size_t)(to - start);
	return true;
}

bool uri_query_value(struct slice query, struct slice name, struct slice *ret_value)
{
	while (query.length) {
		const char *ampersand = memchr(query.data, '&', query.length);
		size_t length = ampersand ? (size_t)(ampersand - query.data) : query.length;
		if (length > name.length && query.data[name.length] == '=' && slice_starts(query, name)) {
			*ret_value = (struct slice){query.data + name.length + 1, length - name.length - 1};
			return true;
		}
		query = slice_from(query, ampersand ? length + 1 : length);
	}
	return false;
}

bool uri_has_dot_segment(struct slice path)
{
	while (path.length) {
		const char *slash = memchr(path.data, '/', path.length);
		size_t length = slash ? (size_t)(slash - path.data) : path.length;
		if (length > 0 && length <= 2 && path.data[0] == '.' && path.data[length - 1] == '.')
			return true;
		path = slice_from(path, slash ? length + 1 : length);
	}
	return false;
}
