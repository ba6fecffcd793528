/* The executor: bounded, withdrawable, and its results come home. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/executor.h"
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { JOBS = 2000 };

static struct stats stats;
static struct loop loop;
static sem_t begun, go_on;
static atomic_int ran;
static int done_count;
static bool done_in_wrong_thread;
static pthread_t loop_thread;
static int stop_after;

static int setup(void **state)
{
	(void)state;
	stats_init(&stats);
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	atomic_store(&ran, 0);
	done_count = 0;
	done_in_wrong_thread = false;
	loop_thread = pthread_self();
	return loop_init(&loop, 0, &stats, 16);
}

static int teardown(void **state)
{
	(void)state;
	loop_fini(&loop);
	sem_destroy(&begun);
	sem_destroy(&go_on);
	return 0;
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s))
		;
}

static void hold(void *argument)
{
	(void)argument;
	sem_post(&begun);
	wait_for(&go_on);
	atomic_fetch_add(&ran, 1);
}

static void add_one(void *argument)
{
	(*(int *)argument)++;
	atomic_fetch_add(&ran, 1);
}

static void on_done(struct loop *l, struct job *j)
{
	(void)j;
	done_in_wrong_thread |= l != &loop || !pthread_equal(pthread_self(), loop_thread);
	if (++done_count == stop_after)
		loop_stop(l);
}

static struct executor *create(unsigned threads, size_t limit)
{
	int error = 0;
	struct executor *e = executor_create(threads, limit, &error);
	assert_non_null(e);
	assert_int_equal(error, 0);
	return e;
}

static struct job holding(void)
{
	return (struct job){.work = hold, .done = on_done};
}

static struct job adding(int *to)
{
	return (struct job){.work = add_one, .argument = to, .done = on_done};
}

static void expect_figures(struct executor *e, unsigned active, uint64_t queued, uint64_t rejected)
{
	struct executor_figures f = executor_figures(e);
	assert_int_equal(f.active, active);
	assert_int_equal(f.queued, queued);
	assert_int_equal(f.rejected, rejected);
}

static void test_executor_refuses_when_its_queue_is_full(void **state)
{
	int numbers[3] = {0};
	struct job held = holding(), jobs[3];
	(void)state;
	struct executor *e = create(1, 2);
	assert_int_equal(executor_figures(e).threads, 1);
	assert_true(executor_submit(e, &loop, &held));
	wait_for(&begun); /* the one thread is taken, the queue is empty */
	for (int i = 0; i < 3; i++) {
		jobs[i] = adding(&numbers[i]);
		assert_int_equal(executor_submit(e, &loop, &jobs[i]), i < 2);
	}
	expect_figures(e, 1, 2, 1);
	sem_post(&go_on);
	stop_after = 3;
	assert_int_equal(loop_run(&loop), 0);
	assert_int_equal(numbers[0] + numbers[1], 2);
	assert_int_equal(numbers[2], 0);
	assert_false(done_in_wrong_thread);
	while (executor_figures(e).active)
		sched_yield();
	expect_figures(e, 0, 0, 1);
	assert_true(executor_free(&e, 10 * NS_PER_S));
	assert_null(e);
}

static void test_executor_gives_back_what_has_not_begun(void **state)
{
	int numbers[2] = {0};
	struct job held = holding(), first = adding(&numbers[0]), second = adding(&numbers[1]);
	(void)state;
	struct executor *e = create(1, 8);
	assert_true(executor_submit(e, &loop, &held));
	wait_for(&begun);
	assert_true(executor_submit(e, &loop, &first));
	assert_true(executor_submit(e, &loop, &second));
	assert_false(executor_withdraw(e, &held)); /* it runs */
	assert_true(executor_withdraw(e, &first));
	assert_false(executor_withdraw(e, &first)); /* once only */
	expect_figures(e, 1, 1, 0);
	sem_post(&go_on);
	stop_after = 2;
	assert_int_equal(loop_run(&loop), 0);
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[1], 1);
	assert_false(executor_withdraw(e, &second));    /* it ran */
	assert_true(executor_submit(e, &loop, &first)); /* what was withdrawn may be used again */
	stop_after = 3;
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
	assert_int_equal(numbers[0], 1);
	assert_true(executor_free(&e, 10 * NS_PER_S));
}

static void test_executor_runs_every_job_once_and_brings_it_home(void **state)
{
	static int numbers[JOBS];
	static struct job jobs[JOBS];
	(void)state;
	struct executor *e = create(3, JOBS);
	for (int i = 0; i < JOBS; i++) {
		numbers[i] = 0;
		jobs[i] = adding(&numbers[i]);
		assert_true(executor_submit(e, &loop, &jobs[i]));
	}
	stop_after = JOBS;
	assert_int_equal(loop_run(&loop), 0);
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(numbers[i], 1);
	assert_int_equal(done_count, JOBS);
	assert_false(done_in_wrong_thread);
	assert_true(executor_free(&e, 10 * NS_PER_S));
}

/* Withdrawing races with the threads: each job is either given back or done, never both. */
static void test_executor_withdrawn_or_done_never_both(void **state)
{
	static int numbers[JOBS];
	static struct job jobs[JOBS];
	int withdrawn = 0;
	(void)state;
	struct executor *e = create(2, JOBS);
	for (int i = 0; i < JOBS; i++) {
		numbers[i] = 0;
		jobs[i] = adding(&numbers[i]);
		assert_true(executor_submit(e, &loop, &jobs[i]));
		withdrawn += executor_withdraw(e, &jobs[i]);
	}
	stop_after = JOBS - withdrawn;
	if (stop_after)
		assert_int_equal(loop_run(&loop), 0);
	assert_true(executor_free(&e, 10 * NS_PER_S));
	assert_int_equal(atomic_load(&ran), JOBS - withdrawn);
	assert_int_equal(done_count, JOBS - withdrawn);
}

/* ---- the end ------------------------------------------------------------------------------ */

static atomic_int freeing_tid;

static char state_of_thread(int tid)
{
	char path[64], state = '?';
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state;
}

/* Lets the held job go on once the other thread sleeps within executor_free. */
static void *let_go(void *argument)
{
	int tid;
	(void)argument;
	while (!(tid = atomic_load(&freeing_tid)))
		sched_yield();
	while (state_of_thread(tid) != 'S')
		sched_yield();
	sem_post(&go_on);
	return NULL;
}

static void test_executor_free_waits_for_running_jobs_and_drops_the_queue(void **state)
{
	int number = 0;
	struct job held = holding(), queued = adding(&number);
	pthread_t helper;
	(void)state;
	struct executor *e = create(1, 8);
	assert_true(executor_submit(e, &loop, &held));
	wait_for(&begun);
	assert_true(executor_submit(e, &loop, &queued));
	assert_int_equal(pthread_create(&helper, NULL, let_go, NULL), 0);
	stop_after = 0;
	atomic_store(&freeing_tid, (int)syscall(SYS_gettid));
	assert_true(executor_free(&e, 10 * NS_PER_S));
	assert_int_equal(atomic_load(&ran), 1);
	assert_int_equal(number, 0);
	pthread_join(helper, NULL);
	/* What the running job posted is run when its loop is freed, so that what it holds can be freed as well. */
	assert_int_equal(done_count, 0);
	loop_fini(&loop);
	assert_int_equal(done_count, 1);
	assert_int_equal(loop_init(&loop, 0, &stats, 16), 0);
}

static void test_executor_neither_refuses_nor_drops_a_release(void **state)
{
	int numbers[2] = {0};
	struct job held = holding(), queued = adding(&numbers[0]), release = adding(&numbers[1]);
	pthread_t helper;
	(void)state;
	release.is_release = true;
	struct executor *e = create(1, 1);
	assert_true(executor_submit(e, &loop, &held));
	wait_for(&begun);
	assert_true(executor_submit(e, &loop, &queued));
	assert_true(executor_submit(e, &loop, &release));
	expect_figures(e, 1, 2, 0);
	assert_int_equal(pthread_create(&helper, NULL, let_go, NULL), 0);
	stop_after = 0;
	atomic_store(&freeing_tid, (int)syscall(SYS_gettid));
	assert_true(executor_free(&e, 10 * NS_PER_S));
	pthread_join(helper, NULL);
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[1], 1);
	loop_fini(&loop);
	assert_int_equal(done_count, 2);
	assert_int_equal(loop_init(&loop, 0, &stats, 16), 0);
}

static void test_executor_free_takes_null(void **state)
{
	struct executor *none = NULL;
	(void)state;
	assert_true(executor_free(&none, 0));
	assert_null(none);
}

static sigset_t mask_seen;

static void read_mask(void *argument)
{
	(void)argument;
	pthread_sigmask(SIG_SETMASK, NULL, &mask_seen);
}

static void test_executor_threads_start_with_signals_blocked(void **state)
{
	struct job j = {.work = read_mask, .done = on_done};
	sigset_t own;
	(void)state;
	struct executor *e = create(1, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &own);
	assert_false(sigismember(&own, SIGTERM)); /* the creator's own mask is as before */
	assert_true(executor_submit(e, &loop, &j));
	stop_after = 1;
	assert_int_equal(loop_run(&loop), 0);
	assert_true(sigismember(&mask_seen, SIGTERM));
	assert_true(sigismember(&mask_seen, SIGHUP));
	assert_true(executor_free(&e, 10 * NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_executor_refuses_when_its_queue_is_full, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_executor_gives_back_what_has_not_begun, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_executor_runs_every_job_once_and_brings_it_home, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_executor_withdrawn_or_done_never_both, setup, teardown),
	        cmocka_unit_test_setup_teardown(
	                test_executor_free_waits_for_running_jobs_and_drops_the_queue, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_executor_neither_refuses_nor_drops_a_release, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_executor_free_takes_null, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_executor_threads_start_with_signals_blocked, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
