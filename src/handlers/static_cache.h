/*
 * What one loop remembers of one route's files: the whole of small ones, the open
 * descriptor of large ones, and the field lines of both.
 *
 * Within an epoch of the loop nothing new can have been asked for, so an entry is held
 * against the file system once an epoch, by one system call; a changed file is seen by
 * the next request.
 */
#ifndef HANDLERS_STATIC_CACHE_H
#define HANDLERS_STATIC_CACHE_H

#include "handlers/static_file.h"
#include <stdbool.h>
#include <time.h>

enum {
	STATIC_SMALL_BYTES =
	        128 * 1024, /* larger files stay in the kernel's cache; up to here a copy was cheaper than sendfile */
	STATIC_ENTRIES = 1024,
	STATIC_BUCKETS = 2048,
	STATIC_MEMORY_BYTES = 16 * 1024 * 1024,
	STATIC_DESCRIPTORS = 256,
};

struct static_entry {
	struct static_entry *next; /* in its bucket */
	uint64_t hash, epoch;      /* epoch: when it was last found to be current */
	uint32_t references, slot;
	bool was_used, is_racy;
	int fd; /* of a large file; -1: content holds all */
	int64_t size;
	time_t modified; /* as Last-Modified says */
	struct slice key, content;
	struct slice fields;     /* of a whole answer; ends with those in `validators` */
	struct slice validators; /* Last-Modified and ETag */
	struct slice etag;
	struct file_identity identity;
	unsigned index_number;
	size_t index_at, bytes;
	const char *path;
	char memory[];
};

struct static_cache {
	const struct static_site *site;
	unsigned count, hand, descriptors, descriptors_max;
	size_t bytes;
	int64_t warned_ns;
	struct static_entry *slots[STATIC_ENTRIES];
	struct static_entry *buckets[STATIC_BUCKETS];
};

/* NULL when memory is short. The site outlives the cache. */
struct static_cache *static_cache_create(const struct static_site *);
void static_cache_free(struct static_cache **);

/* The file of that path, current as of this epoch; lives until the next call unless held. NULL: *ret_status is what to
 * answer, as static_file_open has it. */
struct static_entry *static_cache_get(struct static_cache *, struct slice rest, uint64_t epoch, unsigned *ret_status);

/* While an answer needs its content or descriptor. */
static inline void static_entry_hold(struct static_entry *e)
{
	e->references++;
}
void static_entry_drop(void *entry);

#endif
