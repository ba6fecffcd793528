/* What a connection waits for, and when the wait is over. The loop's thread. */
#ifndef SERVE_CONNECTION_WAIT_H
#define SERVE_CONNECTION_WAIT_H

#include "serve/connection.h"

/* Notes what is waited for now. Idleness, a head and lingering last from where they began; the wait for a body or for
 * room begins anew with each byte. */
void wait_note(struct connection *);
/* Sets the deadline of the wait that was noted. */
void wait_arm(struct connection *);
/* A deadline passed: why the client waited too long or was too slow (min_rate), or NULL when it may go on. */
const char *wait_is_over(struct connection *, int64_t now_ns);
/* Opened a moment ago and nothing received yet: draining waits for its first request. */
bool wait_is_fresh(const struct connection *);

#endif
