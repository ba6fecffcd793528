/*
 * Several threads hand mail and posts to several loops, with random delays at every point
 * where threads could meet (event/stress.h). Nothing may be lost, come twice or come out of
 * order, and no loop may sleep over what waits for it: that would be seen as a standstill.
 *
 * stress_handover [HANDOVERS [SEED]]
 */
#include "base/check.h"
#include "event/loop.h"
#include "event/stress.h"
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	PRODUCERS = 3,
	LOOPS = 2,
	POSTS_A_PRODUCER = 64,
	MAILBOX_CAPACITY = 32, /* small, so that it is full now and then */
	STANDSTILL_S = 20,
};

struct producer;

struct stress_post {
	struct post post;
	struct producer *from;
	uint32_t number;
	atomic_bool busy;
};

struct receiver {
	struct loop loop;
	struct timer timer; /* while it runs libev sleeps, else the loop itself */
	struct stats stats;
	pthread_t thread;
	uint32_t next_mail[PRODUCERS], next_post[PRODUCERS]; /* its own thread's */
	atomic_uint_least64_t received, expected;            /* expected: set once all is sent */
	struct post end;
};

struct producer {
	int id;
	uint64_t count, seed;
	uint32_t mails[LOOPS], posts[LOOPS]; /* sent so far */
	uint64_t refused;
	struct stress_post ring[POSTS_A_PRODUCER];
	pthread_t thread;
};

static struct receiver receivers[LOOPS];
static struct producer producers[PRODUCERS];
static atomic_uint_least64_t faults, turns[2]; /* without and with a timer */
static _Thread_local uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void spin(uint64_t times)
{
	for (volatile uint64_t i = 0; i < times; i++)
		;
}

/* Mostly nothing; sometimes some hundred nanoseconds; seldom the processor goes to somebody else. */
void stress_point(void)
{
	uint64_t r = next_random() >> 8;
	if (r % 8 == 0)
		spin(r / 8 % 256);
	else if (r % 1024 == 1)
		sched_yield();
	else if (r % 65536 == 3)
		usleep(50);
}

/* ---- receiving ------------------------------------------------------------------------- */

static void fault(const char *what, const struct producer *from, uint32_t number, uint32_t wanted)
{
	if (atomic_fetch_add(&faults, 1) < 10)
		fprintf(stderr, "%s %" PRIu32 " of producer %d came, %" PRIu32 " was next\n", what, number, from->id,
		        wanted);
}

static void count(struct receiver *r)
{
	uint64_t received = atomic_fetch_add(&r->received, 1) + 1;
	if (received == atomic_load(&r->expected))
		loop_stop(&r->loop);
	if (next_random() % 64 == 0)
		spin(next_random() % 2000);
}

static void on_mail(struct loop *l, struct mail *m)
{
	struct receiver *r = CONTAINER_OF(l, struct receiver, loop);
	const struct producer *from = m->object;
	uint32_t number = (uint32_t)m->fd, wanted = r->next_mail[from->id]++;
	if (number != wanted)
		fault("mail", from, number, wanted);
	count(r);
}

static void on_post(struct loop *l, struct post *p)
{
	struct receiver *r = CONTAINER_OF(l, struct receiver, loop);
	struct stress_post *post = CONTAINER_OF(p, struct stress_post, post);
	uint32_t wanted = r->next_post[post->from->id]++;
	if (post->number != wanted || !atomic_load(&post->busy))
		fault("post", post->from, post->number, wanted);
	atomic_store(&post->busy, false);
	count(r);
}

static void on_end(struct loop *l, struct post *p)
{
	struct receiver *r = CONTAINER_OF(l, struct receiver, loop);
	(void)p;
	if (atomic_load(&r->received) == atomic_load(&r->expected))
		loop_stop(l);
}

/* Half the time there is no timer: each turn's end may begin one. */
static void on_timer(struct timer *t)
{
	(void)t;
}

static void on_turn_end(struct loop *l)
{
	struct receiver *r = CONTAINER_OF(l, struct receiver, loop);
	if (next_random() % 32 == 0)
		timer_start(l, &r->timer, (int64_t)(next_random() % 500));
	else if (next_random() % 64 == 0)
		timer_stop(l, &r->timer);
	if (l->ev_watchers != timer_is_running(&r->timer))
		fault("miscounted timers at turn", &producers[0], 0, 0);
	atomic_fetch_add_explicit(&turns[timer_is_running(&r->timer)], 1, memory_order_relaxed);
}

static void *receive(void *argument)
{
	struct receiver *r = argument;
	random_state = 0x9e3779b97f4a7c15 * (r->loop.id + 1);
	timer_init(&r->timer, on_timer);
	r->loop.turn_end = on_turn_end;
	MUST(loop_run(&r->loop) == 0);
	return NULL;
}

/* ---- sending ------------------------------------------------------------------------------ */

/* Lets the loop fall asleep now and then, and hits just when it is about to. */
static void pause_a_little(const struct receiver *to)
{
	uint64_t r = next_random() >> 8;
	if (r % 64 == 0)
		spin(r / 64 % 20000);
	if (r % 16 == 1)
		for (int i = 0; i < 20000 && !atomic_load_explicit(&to->loop.mailbox.sleeping, memory_order_relaxed);
		        i++)
			;
}

static void send_mail(struct producer *p, int to)
{
	struct mail m = {.deliver = on_mail, .object = p, .fd = (int)p->mails[to]++};
	while (!loop_post(&receivers[to].loop, &m)) {
		p->refused++;
		sched_yield();
	}
}

/* Several letters, then the wake-up, as the acceptor does. Returns how many. */
static uint64_t send_letters(struct producer *p, int to, uint64_t count)
{
	uint64_t sent = 0;
	for (; sent < count; sent++) {
		struct mail m = {.deliver = on_mail, .object = p, .fd = (int)p->mails[to]};
		if (!loop_put(&receivers[to].loop, &m))
			break;
		p->mails[to]++;
		stress_point();
	}
	loop_wake(&receivers[to].loop);
	p->refused += sent < count;
	return sent;
}

static void send_post(struct producer *p, int to)
{
	struct stress_post *post = &p->ring[next_random() % POSTS_A_PRODUCER];
	while (atomic_load(&post->busy))
		sched_yield();
	atomic_store(&post->busy, true);
	post->number = p->posts[to]++;
	post->from = p;
	post->post.run = on_post;
	loop_post_always(&receivers[to].loop, &post->post);
}

static void *produce(void *argument)
{
	struct producer *p = argument;
	random_state = p->seed;
	for (uint64_t left = p->count; left;) {
		int to = (int)(next_random() % LOOPS);
		uint64_t kind = next_random() % 4, few = 1 + next_random() % 5;
		pause_a_little(&receivers[to]);
		if (kind == 0) {
			left -= send_letters(p, to, few < left ? few : left);
			continue;
		}
		if (kind == 1)
			send_post(p, to);
		else
			send_mail(p, to);
		left--;
	}
	return NULL;
}

/* ---- the watch -------------------------------------------------------------------------------- */

static uint64_t received(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < LOOPS; i++)
		sum += atomic_load(&receivers[i].received);
	return sum;
}

static void on_alarm(int number)
{
	static uint64_t before = UINT64_MAX;
	static const char text[] = "standstill: a wake-up or a message was lost\n";
	(void)number;
	if (received() == before) {
		ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
		(void)ignored;
		_exit(1);
	}
	before = received();
}

static void watch(void)
{
	struct itimerval period = {{STANDSTILL_S, 0}, {STANDSTILL_S, 0}};
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &period, NULL);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static void start(uint64_t handovers, uint64_t seed)
{
	for (int i = 0; i < LOOPS; i++) {
		stats_init(&receivers[i].stats);
		MUST(loop_init(&receivers[i].loop, (unsigned)i, &receivers[i].stats, MAILBOX_CAPACITY) == 0);
		atomic_store(&receivers[i].expected, UINT64_MAX);
		receivers[i].end.run = on_end;
		MUST(pthread_create(&receivers[i].thread, NULL, receive, &receivers[i]) == 0);
	}
	for (int i = 0; i < PRODUCERS; i++) {
		producers[i].id = i;
		producers[i].count = handovers / PRODUCERS + ((uint64_t)i < handovers % PRODUCERS);
		producers[i].seed = seed * 0x9e3779b97f4a7c15 + (uint64_t)i * 2 + 1;
		MUST(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0);
	}
}

static void finish(void)
{
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i].thread, NULL);
	for (int i = 0; i < LOOPS; i++) {
		uint64_t sent = 0;
		for (int p = 0; p < PRODUCERS; p++)
			sent += producers[p].mails[i] + producers[p].posts[i];
		atomic_store(&receivers[i].expected, sent);
		loop_post_always(&receivers[i].loop, &receivers[i].end);
		pthread_join(receivers[i].thread, NULL);
		/* One that came twice may still wait there. */
		struct mail more;
		if (mailbox_take(&receivers[i].loop.mailbox, &more) || atomic_load(&receivers[i].received) != sent)
			fault("one more than were sent", more.object ? more.object : &producers[0], 0, 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t handovers = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)clock_now_ns();
	uint64_t wakes = 0, refused = 0;
	watch();
	start(handovers, seed);
	finish();
	for (int i = 0; i < LOOPS; i++) {
		wakes += atomic_load(&receivers[i].loop.mailbox.wakes);
		loop_fini(&receivers[i].loop);
	}
	for (int i = 0; i < PRODUCERS; i++)
		refused += producers[i].refused;
	printf("%" PRIu64 " hand-overs, %" PRIu64 " of them woke a sleeper, %" PRIu64
	       " refusals by full mailboxes, %" PRIu64 " faults (seed %" PRIu64 ")\n",
	        received(), wakes, refused, (uint64_t)atomic_load(&faults), seed);
	/* Without sleepers and full mailboxes this would not have tried what it is for. */
	bool tried = wakes > handovers / 1000 && refused > 0 && atomic_load(&turns[0]) > handovers / 1000 &&
	             atomic_load(&turns[1]) > handovers / 1000;
	if (!tried)
		fprintf(stderr,
		        "too few sleepers, refusals or turns with and without timers: this run shows nothing\n");
	return received() == handovers && atomic_load(&faults) == 0 && tried ? 0 : 1;
}
