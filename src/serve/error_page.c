/* Error answers carry nothing of the request but the id that the log has too, so they need no escaping. */
#include "serve/error_page.h"
#include "http/status.h"
#include <stdio.h>

static const char json_page[] = "{\"status\":%u,\"error\":\"%.*s\",\"detail\":\"%s\",\"request_id\":\"%.*s\"}\n";
static const char html_page[] =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%u %.*s</title></head>\n"
        "<body><h1>%u %.*s</h1>\n<p>%s</p>\n<p><small>Request id: %.*s</small></p></body></html>\n";

size_t error_page_write(
        char to[ERROR_PAGE_BYTES], unsigned status, const char *reason, struct slice request_id, bool json)
{
	struct slice name = status_reason(status);
	const char *detail = reason ? reason : "";
	int length = json ? snprintf(to, ERROR_PAGE_BYTES, json_page, status, SLICE_ARGS(name), detail,
	                            SLICE_ARGS(request_id))
	                  : snprintf(to, ERROR_PAGE_BYTES, html_page, status, SLICE_ARGS(name), status,
	                            SLICE_ARGS(name), detail, SLICE_ARGS(request_id));
	return length < ERROR_PAGE_BYTES ? (size_t)length : ERROR_PAGE_BYTES - 1;
}
