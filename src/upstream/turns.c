/* Smooth weighted turns, worked out before they are needed. */
#include "upstream/turns.h"
#include "base/check.h"
#include "base/number.h"
#include <stdlib.h>

enum { MOST_TURNS = 8192 };

bool turns_read_weight(struct slice word, unsigned *ret_weight)
{
	struct slice prefix = SLICE("weight=");
	int64_t weight;
	if (!slice_starts(word, prefix) || number_parse_count(slice_from(word, prefix.length), &weight))
		return false;
	if (weight < 1 || weight > TURNS_MAX_WEIGHT)
		return false;
	*ret_weight = (unsigned)weight;
	return true;
}

static unsigned common_divisor(unsigned a, unsigned b)
{
	while (b) {
		unsigned rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* How many turns each gets; returns how many in all. Laying them takes the product of turns and takers, so beyond some
 * thousand the weights are kept about. */
static size_t share_out(const unsigned *weights, size_t count, unsigned divisor, size_t length, unsigned *shares)
{
	size_t all = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t share = weights[i] / divisor;
		if (length > MOST_TURNS && share > 0)
			share = share * MOST_TURNS / length + 1;
		shares[i] = (unsigned)share;
		all += shares[i];
	}
	return all;
}

/* Spread out: each taker gains its share in every turn, the richest is served and pays all. */
static void spread(const unsigned *shares, size_t count, int64_t *credit, uint16_t *schedule, size_t length)
{
	for (size_t turn = 0; turn < length; turn++) {
		size_t richest = 0;
		for (size_t i = 0; i < count; i++) {
			credit[i] += shares[i];
			if (credit[i] > credit[richest])
				richest = i;
		}
		credit[richest] -= (int64_t)length;
		schedule[turn] = (uint16_t)richest;
	}
}

bool turns_lay(const unsigned *weights, size_t count, uint16_t **ret_schedule, size_t *ret_length)
{
	unsigned divisor = 0;
	size_t length = 0;
	MUST(count <= UINT16_MAX + 1);
	for (size_t i = 0; i < count; i++)
		divisor = common_divisor(weights[i], divisor);
	MUST(divisor > 0);
	for (size_t i = 0; i < count; i++)
		length += weights[i] / divisor;
	unsigned *shares = malloc(count * sizeof *shares);
	int64_t *credit = calloc(count, sizeof *credit);
	if (shares)
		length = share_out(weights, count, divisor, length, shares);
	uint16_t *schedule = calloc(length, sizeof *schedule);
	bool fine = shares && credit && schedule;
	if (fine) {
		spread(shares, count, credit, schedule, length);
		*ret_schedule = schedule;
		*ret_length = length;
	} else {
		free(schedule);
	}
	free(shares);
	free(credit);
	return fine;
}
