/* The words of log lines about one request. */
#include "serve/exchange_log.h"
#include "serve/exchange.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { LIMIT_TEXT_BYTES = 160 };

/* The limit that was passed and by how much, as far as that is known: nothing reads on to learn the rest. */
static void describe_limit(const struct mlserve_exchange *x, unsigned status, char to[LIMIT_TEXT_BYTES])
{
	const struct listener_settings *l = x->listener;
	size_t here = stream_bytes(x->stream).length;
	to[0] = 0;
	if (!x->error_reason)
		return; /* a handler's own verdict, by a limit of its own */
	if (status == 413 && x->head.body_length >= 0)
		snprintf(to, LIMIT_TEXT_BYTES, " %" PRId64 " bytes announced, max_body_size is %" PRId64 ".",
		        x->head.body_length, x->body_limit);
	else if (status == 413)
		snprintf(to, LIMIT_TEXT_BYTES, " At least %" PRIu64 " bytes, max_body_size is %" PRId64 ".",
		        (uint64_t)x->body_taken + x->chunked.left, x->body_limit);
	else if (status == 414)
		snprintf(to, LIMIT_TEXT_BYTES, ", %zu bytes here, %d are allowed", here, REQUEST_LINE_BYTES);
	else if (status == 431)
		snprintf(to, LIMIT_TEXT_BYTES, ", %zu bytes here, max_header_size is %zu, max_headers is %zu", here,
		        l->max_header_bytes, l->max_fields);
}

/* Whom a line is about: the route, or the listener before one was found. */
static const char *subject(const struct mlserve_exchange *x)
{
	return x->route ? x->route->name : x->listener->name;
}

void exchange_log_error(struct mlserve_exchange *x, unsigned status)
{
	char limit[LIMIT_TEXT_BYTES];
	describe_limit(x, status, limit);
	log_line(status < 500 || !context_may_log(x->context) ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
	        "%s: %u: %s%s (request %.*s)", subject(x), status, x->error_reason ? x->error_reason : "-", limit,
	        SLICE_ARGS(exchange_request_id(x)));
}

void exchange_log_cut(struct mlserve_exchange *x, const char *reason)
{
	if (context_may_log(x->context))
		log_info("%s: cut after %" PRIu64 " bytes of the connection: %s (request %.*s)", subject(x),
		        x->stream->bytes_out, reason, SLICE_ARGS(exchange_request_id(x)));
}

void exchange_log_misuse(struct mlserve_exchange *x, enum log_level level, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	log_line(level, "route %s: handler %s: %s (request %.*s)", x->route ? x->route->name : "-",
	        x->route ? x->route->handler_name : "-", text, SLICE_ARGS(exchange_request_id(x)));
}
