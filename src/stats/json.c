/* Every byte goes through put(), which alone knows the room. */
#include "stats/json.h"
#include "base/check.h"
#include <math.h>
#include <stdio.h>

void json_init(struct json *j, char *to, size_t room)
{
	*j = (struct json){.to = to, .room = room};
}

bool json_is_whole(const struct json *j)
{
	return !j->overflowed && j->depth == 0;
}

static void put(struct json *j, const char *bytes, size_t length)
{
	if (j->overflowed || length > j->room - j->length) {
		j->overflowed = true;
		return;
	}
	memcpy(j->to + j->length, bytes, length);
	j->length += length;
}

/* ---- text --------------------------------------------------------------------------- */

/* Length of the well-formed UTF-8 sequence at `at` (Unicode 3.9, table 3-7); 0: there is none. */
static size_t sequence_length(const unsigned char *at, size_t left)
{
	unsigned char lead = at[0], low = 0x80, high = 0xbf;
	size_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : 4;
	if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4 || length > left))
		return 0;
	if (lead == 0xe0)
		low = 0xa0; /* overlong */
	else if (lead == 0xed)
		high = 0x9f; /* surrogates */
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f; /* beyond U+10FFFF */
	for (size_t i = 1; i < length; i++, low = 0x80, high = 0xbf)
		if (at[i] < low || at[i] > high)
			return 0;
	return length;
}

static void put_escape(struct json *j, unsigned char c)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *found = c ? strchr(plain, c) : NULL;
	char text[8];
	if (found)
		put(j, (char[]){'\\', letters[found - plain]}, 2);
	else
		put(j, text, (size_t)snprintf(text, sizeof text, "\\u%04x", c));
}

static void put_quoted(struct json *j, struct slice s)
{
	put(j, "\"", 1);
	for (size_t i = 0; i < s.length;) {
		const unsigned char *at = (const unsigned char *)s.data + i;
		size_t length = sequence_length(at, s.length - i);
		if (length == 0)
			put(j, "\\ufffd", 6);
		else if (*at < 0x20 || *at == '"' || *at == '\\')
			put_escape(j, *at);
		else
			put(j, s.data + i, length);
		i += length ? length : 1;
	}
	put(j, "\"", 1);
}

/* ---- structure ------------------------------------------------------------------------ */

static void begin_value_of(struct json *j, struct slice key)
{
	if (j->needs_comma)
		put(j, ",", 1);
	j->needs_comma = true;
	if (!key.data)
		return;
	put_quoted(j, key);
	put(j, ":", 1);
}

static void begin_value(struct json *j, const char *key)
{
	begin_value_of(j, slice_of(key));
}

static void open(struct json *j, const char *opener, char closer)
{
	MUST(j->depth < JSON_DEPTH);
	put(j, opener, 1);
	j->closers[j->depth++] = closer;
	j->needs_comma = false;
}

void json_object(struct json *j, const char *key)
{
	begin_value(j, key);
	open(j, "{", '}');
}

void json_array(struct json *j, const char *key)
{
	begin_value(j, key);
	open(j, "[", ']');
}

void json_array_named(struct json *j, struct slice key)
{
	begin_value_of(j, key);
	open(j, "[", ']');
}

void json_end(struct json *j)
{
	MUST(j->depth > 0);
	put(j, &j->closers[--j->depth], 1);
	j->needs_comma = true;
}

/* ---- values ----------------------------------------------------------------------------- */

void json_text(struct json *j, const char *key, struct slice text)
{
	begin_value(j, key);
	put_quoted(j, text);
}

void json_integer(struct json *j, const char *key, int64_t number)
{
	char text[24];
	begin_value(j, key);
	put(j, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)number));
}

void json_real(struct json *j, const char *key, double number, unsigned decimals)
{
	char text[48];
	int64_t scale = 1;
	MUST(decimals <= 6);
	for (unsigned i = 0; i < decimals; i++)
		scale *= 10;
	begin_value(j, key);
	if (!isfinite(number) || fabs(number) >= 1e12) {
		put(j, "null", 4);
		return;
	}
	/* By integers, since printf would write the decimal comma of a locale. */
	int64_t scaled = llround(fabs(number) * (double)scale);
	int length = snprintf(text, sizeof text, "%s%lld.%0*lld", number < 0 && scaled ? "-" : "",
	        (long long)(scaled / scale), (int)(decimals ? decimals : 1), (long long)(scaled % scale));
	while (text[length - 1] == '0' && text[length - 2] != '.')
		length--;
	put(j, text, (size_t)length);
}

void json_bool(struct json *j, const char *key, bool value)
{
	begin_value(j, key);
	put(j, value ? "true" : "false", value ? 4 : 5);
}

void json_null(struct json *j, const char *key)
{
	begin_value(j, key);
	put(j, "null", 4);
}
