/* Which requests and answers change the protocol of a connection (RFC 9110 7.8). */
#include "base/check.h"
#include "handlers/proxy_fields.h"
#include "http/byte.h"

/* The value of the only Upgrade field; empty when there is none or several. */
static struct slice only_upgrade(const struct fields *fields)
{
	struct slice found = SLICE_NONE;
	size_t count = 0;
	for (size_t i = 0; i < fields->count; i++) {
		if (fields->items[i].id != FIELD_UPGRADE)
			continue;
		found = fields->items[i].value;
		count++;
	}
	return count == 1 ? found : SLICE_NONE;
}

/* One protocol, with a version or without; and its name. */
static bool is_protocol(struct slice s, struct slice *ret_name)
{
	const char *slash = s.length ? memchr(s.data, '/', s.length) : NULL;
	*ret_name = (struct slice){s.data, slash ? (size_t)(slash - s.data) : s.length};
	return byte_is_token(*ret_name) && (!slash || byte_is_token(slice_from(s, ret_name->length + 1)));
}

/* Requests inside of these would pass by our routes and rules unseen (TLS: RFC 2817). */
static bool carries_http(struct slice name)
{
	static const struct slice names[] = {{"h2c", 3}, {"h2", 2}, {"h3", 2}, {"http", 4}, {"tls", 3}};
	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (slice_equal_nocase(name, names[i]))
			return true;
	return false;
}

bool proxy_request_upgrades(const struct request_head *head, struct slice *ret_protocol)
{
	struct slice value, name;
	if (!head->upgrades || head->method != METHOD_GET || head->body_length != LENGTH_NONE)
		return false;
	if (fields_find_name(&head->fields, SLICE("http2-settings"), &value))
		return false;
	value = only_upgrade(&head->fields);
	if (!is_protocol(value, &name) || carries_http(name))
		return false;
	*ret_protocol = value;
	return true;
}

bool proxy_answer_upgrades(const struct response_head *head, struct slice protocol)
{
	struct slice value = only_upgrade(&head->fields);
	return protocol.length && slice_equal_nocase(value, protocol);
}
