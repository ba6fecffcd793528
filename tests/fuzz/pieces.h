/* For targets that hold that the outcome does not depend on how the input is split. */
#ifndef TESTS_FUZZ_PIECES_H
#define TESTS_FUZZ_PIECES_H

#include "base/check.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An allocation of exactly that many bytes, so that a sanitizer sees a read past them. */
static inline char *piece_copy(const void *bytes, size_t length)
{
	char *copy = malloc(length ? length : 1);
	MUST(copy != NULL);
	if (length)
		memcpy(copy, bytes, length);
	return copy;
}

/* A place to split at, picked by the input itself; another for each `round`. */
static inline size_t piece_split(const uint8_t *data, size_t size, unsigned round)
{
	uint32_t hash = 2166136261u + round;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 16777619u;
	return (hash ^ hash >> 15) % (size + 1);
}

#endif
