/* The CPU work of the `work` handler: what one burst computes, in a loop's thread or in the executor's. */
#ifndef HANDLERS_BURST_H
#define HANDLERS_BURST_H

#include "config/options.h"
#include <stdbool.h>
#include <stdint.h>

struct burst {
	enum config_work work;
	bool lock; /* the process-wide mutex is held while it computes */
	int64_t iterations, block_us;
	uint32_t value; /* lcg: goes in and comes out */
	double sum;     /* sqrt: the same */
};

/* Any thread. Computes, then sleeps for block_us. */
void burst_run(struct burst *);
/* The integer to show. */
uint64_t burst_result(const struct burst *);

#endif
