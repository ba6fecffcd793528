/* Names and values are compared as they stand, without a decoded copy. */
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

/* Cuts the next byte, or the escape that begins there: what it stands for. */
static char take(struct slice *rest)
{
	char byte = rest->data[0];
	size_t length = 1;
	if (byte == '%' && byte_read_escape(rest->data, rest->data + rest->length, &byte))
		length = 3;
	else if (byte == '+')
		byte = ' ';
	*rest = slice_from(*rest, length);
	return byte;
}

bool query_equals(struct slice raw, struct slice text)
{
	size_t length = 0;
	while (raw.length && length < text.length)
		if (take(&raw) != text.data[length++])
			return false;
	return raw.length == 0 && length == text.length;
}

bool query_is_plain(struct slice raw)
{
	return raw.length == 0 || (!memchr(raw.data, '%', raw.length) && !memchr(raw.data, '+', raw.length));
}

size_t query_decode(struct slice raw, char *to)
{
	size_t length = 0;
	while (raw.length)
		to[length++] = take(&raw);
	return length;
}
