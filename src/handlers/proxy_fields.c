/* Lines that are kept go on as they came, in runs: what they hold was checked when they were parsed. */
#include "handlers/proxy_fields.h"
#include "base/check.h"
#include "http/byte.h"
#include <inttypes.h>
#include <stdio.h>

#define BIT(id) (UINT32_C(1) << FIELD_##id)

enum { NOMINATED_MEMBERS = 64, FIXED_BYTES = 512 };

/* Of one hop, or written anew by us. */
static const uint32_t request_dropped = BIT(HOST) | BIT(CONNECTION) | BIT(CONTENT_LENGTH) | BIT(TRANSFER_ENCODING) |
                                        BIT(EXPECT) | BIT(UPGRADE) | BIT(KEEP_ALIVE) | BIT(PROXY_CONNECTION) | BIT(TE) |
                                        BIT(TRAILER) | BIT(FORWARDED) | BIT(X_FORWARDED_FOR) | BIT(X_FORWARDED_PROTO) |
                                        BIT(X_FORWARDED_HOST) | BIT(VIA);
static const uint32_t answer_dropped = BIT(CONNECTION) | BIT(CONTENT_LENGTH) | BIT(TRANSFER_ENCODING) | BIT(UPGRADE) |
                                       BIT(KEEP_ALIVE) | BIT(PROXY_CONNECTION) | BIT(TE) | BIT(TRAILER) | BIT(DATE) |
                                       BIT(SERVER) | BIT(PROXY_AUTHENTICATE);

/* ---- fields named by Connection ---------------------------------------------------------- */

bool proxy_nominates(const struct fields *fields)
{
	static const struct slice harmless[] = {{"keep-alive", 10}, {"close", 5}};
	struct slice value;
	if (!fields_find(fields, FIELD_CONNECTION, &value))
		return false;
	for (size_t i = 0; i < ARRAY_COUNT(harmless); i++)
		if (slice_equal_nocase(value, harmless[i]))
			return false;
	return true;
}

static size_t count_nominations(const struct fields *fields)
{
	struct slice member;
	size_t count = 0;
	for (size_t i = 0; i < fields->count; i++) {
		struct slice list = fields->items[i].value;
		while (fields->items[i].id == FIELD_CONNECTION && slice_next_member(&list, &member))
			count++;
	}
	return count;
}

static bool is_nominated(const struct fields *fields, const struct field *f)
{
	return fields_have_member(fields, FIELD_CONNECTION, f->name);
}

/* ---- runs of lines ----------------------------------------------------------------------- */

static const char *field_end(const struct field *f)
{
	return f->value.length ? f->value.data + f->value.length : f->name.data + f->name.length + 1;
}

/* Copies the lines of fields [first, last] as they stand, which may be in the same memory further on. */
static char *put_run(char *to, const struct field *first, const struct field *last)
{
	size_t length = (size_t)(field_end(last) - first->name.data);
	memmove(to, first->name.data, length);
	memcpy(to + length, "\r\n", 2);
	return to + length + 2;
}

/* Copies the lines of all fields for which `is_kept` says so. */
static char *put_kept(char *to, const struct fields *fields, bool (*is_kept)(const struct field *, const void *),
        const void *argument)
{
	const struct field *first = NULL, *end = fields->items + fields->count;
	for (const struct field *f = fields->items; f < end; f++) {
		bool kept = is_kept(f, argument);
		if (kept && !first)
			first = f;
		if (!kept && first) {
			to = put_run(to, first, f - 1);
			first = NULL;
		}
	}
	return first ? put_run(to, first, end - 1) : to;
}

/* ---- request ------------------------------------------------------------------------------- */

static char *put(char *to, struct slice s)
{
	if (s.length)
		memcpy(to, s.data, s.length);
	return to + s.length;
}

static char *put_line(char *to, struct slice name_and_colon, struct slice value)
{
	return put(put(put(to, name_and_colon), value), SLICE("\r\n"));
}

bool proxy_name_begins(struct slice name, struct slice text)
{
	for (size_t i = 0; i < text.length; i++) {
		char c = i < name.length ? byte_lower(name.data[i]) : 0;
		if ((c == '_' ? '-' : c) != text.data[i])
			return false;
	}
	return true;
}

/* Other fields in which proxies speak of the client, such as X-Forwarded-Port. CGI and what came after it (WSGI, Rack,
 * PHP) write `-` as `_` (RFC 3875 4.1.18), so that X_Forwarded_For of a client is one with our X-Forwarded-For there.
 */
static bool speaks_of_client(struct slice name)
{
	struct slice family = SLICE("x-forwarded");
	if (!proxy_name_begins(name, family))
		return false;
	return name.length == family.length || name.data[family.length] == '-' || name.data[family.length] == '_';
}

/* Goes with h2c, which is never asked for (RFC 9113 3.1). */
static bool is_http2_settings(const struct field *f)
{
	return f->id == FIELD_OTHER && slice_equal_nocase(f->name, SLICE("http2-settings"));
}

struct request_filter {
	const struct proxy_request *request;
	bool has_nominations;
};

static bool is_kept_of_request(const struct field *f, const void *argument)
{
	const struct request_filter *filter = argument;
	const struct proxy_request *r = filter->request;
	if (request_dropped & UINT32_C(1) << f->id || is_http2_settings(f))
		return false;
	if (f->id == FIELD_OTHER && !r->peer_is_trusted && speaks_of_client(f->name))
		return false;
	return !filter->has_nominations || !is_nominated(&r->head->fields, f);
}

/* The field's earlier values, if we believe them, as the begin of one list. */
static char *put_earlier(char *to, const struct proxy_request *r, enum field_id id)
{
	const struct fields *fields = &r->head->fields;
	if (!(fields->seen & UINT32_C(1) << id))
		return to;
	for (size_t i = 0; i < fields->count; i++)
		if (fields->items[i].id == id && fields->items[i].value.length)
			to = put(put(to, fields->items[i].value), SLICE(", "));
	return to;
}

static bool is_token_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
	       c == '_';
}

/* A value that is no token stands in quotes (RFC 7239 4). */
static char *put_quoted(char *to, struct slice value)
{
	bool is_token = value.length > 0;
	for (size_t i = 0; i < value.length; i++)
		is_token = is_token && is_token_byte(value.data[i]);
	if (is_token)
		return put(to, value);
	*to++ = '"';
	for (size_t i = 0; i < value.length; i++)
		if (value.data[i] != '"' && value.data[i] != '\\')
			*to++ = value.data[i];
	*to++ = '"';
	return to;
}

/* An IPv6 address stands in brackets, with its port (RFC 7239 6). */
static char *put_node(char *to, const struct address *peer, struct slice text)
{
	if (peer->family == AF_INET6)
		return to + sprintf(to, "\"[%.*s]:%" PRIu16 "\"", SLICE_ARGS(text), peer->port);
	return put(to, peer->family == AF_INET ? text : SLICE("unknown"));
}

static char *put_forwarded(char *to, const struct proxy_request *r, struct slice peer)
{
	to = put(to, SLICE("Forwarded: "));
	if (r->peer_is_trusted)
		to = put_earlier(to, r, FIELD_FORWARDED);
	to = put_node(put(to, SLICE("for=")), r->peer, peer);
	if (r->head->host.length)
		to = put_quoted(put(to, SLICE(";host=")), r->head->host);
	return put(to, r->is_secure ? SLICE(";proto=https\r\n") : SLICE(";proto=http\r\n"));
}

/* A value that a trusted proxy gave stays; the first one, if it gave several. */
static char *put_unless_given(
        char *to, const struct proxy_request *r, enum field_id id, struct slice name_and_colon, struct slice value)
{
	if (r->peer_is_trusted)
		fields_find(&r->head->fields, id, &value);
	return value.length ? put_line(to, name_and_colon, value) : to;
}

static char *put_who(char *to, const struct proxy_request *r)
{
	char text[ADDRESS_TEXT_BYTES];
	struct slice peer = {text, address_format(r->peer, text)};
	if (r->peer->family != AF_INET && r->peer->family != AF_INET6)
		peer = SLICE("unknown");
	to = put(to, SLICE("X-Forwarded-For: "));
	if (r->peer_is_trusted)
		to = put_earlier(to, r, FIELD_X_FORWARDED_FOR);
	to = put(put(to, peer), SLICE("\r\n"));
	to = put_unless_given(to, r, FIELD_X_FORWARDED_PROTO, SLICE("X-Forwarded-Proto: "),
	        r->is_secure ? SLICE("https") : SLICE("http"));
	to = put_unless_given(to, r, FIELD_X_FORWARDED_HOST, SLICE("X-Forwarded-Host: "), r->head->host);
	to = put_forwarded(to, r, peer);
	to = put(to, SLICE("Via: "));
	to = put_earlier(to, r, FIELD_VIA);
	to = put(to, r->head->minor ? SLICE("1.1 ") : SLICE("1.0 "));
	return put(put(to, r->instance), SLICE("\r\n"));
}

static char *put_framing(char *to, const struct proxy_request *r)
{
	if (r->body_length == LENGTH_UNKNOWN)
		to = put(to, SLICE("Transfer-Encoding: chunked\r\n"));
	else if (r->head->body_length != LENGTH_NONE || r->head->fields.seen & BIT(CONTENT_LENGTH))
		to += sprintf(to, "Content-Length: %" PRId64 "\r\n", r->body_length);
	if (r->upgrade.length)
		return put_line(put(to, SLICE("Connection: Upgrade\r\n")), SLICE("Upgrade: "), r->upgrade);
	return r->closes ? put(to, SLICE("Connection: close\r\n")) : to;
}

bool proxy_request_loops(const struct proxy_request *r)
{
	const struct fields *fields = &r->head->fields;
	if (!(fields->seen & BIT(VIA)))
		return false;
	for (size_t i = 0; i < fields->count; i++) {
		struct slice via = fields->items[i].value;
		if (fields->items[i].id == FIELD_VIA &&
		        memmem(via.data, via.length, r->instance.data, r->instance.length))
			return true;
	}
	return false;
}

bool proxy_request_is_absurd(const struct proxy_request *r)
{
	return proxy_nominates(&r->head->fields) && count_nominations(&r->head->fields) > NOMINATED_MEMBERS;
}

size_t proxy_request_room(const struct proxy_request *r)
{
	const struct request_head *head = r->head;
	const char *end = head->target.data + head->target.length;
	if (head->fields.count)
		end = field_end(&head->fields.items[head->fields.count - 1]);
	size_t received = (size_t)(end - head->method_text.data);
	/* Each line that we write has its name and value among those received, or in the fixed part. */
	return received + r->path.length + head->query.length + r->host.length + 2 * head->host.length +
	       r->instance.length + FIXED_BYTES;
}

size_t proxy_request_write(const struct proxy_request *r, char *start)
{
	struct request_filter filter = {r, proxy_nominates(&r->head->fields)};
	char *to = put(put(start, r->head->method_text), SLICE(" "));
	to = put(to, r->path);
	if (r->head->query.data)
		to = put(put(to, SLICE("?")), r->head->query);
	to = put_line(put(to, SLICE(" HTTP/1.1\r\n")), SLICE("Host: "), r->host);
	to = put_kept(to, &r->head->fields, is_kept_of_request, &filter);
	to = put_framing(put_who(to, r), r);
	return (size_t)(put(to, SLICE("\r\n")) - start);
}

/* ---- answer --------------------------------------------------------------------------------- */

static bool is_kept_of_answer(const struct field *f, const void *argument)
{
	(void)argument;
	return !(answer_dropped & UINT32_C(1) << f->id);
}

/* Moving lines together overwrites Connection, so all that it names is found before. */
static void mark_nominated(struct fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		if (fields->items[i].id == FIELD_OTHER && is_nominated(fields, &fields->items[i]))
			proxy_answer_drop(&fields->items[i]);
}

struct slice proxy_answer_lines(struct response_head *head)
{
	if (head->fields.count == 0)
		return SLICE_NONE;
	if (proxy_nominates(&head->fields) && count_nominations(&head->fields) <= NOMINATED_MEMBERS)
		mark_nominated(&head->fields);
	/* The bytes are the parser's input, which its owner lets us change. */
	char *start = (char *)(uintptr_t)head->fields.items[0].name.data;
	char *end = put_kept(start, &head->fields, is_kept_of_answer, NULL);
	return (struct slice){start, (size_t)(end - start)};
}
