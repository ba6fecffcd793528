/*
 * Trailers on their way through the proxy. Those that a receiver could take for something
 * that had to stand in the head stay behind (RFC 9110 6.5.1): framing, routing, who asks,
 * modifiers of the request, control of the answer, how the content is to be read.
 *
 * The announcement in Trailer stays behind too, as ever: it is a hint (RFC 9110 6.6.2), made before anybody knows which
 * will pass.
 */
#include "base/check.h"
#include "handlers/proxy_fields.h"

static const struct slice refused[] = {
#define NAME(text)                                                                                                     \
	{                                                                                                              \
		text, sizeof(text) - 1                                                                                 \
	}
        NAME("age"),
        NAME("authorization"),
        NAME("cache-control"),
        NAME("connection"),
        NAME("content-encoding"),
        NAME("content-length"),
        NAME("content-location"),
        NAME("content-range"),
        NAME("content-type"),
        NAME("cookie"),
        NAME("date"),
        NAME("expect"),
        NAME("expires"),
        NAME("forwarded"),
        NAME("host"),
        NAME("http2-settings"),
        NAME("keep-alive"),
        NAME("location"),
        NAME("max-forwards"),
        NAME("pragma"),
        NAME("range"),
        NAME("retry-after"),
        NAME("server"),
        NAME("set-cookie"),
        NAME("te"),
        NAME("trailer"),
        NAME("transfer-encoding"),
        NAME("upgrade"),
        NAME("vary"),
        NAME("via"),
        NAME("warning"),
        NAME("www-authenticate"),
        NAME("x-real-ip"),
};

static const struct slice refused_families[] = {NAME("if-"), NAME("proxy-"), NAME("x-forwarded")};

static bool may_pass(struct slice name, const struct fields *head)
{
	for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
		if (name.length == refused[i].length && proxy_name_begins(name, refused[i]))
			return false;
	for (size_t i = 0; i < ARRAY_COUNT(refused_families); i++)
		if (proxy_name_begins(name, refused_families[i]))
			return false;
	return !head || !fields_have_member(head, FIELD_CONNECTION, name);
}

size_t proxy_trailers_write(struct slice lines, const struct fields *head, char *to)
{
	size_t written = 0;
	while (lines.length) {
		/* The decoder has seen to it that each line has both. */
		const char *colon = memchr(lines.data, ':', lines.length), *end = memchr(colon, '\n', lines.length);
		struct slice line = {lines.data, (size_t)(end - lines.data) + 1},
		             name = {lines.data, (size_t)(colon - lines.data)};
		lines = slice_from(lines, line.length);
		if (!may_pass(name, head))
			continue;
		memmove(to + written, line.data, line.length);
		written += line.length;
	}
	return written;
}
