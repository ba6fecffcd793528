/* Connections to upstream servers: connecting, keeping, closing. The reading of answers is in link_read.c. */
#include "upstream/link.h"
#include "base/check.h"
#include "base/fd.h"
#include "upstream/offer.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static struct member_share *share_of(const struct link *l)
{
	return pool_share(l->pool, l->server);
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

/* An event that was under way when its bytes were read already says nothing new, and one of a connection that was taken
 * over is its new loop's. */
static void on_idle_event(struct link *l, uint32_t events)
{
	struct pool *p = l->pool;
	/* Its server may be gone. */
	if (l->is_lost)
		return;
	if (!offer_withdraw(p, l)) {
		pool_remove(p, l);
		return;
	}
	stream_note(&l->stream, events);
	bool is_over = l->stream.hung_up || (events & EPOLLIN && stream_read(&l->stream) != STREAM_AGAIN);
	stream_consume(&l->stream, 0); /* gives an empty buffer back */
	if (is_over)
		link_drop(l);
	else
		offer_make(p, l);
}

static void on_ready(struct watch *w, uint32_t events)
{
	struct link *l = CONTAINER_OF(w, struct link, stream.watch);
	if (l->phase == LINK_IDLE) {
		on_idle_event(l, events);
		return;
	}
	stream_note(&l->stream, events);
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

static void prepare(struct link *l)
{
	l->stream.watch.ready = on_ready;
	l->stream.watch.expired = on_expired;
	l->offer = -1;
	l->is_lost = false;
	list_init(&l->node);
	list_init(&l->age);
	task_init(&l->again, on_again);
}

int link_connect(struct link *l, struct loop *loop, struct blocks *blocks, const struct endpoint *endpoint)
{
	int fd = -1, error = start_connect(endpoint, &fd);
	bool connecting = error == -EINPROGRESS;
	if (connecting)
		error = 0;
	if (!error && !stream_open(&l->stream, loop, blocks, fd))
		error = -ENOMEM;
	if (error) {
		fd_close(&fd);
		return error;
	}
	prepare(l);
	l->phase = connecting ? LINK_CONNECTING : LINK_OPEN;
	l->reused = false;
	error = stream_wait(&l->stream);
	/* A server speaks when it was asked, and then there is an event. */
	l->stream.readable = false;
	if (error)
		stream_close(&l->stream);
	return error;
}

void link_disconnect(struct link *l)
{
	task_cancel(&l->again);
	stream_close(&l->stream);
}

struct link *link_open(struct pool *pool, struct member *server, int *ret_error)
{
	*ret_error = -EUSERS;
	if (!member_reserve(server))
		return NULL;
	struct link *l = pool_link(pool);
	*ret_error = l ? link_connect(l, pool->loop, pool->blocks, &server->endpoint) : -ENOMEM;
	if (*ret_error == 0) {
		l->pool = pool;
		l->server = server;
		return l;
	}
	if (l)
		pool_give_link(pool, l);
	member_unreserve(server);
	queue_wake(pool->group);
	return NULL;
}

struct link *link_adopt(struct pool *pool, struct member *server, int fd)
{
	struct link *l = pool_link(pool);
	if (l && stream_open(&l->stream, pool->loop, pool->blocks, fd)) {
		prepare(l);
		l->pool = pool;
		l->server = server;
		l->phase = LINK_OPEN;
		l->reused = true;
		if (stream_wait(&l->stream) == 0) {
			l->stream.readable = false; /* as far as anybody knows */
			return l;
		}
		stream_close(&l->stream);
	} else {
		fd_close(&fd);
	}
	if (l)
		pool_give_link(pool, l);
	member_unreserve(server);
	queue_wake(pool->group);
	return NULL;
}

void link_expect(struct link *l, void (*ready)(struct link *), void (*expired)(struct link *), void *owner)
{
	l->ready = ready;
	l->expired = expired;
	l->owner = owner;
	l->reusable = true;
	l->out_of_order = false;
	l->begun_ns = l->stream.loop->now_ns;
	l->in_mark = l->stream.bytes_in;
	l->out_mark = l->stream.bytes_out;
	memset(&l->scan, 0, sizeof l->scan);
	l->piece = 0;
	l->ended = false;
	l->reason = NULL;
}

void link_begin(struct link *l, void (*ready)(struct link *), void (*expired)(struct link *), void *owner)
{
	if (l->phase == LINK_IDLE) {
		l->phase = LINK_OPEN;
		l->reused = true;
	}
	link_expect(l, ready, expired, owner);
	l->set = l->pool->set;
	atomic_fetch_add_explicit(&l->server->active, 1, memory_order_relaxed);
	figure_add(&share_of(l)->requests, 1);
}

enum link_result link_connected(struct link *l)
{
	if (l->stream.error) {
		l->reason = strerror(l->stream.error);
		return LINK_FAILED;
	}
	if (l->phase == LINK_CONNECTING)
		return LINK_AGAIN;
	return LINK_DONE;
}

/* ---- end ----------------------------------------------------------------------------- */

static void forget_owner(struct link *l)
{
	task_cancel(&l->again);
	trailers_fini(&l->trailers);
	l->owner = NULL;
}

/* The last that is done with a member, which may be gone then. Sequentially consistent: whoever waits for a place
 * counted itself, then looked at this. */
static void end_exchange(struct pool *pool, struct member *server)
{
	atomic_fetch_sub_explicit(&server->active, 1, memory_order_seq_cst);
	queue_wake(pool->group);
}

/* Without an exchange the member may be gone after this. */
static void close_link(struct link *l)
{
	struct pool *pool = l->pool;
	struct member *server = l->server;
	stream_close(&l->stream);
	pool_give_link(pool, l);
	member_unreserve(server);
}

void link_discard_open(struct link *l)
{
	struct pool *pool = l->pool;
	close_link(l);
	queue_wake(pool->group);
}

void link_discard(struct link *l)
{
	l->stream.fd = -1;
	stream_close(&l->stream);
	pool_give_link(l->pool, l);
}

void link_drop(struct link *l)
{
	struct pool *pool = l->pool;
	struct member *server = l->server;
	if (l->phase == LINK_IDLE) {
		if (pool_remove(pool, l))
			link_discard_open(l);
		return;
	}
	forget_owner(l);
	close_link(l);
	end_exchange(pool, server);
}

void link_count_failure(struct pool *pool, struct member *server, const char *reason)
{
	figure_add(&pool_share(pool, server)->failures, 1);
	member_note_failure(server, pool->loop->now_ns, pool->loop->now_ns, true, reason);
}

void link_drop_failed(struct link *l, const char *reason)
{
	figure_add(&share_of(l)->failures, 1);
	member_note_failure(l->server, l->begun_ns, l->pool->loop->now_ns, l->phase == LINK_CONNECTING, reason);
	link_drop(l);
}

void link_note_answer(struct link *l)
{
	member_note_success(l->server, l->begun_ns, l->pool->loop->now_ns);
}

/* Bytes after the end of the answer would be taken for the next one. */
static bool may_be_kept(struct link *l)
{
	struct stream *s = &l->stream;
	if (!l->reusable || !l->ended || l->piece || l->pool->group->keepalive == 0)
		return false;
	/* Retired, or of a set that this loop has left, and so nothing that it would look after. */
	if (atomic_load_explicit(&l->server->is_retired, memory_order_relaxed) ||
	        (l->set != l->pool->set && !set_names(l->pool->set, l->server)))
		return false;
	if (s->error || s->hung_up || !stream_is_drained(s) || stream_bytes(s).length)
		return false;
	return !s->readable || stream_read(s) == STREAM_AGAIN;
}

void link_release(struct link *l)
{
	struct pool *pool = l->pool;
	struct member *server = l->server;
	forget_owner(l);
	if (may_be_kept(l)) {
		stream_consume(&l->stream, 0);
		l->phase = LINK_IDLE;
		pool_put(pool, l);
	} else {
		close_link(l);
	}
	end_exchange(pool, server);
}

bool link_is_quiet(const struct link *l)
{
	char byte;
	return recv(l->stream.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool link_has_no_input(const struct link *l)
{
	int bytes = 0;
	/* A server that answers many requests is asked about once a turn, not once a request. */
	if (l->stream.emptied_epoch == l->stream.loop->epoch)
		return true;
	return ioctl(l->stream.fd, FIONREAD, &bytes) == 0 && bytes == 0;
}

void link_abandon(struct link *l)
{
	fd_close(&l->stream.fd);
}
