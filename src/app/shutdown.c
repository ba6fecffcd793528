/* The end, step by step. */
#include "app/shutdown.h"
#include "app/command_line.h"
#include "app/service.h"
#include "base/check.h"
#include "base/log.h"
#include "serve/connection.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum step { STEP_SERVING, STEP_DELAY, STEP_ACCEPTOR, STEP_DRAIN, STEP_CUT, STEP_ABANDONED };

/* After the cut a loop only has to come round once; and who asks twice does not want to wait for one that is stuck. */
static const int64_t GIVE_UP_US = 2 * 1000 * 1000, GIVE_UP_AT_ONCE_US = 500 * 1000;

static int64_t setting_us(const struct server *s, const char *name)
{
	return mlserve_setting_number(config_only(s->config, CONFIG_SERVER), name);
}

static void on_give_up(struct timer *t)
{
	struct server *s = CONTAINER_OF(t, struct server, give_up_timer);
	s->gave_up = s->ended < s->worker_count;
	loop_stop(&s->control);
}

/* The control thread's own connections: health is answered to the last. */
static void stop_when_control_is_empty(struct loop *l)
{
	struct server *s = l->owner;
	if (s->control_draining && s->control_context.connections == 0)
		loop_stop(l);
}

static void stop_if_all_ended(struct server *s)
{
	if (s->shutdown_step < STEP_DRAIN || s->shutdown_step == STEP_ABANDONED || s->ended < s->worker_count ||
	        s->control_draining)
		return;
	s->control_draining = true;
	accept_set_finish(&s->control_accepts);
	connections_drain(&s->control_context);
	s->control.turn_end = stop_when_control_is_empty;
	timer_start(&s->control, &s->give_up_timer, GIVE_UP_US);
}

static void cut(struct server *s, int64_t give_up_us)
{
	timer_stop(&s->control, &s->drain_timer);
	timer_stop(&s->control, &s->cut_timer);
	if (s->control_draining)
		connections_cut(&s->control_context);
	timer_start(&s->control, &s->give_up_timer, give_up_us);
	if (s->shutdown_step >= STEP_CUT)
		return;
	if (s->shutdown_step < STEP_ACCEPTOR)
		acceptor_finish(&s->acceptor);
	s->shutdown_step = STEP_CUT;
	for (unsigned i = 0; i < s->worker_count; i++)
		if (s->workers[i].joinable)
			worker_cut(&s->workers[i]);
	stop_if_all_ended(s);
}

static void on_timeout(struct timer *t)
{
	struct server *s = CONTAINER_OF(t, struct server, cut_timer);
	log_warn("shutdown_timeout is over: what is left is cut");
	cut(s, GIVE_UP_US);
}

/* The acceptor has handed over all that the kernel had queued. */
void shutdown_on_acceptor_finished(struct loop *control, struct post *post)
{
	struct server *s = control->owner;
	(void)post;
	s->acceptor_done = true;
	if (s->shutdown_step != STEP_ACCEPTOR)
		return;
	s->shutdown_step = STEP_DRAIN;
	for (unsigned i = 0; i < s->worker_count; i++)
		if (s->workers[i].joinable)
			worker_drain(&s->workers[i]);
	stop_if_all_ended(s);
}

static void begin_draining(struct timer *t)
{
	struct server *s = CONTAINER_OF(t, struct server, drain_timer);
	if (s->shutdown_step != STEP_DELAY)
		return;
	s->shutdown_step = STEP_ACCEPTOR;
	acceptor_finish(&s->acceptor);
	timer_start(&s->control, &s->cut_timer, setting_us(s, "shutdown_timeout"));
}

static void begin(struct server *s, const char *signal_name)
{
	int64_t delay_us = setting_us(s, "drain_delay");
	log_info("%s: shutting down%s", signal_name, delay_us ? ", after drain_delay" : "");
	atomic_store(&s->view.phase, SERVER_DRAINING);
	service_notify("STOPPING=1\nSTATUS=shutting down");
	s->shutdown_step = STEP_DELAY;
	if (delay_us)
		timer_start(&s->control, &s->drain_timer, delay_us);
	else
		begin_draining(&s->drain_timer);
}

void shutdown_on_worker_ended(struct loop *control, struct post *post)
{
	struct server *s = control->owner;
	struct worker *w = CONTAINER_OF(post, struct worker, end_post);
	s->ended++;
	if (s->shutdown_step == STEP_SERVING)
		log_error("loop %u: stopped: %s", w->loop.id, w->view->error ? w->view->error : "ended by itself");
	if (s->shutdown_step == STEP_SERVING && s->ended == s->worker_count) {
		log_error("no loop is left");
		s->failed = true;
		begin(s, "no loop");
	}
	stop_if_all_ended(s);
}

/* ---- signals ------------------------------------------------------------------------------------ */

static const struct {
	int number;
	const char *name;
	bool ends;
} handled[] = {
        {SIGTERM, "SIGTERM", true},
        {SIGINT, "SIGINT", true},
        {SIGQUIT, "SIGQUIT", true},
        {SIGHUP, "SIGHUP", false},
        {SIGUSR1, "SIGUSR1", false},
        {SIGUSR2, "SIGUSR2", false},
};

static void on_signal(struct ev_loop *ev, ev_signal *watch, int events)
{
	struct server *s = watch->data;
	(void)ev, (void)events;
	for (size_t i = 0; i < ARRAY_COUNT(handled); i++) {
		if (handled[i].number != watch->signum)
			continue;
		if (!handled[i].ends)
			log_warn("%s: not part of this version yet; restart to change the configuration",
			        handled[i].name);
		else if (s->shutdown_step == STEP_SERVING)
			begin(s, handled[i].name);
		else
			cut(s, GIVE_UP_AT_ONCE_US);
	}
}

static sigset_t handled_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_COUNT(handled); i++)
		sigaddset(&set, handled[i].number);
	return set;
}

void shutdown_block_signals(void)
{
	sigset_t set = handled_signals();
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void shutdown_unblock_signals(void)
{
	sigset_t set = handled_signals();
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void shutdown_watch_signals(struct server *s)
{
	_Static_assert(ARRAY_COUNT(handled) <= ARRAY_COUNT(s->signals), "a watcher for each signal");
	timer_init(&s->drain_timer, begin_draining);
	timer_init(&s->cut_timer, on_timeout);
	timer_init(&s->give_up_timer, on_give_up);
	for (size_t i = 0; i < ARRAY_COUNT(handled); i++) {
		ev_signal_init(&s->signals[i], on_signal, handled[i].number);
		s->signals[i].data = s;
		ev_signal_start(s->control.ev, &s->signals[i]);
		loop_count_watcher(&s->control, 1);
	}
	/* In this thread only. libev 4.33 unblocks signals when EVFLAG_NOSIGMASK is given, not when it is absent. */
	shutdown_unblock_signals();
}

/* ---- the last steps ---------------------------------------------------------------------------------- */

static int64_t total(const struct server *s, enum stat_id id)
{
	int64_t sum = 0;
	for (unsigned i = 0; i < s->worker_count; i++)
		sum += stat_get(&s->stats[i], id);
	return sum;
}

static bool hangs(const struct stats *stats)
{
	return atomic_load(&stats->status.state) != LOOP_STOPPED;
}

/* One that hangs could not count what ends with it. */
static int64_t cut_count(const struct stats *stats)
{
	return stat_get(stats, STAT_cut) + (hangs(stats) ? stat_get(stats, STAT_active_requests) : 0);
}

static void report(const struct server *s)
{
	int64_t all_cut = 0;
	for (unsigned i = 0; i < s->worker_count; i++) {
		const struct stats *stats = &s->stats[i];
		const char *error = s->loop_views[i].error;
		all_cut += cut_count(stats);
		log_info("loop %u: %" PRId64 " requests finished, %" PRId64 " cut, %" PRId64 " failed, %" PRId64
		         " left by their clients%s%s%s",
		        i, stat_get(stats, STAT_finished), cut_count(stats), stat_get(stats, STAT_failed),
		        stat_get(stats, STAT_client_aborts), error ? ", stopped: " : "", error ? error : "",
		        hangs(stats) ? ", still stuck in a handler" : "");
	}
	log_info("closed: %u loops: %" PRId64 " requests finished, %" PRId64 " cut, %" PRId64 " failed, %" PRId64
	         " left by their clients",
	        s->worker_count, total(s, STAT_finished), all_cut, total(s, STAT_failed), total(s, STAT_client_aborts));
}

/* false: something still runs in the executor, and the process can only exit. */
static bool free_threads(struct server *s)
{
	for (unsigned i = 0; i < s->worker_count; i++)
		worker_join(&s->workers[i]);
	acceptor_fini(&s->acceptor);
	stall_watch_stop(&s->stall_watch);
	upkeep_stop(&s->upkeep);
	resolver_free(&s->resolver);
	if (s->control_serves) {
		connections_cut(&s->control_context);
		accept_set_fini(&s->control_accepts);
	}
	/* Running jobs end; then what they post back is freed with the loops. */
	if (!executor_free(&s->view.executor, GIVE_UP_US * NS_PER_US))
		return false;
	if (s->control_serves)
		context_fini(&s->control_context);
	for (unsigned i = 0; i < s->worker_count; i++)
		worker_fini(&s->workers[i]);
	/* libev gives each signal its default back: a late HUP must not make that our end. */
	shutdown_block_signals();
	for (size_t i = 0; s->control_made && i < ARRAY_COUNT(handled); i++) {
		loop_count_watcher(&s->control, -ev_is_active(&s->signals[i]));
		ev_signal_stop(s->control.ev, &s->signals[i]);
	}
	if (s->control_made)
		loop_fini(&s->control);
	return true;
}

void shutdown_abandon(struct server *s)
{
	s->shutdown_step = STEP_ABANDONED;
	for (unsigned i = 0; i < s->worker_count; i++)
		if (s->workers[i].joinable)
			worker_cut(&s->workers[i]);
	if (s->acceptor.joinable)
		acceptor_finish(&s->acceptor);
	free_threads(s);
}

static void let_go_of_threads(struct server *s)
{
	for (unsigned i = 0; i < s->worker_count; i++)
		if (s->workers[i].joinable)
			pthread_detach(s->workers[i].thread);
	if (s->acceptor.joinable)
		pthread_detach(s->acceptor.thread);
}

void shutdown_finish(struct server *s)
{
	report(s);
	if (!s->gave_up && free_threads(s))
		return;
	/* A thread that is stuck in a handler cannot be joined, and nothing that it may still use can be freed. */
	let_go_of_threads(s);
	for (size_t i = 0; i < s->listeners.socket_count; i++)
		listeners_close(&s->listeners.sockets[i]);
	pid_file_close(&s->pid_fd, s->pid_path);
	_exit(s->failed ? EXIT_REFUSED : EXIT_DONE);
}
