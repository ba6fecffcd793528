/* The acceptor thread. */
#include "app/acceptor.h"
#include "app/connection_limit.h"
#include "base/check.h"
#include "base/log.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { MAILBOX_CAPACITY = 16, GIVEN_AT_ONCE = 16 };

/* For several connections at once: a wake-up costs more than the rest of a hand-over, and on a CPU that both share it
 * would take the turn from us. */
static void wake_loops(struct acceptor *a)
{
	if (a->given_count == 0)
		return;
	a->given_count = 0;
	for (unsigned i = 0; i < a->worker_count; i++) {
		if (a->given[i])
			loop_wake(&a->workers[i].loop);
		a->given[i] = false;
	}
}

/* The loop that fits best takes it, or the next best one when its mailbox is full. */
static bool place(struct acceptor *a, const struct listener_settings *listener, int fd, const struct address *peer)
{
	memset(a->skip, 0, a->worker_count * sizeof *a->skip);
	for (;;) {
		int loop = dispatch_pick(&a->dispatch, a->skip);
		if (loop == DISPATCH_NONE)
			return false;
		if (worker_give(&a->workers[loop], listener, fd, peer)) {
			a->given[loop] = true;
			if (++a->given_count == GIVEN_AT_ONCE)
				wake_loops(a);
			return true;
		}
		dispatch_undo(&a->dispatch, loop);
		a->skip[loop] = true;
		atomic_fetch_add_explicit(&a->server->acceptor.queue_full, 1, memory_order_relaxed);
	}
}

static bool try_once(struct acceptor *a, const struct listener_settings *listener, int fd, const struct address *peer)
{
	if (a->accepts.finishing)
		connection_limit_leave(a->server, &a->waits_for_limit);
	else if (!connection_limit_has_room(a->server, &a->waits_for_limit))
		return false;
	return place(a, listener, fd, peer);
}

static bool take(struct accept_set *s, const struct listener_settings *listener, int fd, const struct address *peer)
{
	struct acceptor *a = s->owner;
	if (try_once(a, listener, fd, peer))
		return true;
	/* Say that we wait, then look again: either this look or the loop that makes room sees the other. */
	atomic_store_explicit(&a->server->acceptor_waits, true, memory_order_seq_cst);
	return try_once(a, listener, fd, peer);
}

static void on_turn_end(struct loop *l)
{
	wake_loops(l->owner);
}

static void begin_batch(struct accept_set *s)
{
	struct acceptor *a = s->owner;
	wake_loops(a);
	dispatch_look(&a->dispatch, clock_now_ns());
}

static void finish(struct acceptor *a)
{
	if (accept_set_finish(&a->accepts))
		loop_stop(&a->loop);
}

static void try_finish(struct accept_set *s)
{
	finish(s->owner);
}

static void on_wake(struct loop *l, struct post *post)
{
	struct acceptor *a = l->owner;
	(void)post;
	atomic_store_explicit(&a->wake_posted, false, memory_order_release);
	if (a->accepts.finishing)
		finish(a);
	else
		accept_set_resume(&a->accepts);
}

void acceptor_wake(struct acceptor *a)
{
	/* One post at a time: it is one piece of memory. */
	if (!atomic_exchange_explicit(&a->wake_posted, true, memory_order_acq_rel))
		loop_post_always(&a->loop, &a->wake_post);
}

static void on_finish(struct loop *l, struct post *post)
{
	struct acceptor *a = l->owner;
	(void)post;
	finish(a);
}

static void on_close(struct loop *l, struct post *post)
{
	struct acceptor *a = l->owner;
	(void)post;
	accept_set_close(&a->accepts);
	loop_stop(l);
}

void acceptor_finish(struct acceptor *a)
{
	a->finish_post.run = on_finish;
	loop_post_always(&a->loop, &a->finish_post);
}

/* On a CPU that both use, a loop that works is not interrupted for each connection that comes: those that came by its
 * sleep, or by the end of its time slice, are handed over together. A policy that the operator has chosen stays. */
static void rank_behind_loops(void)
{
	struct sched_param unused = {0};
	if (sched_getscheduler(0) == SCHED_OTHER && sched_setscheduler(0, SCHED_BATCH, &unused))
		log_info("acceptor: SCHED_BATCH is not allowed (%s): new connections interrupt busy loops",
		        strerror(errno));
}

static void *run(void *argument)
{
	struct acceptor *a = argument;
	prctl(PR_SET_NAME, "acceptor");
	rank_behind_loops();
	/* Only a bug ends it otherwise, and a server that accepts nothing must not look alive. */
	MUST(loop_run(&a->loop) == 0);
	a->finished_post.run = a->finished;
	loop_post_always(a->control, &a->finished_post);
	return NULL;
}

int acceptor_init(struct acceptor *a, enum dispatch_policy policy, const struct listeners *listeners)
{
	int error = loop_init(&a->loop, a->worker_count, a->stats, MAILBOX_CAPACITY);
	if (error)
		return error;
	a->made = true;
	a->accepts.reserve_fd = a->accepts.held.fd = -1;
	a->loop.owner = a;
	a->loop.turn_end = on_turn_end;
	a->wake_post.run = on_wake;
	a->skip = calloc(a->worker_count, sizeof *a->skip);
	a->given = calloc(a->worker_count, sizeof *a->given);
	if (!a->skip || !a->given || !dispatch_init(&a->dispatch, policy, a->server->loops, a->worker_count))
		return -ENOMEM;
	error = accept_set_init(&a->accepts, &a->loop, &a->server->acceptor, listeners->socket_count);
	a->accepts.take = take;
	a->accepts.begin_batch = begin_batch;
	a->accepts.try_finish = try_finish;
	a->accepts.owner = a;
	for (size_t i = 0; !error && i < listeners->socket_count; i++) {
		struct listener_socket *s = &listeners->sockets[i];
		if (s->for_loop == SOCKET_FOR_ACCEPTOR)
			error = accept_set_add(&a->accepts, s);
	}
	return error;
}

int acceptor_start(struct acceptor *a)
{
	int error = pthread_create(&a->thread, NULL, run, a);
	a->joinable = error == 0;
	return -error;
}

void acceptor_fini(struct acceptor *a)
{
	if (!a->made)
		return;
	a->close_post.run = on_close;
	if (a->joinable) {
		loop_post_always(&a->loop, &a->close_post);
		pthread_join(a->thread, NULL);
	}
	accept_set_fini(&a->accepts);
	loop_fini(&a->loop);
	dispatch_fini(&a->dispatch);
	free(a->skip);
	free(a->given);
	a->skip = a->given = NULL;
	a->made = a->joinable = false;
}
