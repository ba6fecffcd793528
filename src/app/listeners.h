/* The [listener] sections: their settings, and the sockets they stand for. Control thread. */
#ifndef APP_LISTENERS_H
#define APP_LISTENERS_H

#include "config/config.h"
#include "config/options.h"
#include "net/listener.h"
#include "serve/context.h"

enum { SOCKET_FOR_ACCEPTOR = -1, SOCKET_FOR_CONTROL = -2 };

/* One socket to listen on. */
struct listener_socket {
	const struct listener_settings *settings;
	struct endpoint endpoint;
	const char *passed_name; /* of systemd's, or NULL */
	int backlog;
	unsigned flags;   /* LISTENER_REUSEPORT, LISTENER_FIRST */
	bool shares_port; /* that of the socket before it, when it was 0 */
	dev_t device;     /* of a unix socket's file, so that only our own is removed */
	ino_t inode;
	int for_loop; /* SOCKET_FOR_..., or the loop that accepts for itself */
	int fd;
};

struct listeners {
	struct listener_settings *settings; /* one a section */
	size_t settings_count;
	struct listener_socket *sockets;
	size_t socket_count;
	size_t max_fields;         /* the largest of all */
	enum config_accept accept; /* of the first listener served by loops: for the start line and health */
};

/* Faults are reported through the settings: then, or when memory is short, returns false (fini copes). */
bool listeners_init(struct listeners *, const struct config *, unsigned loop_count);
/* Opens all. false: `error` says which one and why. */
bool listeners_open(struct listeners *, char *error, size_t error_bytes);
/* Closes one, if it is open, and removes its file if it is a unix socket's and still ours. */
void listeners_close(struct listener_socket *);
/* Closes all, and frees. */
void listeners_fini(struct listeners *);

#endif
