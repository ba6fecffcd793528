/* accept4 in batches, and what to do when it fails. */
#include "app/accept_set.h"
#include "base/check.h"
#include "base/fd.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BATCH = 64, FULL_BATCHES = 4, ERRORS_IN_A_ROW = 16, FINISHING_ERRORS = 8192, RETRY_US = 100 * 1000 };

static void on_retry(struct timer *t)
{
	struct accept_set *s = CONTAINER_OF(t, struct accept_set, retry);
	if (s->finishing && s->try_finish)
		s->try_finish(s);
	else
		accept_set_resume(s);
}

static int open_reserve(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int accept_set_init(struct accept_set *s, struct loop *l, struct acceptor_figures *figures, size_t capacity)
{
	*s = (struct accept_set){.loop = l, .figures = figures, .reserve_fd = -1, .held.fd = -1};
	timer_init(&s->retry, on_retry);
	s->sockets = calloc(capacity + 1, sizeof *s->sockets);
	s->reserve_fd = open_reserve();
	if (!s->sockets || s->reserve_fd < 0) {
		int error = s->sockets ? -errno : -ENOMEM;
		accept_set_fini(s);
		return error;
	}
	return 0;
}

static void pause_set(struct accept_set *s)
{
	if (s->paused)
		return;
	s->paused = true;
	for (size_t i = 0; i < s->count; i++)
		loop_unregister(&s->sockets[i].watch, s->sockets[i].socket->fd);
}

static bool hand_on(struct accept_set *s, const struct listener_settings *listener, int fd, const struct address *peer)
{
	if (s->take(s, listener, fd, peer))
		return true;
	s->held.fd = fd;
	s->held.listener = listener;
	s->held.peer = *peer;
	pause_set(s);
	/* Whoever makes room says so; but a held socket must not depend on that alone. */
	timer_start(s->loop, &s->retry, RETRY_US);
	return false;
}

static void count(atomic_uint_least64_t *figure)
{
	atomic_fetch_add_explicit(figure, 1, memory_order_relaxed);
}

/* Takes one connection by the reserve descriptor and closes it. */
static void turn_away(struct accept_set *s, int listening_fd)
{
	fd_close(&s->reserve_fd);
	int fd = accept4(listening_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		count(&s->figures->refused);
	fd_close(&fd);
	s->reserve_fd = open_reserve();
}

/* The end does not wait for descriptors: what cannot be accepted is turned away. true: there may be more. */
static bool refuse_rest(struct accept_set *s, const struct accept_socket *socket, bool shortage)
{
	if (!shortage || s->errors_in_a_row >= FINISHING_ERRORS)
		return false;
	turn_away(s, socket->socket->fd);
	return true;
}

/* What a failed accept4 means. true: go on with the batch. */
static bool survive(struct accept_set *s, const struct accept_socket *socket, int error)
{
	if (error == EAGAIN)
		return false;
	if (error == EINTR)
		return true;
	count(&s->figures->errors);
	s->errors_in_a_row++;
	/* accept(2): errors of the new connection itself, which is gone; the next one may be well. */
	bool shortage = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
	if (!shortage && s->errors_in_a_row < ERRORS_IN_A_ROW)
		return true;
	if (s->finishing)
		return refuse_rest(s, socket, shortage);
	int64_t now_ns = clock_now_ns();
	if (now_ns - s->logged_ns > NS_PER_S)
		log_error("listener %s: accept: %s; trying again in %d ms", socket->socket->settings->name,
		        strerror(error), RETRY_US / 1000);
	s->logged_ns = now_ns - s->logged_ns > NS_PER_S ? now_ns : s->logged_ns;
	if (error == EMFILE || error == ENFILE)
		turn_away(s, socket->socket->fd);
	pause_set(s);
	timer_start(s->loop, &s->retry, RETRY_US);
	return false;
}

/* Returns how many there were. */
static int accept_batch(struct accept_set *s, const struct accept_socket *socket, int most)
{
	int accepted = 0;
	if (s->begin_batch)
		s->begin_batch(s);
	for (int i = 0; i < most && !s->paused; i++) {
		struct sockaddr_storage storage;
		socklen_t length = sizeof storage;
		int fd =
		        accept4(socket->socket->fd, (struct sockaddr *)&storage, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			if (!survive(s, socket, errno))
				break;
			continue;
		}
		accepted++;
		count(&s->figures->accepted);
		s->errors_in_a_row = 0;
		/* The address of a unix socket's client is empty: length is that of the family alone. */
		struct address peer = address_of((struct sockaddr *)&storage, length);
		if (!hand_on(s, socket->socket->settings, fd, &peer))
			break;
	}
	return accepted;
}

/* An accept4 that says EAGAIN costs half of one that succeeds, as the kernel makes the new socket first. So a batch
 * ends at the size that the last ones had; if there is more, the set tells it at once. */
static void on_ready(struct watch *w, uint32_t events)
{
	struct accept_socket *socket = CONTAINER_OF(w, struct accept_socket, watch);
	int most = socket->usual;
	(void)events;
	int accepted = accept_batch(socket->set, socket, most);
	if (socket->set->paused)
		return; /* nobody had room, or accept4 failed: this says nothing of how many come */
	if (accepted < most) {
		socket->usual = accepted ? accepted : 1;
		socket->full = 0;
	} else if (++socket->full == FULL_BATCHES) {
		socket->usual = most < BATCH ? 2 * most : BATCH;
		socket->full = 0;
	}
}

static void on_expired(struct watch *w)
{
	(void)w; /* listening sockets have no deadline */
}

int accept_set_add(struct accept_set *s, struct listener_socket *listener)
{
	struct accept_socket *socket = &s->sockets[s->count];
	*socket = (struct accept_socket){.set = s, .socket = listener, .usual = BATCH};
	socket->watch.ready = on_ready;
	socket->watch.expired = on_expired;
	if (!loop_adopt(s->loop, &socket->watch))
		return -ENOMEM;
	s->count++;
	return loop_register_listener(&socket->watch, listener->fd);
}

/* false: one of them could not be registered. */
static bool watch_again(struct accept_set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct accept_socket *socket = &s->sockets[i];
		if (socket->socket->fd >= 0 && !socket->watch.registered &&
		        loop_register_listener(&socket->watch, socket->socket->fd))
			return false;
	}
	return true;
}

void accept_set_resume(struct accept_set *s)
{
	if (!s->paused || s->finished)
		return;
	if (s->held.fd >= 0) {
		int fd = s->held.fd;
		s->held.fd = -1;
		s->paused = false;
		if (!hand_on(s, s->held.listener, fd, &s->held.peer))
			return;
	}
	s->paused = !watch_again(s);
	if (s->paused)
		timer_start(s->loop, &s->retry, RETRY_US);
	else
		timer_stop(s->loop, &s->retry);
}

static void close_socket(struct accept_socket *s)
{
	struct listener_socket *socket = s->socket;
	loop_unregister(&s->watch, socket->fd);
	listeners_close(socket);
}

bool accept_set_finish(struct accept_set *s)
{
	enum { AT_MOST = 65536 }; /* longer than any backlog */
	s->finishing = true;
	accept_set_resume(s);
	for (size_t i = 0; i < s->count && !s->paused; i++) {
		struct listener_socket *socket = s->sockets[i].socket;
		if (socket->fd < 0)
			continue;
		/* A connection that the kernel accepts between the last accept4 and the close would be reset: with no
		 * room in the queue its client tries again, and is refused. A socket that was passed in goes on
		 * listening elsewhere. */
		if (!socket->passed_name)
			listen(socket->fd, 0);
		accept_batch(s, &s->sockets[i], AT_MOST);
		if (!s->paused)
			close_socket(&s->sockets[i]);
	}
	if (s->paused)
		return false;
	accept_set_close(s);
	return true;
}

void accept_set_close(struct accept_set *s)
{
	s->paused = s->finished = true;
	timer_stop(s->loop, &s->retry);
	for (size_t i = 0; i < s->count; i++)
		close_socket(&s->sockets[i]);
	if (s->held.fd >= 0)
		count(&s->figures->refused);
	fd_close(&s->held.fd);
}

void accept_set_fini(struct accept_set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		loop_unregister(&s->sockets[i].watch, s->sockets[i].socket->fd);
		loop_release(&s->sockets[i].watch);
	}
	free(s->sockets);
	s->sockets = NULL;
	s->count = 0;
	fd_close(&s->reserve_fd);
	fd_close(&s->held.fd);
}
