/* Exact by contract: the same figures as every other implementation of this benchmark. */
#include "handlers/burst.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

/* Process-wide by definition: it plays the global lock of an interpreter, which no route or loop owns. */
static pthread_mutex_t interpreter_lock = PTHREAD_MUTEX_INITIALIZER;

/* The empty asm costs nothing, but the compiler must have each `i` on its own: the loops can neither be folded into a
 * formula nor cut into vectors. */
#define EACH_ON_ITS_OWN(i) __asm__ volatile("" : "+r"(i))

static uint32_t lcg(uint32_t value, int64_t iterations)
{
	for (int64_t i = 0; i < iterations; i++) {
		EACH_ON_ITS_OWN(i);
		value = value * 1664525u + 1013904223u + (uint32_t)i;
	}
	return value;
}

static double add_roots(double sum, int64_t iterations)
{
	for (int64_t i = 0; i < iterations; i++) {
		EACH_ON_ITS_OWN(i);
		sum += sqrt((double)i);
	}
	return sum;
}

static void sleep_us(int64_t us)
{
	struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

void burst_run(struct burst *b)
{
	if (b->lock)
		pthread_mutex_lock(&interpreter_lock);
	if (b->work == CONFIG_WORK_LCG)
		b->value = lcg(b->value, b->iterations);
	else
		b->sum = add_roots(b->sum, b->iterations);
	if (b->lock)
		pthread_mutex_unlock(&interpreter_lock);
	if (b->block_us)
		sleep_us(b->block_us);
}

uint64_t burst_result(const struct burst *b)
{
	return b->work == CONFIG_WORK_LCG ? b->value : (uint64_t)b->sum;
}
