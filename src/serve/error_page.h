/* The server's own error answers. */
#ifndef SERVE_ERROR_PAGE_H
#define SERVE_ERROR_PAGE_H

#include "base/slice.h"

enum { ERROR_PAGE_BYTES = 1024 };

/* Writes a small page for that status; `reason` may be NULL. Returns its length, at most ERROR_PAGE_BYTES. */
size_t error_page_write(
        char to[ERROR_PAGE_BYTES], unsigned status, const char *reason, struct slice request_id, bool json);

#endif
