/* See looping.h. */
#include "looping.h"

struct stats stats;
struct loop loop;

int looping_setup(void **state)
{
	(void)state;
	stats_init(&stats);
	return loop_init(&loop, 3, &stats, 16);
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

static void stop_by_timer(struct timer *t)
{
	(void)t;
	loop_stop(&loop);
}

void run_for(int64_t us)
{
	struct timer t;
	timer_init(&t, stop_by_timer);
	timer_start(&loop, &t, us);
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
	timer_stop(&loop, &t);
}

void run(void)
{
	loop.stopping = false;
	assert_int_equal(loop_run(&loop), 0);
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
