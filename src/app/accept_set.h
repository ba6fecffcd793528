/*
 * The listening sockets of one thread: accepts in batches and hands each socket on.
 *
 * Out of descriptors or memory it waits for a while instead of spinning; one connection
 * a round is then taken by a reserve descriptor and closed, so that its client learns.
 */
#ifndef APP_ACCEPT_SET_H
#define APP_ACCEPT_SET_H

#include "app/listeners.h"
#include "event/loop.h"
#include "net/address.h"
#include "serve/context.h"
#include "serve/view.h"

struct accept_set;

struct accept_socket {
	struct watch watch;
	struct accept_set *set;
	struct listener_socket *socket;
	int usual, full; /* size of the last batches, and how many of them were full in a row */
};

struct accept_set {
	struct loop *loop;
	struct acceptor_figures *figures;
	/* Takes the socket over. false: no room anywhere; the set pauses, keeps the socket, and offers it again on
	 * resume. */
	bool (*take)(struct accept_set *, const struct listener_settings *, int fd, const struct address *);
	void (*begin_batch)(struct accept_set *); /* may be NULL */
	void (*try_finish)(struct accept_set *);  /* accept_set_finish found no room and may again; may be NULL */
	void *owner;

	struct accept_socket *sockets;
	size_t count;
	int reserve_fd;
	bool paused, finishing, finished;
	unsigned errors_in_a_row;
	struct timer retry;
	int64_t logged_ns;
	struct { /* accepted, not yet taken */
		int fd;
		const struct listener_settings *listener;
		struct address peer;
	} held;
};

/* take, owner and begin_batch are set by the caller afterwards. 0 or a negative errno. */
int accept_set_init(struct accept_set *, struct loop *, struct acceptor_figures *, size_t capacity);
/* Uses the socket until accept_set_finish or _fini. 0 or a negative errno. */
int accept_set_add(struct accept_set *, struct listener_socket *);
void accept_set_resume(struct accept_set *);
/* Accepts and hands on all that the kernel has queued, and closes the sockets. false: the taker had no room; call it
 * again when there is some. */
bool accept_set_finish(struct accept_set *);
/* Closes the sockets and what waits in them. */
void accept_set_close(struct accept_set *);
void accept_set_fini(struct accept_set *);

#endif
