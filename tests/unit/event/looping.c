/* See looping.h. */
#include "looping.h"
#include <pthread.h>

struct stats stats;
struct loop loop;
static struct timer far_timer;

int looping_setup(void **state)
{
	(void)state;
	stats_init(&stats);
	return loop_init(&loop, 3, &stats, 16);
}

static void never(struct timer *t)
{
	(void)t;
	fail();
}

int looping_setup_with_timer(void **state)
{
	static const int64_t HOUR_US = INT64_C(3600) * 1000 * 1000;
	if (looping_setup(state))
		return -1;
	timer_init(&far_timer, never);
	timer_start(&loop, &far_timer, HOUR_US);
	return 0;
}

int looping_teardown(void **state)
{
	(void)state;
	loop_fini(&loop);
	return 0;
}

void burn(int64_t ns)
{
	int64_t end_ns = clock_now_ns() + ns;
	while (clock_now_ns() < end_ns)
		;
}

void run(void)
{
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
}

static void stop_by_post(struct loop *l, struct post *p)
{
	(void)p;
	loop_stop(l);
}

static void *post_later(void *argument)
{
	static struct post stop = {.run = stop_by_post};
	const struct timespec *wait = argument;
	nanosleep(wait, NULL);
	loop_post_always(&loop, &stop);
	return NULL;
}

void run_for(int64_t us)
{
	struct timespec wait = {us / 1000000, us % 1000000 * 1000};
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, post_later, &wait), 0);
	run();
	pthread_join(thread, NULL);
	if (atomic_load(&loop.posts))
		run(); /* something else has stopped it before */
}

void note_ready(struct watch *w, uint32_t events)
{
	struct seen *s = CONTAINER_OF(w, struct seen, watch);
	s->ready_count++;
	s->events |= events;
}

void note_expired(struct watch *w)
{
	struct seen *s = CONTAINER_OF(w, struct seen, watch);
	s->expired_count++;
	s->expired_ns = clock_now_ns();
}

void adopt(struct seen *s)
{
	*s = (struct seen){.watch = {.ready = note_ready, .expired = note_expired}};
	assert_true(loop_adopt(&loop, &s->watch));
}
