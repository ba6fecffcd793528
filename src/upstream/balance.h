/* How a group picks the server of a request; one file a policy. Any thread. */
#ifndef UPSTREAM_BALANCE_H
#define UPSTREAM_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct group;

struct balance {
	const char *name;
	/* An untried server of a group that has more than one. false: none is left. */
	bool (*pick)(struct group *, const uint16_t *tried, size_t tried_count, uint16_t *ret_server);
};

extern const struct balance balance_least_requests, balance_round_robin;

static inline bool balance_was_tried(const uint16_t *tried, size_t tried_count, uint16_t server)
{
	for (size_t i = 0; i < tried_count; i++)
		if (tried[i] == server)
			return true;
	return false;
}

#endif
