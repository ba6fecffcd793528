/* The loop: slots, tasks, posts, mail, epochs, and its figures. */
#include "looping.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- slots ------------------------------------------------------------------------- */

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

static void test_loop_ends_with_the_reason_when_its_set_is_gone(void **state)
{
	(void)state;
	int set_fd = loop.set_fd;
	loop.set_fd = -1;
	loop.stopping = false;
	int error = loop_run(&loop);
	loop.set_fd = set_fd;
	assert_int_equal(error, -EBADF);
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
	looping_setup(NULL);
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

static void note_task_epoch(struct task *t)
{
	(void)t;
	epochs[epochs_seen++] = loop.epoch;
}

static void test_loop_tasks_run_in_an_epoch_of_their_own(void **state)
{
	struct task t;
	(void)state;
	epochs_seen = 0;
	epochs[1] = loop.epoch;
	task_init(&t, note_task_epoch);
	loop_defer(&loop, &t);
	run_for(1000);
	assert_int_equal(epochs_seen, 1);
	assert_true(epochs[0] > epochs[1]);
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
	assert_true(stat_get(&stats, STAT_turns) >= 1);
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
	                test_loop_ends_with_the_reason_when_its_set_is_gone, looping_setup, looping_teardown),
	        BOTH(test_loop_gives_each_watch_a_slot_of_its_own_and_takes_it_back),
	        BOTH(test_loop_keeps_stale_events_from_a_slots_new_owner),
	        BOTH(test_loop_announces_edges_once_and_levels_again_and_again),
	        BOTH(test_loop_says_why_a_descriptor_cannot_be_registered),
	        BOTH(test_loop_runs_a_task_once_however_often_it_was_deferred),
	        BOTH(test_loop_does_not_sleep_over_tasks_that_defer_themselves),
	        BOTH(test_loop_tasks_may_cancel_each_other),
	        BOTH(test_loop_takes_posts_and_mail_of_another_thread_in_order),
	        BOTH(test_loop_is_woken_from_sleep_by_a_post),
	        BOTH(test_loop_runs_posts_that_come_after_its_last_turn_when_it_is_freed),
	        BOTH(test_loop_does_not_sleep_over_mail_to_itself),
	        BOTH(test_loop_epoch_grows_when_input_may_have_come),
	        BOTH(test_loop_tasks_run_in_an_epoch_of_their_own),
	        BOTH(test_loop_counts_turns_busy_time_and_stalls),
	        BOTH(test_loop_status_line_says_busy_in_a_turn_and_idle_in_sleep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
