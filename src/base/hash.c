#include "base/hash.h"
#include <xxhash.h>

uint64_t hash_bytes(struct slice s, uint64_t seed)
{
	return XXH3_64bits_withSeed(s.data, s.length, seed);
}
