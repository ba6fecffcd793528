/* Deadlines and timers. Time is measured, never waited for by sleeping. */
#include "looping.h"
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const int64_t LATE_NS = 40 * NS_PER_MS;
enum {
	ROUNDS = 8, /* lateness is the machine's as well: one punctual round of so many is enough; early is never */
	WATCHES = 40,
};

static struct seen pair[2];

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
		looping_teardown(NULL);
		looping_setup(NULL);
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

static int growths, rounds;

/* A task for the next round keeps the loop from sleeping. */
static void defer_once_more(struct task *t)
{
	if (rounds++ == 0)
		loop_defer(&loop, t);
}

static void *grow_uncounted(void *old, long bytes)
{
	if (bytes)
		return realloc(old, (size_t)bytes);
	free(old);
	return NULL;
}

/* ---- what came in time --------------------------------------------------------------------- */

enum { CROWD = 700 }; /* several looks at the set */

static struct seen crowd[CROWD];
static int crowd_fds[CROWD], crowd_ready, crowd_expired;

static void on_crowd_ready(struct watch *w, uint32_t events)
{
	note_ready(w, events);
	if (!(events & EPOLLIN))
		return;
	crowd_ready++;
	watch_deadline(w, NO_DEADLINE);
	if (crowd_ready + crowd_expired == CROWD)
		loop_stop(&loop);
}

static void on_crowd_expired(struct watch *w)
{
	note_expired(w);
	if (++crowd_expired + crowd_ready == CROWD)
		loop_stop(&loop);
}

/* All are ready in time; then the loop is held until all deadlines have passed. */
static void hold_past_deadlines(struct loop *l, struct mail *m)
{
	uint64_t one = 1;
	(void)l, (void)m;
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(write(crowd_fds[i], &one, sizeof one), sizeof one);
	burn(60 * NS_PER_MS);
}

static void test_loop_sees_what_came_in_time_before_the_timeouts(void **state)
{
	struct mail m = {.deliver = hold_past_deadlines};
	(void)state;
	crowd_ready = crowd_expired = 0;
	for (int i = 0; i < CROWD; i++) {
		adopt(&crowd[i]);
		crowd[i].watch.ready = on_crowd_ready;
		crowd[i].watch.expired = on_crowd_expired;
		crowd_fds[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		assert_true(crowd_fds[i] >= 0);
		assert_int_equal(loop_register(&crowd[i].watch, crowd_fds[i]), 0);
		watch_deadline(&crowd[i].watch, clock_now_ns() + 50 * NS_PER_MS);
	}
	assert_true(loop_post(&loop, &m));
	run();
	assert_int_equal(crowd_expired, 0);
	assert_int_equal(crowd_ready, CROWD);
	for (int i = 0; i < CROWD; i++)
		close(crowd_fds[i]);
}

/* ---- timers are counted ------------------------------------------------------------------------ */

static struct timer other_timer, again_timer;
static int again_count;

static void start_again(struct timer *t)
{
	timer_stop(&loop, &other_timer); /* which is due as well, and not called yet */
	assert_false(timer_is_running(&other_timer));
	if (++again_count == 3) {
		loop_stop(&loop);
		return;
	}
	timer_start(&loop, t, 100);
	timer_start(&loop, t, 0); /* anew */
	timer_start(&loop, &other_timer, 0);
}

static void test_loop_counts_the_timers_that_run(void **state)
{
	unsigned before = loop.ev_watchers;
	(void)state;
	again_count = 0;
	timer_init(&again_timer, start_again);
	timer_init(&other_timer, start_again);
	timer_stop(&loop, &again_timer);
	assert_int_equal(loop.ev_watchers, before);
	timer_start(&loop, &again_timer, 0);
	timer_start(&loop, &other_timer, 1000000);
	assert_int_equal(loop.ev_watchers, before + 2);
	run();
	assert_int_equal(again_count, 3);
	timer_stop(&loop, &again_timer);
	timer_stop(&loop, &other_timer);
	assert_int_equal(loop.ev_watchers, before);
}

static void *count_growth(void *old, long bytes)
{
	growths += bytes > 0;
	return grow_uncounted(old, bytes);
}

/* libev ends the process when it gets no memory. */
static void test_loop_needs_no_more_memory_of_libev_for_usual_work(void **state)
{
	static struct measured timers[64];
	static struct task task;
	(void)state;
	growths = rounds = 0;
	ev_set_allocator(count_growth);
	for (size_t i = 0; i < ARRAY_COUNT(timers); i++)
		measure(&timers[i], 1000);
	burn(2 * NS_PER_MS); /* all are due in one turn */
	task_init(&task, defer_once_more);
	loop_defer(&loop, &task);
	run_for(10000);
	ev_set_allocator(grow_uncounted);
	for (size_t i = 0; i < ARRAY_COUNT(timers); i++)
		assert_int_equal(timers[i].count, 1);
	assert_int_equal(rounds, 2);
	assert_int_equal(growths, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        BOTH(test_loop_sees_what_came_in_time_before_the_timeouts),
	        BOTH(test_loop_counts_the_timers_that_run),
	        BOTH(test_loop_deadlines_come_neither_early_nor_much_late),
	        BOTH(test_loop_deadlines_that_were_moved_or_taken_back_do_not_come),
	        BOTH(test_loop_deadlines_may_be_set_and_watches_released_in_the_sweep),
	        BOTH(test_loop_timer_begun_before_the_loop_runs_is_punctual),
	        BOTH(test_loop_is_punctual_after_a_long_turn),
	        BOTH(test_loop_timer_that_is_begun_anew_fires_once),
	        BOTH(test_loop_timer_that_is_due_in_this_turn_runs_until_it_is_stopped),
	        BOTH(test_loop_needs_no_more_memory_of_libev_for_usual_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
