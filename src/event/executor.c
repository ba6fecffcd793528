/* One queue under one mutex: jobs are milliseconds long, so the lock is not where time goes. */
#include "event/executor.h"
#include "base/check.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct executor {
	pthread_mutex_t lock;
	pthread_cond_t work_waits;
	pthread_cond_t thread_ended; /* waits on the monotonic clock */
	struct list queue;
	size_t queued, limit;
	uint64_t rejected;
	unsigned active, thread_count, ended_count;
	bool stopping;
	pthread_t threads[];
};

static void on_done(struct loop *l, struct post *post)
{
	struct job *job = CONTAINER_OF(post, struct job, post);
	job->done(l, job);
}

static void *work(void *argument)
{
	struct executor *e = argument;
	pthread_mutex_lock(&e->lock);
	for (;;) {
		struct list *node;
		while (!(node = list_take_first(&e->queue)) && !e->stopping)
			pthread_cond_wait(&e->work_waits, &e->lock);
		if (!node)
			break;
		struct job *job = CONTAINER_OF(node, struct job, node);
		e->queued--;
		e->active++;
		pthread_mutex_unlock(&e->lock);
		job->work(job->argument);
		loop_post_always(job->home, &job->post);
		pthread_mutex_lock(&e->lock);
		e->active--;
	}
	e->ended_count++;
	pthread_cond_signal(&e->thread_ended);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

/* Signals belong to the control thread: the others start with all of them blocked. */
static int start_threads(struct executor *e, unsigned threads)
{
	sigset_t all, before;
	int error = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (e->thread_count < threads && !error) {
		error = pthread_create(&e->threads[e->thread_count], NULL, work, e);
		e->thread_count += !error;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void init_monotonic(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

struct executor *executor_create(unsigned threads, size_t queue_limit, int *ret_error)
{
	struct executor *e = calloc(1, sizeof *e + threads * sizeof e->threads[0]);
	if (!e) {
		*ret_error = -ENOMEM;
		return NULL;
	}
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->work_waits, NULL);
	init_monotonic(&e->thread_ended);
	list_init(&e->queue);
	e->limit = queue_limit;
	int error = start_threads(e, threads);
	if (error) {
		*ret_error = error;
		executor_free(&e, NS_PER_S);
	}
	return e;
}

/* Under the lock. pthread_timedjoin_np would count on the wall clock, which may jump. */
static bool wait_ends(struct executor *e, int64_t at_ns)
{
	const struct timespec at = {.tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S};
	while (e->ended_count < e->thread_count)
		if (pthread_cond_timedwait(&e->thread_ended, &e->lock, &at))
			return false;
	return true;
}

/* Under the lock, while others are held by their jobs. */
static void join_ended(struct executor *e)
{
	for (unsigned i = e->thread_count; i-- > 0;) {
		if (pthread_tryjoin_np(e->threads[i], NULL))
			continue;
		e->threads[i] = e->threads[--e->thread_count];
		e->ended_count--;
	}
}

bool executor_free(struct executor **executor, int64_t most_ns)
{
	struct executor *e = *executor;
	int64_t at_ns = clock_now_ns() + most_ns;
	if (!e)
		return true;
	pthread_mutex_lock(&e->lock);
	e->stopping = true;
	LIST_EACH_SAFE (node, &e->queue) {
		if (!CONTAINER_OF(node, struct job, node)->is_release)
			list_remove(node);
	}
	pthread_cond_broadcast(&e->work_waits);
	bool have_ended = wait_ends(e, at_ns);
	if (!have_ended)
		join_ended(e);
	pthread_mutex_unlock(&e->lock);
	if (!have_ended)
		return false;
	while (e->thread_count)
		pthread_join(e->threads[--e->thread_count], NULL);
	pthread_cond_destroy(&e->thread_ended);
	pthread_cond_destroy(&e->work_waits);
	pthread_mutex_destroy(&e->lock);
	free(e);
	*executor = NULL;
	return true;
}

bool executor_submit(struct executor *e, struct loop *home, struct job *job)
{
	job->home = home;
	job->post.run = on_done;
	pthread_mutex_lock(&e->lock);
	bool taken = e->queued < e->limit || job->is_release;
	if (taken) {
		list_append(&e->queue, &job->node);
		e->queued++;
		pthread_cond_signal(&e->work_waits);
	} else {
		e->rejected++;
	}
	pthread_mutex_unlock(&e->lock);
	return taken;
}

bool executor_withdraw(struct executor *e, struct job *job)
{
	pthread_mutex_lock(&e->lock);
	bool waits = !list_is_empty(&job->node);
	if (waits) {
		list_remove(&job->node);
		e->queued--;
	}
	pthread_mutex_unlock(&e->lock);
	return waits;
}

struct executor_figures executor_figures(struct executor *e)
{
	pthread_mutex_lock(&e->lock);
	struct executor_figures figures = {e->thread_count, e->active, e->queued, e->rejected};
	pthread_mutex_unlock(&e->lock);
	return figures;
}
