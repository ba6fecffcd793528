/* What a connection adds to the statistics of its loop. The loop's thread. */
#ifndef SERVE_CONNECTION_COUNT_H
#define SERVE_CONNECTION_COUNT_H

#include "serve/connection.h"

/* Bytes that moved since the last time. */
void connection_count_bytes(struct connection *);
/* Whether it now has no request in progress; counted once. */
void connection_count_idle(struct connection *, bool idle);
/* The server gives up the request in progress, for `reason`: counted and logged. */
void connection_count_cut(struct connection *, const char *reason);
/* The answer in progress is over, whole or aborted. */
void connection_count_answer(struct connection *);

#endif
