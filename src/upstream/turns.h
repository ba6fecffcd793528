/* Weighted turns: who is served when, laid out once for as many turns as the weights add up to. Any thread. */
#ifndef UPSTREAM_TURNS_H
#define UPSTREAM_TURNS_H

#include "base/slice.h"
#include <stddef.h>
#include <stdint.h>

enum { TURNS_MAX_WEIGHT = 256 };

/* "weight=N", 1..TURNS_MAX_WEIGHT; false: it is something else. */
bool turns_read_weight(struct slice word, unsigned *ret_weight);
/* Lays turns for `count` (1..65536) takers of these weights, each 0 or more, at least one more: *ret_schedule names
 * takers by index and is the caller's to free. false: no memory. */
bool turns_lay(const unsigned *weights, size_t count, uint16_t **ret_schedule, size_t *ret_length);

#endif
