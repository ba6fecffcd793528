/* Log lines that speak of one request: each ends with the request's id, which its error page has too. */
#ifndef SERVE_EXCHANGE_LOG_H
#define SERVE_EXCHANGE_LOG_H

#include "base/log.h"

struct mlserve_exchange;

/* An error answer; what was over a limit is told with that limit. */
void exchange_log_error(struct mlserve_exchange *, unsigned status);
/* The server gave the request up, for `reason`. */
void exchange_log_cut(struct mlserve_exchange *, const char *reason);
/* What a handler did wrong, behind the names of route and handler. */
void exchange_log_misuse(struct mlserve_exchange *, enum log_level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#endif
