/*
 * A turn: sockets, mail, the tasks of the turn's end and the timers that are due are served; the status line says
 * "waiting"; the loop sleeps.
 *
 * Where it sleeps: only libev knows when the next of its timers is due, and it does not tell. So while a timer runs
 * libev sleeps, on a set of its own that holds ours, and each turn costs a second epoll_wait. With none but the sweep,
 * whose instant is known, the loop sleeps on our set: the usual case of a loop that serves.
 */
#include "event/loop.h"
#include "base/check.h"
#include "base/fd.h"
#include "event/stress.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
	BATCH = 256, /* events taken from the set at once */
	LOOKS = 16,  /* while it gives as many; then timers have their turn */
	MAIL_A_TURN = 128,
	FIRST_SLOTS = 64,
};

static const int64_t SWEEP_GRAIN_NS = 20 * NS_PER_MS;

/* ---- slots ---------------------------------------------------------------------- */

static bool grow(struct loop *l)
{
	uint32_t capacity = l->capacity ? 2 * l->capacity : FIRST_SLOTS;
	struct watch **watches = realloc(l->watches, capacity * sizeof *watches);
	if (watches)
		l->watches = watches;
	uint32_t *generations = realloc(l->generations, capacity * sizeof *generations);
	if (generations)
		l->generations = generations;
	int64_t *deadlines = realloc(l->deadlines_ns, capacity * sizeof *deadlines);
	if (deadlines)
		l->deadlines_ns = deadlines;
	uint32_t *free_slots = realloc(l->free_slots, capacity * sizeof *free_slots);
	if (free_slots)
		l->free_slots = free_slots;
	if (!watches || !generations || !deadlines || !free_slots)
		return false;
	for (uint32_t slot = capacity; slot-- > l->capacity;) {
		watches[slot] = NULL;
		generations[slot] = 0;
		deadlines[slot] = NO_DEADLINE;
		free_slots[l->free_count++] = slot;
	}
	l->capacity = capacity;
	return true;
}

bool loop_adopt(struct loop *l, struct watch *w)
{
	if (l->free_count == 0 && !grow(l))
		return false;
	w->loop = l;
	w->slot = l->free_slots[--l->free_count];
	w->registered = false;
	l->watches[w->slot] = w;
	return true;
}

void loop_release(struct watch *w)
{
	struct loop *l = w->loop;
	MUST(l->watches[w->slot] == w);
	l->watches[w->slot] = NULL;
	l->generations[w->slot]++;
	l->deadlines_ns[w->slot] = NO_DEADLINE;
	l->free_slots[l->free_count++] = w->slot;
	w->loop = NULL;
}

static int add_to_set(struct watch *w, int fd, uint32_t events)
{
	struct loop *l = w->loop;
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)l->generations[w->slot] << 32 | w->slot};
	if (epoll_ctl(l->set_fd, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	w->registered = true;
	return 0;
}

int loop_register(struct watch *w, int fd)
{
	return add_to_set(w, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

int loop_register_listener(struct watch *w, int fd)
{
	return add_to_set(w, fd, EPOLLIN);
}

void loop_unregister(struct watch *w, int fd)
{
	if (w->registered)
		epoll_ctl(w->loop->set_fd, EPOLL_CTL_DEL, fd, NULL);
	w->registered = false;
}

void loop_unregister_from(struct loop *l, int fd)
{
	epoll_ctl(l->set_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* ---- deadlines -------------------------------------------------------------------- */

/* libev counts from its own cached time, which may be a long turn ago, or older than the loop when it does not run yet.
 */
static void start_ev_timer(struct loop *l, ev_timer *timer, int64_t after_ns)
{
	ev_now_update(l->ev);
	ev_timer_stop(l->ev, timer);
	ev_timer_set(timer, (double)after_ns / (double)NS_PER_S, 0.);
	ev_timer_start(l->ev, timer);
}

void loop_sweep_by(struct loop *l, int64_t at_ns)
{
	int64_t now_ns = clock_now_ns();
	if (at_ns < now_ns + SWEEP_GRAIN_NS)
		at_ns = now_ns + SWEEP_GRAIN_NS;
	if (at_ns >= l->sweep_at_ns)
		return;
	l->sweep_at_ns = at_ns;
	start_ev_timer(l, &l->sweep_timer, at_ns - now_ns);
}

static void on_sweep(struct ev_loop *ev, ev_timer *timer, int events)
{
	struct loop *l = CONTAINER_OF(timer, struct loop, sweep_timer);
	int64_t now_ns = clock_now_ns(), next_ns = NO_DEADLINE;
	(void)ev, (void)events;
	l->sweep_at_ns = NO_DEADLINE;
	for (uint32_t slot = 0; slot < l->capacity; slot++) {
		if (l->deadlines_ns[slot] <= now_ns) {
			struct watch *w = l->watches[slot];
			l->deadlines_ns[slot] = NO_DEADLINE;
			if (w)
				w->expired(w);
		}
		if (l->deadlines_ns[slot] < next_ns)
			next_ns = l->deadlines_ns[slot];
	}
	if (next_ns != NO_DEADLINE)
		loop_sweep_by(l, next_ns);
}

/* ---- timers and tasks --------------------------------------------------------------- */

static void on_timer(struct ev_loop *ev, ev_timer *ev_timer, int events)
{
	struct timer *t = CONTAINER_OF(ev_timer, struct timer, ev);
	struct loop *l = ev_userdata(ev);
	(void)events;
	l->ev_watchers--;
	t->fire(t);
}

void timer_init(struct timer *t, void (*fire)(struct timer *))
{
	t->fire = fire;
	ev_init(&t->ev, on_timer);
}

void timer_start(struct loop *l, struct timer *t, int64_t us)
{
	l->ev_watchers += !timer_is_running(t);
	start_ev_timer(l, &t->ev, us * NS_PER_US);
}

void timer_stop(struct loop *l, struct timer *t)
{
	l->ev_watchers -= timer_is_running(t);
	ev_timer_stop(l->ev, &t->ev);
}

void loop_defer(struct loop *l, struct task *t)
{
	if (list_is_empty(&t->node))
		list_append(&l->tasks, &t->node);
}

/* Only the tasks that wait now: those that they add belong to the next round. */
static void run_tasks(struct loop *l)
{
	struct list round, *node;
	if (list_is_empty(&l->tasks))
		return;
	/* Tasks may serve what was read after the turn began. */
	l->epoch++;
	list_init(&round);
	list_append(&l->tasks, &round);
	list_remove(&l->tasks);
	while ((node = list_take_first(&round))) {
		struct task *t = CONTAINER_OF(node, struct task, node);
		t->run(t);
	}
}

/* ---- turns --------------------------------------------------------------------------- */

void loop_post_always(struct loop *l, struct post *post)
{
	post->next = atomic_load_explicit(&l->posts, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
	        &l->posts, &post->next, post, memory_order_seq_cst, memory_order_relaxed))
		;
	STRESS_POINT();
	mailbox_wake(&l->mailbox);
}

void loop_run_posts(struct loop *l)
{
	struct post *newest_first = NULL, *in_order = NULL;
	if (atomic_load_explicit(&l->posts, memory_order_relaxed))
		newest_first = atomic_exchange_explicit(&l->posts, NULL, memory_order_acquire);
	while (newest_first) {
		struct post *next = newest_first->next;
		newest_first->next = in_order;
		in_order = newest_first;
		newest_first = next;
	}
	while (in_order) {
		struct post *next = in_order->next;
		in_order->run(l, in_order);
		STRESS_POINT();
		in_order = next;
	}
}

static void read_mail(struct loop *l)
{
	struct mail mail;
	loop_run_posts(l);
	for (int i = 0; i < MAIL_A_TURN && mailbox_take(&l->mailbox, &mail); i++)
		mail.deliver(l, &mail);
}

static void dispatch(struct loop *l, const struct epoll_event *event)
{
	uint32_t slot = (uint32_t)event->data.u64, generation = (uint32_t)(event->data.u64 >> 32);
	if (slot >= l->capacity || l->generations[slot] != generation || !l->watches[slot])
		return;
	l->watches[slot]->ready(l->watches[slot], event->events);
}

static void serve_mail_and_tasks(struct loop *l)
{
	read_mail(l);
	run_tasks(l);
}

static void begin_turn(struct loop *l)
{
	STRESS_POINT();
	l->in_turn = true;
	l->now_ns = clock_now_ns();
	l->second = stats_second(l->stats, l->now_ns);
	atomic_store_explicit(&l->stats->status.busy_since_ns, l->now_ns, memory_order_relaxed);
	mailbox_awake(&l->mailbox);
}

/* Serves what the set holds after a sleep of at most `timeout_ms`; -1: without end. */
static void serve_set(struct loop *l, int timeout_ms)
{
	struct epoll_event events[BATCH];
	int count = BATCH;
	/* A timeout must not come before what came in time; and the turn's begin tells how long all that waits has
	 * waited. */
	for (int look = 0; look < LOOKS && count == BATCH; look++) {
		count = epoll_wait(l->set_fd, events, BATCH, look == 0 ? timeout_ms : 0);
		if (count < 0 && errno != EINTR)
			l->error = -errno;
		if (!l->in_turn)
			begin_turn(l);
		l->epoch++;
		for (int i = 0; i < count; i++)
			dispatch(l, &events[i]);
		serve_mail_and_tasks(l);
	}
}

static void on_set_ready(struct ev_loop *ev, ev_io *watch, int events)
{
	(void)watch, (void)events;
	serve_set(ev_userdata(ev), 0);
}

/* The mailbox's eventfd is edge-triggered and never read: each write is a new edge. */
static void on_mail_ready(struct watch *w, uint32_t events)
{
	(void)events;
	mailbox_awake(&w->loop->mailbox);
}

static void on_libev_awake(struct ev_loop *ev, ev_check *check, int events)
{
	struct loop *l = ev_userdata(ev);
	(void)check, (void)events;
	if (!l->in_turn)
		begin_turn(l);
}

static void count_turn(struct loop *l, int64_t now_ns)
{
	int64_t took_ns = now_ns - l->now_ns;
	struct stats_second *second = l->second;
	stat_add(l->stats, STAT_turns, 1);
	atomic_store_explicit(&second->busy_ns, atomic_load_explicit(&second->busy_ns, memory_order_relaxed) + took_ns,
	        memory_order_relaxed);
	atomic_store_explicit(&l->stats->status.busy_since_ns, 0, memory_order_relaxed);
	if (took_ns > l->stall_threshold_ns) {
		stat_add(l->stats, STAT_stalls, 1);
		stat_max(l->stats, STAT_longest_stall_us, took_ns / NS_PER_US);
	}
}

static int until_sweep_ms(const struct loop *l, int64_t now_ns)
{
	if (l->sweep_at_ns == NO_DEADLINE)
		return -1;
	int64_t ms = (l->sweep_at_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

static void end_turn(struct loop *l)
{
	serve_mail_and_tasks(l);
	if (l->turn_end)
		l->turn_end(l);
	STRESS_POINT();
	bool may_sleep = list_is_empty(&l->tasks) && !l->stopping && mailbox_may_sleep(&l->mailbox) &&
	                 !atomic_load_explicit(&l->posts, memory_order_seq_cst);
	STRESS_POINT();
	int64_t now_ns = clock_now_ns();
	count_turn(l, now_ns);
	l->in_turn = false;
	l->sleep_ms = may_sleep ? until_sweep_ms(l, now_ns) : 0;
}

void loop_turn(struct loop *l, bool may_sleep)
{
	int sleep_ms = may_sleep ? l->sleep_ms : 0;
	if (l->ev_watchers > 0) {
		ev_run(l->ev, sleep_ms == 0 ? EVRUN_NOWAIT : EVRUN_ONCE);
	} else {
		serve_set(l, sleep_ms);
		if (l->now_ns >= l->sweep_at_ns)
			ev_run(l->ev, EVRUN_NOWAIT);
	}
	end_turn(l);
}

/* ---- life ------------------------------------------------------------------------------ */

static void on_nothing(struct ev_loop *ev, ev_timer *timer, int events)
{
	(void)ev, (void)timer, (void)events;
}

/* libev ends the process when its arrays cannot grow. They are grown now, when a shortage can still be told, far enough
 * for the timers that are usual. */
static void grow_arrays(struct ev_loop *ev)
{
	enum { TIMERS = 192 };
	static const int priorities[] = {0, 1, EV_MAXPRI};
	ev_timer timers[TIMERS];
	for (size_t i = 0; i < TIMERS; i++) {
		ev_timer_init(&timers[i], on_nothing, 0., 0.);
		ev_set_priority(&timers[i], priorities[i % ARRAY_COUNT(priorities)]);
		ev_timer_start(ev, &timers[i]);
	}
	ev_run(ev, EVRUN_NOWAIT);
}

static int make_set(struct loop *l)
{
	l->set_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->set_fd < 0)
		return -errno;
	l->ev = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
	if (!l->ev)
		return errno ? -errno : -ENOMEM;
	ev_set_userdata(l->ev, l);
	ev_io_init(&l->set_watch, on_set_ready, l->set_fd, EV_READ);
	/* Before timers: what came in time must be seen before its timeout. */
	ev_set_priority(&l->set_watch, 1);
	ev_io_start(l->ev, &l->set_watch);
	grow_arrays(l->ev);
	ev_init(&l->sweep_timer, on_sweep);
	ev_check_init(&l->after_sleep, on_libev_awake);
	ev_set_priority(&l->after_sleep, EV_MAXPRI);
	ev_check_start(l->ev, &l->after_sleep);
	return 0;
}

static int watch_mailbox(struct loop *l)
{
	static const struct watch mail_watch = {.ready = on_mail_ready};
	l->mail_watch = mail_watch;
	if (!loop_adopt(l, &l->mail_watch))
		return -ENOMEM;
	return loop_register(&l->mail_watch, l->mailbox.event_fd);
}

int loop_init(struct loop *l, unsigned id, struct stats *stats, size_t mailbox_capacity)
{
	*l = (struct loop){
	        .id = id, .stats = stats, .set_fd = -1, .sweep_at_ns = NO_DEADLINE, .stall_threshold_ns = INT64_MAX};
	list_init(&l->tasks);
	int error = mailbox_init(&l->mailbox, mailbox_capacity);
	if (!error)
		error = make_set(l);
	if (!error)
		error = watch_mailbox(l);
	if (error)
		loop_fini(l);
	return error;
}

void loop_fini(struct loop *l)
{
	loop_run_posts(l); /* completions that came after the last turn still free what they hold */
	if (l->ev)
		ev_loop_destroy(l->ev);
	fd_close(&l->set_fd);
	mailbox_fini(&l->mailbox);
	free(l->watches);
	free(l->generations);
	free(l->deadlines_ns);
	free(l->free_slots);
	l->ev = NULL;
	l->watches = NULL;
	l->generations = l->free_slots = NULL;
	l->deadlines_ns = NULL;
	l->capacity = l->free_count = 0;
}

int loop_run(struct loop *l)
{
	l->sleep_ms = 0; /* mail and tasks may have come before */
	while (!l->stopping && !l->error)
		loop_turn(l, true);
	return l->error;
}

void loop_stop(struct loop *l)
{
	l->stopping = true;
}
