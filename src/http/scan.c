/*
 * The strict look at heads, line by line, before llhttp sees them.
 *
 * A decision is made only on a line that is whole (but for the first line of a request),
 * and limits are applied by cutting the input, so what is decided cannot depend on how
 * the bytes arrived.
 */
#include "http/byte.h"
#include "http/parser.h"
#include "http/refusal.h"
#include "http/status.h"

enum { VERSION_BYTES = sizeof("HTTP/1.1") - 1 };

/* What requests and responses do not have in common. */
struct head_kind {
	/* Judges a whole line, CRLF cut off, not empty; the first one when line_count is 0. */
	bool (*check)(const struct head_scan *, struct slice line, struct refusal *);
	/* Judges the first line also before it is whole. */
	bool (*check_early)(struct slice line, size_t limit_bytes, struct refusal *);
	size_t empty_lines; /* taken before the first line (RFC 9112 2.2) */
};

/* "HTTP/1.x" */
static bool version_check(struct slice version, struct refusal *refusal)
{
	const char *text = version.data;
	if (version.length == VERSION_BYTES && memcmp(text, "HTTP/1.", 7) == 0 && byte_is(text[7], BYTE_DIGIT))
		return true;
	if (version.length < 6 || memcmp(text, "HTTP/", 5) != 0 || !byte_is(text[5], BYTE_DIGIT))
		return refuse(refusal, 400, "malformed HTTP version");
	bool has_minor = version.length == VERSION_BYTES && text[6] == '.' && byte_is(text[7], BYTE_DIGIT);
	if (text[5] < '2' || !(has_minor || version.length == 6))
		return refuse(refusal, 400, text[5] == '0' ? "HTTP/0.9" : "malformed HTTP version");
	return refuse(refusal, 505, "HTTP/2 or later in an HTTP/1 request line");
}

static bool request_line_check(struct slice line, struct refusal *refusal)
{
	const char *end = line.data + line.length;
	struct slice method = {line.data, byte_run(line.data, end, BYTE_TOKEN)};
	const char *target = method.data + method.length + 1;
	if (method.length == 0 || target > end || target[-1] != ' ')
		return refuse(refusal, 400, "malformed method");
	const char *target_end = target + byte_run(target, end, BYTE_TARGET);
	if (target_end == target)
		return refuse(refusal, 400, "no target in the request line");
	if (target_end == end)
		return refuse(refusal, 400, "no HTTP version in the request line");
	if (*target_end != ' ')
		return refuse(refusal, 400, "byte in the target that must be escaped");
	if (!version_check((struct slice){target_end + 1, (size_t)(end - target_end) - 1}, refusal))
		return false;
	if (method_of(method) == METHOD_UNKNOWN)
		return refuse(refusal, 501, "unknown method");
	return true;
}

static bool field_line_check(struct slice line, struct refusal *refusal)
{
	const char *end = line.data + line.length;
	size_t name_length = byte_run(line.data, end, BYTE_TOKEN);
	if (name_length == line.length)
		return refuse(refusal, 400, "header line without a colon");
	if (name_length == 0)
		return refuse(refusal, 400,
		        byte_is(line.data[0], BYTE_VALUE) ? "header line without a name, or folded"
		                                          : "control byte in a header line");
	if (line.data[name_length] != ':')
		return refuse(refusal, 400, "blank or other bad byte in a header name");
	if (!byte_all_value(slice_from(line, name_length + 1)))
		return refuse(refusal, 400, "control byte in a header value");
	return true;
}

static bool request_check(const struct head_scan *scan, struct slice line, struct refusal *refusal)
{
	return scan->line_count ? field_line_check(line, refusal) : request_line_check(line, refusal);
}

/* Refuses what can be no request, such as a TLS hello, and a line without end. */
static bool request_check_early(struct slice line, size_t limit_bytes, struct refusal *refusal)
{
	if (line.length && line.data[line.length - 1] == '\n')
		line.length--;
	if (line.length && line.data[line.length - 1] == '\r')
		line.length--;
	bool is_too_long = line.length > limit_bytes;
	const char *end = line.data + (is_too_long ? limit_bytes : line.length);
	const char *method_end = line.data + byte_run(line.data, end, BYTE_TOKEN);
	if (method_end < end && (*method_end != ' ' || method_end == line.data))
		return refuse(refusal, 400, "malformed method");
	return !is_too_long || refuse(refusal, 414, "request line too long");
}

static const struct head_kind request_kind = {request_check, request_check_early, 4};

/* "HTTP/1.x 200 Reason"; the blank before an empty reason may be missing, as others take it. */
static bool status_line_check(struct slice line, struct refusal *refusal)
{
	struct slice version = {line.data, line.length < VERSION_BYTES ? line.length : VERSION_BYTES};
	if (!version_check(version, refusal))
		return false;
	struct slice code = slice_from(line, VERSION_BYTES);
	if (code.length < 4 || code.data[0] != ' ' || byte_run(code.data + 1, code.data + 4, BYTE_DIGIT) != 3 ||
	        code.data[1] == '0')
		return refuse(refusal, 502, "malformed status code");
	struct slice reason = slice_from(code, 4);
	if (reason.length && (reason.data[0] != ' ' || !byte_all_value(reason)))
		return refuse(refusal, 502, "malformed reason in the status line");
	return true;
}

static bool response_check(const struct head_scan *scan, struct slice line, struct refusal *refusal)
{
	if (scan->line_count == 0)
		return status_line_check(line, refusal);
	bool is_folded = line.data[0] == ' ' || line.data[0] == '\t';
	if (is_folded && scan->line_count > 1)
		return byte_all_value(line) || refuse(refusal, 502, "control byte in a header value");
	return field_line_check(line, refusal);
}

/* The limit of the whole head is enough here. */
static bool response_check_early(struct slice line, size_t limit_bytes, struct refusal *refusal)
{
	(void)line, (void)limit_bytes, (void)refusal;
	return true;
}

static const struct head_kind response_kind = {response_check, response_check_early, 0};

/* A whole line with its LF. HEAD_MORE: in order, go on behind it. */
static enum head_result line_scan(struct head_scan *scan, struct slice line, size_t fields_limit,
        const struct head_kind *kind, struct refusal *refusal)
{
	size_t whole = line.length;
	if (whole < 2 || line.data[whole - 2] != '\r') {
		refuse(refusal, 400, "LF without CR");
		return HEAD_REFUSED;
	}
	line.length -= 2;
	bool is_empty = line.length == 0, is_first = scan->line_count == 0;
	if (is_empty && is_first && scan->skipped == whole * kind->empty_lines) {
		refuse(refusal, 400, "empty lines before the first line");
		return HEAD_REFUSED;
	}
	if (!is_empty && scan->line_count > fields_limit) {
		refuse(refusal, 431, "too many header lines");
		return HEAD_REFUSED;
	}
	if (!is_empty && !kind->check(scan, line, refusal))
		return HEAD_REFUSED;
	scan->checked += whole;
	scan->skipped += is_empty && is_first ? whole : 0;
	scan->line_count += !is_empty;
	return is_empty && !is_first ? HEAD_READY : HEAD_MORE;
}

static enum head_result lines_scan(struct head_scan *scan, struct slice bytes, const struct head_limits *limits,
        const struct head_kind *kind, struct refusal *refusal)
{
	enum head_result result = HEAD_MORE;
	while (result == HEAD_MORE && scan->checked < bytes.length) {
		struct slice rest = slice_from(bytes, scan->checked);
		const char *line_feed = memchr(rest.data, '\n', rest.length);
		struct slice line = {rest.data, line_feed ? (size_t)(line_feed - rest.data) + 1 : rest.length};
		if (scan->line_count == 0 && !kind->check_early(line, limits->line_bytes, refusal))
			return HEAD_REFUSED;
		if (!line_feed)
			break;
		result = line_scan(scan, line, limits->fields, kind, refusal);
	}
	return result;
}

static enum head_result head_scan_lines(struct head_scan *scan, struct slice bytes, const struct head_limits *limits,
        const struct head_kind *kind, struct refusal *refusal)
{
	bool is_cut = bytes.length > limits->head_bytes;
	if (is_cut)
		bytes.length = limits->head_bytes;
	enum head_result result = lines_scan(scan, bytes, limits, kind, refusal);
	if (result != HEAD_MORE || !is_cut)
		return result;
	refuse(refusal, 431, "head too large");
	return HEAD_REFUSED;
}

enum head_result request_scan(struct head_scan *scan, const char *bytes, size_t length,
        const struct head_limits *limits, size_t *ret_length, unsigned *ret_status, const char **ret_reason)
{
	struct refusal refusal;
	enum head_result result = head_scan_lines(scan, (struct slice){bytes, length}, limits, &request_kind, &refusal);
	if (result == HEAD_REFUSED) {
		*ret_status = refusal.status;
		*ret_reason = refusal.reason;
	} else if (result == HEAD_READY) {
		*ret_length = scan->checked;
	}
	return result;
}

enum head_result response_scan(struct head_scan *scan, const char *bytes, size_t length,
        const struct head_limits *limits, size_t *ret_length, const char **ret_reason)
{
	struct refusal refusal;
	enum head_result result =
	        head_scan_lines(scan, (struct slice){bytes, length}, limits, &response_kind, &refusal);
	if (result == HEAD_REFUSED)
		*ret_reason = refusal.reason;
	else if (result == HEAD_READY)
		*ret_length = scan->checked;
	return result;
}
