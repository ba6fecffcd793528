#include "http/query.h"
#include "http/byte.h"

bool query_next(struct slice *rest, struct slice *ret_name, struct slice *ret_value)
{
	while (rest->length) {
		const char *ampersand = memchr(rest->data, '&', rest->length);
		size_t length = ampersand ? (size_t)(ampersand - rest->data) : rest->length;
		const char *equals = memchr(rest->data, '=', length);
		size_t name_length = equals ? (size_t)(equals - rest->data) : length;
		struct slice whole = {rest->data, length};
		*rest = slice_from(*rest, ampersand ? length + 1 : length);
		if (length == 0)
			continue;
		*ret_name = (struct slice){whole.data, name_length};
		*ret_value = slice_from(whole, equals ? name_length + 1 : length);
		return true;
	}
	return false;
}

/* The byte that the next one, or the escape that begins there, stands for. */
static char take(const char **at, const char *end)
{
	char byte = **at;
	if (byte == '%' && byte_read_escape(*at, end, &byte))
		*at += 2;
	else if (byte == '+')
		byte = ' ';
	*at += 1;
	return byte;
}

bool query_equals(struct slice raw, struct slice text)
{
	const char *at = raw.data, *end = at + raw.length;
	size_t length = 0;
	while (at < end && length < text.length)
		if (take(&at, end) != text.data[length++])
			return false;
	return at == end && length == text.length;
}

bool query_is_plain(struct slice raw)
{
	return raw.length == 0 || (!memchr(raw.data, '%', raw.length) && !memchr(raw.data, '+', raw.length));
}

size_t query_decode(struct slice raw, char *to)
{
	const char *at = raw.data, *end = at + raw.length;
	size_t length = 0;
	while (at < end)
		to[length++] = take(&at, end);
	return length;
}
