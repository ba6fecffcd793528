/* The thread of one loop. */
#include "app/worker.h"
#include "app/connection_limit.h"
#include "base/check.h"
#include "base/fd.h"
#include "base/log.h"
#include "serve/connection.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAILBOX_CAPACITY = 4096 };

static void set_state(struct worker *w, enum loop_state state)
{
	atomic_store_explicit(&w->stats->status.state, state, memory_order_seq_cst);
}

static bool fail(struct worker *w, const char *what, int error)
{
	log_error("loop %u: %s: %s", w->loop.id, what, strerror(-error));
	w->view->error = what;
	set_state(w, LOOP_STOPPED);
	return false;
}

bool worker_init(struct worker *w, unsigned id, int64_t stall_threshold_ns)
{
	int error = loop_init(&w->loop, id, w->stats, MAILBOX_CAPACITY);
	w->loop.id = id;
	if (error)
		return fail(w, "cannot make the event loop", error);
	w->made = true;
	w->loop.owner = w;
	w->loop.stall_threshold_ns = stall_threshold_ns;
	return true;
}

/* ---- connections ------------------------------------------------------------------------- */

struct socket_mail { /* in mail.bytes */
	const struct listener_settings *listener;
	struct address peer;
};

/* Too late to be served. */
static void turn_away(struct worker *w, int fd)
{
	fd_close(&fd);
	stat_add(w->stats, STAT_cut, 1);
	atomic_fetch_add_explicit(&w->view->closed, 1, memory_order_seq_cst);
}

static void on_socket(struct loop *l, struct mail *mail)
{
	struct worker *w = l->owner;
	struct socket_mail socket;
	memcpy(&socket, mail->bytes, sizeof socket);
	/* Before its first request is served, which may ask how many connections wait. */
	atomic_fetch_add_explicit(&w->view->taken, 1, memory_order_seq_cst);
	if (w->cut)
		turn_away(w, mail->fd);
	else
		connection_open(&w->context, socket.listener, mail->fd, &socket.peer);
	server_view_made_room(w->server);
}

bool worker_give(struct worker *w, const struct listener_settings *listener, int fd, const struct address *peer)
{
	struct socket_mail socket = {listener, *peer};
	struct mail mail = {.deliver = on_socket, .fd = fd};
	_Static_assert(sizeof socket <= sizeof mail.bytes, "a socket fits into a mail");
	memcpy(mail.bytes, &socket, sizeof socket);
	return loop_put(&w->loop, &mail);
}

static bool take_own(struct accept_set *s, const struct listener_settings *listener, int fd, const struct address *peer)
{
	struct worker *w = s->owner;
	if (s->finishing)
		connection_limit_leave(w->server, &w->waits_for_limit);
	else if (!connection_limit_has_room(w->server, &w->waits_for_limit))
		return false;
	atomic_fetch_add_explicit(&w->view->opened, 1, memory_order_relaxed);
	connection_open(&w->context, listener, fd, peer);
	return true;
}

static int open_own_sockets(struct worker *w)
{
	int error = accept_set_init(&w->accepts, &w->loop, &w->server->acceptor, w->listeners->socket_count);
	w->accepts.take = take_own;
	w->accepts.owner = w;
	for (size_t i = 0; !error && i < w->listeners->socket_count; i++) {
		struct listener_socket *s = &w->listeners->sockets[i];
		if (s->for_loop == (int)w->loop.id)
			error = accept_set_add(&w->accepts, s);
	}
	return error;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static void stop_when_empty(struct loop *l)
{
	struct worker *w = l->owner;
	if (w->draining && w->context.connections == 0 && mailbox_is_empty(&l->mailbox))
		loop_stop(l);
}

static bool has_stopped(const struct worker *w)
{
	return atomic_load_explicit(&w->stats->status.state, memory_order_acquire) == LOOP_STOPPED;
}

static void on_drain(struct loop *l, struct post *post)
{
	struct worker *w = l->owner;
	(void)post;
	if (has_stopped(w))
		return; /* the message came after the last turn */
	w->draining = true;
	set_state(w, LOOP_DRAINING);
	accept_set_finish(&w->accepts);
	connections_drain(&w->context);
}

static void on_cut(struct loop *l, struct post *post)
{
	struct worker *w = l->owner;
	(void)post;
	if (has_stopped(w))
		return;
	w->draining = w->cut = true;
	set_state(w, LOOP_DRAINING);
	accept_set_close(&w->accepts);
	connections_cut(&w->context);
}

void worker_drain(struct worker *w)
{
	w->drain_post.run = on_drain;
	loop_post_always(&w->loop, &w->drain_post);
}

void worker_cut(struct worker *w)
{
	w->cut_post.run = on_cut;
	loop_post_always(&w->loop, &w->cut_post);
}

/* ---- the thread --------------------------------------------------------------------------------- */

static void pin(const struct worker *w)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((unsigned)w->cpu, &set);
	int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
	if (error)
		log_warn("loop %u: cannot be pinned to CPU %d: %s", w->loop.id, w->cpu, strerror(error));
}

/* Sockets that were handed over and not taken. */
static void empty_mailbox(struct worker *w)
{
	struct mail mail;
	while (mailbox_take(&w->loop.mailbox, &mail))
		mail.deliver(&w->loop, &mail);
}

static void serve(struct worker *w)
{
	if (!context_init(&w->context, &w->loop, w->routes, w->server, w->view, w->listeners->max_fields)) {
		fail(w, "no memory for the loop's connections", -ENOMEM);
		return;
	}
	int error = open_own_sockets(w);
	if (error) {
		fail(w, "cannot accept connections", error);
	} else {
		set_state(w, LOOP_RUNNING);
		/* A connection that came before any loop ran holds up the acceptor: it looked at our state after it
		 * said so, or we see that it said so. */
		server_view_made_room(w->server);
		sem_post(&w->begun);
		error = loop_run(&w->loop);
		if (error)
			fail(w, "the event loop ended by itself", error);
	}
	w->cut = true;
	if (!has_stopped(w))
		set_state(w, LOOP_DRAINING); /* the acceptor gives it nothing more */
	connections_cut(&w->context);
	empty_mailbox(w);
	accept_set_fini(&w->accepts);
	context_fini(&w->context);
}

static void *run(void *argument)
{
	struct worker *w = argument;
	char name[16];
	snprintf(name, sizeof name, "loop %u", w->loop.id);
	prctl(PR_SET_NAME, name);
	atomic_store_explicit(&w->stats->status.tid, (int)syscall(SYS_gettid), memory_order_relaxed);
	w->loop.turn_end = stop_when_empty;
	if (w->cpu >= 0)
		pin(w);
	serve(w);
	set_state(w, LOOP_STOPPED);
	sem_post(&w->begun);
	w->end_post.run = w->ended;
	loop_post_always(w->control, &w->end_post);
	return NULL;
}

bool worker_start(struct worker *w)
{
	sem_init(&w->begun, 0, 0);
	int error = w->made ? pthread_create(&w->thread, NULL, run, w) : EINVAL;
	if (error)
		return fail(w, "cannot start the thread", -error);
	w->joinable = true;
	return true;
}

bool worker_await(struct worker *w)
{
	while (sem_wait(&w->begun) && errno == EINTR)
		;
	return atomic_load_explicit(&w->stats->status.state, memory_order_acquire) == LOOP_RUNNING;
}

void worker_join(struct worker *w)
{
	if (w->joinable)
		pthread_join(w->thread, NULL);
	w->joinable = false;
}

void worker_fini(struct worker *w)
{
	/* The acceptor may have decided for it just before it stopped. */
	w->cut = true;
	if (w->made)
		empty_mailbox(w);
	if (w->made)
		loop_fini(&w->loop);
	w->made = false;
}
