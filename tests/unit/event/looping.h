/* One loop, run by the test's own thread, and watches that note what they are told. */
#ifndef TESTS_EVENT_LOOPING_H
#define TESTS_EVENT_LOOPING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/loop.h"

extern struct stats stats;
extern struct loop loop;

struct seen {
	struct watch watch;
	int ready_count, expired_count;
	uint32_t events;
	int64_t deadline_ns, expired_ns;
};

/* cmocka setup and teardown. With a timer that runs all the while, libev sleeps instead of the loop itself. */
int looping_setup(void **state);
int looping_setup_with_timer(void **state);
int looping_teardown(void **state);
/* Holds the loop, as a handler does that computes. */
void burn(int64_t ns);
/* Runs the loop until something stops it, or until another thread stops it after so long. */
void run(void);
void run_for(int64_t us);
void note_ready(struct watch *, uint32_t events);
void note_expired(struct watch *);
/* Empties it, and gives it a slot of the loop. */
void adopt(struct seen *);

/* A test in both ways to sleep. */
#define BOTH(test)                                                                                                     \
	{#test, test, looping_setup, looping_teardown, NULL},                                                          \
	{                                                                                                              \
#test "_with_a_timer", test, looping_setup_with_timer, looping_teardown, NULL                          \
	}

#endif
