/* A good fast hash of bytes, the same in every process and on every machine. No protection against chosen input. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/slice.h"
#include <stdint.h>

uint64_t hash_bytes(struct slice, uint64_t seed);

/* Of two hashes together. */
static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	uint64_t h = a ^ (b * UINT64_C(0x9e3779b97f4a7c15));
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9); /* the finaliser of SplitMix64 */
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return h ^ (h >> 31);
}

#endif
