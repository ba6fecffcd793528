/* The loop: slots, deadlines, timers, tasks, posts and mail. Time is measured, never waited for by sleeping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/loop.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const int64_t LATE_NS = 40 * NS_PER_MS;
enum {
	ROUNDS = 8, /* lateness is the machine's as well: one punctual round of so many is enough; early is never */
	WATCHES = 40,
};

static struct stats stats;
static struct loop loop;

static int setup(void **state)
{
	(void)state;
	stats_init(&stats);
	return loop_init(&loop, 3, &stats, 16);
}

static int teardown(void **state)
{
	(void)state;
	loop_fini(&loop);
	return 0;
}

/* Holds the loop, as a handler does that computes. */
static void burn(int64_t ns)
{
	int64_t end_ns = clock_now_ns() + ns;
	while (clock_now_ns() < end_ns)
		;
}

static void stop_by_timer(struct timer *t)
{
	(void)t;
	loop_stop(&loop);
}

/* Runs the loop for so long. */
static void run_for(int64_t us)
{
	struct timer t;
	timer_init(&t, stop_by_timer);
	timer_start(&loop, &t, us);
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
	timer_stop(&loop, &t);
}

static void run(void)
{
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
}

/* ---- slots ------------------------------------------------------------------------- */

struct seen {
	struct watch watch;
	int ready_count, expired_count;
	uint32_t events;
	int64_t deadline_ns, expired_ns;
};

static void note_ready(struct watch *w, uint32_t events)
{
	struct seen *s = CONTAINER_OF(w, struct seen, watch);
	s->ready_count++;
	s->events |= events;
}

static void note_expired(struct watch *w)
{
	struct seen *s = CONTAINER_OF(w, struct seen, watch);
	s->expired_count++;
	s->expired_ns = clock_now_ns();
}

static void adopt(struct seen *s)
{
	*s = (struct seen){.watch = {.ready = note_ready, .expired = note_expired}};
	assert_true(loop_adopt(&loop, &s->watch));
}

static void test_loop_gives_each_watch_a_slot_of_its_own_and_takes_it_back(void **state)
{
	enum { MANY = 1000 };
	static struct seen watches[MANY];
	(void)state;
	for (int i = 0; i < MANY; i++)
		adopt(&watches[i]);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(loop.watches[watches[i].watch.slot], &watches[i].watch);
	uint32_t capacity = loop.capacity;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < MANY; i++) {
			uint32_t slot = watches[i].watch.slot, generation = loop.generations[slot];
			loop_release(&watches[i].watch);
			assert_int_equal(loop.generations[slot], generation + 1);
			assert_null(loop.watches[slot]);
		}
		for (int i = 0; i < MANY; i++)
			adopt(&watches[i]);
		assert_int_equal(loop.capacity, capacity);
	}
}

/* Two sockets are ready in one batch. Whichever comes first releases the other, and a newcomer gets its slot. */
static struct seen pair[2], newcomer;
static int pair_fds[2][2];

static void release_the_other(struct watch *w, uint32_t events)
{
	int other = w == &pair[0].watch;
	(void)events;
	assert_int_equal(newcomer.ready_count, 0);
	uint32_t slot = pair[other].watch.slot;
	loop_release(&pair[other].watch);
	close(pair_fds[other][0]);
	adopt(&newcomer);
	assert_int_equal(newcomer.watch.slot, slot);
	pair[!other].ready_count++;
}

static void test_loop_keeps_stale_events_from_a_slots_new_owner(void **state)
{
	(void)state;
	memset(&newcomer, 0, sizeof newcomer);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair_fds[i]), 0);
		adopt(&pair[i]);
		pair[i].watch.ready = release_the_other;
		assert_int_equal(write(pair_fds[i][1], "x", 1), 1);
		assert_int_equal(loop_register(&pair[i].watch, pair_fds[i][0]), 0);
	}
	run_for(1000);
	assert_int_equal(pair[0].ready_count + pair[1].ready_count, 1);
	assert_non_null(newcomer.watch.loop);
	assert_int_equal(newcomer.ready_count, 0);
	close(pair_fds[pair[1].ready_count][0]);
	close(pair_fds[0][1]);
	close(pair_fds[1][1]);
}

static void test_loop_announces_edges_once_and_levels_again_and_again(void **state)
{
	struct seen edge, level;
	int fds[2];
	(void)state;
	assert_int_equal(pipe(fds), 0);
	int copy = dup(fds[0]);
	adopt(&edge);
	adopt(&level);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(loop_register(&edge.watch, fds[0]), 0);
	assert_int_equal(loop_register_listener(&level.watch, copy), 0);
	run_for(2000);
	assert_int_equal(edge.ready_count, 1);
	assert_true(edge.events & EPOLLIN);
	assert_true(level.ready_count > 2);
	loop_unregister(&level.watch, copy);
	assert_false(level.watch.registered);
	level.ready_count = 0;
	run_for(1000);
	assert_int_equal(level.ready_count, 0);
	assert_int_equal(loop_register_listener(&level.watch, copy), 0);
	run_for(1000);
	assert_true(level.ready_count > 0);
	assert_int_equal(edge.ready_count, 1);
	close(fds[0]);
	close(fds[1]);
	close(copy);
}

static void test_loop_says_why_a_descriptor_cannot_be_registered(void **state)
{
	struct seen s;
	(void)state;
	adopt(&s);
	assert_int_equal(loop_register(&s.watch, -1), -EBADF);
	assert_false(s.watch.registered);
	loop_unregister(&s.watch, -1);
}

/* ---- deadlines ------------------------------------------------------------------------ */

/* How late the latest of them came; fails when one came early or not at all. */
static int64_t latest_ns(const struct seen *watches, int count)
{
	int64_t latest = 0;
	for (int i = 0; i < count; i++) {
		assert_int_equal(watches[i].expired_count, 1);
		assert_true(watches[i].expired_ns >= watches[i].deadline_ns);
		int64_t late = watches[i].expired_ns - watches[i].deadline_ns;
		latest = late > latest ? late : latest;
	}
	return latest;
}

static void set_deadline(struct seen *s, int64_t in_ns)
{
	s->deadline_ns = clock_now_ns() + in_ns;
	watch_deadline(&s->watch, s->deadline_ns);
}

static void test_loop_deadlines_come_neither_early_nor_much_late(void **state)
{
	static struct seen watches[WATCHES];
	int64_t late_ns = INT64_MAX;
	(void)state;
	for (int round = 0; round < ROUNDS && late_ns > LATE_NS; round++) {
		for (int i = 0; i < WATCHES; i++) {
			adopt(&watches[i]);
			set_deadline(&watches[i], (i * 37 % WATCHES) * 3 * NS_PER_MS);
		}
		run_for(3000 * WATCHES + 60000);
		late_ns = latest_ns(watches, WATCHES);
		for (int i = 0; i < WATCHES; i++)
			loop_release(&watches[i].watch);
	}
	assert_in_range(late_ns, 0, LATE_NS);
}

static void test_loop_deadlines_that_were_moved_or_taken_back_do_not_come(void **state)
{
	struct seen moved, cleared, released;
	(void)state;
	adopt(&moved);
	adopt(&cleared);
	adopt(&released);
	set_deadline(&moved, NS_PER_MS);
	set_deadline(&cleared, NS_PER_MS);
	set_deadline(&released, NS_PER_MS);
	set_deadline(&moved, 100 * NS_PER_S);
	watch_deadline(&cleared.watch, NO_DEADLINE);
	loop_release(&released.watch);
	run_for(60000);
	assert_int_equal(moved.expired_count + cleared.expired_count + released.expired_count, 0);
	/* The sweep that found nothing to do has not forgotten the far one. */
	assert_true(loop.sweep_at_ns <= moved.deadline_ns);
}

/* A deadline that is set while the sweep runs, on a slot that it has passed already. */
static void set_again(struct watch *w)
{
	struct seen *s = CONTAINER_OF(w, struct seen, watch);
	note_expired(w);
	assert_true(s->expired_ns >= s->deadline_ns);
	if (s->expired_count < 4)
		set_deadline(s, NS_PER_MS);
}

static void release_all_but_self(struct watch *w)
{
	note_expired(w);
	for (int i = 0; i < 2; i++)
		if (pair[i].watch.loop && &pair[i].watch != w)
			loop_release(&pair[i].watch);
}

static void test_loop_deadlines_may_be_set_and_watches_released_in_the_sweep(void **state)
{
	struct seen again;
	(void)state;
	adopt(&again);
	again.watch.expired = set_again;
	set_deadline(&again, NS_PER_MS);
	for (int i = 0; i < 2; i++) {
		adopt(&pair[i]);
		pair[i].watch.expired = release_all_but_self;
		set_deadline(&pair[i], NS_PER_MS);
	}
	while (again.expired_count < 4)
		run_for(30000);
	assert_int_equal(pair[0].expired_count + pair[1].expired_count, 1);
}

/* ---- timers ------------------------------------------------------------------------------ */

struct measured {
	struct timer timer;
	int64_t due_ns, fired_ns;
	int count;
};

static void note_fired(struct timer *t)
{
	struct measured *m = CONTAINER_OF(t, struct measured, timer);
	m->fired_ns = clock_now_ns();
	m->count++;
}

static void measure(struct measured *m, int64_t us)
{
	timer_init(&m->timer, note_fired);
	m->count = 0;
	m->due_ns = clock_now_ns() + us * NS_PER_US;
	timer_start(&loop, &m->timer, us);
}

static int64_t lateness(const struct measured *m)
{
	assert_int_equal(m->count, 1);
	assert_true(m->fired_ns >= m->due_ns);
	return m->fired_ns - m->due_ns;
}

static void test_loop_timer_begun_before_the_loop_runs_is_punctual(void **state)
{
	int64_t late_ns = INT64_MAX;
	(void)state;
	for (int round = 0; round < ROUNDS && late_ns > LATE_NS; round++) {
		struct measured first;
		teardown(NULL);
		setup(NULL);
		measure(&first, 10000);
		run_for(80000);
		late_ns = lateness(&first);
	}
	assert_in_range(late_ns, 0, LATE_NS);
}

static struct measured after_burn[2];
static struct seen deadline_after_burn;

static void burn_and_begin(struct task *t)
{
	(void)t;
	burn(150 * NS_PER_MS);
	measure(&after_burn[0], 5000);
	set_deadline(&deadline_after_burn, 30 * NS_PER_MS);
	measure(&after_burn[1], 5000);
}

static void test_loop_is_punctual_after_a_long_turn(void **state)
{
	int64_t late_ns = INT64_MAX;
	struct task t;
	(void)state;
	for (int round = 0; round < ROUNDS && late_ns > LATE_NS; round++) {
		adopt(&deadline_after_burn);
		task_init(&t, burn_and_begin);
		loop_defer(&loop, &t);
		run_for(400000);
		int64_t timer_ns = lateness(&after_burn[0]), second_ns = lateness(&after_burn[1]);
		late_ns = latest_ns(&deadline_after_burn, 1);
		late_ns = timer_ns > late_ns ? timer_ns : late_ns;
		late_ns = second_ns > late_ns ? second_ns : late_ns;
		loop_release(&deadline_after_burn.watch);
	}
	assert_in_range(late_ns, 0, LATE_NS);
}

static void test_loop_timer_that_is_begun_anew_fires_once(void **state)
{
	struct measured m, stopped;
	(void)state;
	measure(&m, 500);
	measure(&stopped, 500);
	assert_true(timer_is_running(&m.timer));
	m.due_ns = clock_now_ns() + 20 * NS_PER_MS;
	timer_start(&loop, &m.timer, 20000);
	timer_stop(&loop, &stopped.timer);
	assert_false(timer_is_running(&stopped.timer));
	run_for(40000);
	assert_int_equal(stopped.count, 0);
	lateness(&m);
	assert_false(timer_is_running(&m.timer));
}

struct twin {
	struct timer timer;
	struct twin *other;
	int fired_count;
	bool other_ran;
};

static void stop_other(struct timer *t)
{
	struct twin *twin = CONTAINER_OF(t, struct twin, timer);
	twin->fired_count++;
	twin->other_ran = timer_is_running(&twin->other->timer);
	if (twin->other_ran)
		timer_stop(&loop, &twin->other->timer);
}

static void test_loop_timer_that_is_due_in_this_turn_runs_until_it_is_stopped(void **state)
{
	struct twin twins[2] = {{.other = &twins[1]}, {.other = &twins[0]}};
	(void)state;
	for (int i = 0; i < 2; i++) {
		timer_init(&twins[i].timer, stop_other);
		timer_start(&loop, &twins[i].timer, 1000);
	}
	burn(2 * NS_PER_MS);
	run_for(10000);
	assert_int_equal(twins[0].fired_count + twins[1].fired_count, 1);
	assert_true(twins[0].other_ran || twins[1].other_ran);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

struct step {
	struct task task;
	int runs, again;
	struct step *cancels;
};

static void run_step(struct task *t)
{
	struct step *s = CONTAINER_OF(t, struct step, task);
	s->runs++;
	if (s->cancels)
		task_cancel(&s->cancels->task);
	if (s->again-- > 0)
		loop_defer(&loop, t);
	else
		loop_stop(&loop);
}

static void test_loop_runs_a_task_once_however_often_it_was_deferred(void **state)
{
	struct step s = {.again = 0};
	(void)state;
	task_init(&s.task, run_step);
	for (int i = 0; i < 3; i++)
		loop_defer(&loop, &s.task);
	run();
	run_for(1000);
	assert_int_equal(s.runs, 1);
}

static void test_loop_does_not_sleep_over_tasks_that_defer_themselves(void **state)
{
	struct step s = {.again = 10};
	int64_t begin_ns = clock_now_ns();
	(void)state;
	task_init(&s.task, run_step);
	loop_defer(&loop, &s.task);
	run(); /* nothing else would ever wake it */
	assert_int_equal(s.runs, 11);
	assert_true(clock_now_ns() - begin_ns < 10 * NS_PER_S);
}

static void test_loop_tasks_may_cancel_each_other(void **state)
{
	struct step second = {0}, first = {.cancels = &second};
	(void)state;
	task_init(&first.task, run_step);
	task_init(&second.task, run_step);
	loop_defer(&loop, &first.task);
	loop_defer(&loop, &second.task);
	run();
	run_for(1000);
	assert_int_equal(first.runs, 1);
	assert_int_equal(second.runs, 0);
}

/* ---- posts and mail ------------------------------------------------------------------------- */

enum { POSTS = 500 };

struct numbered_post {
	struct post post;
	int number;
};

static struct numbered_post posts[POSTS];
static int posts_run, mails_read;
static bool out_of_order;
static pthread_t loop_thread;

static void run_post(struct loop *l, struct post *p)
{
	struct numbered_post *n = CONTAINER_OF(p, struct numbered_post, post);
	out_of_order |= n->number != posts_run || l != &loop || !pthread_equal(pthread_self(), loop_thread);
	if (++posts_run + mails_read == 2 * POSTS)
		loop_stop(l);
}

static void read_mail(struct loop *l, struct mail *m)
{
	out_of_order |= m->fd != mails_read;
	if (posts_run + ++mails_read == 2 * POSTS)
		loop_stop(l);
}

static void *post_all(void *argument)
{
	(void)argument;
	for (int i = 0; i < POSTS; i++) {
		struct mail m = {.deliver = read_mail, .fd = i};
		posts[i] = (struct numbered_post){{.run = run_post}, i};
		loop_post_always(&loop, &posts[i].post);
		while (!loop_post(&loop, &m))
			sched_yield();
	}
	return NULL;
}

static void test_loop_takes_posts_and_mail_of_another_thread_in_order(void **state)
{
	pthread_t thread;
	(void)state;
	posts_run = mails_read = 0;
	out_of_order = false;
	loop_thread = pthread_self();
	assert_int_equal(pthread_create(&thread, NULL, post_all, NULL), 0);
	run();
	pthread_join(thread, NULL);
	assert_false(out_of_order);
	assert_int_equal(posts_run, POSTS);
	assert_int_equal(mails_read, POSTS);
}

static void stop_by_post(struct loop *l, struct post *p)
{
	(void)p;
	loop_stop(l);
}

static void *post_stop(void *argument)
{
	/* Only when the loop sleeps does the post have to wake it. */
	while (!atomic_load(&loop.mailbox.sleeping))
		sched_yield();
	loop_post_always(&loop, argument);
	return NULL;
}

static void test_loop_is_woken_from_sleep_by_a_post(void **state)
{
	struct post p = {.run = stop_by_post};
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, post_stop, &p), 0);
	run();
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&loop.mailbox.wakes), 1);
}

static void test_loop_runs_posts_that_come_after_its_last_turn_when_it_is_freed(void **state)
{
	(void)state;
	run_for(100);
	posts_run = mails_read = 0;
	out_of_order = false;
	loop_thread = pthread_self();
	for (int i = 0; i < 3; i++) {
		posts[i] = (struct numbered_post){{.run = run_post}, i};
		loop_post_always(&loop, &posts[i].post);
	}
	assert_int_equal(posts_run, 0);
	loop_fini(&loop);
	assert_int_equal(posts_run, 3);
	assert_false(out_of_order);
	setup(NULL);
}

static int self_mails;

static void mail_self(struct loop *l, struct mail *m)
{
	if (++self_mails == 5000)
		loop_stop(l);
	else
		loop_post(l, m);
}

static void test_loop_does_not_sleep_over_mail_to_itself(void **state)
{
	struct mail m = {.deliver = mail_self};
	(void)state;
	self_mails = 0;
	assert_true(loop_post(&loop, &m));
	run();
	assert_int_equal(self_mails, 5000);
}

/* ---- epochs and figures --------------------------------------------------------------------------- */

static uint64_t epochs[2];
static int epochs_seen;

static void note_epoch(struct watch *w, uint32_t events)
{
	char byte;
	int fd = pair_fds[0][0];
	(void)events;
	if (read(fd, &byte, 1) != 1)
		return;
	epochs[epochs_seen++] = w->loop->epoch;
	if (epochs_seen == 2)
		loop_stop(w->loop);
	else
		assert_int_equal(write(pair_fds[0][1], "x", 1), 1);
}

static void test_loop_epoch_grows_when_input_may_have_come(void **state)
{
	(void)state;
	epochs_seen = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair_fds[0]), 0);
	adopt(&pair[0]);
	pair[0].watch.ready = note_epoch;
	assert_int_equal(loop_register(&pair[0].watch, pair_fds[0][0]), 0);
	assert_int_equal(write(pair_fds[0][1], "x", 1), 1);
	run();
	assert_true(epochs[1] > epochs[0]);
	close(pair_fds[0][0]);
	close(pair_fds[0][1]);
}

static void burn_5_ms(struct task *t)
{
	(void)t;
	burn(5 * NS_PER_MS);
}

static void test_loop_counts_turns_busy_time_and_stalls(void **state)
{
	struct task t;
	struct stats_recent recent;
	(void)state;
	loop.stall_threshold_ns = NS_PER_MS;
	task_init(&t, burn_5_ms);
	loop_defer(&loop, &t);
	run_for(20000);
	assert_true(stat_get(&stats, STAT_turns) >= 2);
	assert_true(stat_get(&stats, STAT_stalls) >= 1);
	assert_true(stat_get(&stats, STAT_longest_stall_us) >= 5000);
	stats_recent(&stats, clock_now_ns(), &recent);
	assert_true(recent.busy > 0);
}

static atomic_bool was_busy;

static void note_busy(struct timer *t)
{
	(void)t;
	atomic_store(&was_busy, atomic_load(&stats.status.busy_since_ns) != 0);
}

static void *stop_when_idle(void *argument)
{
	while (!atomic_load(&was_busy) || atomic_load(&stats.status.busy_since_ns) != 0)
		sched_yield();
	loop_post_always(&loop, argument);
	return NULL;
}

static void test_loop_status_line_says_busy_in_a_turn_and_idle_in_sleep(void **state)
{
	struct post stop = {.run = stop_by_post};
	struct timer t;
	pthread_t thread;
	(void)state;
	atomic_store(&was_busy, false);
	timer_init(&t, note_busy);
	timer_start(&loop, &t, 100);
	assert_int_equal(pthread_create(&thread, NULL, stop_when_idle, &stop), 0);
	run();
	pthread_join(thread, NULL);
	assert_true(atomic_load(&was_busy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(
	                test_loop_gives_each_watch_a_slot_of_its_own_and_takes_it_back, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_keeps_stale_events_from_a_slots_new_owner, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_announces_edges_once_and_levels_again_and_again, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_says_why_a_descriptor_cannot_be_registered, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_deadlines_come_neither_early_nor_much_late, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_deadlines_that_were_moved_or_taken_back_do_not_come, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_deadlines_may_be_set_and_watches_released_in_the_sweep, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_timer_begun_before_the_loop_runs_is_punctual, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_is_punctual_after_a_long_turn, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_timer_that_is_begun_anew_fires_once, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_timer_that_is_due_in_this_turn_runs_until_it_is_stopped, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_runs_a_task_once_however_often_it_was_deferred, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_does_not_sleep_over_tasks_that_defer_themselves, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_tasks_may_cancel_each_other, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_takes_posts_and_mail_of_another_thread_in_order, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_is_woken_from_sleep_by_a_post, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_runs_posts_that_come_after_its_last_turn_when_it_is_freed, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_does_not_sleep_over_mail_to_itself, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_epoch_grows_when_input_may_have_come, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_loop_counts_turns_busy_time_and_stalls, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_loop_status_line_says_busy_in_a_turn_and_idle_in_sleep, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
