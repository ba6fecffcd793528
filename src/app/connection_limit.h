/* max_connections: whether one more fits, and saying so when it does not. */
#ifndef APP_CONNECTION_LIMIT_H
#define APP_CONNECTION_LIMIT_H

#include "serve/view.h"

/* Whether one more connection may be opened. *waits belongs to the caller, one a thread, false at first: that it holds
 * a connection back since the last look. While any thread does, health warns; the log does every ten seconds. */
bool connection_limit_has_room(struct server_view *, bool *waits);
/* The caller waits no more, whatever the limit says. */
void connection_limit_leave(struct server_view *, bool *waits);

#endif
