/* Responses: unfolding of old header lines, and which of them have a body (RFC 9112 5.2, 6.3). */
#include "base/check.h"
#include "http/byte.h"
#include "http/collect.h"
#include "http/framing.h"
#include "http/parser.h"
#include "http/refusal.h"

enum { MINOR_AT = sizeof("HTTP/1.") - 1, CODE_AT = sizeof("HTTP/1.1 ") - 1, REASON_AT = sizeof("HTTP/1.1 200 ") - 1 };

/* A fold is CRLF and the blanks behind it; all of it becomes SP. */
static void unfold(char *bytes, size_t length)
{
	char *end = bytes + length, *at = bytes;
	while ((at = memchr(at, '\n', (size_t)(end - at))) && ++at < end) {
		if (*at != ' ' && *at != '\t')
			continue;
		at[-2] = at[-1] = ' ';
		for (; *at == ' ' || *at == '\t'; at++)
			*at = ' ';
	}
}

static void read_status_line(struct response_head *head, struct slice line)
{
	const char *code = line.data + CODE_AT;
	head->minor = line.data[MINOR_AT] == '0' ? 0 : 1;
	head->status = (unsigned)(code[0] - '0') * 100 + (unsigned)(code[1] - '0') * 10 + (unsigned)(code[2] - '0');
	head->reason =
	        line.length > REASON_AT ? slice_from(line, REASON_AT) : (struct slice){line.data + line.length, 0};
}

static bool has_no_body(unsigned status, enum method to)
{
	return to == METHOD_HEAD || status < 200 || status == 204 || status == 304 ||
	       (to == METHOD_CONNECT && status < 300);
}

static bool read_framing(struct response_head *head, uint32_t repeated, enum method to, struct refusal *refusal)
{
	struct framing framing;
	if (!framing_read(&head->fields, repeated, head->minor, &framing, refusal))
		return false;
	bool is_empty = has_no_body(head->status, to);
	head->chunked = framing.is_chunked && !is_empty;
	head->until_close = !is_empty && !framing.is_chunked && !framing.has_length;
	if (is_empty)
		head->body_length = LENGTH_NONE;
	else
		head->body_length = framing.has_length ? framing.length : LENGTH_UNKNOWN;
	head->keep_alive = !head->until_close && framing_keeps_alive(&head->fields, head->minor);
	return true;
}

bool response_parse(struct response_head *head, char *bytes, size_t length, enum method to, const char **ret_reason)
{
	struct refusal refusal;
	struct collected collected;
	const char *line_end = memchr(bytes, '\r', length);
	MUST(line_end && line_end - bytes >= REASON_AT - 1);
	read_status_line(head, (struct slice){bytes, (size_t)(line_end - bytes)});
	unfold(bytes, length);
	if (collect_response((struct slice){bytes, length}, MINOR_AT, &head->fields, &collected, &refusal) &&
	        read_framing(head, collected.repeated, to, &refusal))
		return true;
	*ret_reason = refusal.reason;
	return false;
}
