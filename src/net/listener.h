/* Listening sockets. */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include "net/address.h"

enum {
	LISTENER_REUSEPORT = 1, /* further sockets of this process may share the address */
	LISTENER_FIRST = 2,     /* with the former: the first of them, which nobody may share the address with yet */
};

/* Opens, binds and listens; *endpoint gets the real port when it was 0. A stale unix socket is replaced when nobody
 * answers on it; a file that is no socket is left alone (-EEXIST). Returns the descriptor or a negative errno. */
int listener_open(struct endpoint *endpoint, int backlog, unsigned flags);
/* For a socket that was passed in: makes it non-blocking and reads its address. 0 or a negative errno. */
int listener_adopt(int fd, struct endpoint *ret);
/* Descriptors passed by systemd (sd_listen_fds(3)): the one of that name, or -1. Each is given once. */
int listener_passed(const char *name);

#endif
