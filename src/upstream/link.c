/* Connections to upstream servers: connecting, keeping, closing. The reading of answers is in link_read.c. */
#include "upstream/link.h"
#include "base/check.h"
#include "base/fd.h"
#include "upstream/pool.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct group_server *server_of(const struct link *l)
{
	return &l->pool->group->servers[l->server];
}

/* ---- events -------------------------------------------------------------------------- */

/* A connected socket that only reports an end still counts as made: reading will tell. */
static void settle_connect(struct link *l, uint32_t events)
{
	int error = 0;
	socklen_t length = sizeof error;
	if (events & (EPOLLERR | EPOLLHUP) && getsockopt(l->stream.fd, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	if (error)
		l->stream.error = error;
	else if (events & (EPOLLOUT | EPOLLHUP))
		l->phase = LINK_OPEN;
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct link *l = CONTAINER_OF(w, struct link, stream.watch);
	stream_note(&l->stream, events);
	if (l->phase == LINK_IDLE) {
		/* An event that was under way when its bytes were read already says nothing new. */
		if (l->stream.hung_up || (events & EPOLLIN && stream_read(&l->stream) != STREAM_AGAIN))
			link_drop(l);
		else
			stream_consume(&l->stream, 0); /* gives the empty buffer back */
		return;
	}
	if (l->phase == LINK_CONNECTING)
		settle_connect(l, events);
	l->ready(l);
}

static void on_expired(struct watch *w)
{
	struct link *l = CONTAINER_OF(w, struct link, stream.watch);
	if (l->phase == LINK_IDLE)
		link_drop(l);
	else
		l->expired(l);
}

static void on_again(struct task *t)
{
	struct link *l = CONTAINER_OF(t, struct link, again);
	l->ready(l);
}

/* ---- open ---------------------------------------------------------------------------- */

/* 0, -EINPROGRESS or another negative errno; *ret_fd is set unless there is no descriptor. */
static int start_connect(const struct endpoint *e, int *ret_fd)
{
	int on = 1, family = e->to.any.sa_family;
	*ret_fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*ret_fd < 0)
		return -errno;
	if (family != AF_UNIX)
		setsockopt(*ret_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return connect(*ret_fd, &e->to.any, e->length) ? -errno : 0;
}

struct link *link_open(struct pool *pool, uint16_t server, int *ret_error)
{
	struct link *l = pool_link(pool);
	int fd = -1, error = l ? start_connect(&pool->group->servers[server].endpoint, &fd) : -ENOMEM;
	bool connecting = error == -EINPROGRESS;
	if (connecting)
		error = 0;
	if (!error && !stream_open(&l->stream, pool->loop, pool->blocks, fd))
		error = -ENOMEM;
	if (error) {
		fd_close(&fd);
		if (l)
			pool_give_link(pool, l);
		*ret_error = error;
		return NULL;
	}
	l->stream.watch.ready = on_ready;
	l->stream.watch.expired = on_expired;
	l->pool = pool;
	l->server = server;
	l->phase = connecting ? LINK_CONNECTING : LINK_OPEN;
	l->reused = false;
	list_init(&l->node);
	list_init(&l->age);
	task_init(&l->again, on_again);
	error = stream_wait(&l->stream);
	/* A server speaks when it was asked, and then there is an event. */
	l->stream.readable = false;
	if (!error)
		return l;
	stream_close(&l->stream);
	pool_give_link(pool, l);
	*ret_error = error;
	return NULL;
}

void link_begin(struct link *l, void (*ready)(struct link *), void (*expired)(struct link *), void *owner)
{
	l->ready = ready;
	l->expired = expired;
	l->owner = owner;
	if (l->phase == LINK_IDLE) {
		l->phase = LINK_OPEN;
		l->reused = true;
	}
	l->reusable = true;
	l->out_of_order = false;
	l->in_mark = l->stream.bytes_in;
	l->out_mark = l->stream.bytes_out;
	memset(&l->scan, 0, sizeof l->scan);
	l->piece = 0;
	l->ended = false;
	l->reason = NULL;
	atomic_fetch_add_explicit(&server_of(l)->active, 1, memory_order_relaxed);
	figure_add(&l->pool->shares[l->server].requests, 1);
}

static void note_state(struct group_server *s, bool down)
{
	/* Looked at first: the line is shared by all loops and seldom changes. */
	if (atomic_load_explicit(&s->down, memory_order_relaxed) != down)
		atomic_store_explicit(&s->down, down, memory_order_relaxed);
}

enum link_result link_connected(struct link *l)
{
	if (l->stream.error) {
		l->reason = strerror(l->stream.error);
		return LINK_FAILED;
	}
	if (l->phase == LINK_CONNECTING)
		return LINK_AGAIN;
	note_state(server_of(l), false);
	return LINK_DONE;
}

/* ---- end ----------------------------------------------------------------------------- */

static void end_exchange(struct link *l)
{
	task_cancel(&l->again);
	trailers_fini(&l->trailers);
	l->owner = NULL;
	atomic_fetch_sub_explicit(&server_of(l)->active, 1, memory_order_relaxed);
}

static void close_link(struct link *l)
{
	struct pool *pool = l->pool;
	stream_close(&l->stream);
	pool_give_link(pool, l);
}

void link_drop(struct link *l)
{
	if (l->phase == LINK_IDLE)
		pool_remove(l->pool, l);
	else
		end_exchange(l);
	close_link(l);
}

void link_count_failure(struct pool *pool, uint16_t server)
{
	note_state(&pool->group->servers[server], true);
	figure_add(&pool->shares[server].failures, 1);
}

void link_drop_failed(struct link *l)
{
	if (l->phase == LINK_CONNECTING)
		link_count_failure(l->pool, l->server);
	else
		figure_add(&l->pool->shares[l->server].failures, 1);
	link_drop(l);
}

/* Bytes after the end of the answer would be taken for the next one. */
static bool may_be_kept(struct link *l)
{
	struct stream *s = &l->stream;
	if (!l->reusable || !l->ended || l->piece || l->pool->group->keepalive == 0)
		return false;
	if (s->error || s->hung_up || !stream_is_drained(s) || stream_bytes(s).length)
		return false;
	return !s->readable || stream_read(s) == STREAM_AGAIN;
}

void link_release(struct link *l)
{
	bool keep = may_be_kept(l);
	end_exchange(l);
	if (!keep) {
		close_link(l);
		return;
	}
	stream_consume(&l->stream, 0);
	l->phase = LINK_IDLE;
	pool_put(l->pool, l);
}

bool link_is_quiet(const struct link *l)
{
	char byte;
	return recv(l->stream.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

void link_abandon(struct link *l)
{
	fd_close(&l->stream.fd);
}
