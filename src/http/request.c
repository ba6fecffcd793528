/* Requests: the forms of the target, Host, Expect (RFC 9112 3.2, RFC 9110 7.2, 10.1.1). */
#include "base/check.h"
#include "http/collect.h"
#include "http/framing.h"
#include "http/parser.h"
#include "http/refusal.h"
#include "http/status.h"
#include "http/uri.h"

static bool scheme_is(struct slice target, struct slice scheme)
{
	return target.length > scheme.length && slice_equal_nocase((struct slice){target.data, scheme.length}, scheme);
}

static void split_path(struct request_head *head, struct slice rest)
{
	const char *mark = rest.length ? memchr(rest.data, '?', rest.length) : NULL;
	head->path = rest;
	head->query = SLICE_NONE;
	if (!mark)
		return;
	head->path.length = (size_t)(mark - rest.data);
	head->query = slice_from(rest, head->path.length + 1);
}

/* "http://authority/path?query" */
static bool read_absolute_target(struct request_head *head, struct refusal *refusal)
{
	struct slice target = head->target, host, port, usual_port = SLICE("80");
	if (scheme_is(target, SLICE("http://"))) {
		target = slice_from(target, sizeof("http://") - 1);
	} else if (scheme_is(target, SLICE("https://"))) {
		target = slice_from(target, sizeof("https://") - 1);
		usual_port = SLICE("443");
	} else {
		return refuse(refusal, 400, "target is neither a path nor an http or https URI");
	}
	size_t length = 0;
	while (length < target.length && target.data[length] != '/' && target.data[length] != '?')
		length++;
	struct slice authority = {target.data, length};
	if (!uri_split_authority(authority, &host, &port))
		return refuse(refusal, 400, "malformed authority in the target");
	if (head->host.length && !uri_authorities_equal(authority, head->host, usual_port))
		return refuse(refusal, 400, "Host differs from the authority in the target");
	head->host = authority;
	head->has_absolute_target = true;
	split_path(head, slice_from(target, length));
	if (head->path.length == 0) /* RFC 9110 4.2.3; RFC 9112 3.2.4 */
		head->path = head->method == METHOD_OPTIONS && !head->query.data ? SLICE("*") : SLICE("/");
	return true;
}

static bool read_target(struct request_head *head, struct refusal *refusal)
{
	struct slice host, port;
	if (head->method == METHOD_CONNECT) {
		if (!uri_split_authority(head->target, &host, &port) || port.length == 0)
			return refuse(refusal, 400, "target of CONNECT is not host:port");
		head->path = (struct slice){head->target.data + head->target.length, 0};
		head->query = SLICE_NONE;
		return true;
	}
	if (head->target.data[0] == '/') {
		split_path(head, head->target);
		return true;
	}
	if (!slice_equal(head->target, SLICE("*")))
		return read_absolute_target(head, refusal);
	split_path(head, head->target);
	return head->method == METHOD_OPTIONS || refuse(refusal, 400, "target * with a method other than OPTIONS");
}

static bool read_host(struct request_head *head, uint32_t repeated, struct refusal *refusal)
{
	struct slice host, port;
	head->host = (struct slice){"", 0};
	if (repeated & 1u << FIELD_HOST)
		return refuse(refusal, 400, "more than one Host");
	if (!fields_find(&head->fields, FIELD_HOST, &head->host))
		return head->minor == 0 || refuse(refusal, 400, "no Host");
	return uri_split_authority(head->host, &host, &port) || refuse(refusal, 400, "malformed Host");
}

static bool read_framing(struct request_head *head, uint32_t repeated, struct refusal *refusal)
{
	struct framing framing;
	if (!framing_read(&head->fields, repeated, head->minor, &framing, refusal))
		return false;
	head->body_length = framing.is_chunked ? LENGTH_UNKNOWN : framing.has_length ? framing.length : LENGTH_NONE;
	return true;
}

/* HTTP/1.0 knows no expectations: ignored there (RFC 9110 10.1.1). */
static bool read_expectations(struct request_head *head, struct refusal *refusal)
{
	head->expects_continue = false;
	if (head->minor == 0 || !(head->fields.seen & 1u << FIELD_EXPECT))
		return true;
	for (size_t i = 0; i < head->fields.count; i++) {
		struct slice list = head->fields.items[i].value, member;
		while (head->fields.items[i].id == FIELD_EXPECT && slice_next_member(&list, &member))
			if (!slice_equal_nocase(member, SLICE("100-continue")))
				return refuse(refusal, 417, "unknown expectation");
	}
	head->expects_continue = head->body_length != LENGTH_NONE;
	return true;
}

static bool read_all(struct request_head *head, uint32_t repeated, struct refusal *refusal)
{
	const struct fields *fields = &head->fields;
	head->has_absolute_target = false;
	if (!read_host(head, repeated, refusal) || !read_target(head, refusal) ||
	        !read_framing(head, repeated, refusal) || !read_expectations(head, refusal))
		return false;
	head->keep_alive = framing_keeps_alive(fields, head->minor);
	head->upgrades = head->minor > 0 && fields->seen & 1u << FIELD_UPGRADE &&
	                 fields_have_member(fields, FIELD_CONNECTION, SLICE("upgrade"));
	return true;
}

bool request_parse(
        struct request_head *head, const char *bytes, size_t length, unsigned *ret_status, const char **ret_reason)
{
	struct refusal refusal;
	struct collected collected;
	struct slice all = {bytes, length};
	while (all.length && (all.data[0] == '\r' || all.data[0] == '\n'))
		all = slice_from(all, 1);
	const char *line_end = memchr(all.data, '\r', all.length);
	MUST(line_end && line_end - all.data > (ptrdiff_t)sizeof("HTTP/1.1"));
	size_t minor_at = (size_t)(line_end - all.data) - 1;
	head->minor = all.data[minor_at] == '0' ? 0 : 1;
	if (collect_request(all, minor_at, &head->fields, &collected, &refusal)) {
		head->target = collected.target;
		head->method_text = (struct slice){all.data, (size_t)(collected.target.data - all.data) - 1};
		head->method = method_of(head->method_text);
		if (read_all(head, collected.repeated, &refusal))
			return true;
	}
	*ret_status = refusal.status;
	*ret_reason = refusal.reason;
	return false;
}
