/* A hash table of entries that are dropped by second chance. One thread. */
#include "handlers/static_cache.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "handlers/static_entry.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
	DESCRIPTOR_SHARE = 64, /* of the process's limit, for one cache */
	DESCRIPTORS_LEAST = 4,
};

static const int64_t WARNING_PAUSE_NS = 10 * NS_PER_S;

/* ---- the table ------------------------------------------------------------------------------ */

/* Only files that exist get in, so nobody outside can fill a bucket with keys of his choice. */
static uint64_t hash_of(struct slice key)
{
	uint64_t hash = key.length, word;
	const char *at = key.data;
	size_t left = key.length;
	for (; left >= 8; at += 8, left -= 8) {
		memcpy(&word, at, 8);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	word = 0;
	if (left)
		memcpy(&word, at, left);
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static struct static_entry **bucket_of(struct static_cache *c, uint64_t hash)
{
	return &c->buckets[hash & (STATIC_BUCKETS - 1)];
}

static struct static_entry *find(struct static_cache *c, struct slice key, uint64_t hash)
{
	struct static_entry *e = *bucket_of(c, hash);
	while (e && (e->hash != hash || !slice_equal(e->key, key)))
		e = e->next;
	return e;
}

void static_entry_drop(void *entry)
{
	struct static_entry *e = entry;
	MUST(e->references > 0);
	if (--e->references)
		return;
	fd_close(&e->fd);
	free(e);
}

static void take_out(struct static_cache *c, struct static_entry *e)
{
	struct static_entry **at = bucket_of(c, e->hash);
	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	c->slots[e->slot] = c->slots[--c->count];
	c->slots[e->slot]->slot = e->slot;
	c->bytes -= e->bytes;
	c->descriptors -= e->fd >= 0;
	static_entry_drop(e);
}

/* Drops one entry that was not used since the hand came by last. */
static void evict(struct static_cache *c, bool with_descriptor)
{
	for (;;) {
		c->hand = c->hand + 1 < c->count ? c->hand + 1 : 0;
		struct static_entry *e = c->slots[c->hand];
		if (with_descriptor && e->fd < 0)
			continue;
		if (!e->was_used) {
			take_out(c, e);
			return;
		}
		e->was_used = false;
	}
}

static void put_in(struct static_cache *c, struct static_entry *e, uint64_t hash)
{
	while (e->fd >= 0 && c->descriptors >= c->descriptors_max)
		evict(c, true);
	while (c->count && (c->count >= STATIC_ENTRIES || c->bytes + e->bytes > STATIC_MEMORY_BYTES))
		evict(c, false);
	struct static_entry **bucket = bucket_of(c, hash);
	e->hash = hash;
	e->next = *bucket;
	*bucket = e;
	e->slot = c->count;
	c->slots[c->count++] = e;
	c->bytes += e->bytes;
	c->descriptors += e->fd >= 0;
}

/* ---- life ------------------------------------------------------------------------------------- */

static unsigned descriptors_allowed(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return DESCRIPTORS_LEAST;
	rlim_t share = limit.rlim_cur / DESCRIPTOR_SHARE;
	return share > STATIC_DESCRIPTORS  ? STATIC_DESCRIPTORS
	       : share < DESCRIPTORS_LEAST ? DESCRIPTORS_LEAST
	                                   : (unsigned)share;
}

struct static_cache *static_cache_create(const struct static_site *site)
{
	struct static_cache *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->site = site;
	c->descriptors_max = descriptors_allowed();
	return c;
}

void static_cache_free(struct static_cache **cache)
{
	struct static_cache *c = *cache;
	if (!c)
		return;
	while (c->count)
		take_out(c, c->slots[c->count - 1]);
	free(c);
	*cache = NULL;
}

/* ---- getting ------------------------------------------------------------------------------------ */

static bool is_current(const struct static_cache *c, const struct static_entry *e)
{
	return !e->is_racy && static_file_is_same(e->path, &e->identity) &&
	       static_file_is_first_index(c->site, e->path, e->index_at, e->index_number);
}

static void warn_of_root(struct static_cache *c, int error)
{
	int64_t now_ns = clock_now_ns();
	if (c->warned_ns && now_ns < c->warned_ns + WARNING_PAUSE_NS)
		return;
	c->warned_ns = now_ns;
	log_warn("static: root %s: %s", c->site->root, strerror(error));
}

static struct static_entry *load(struct static_cache *c, struct slice rest, unsigned *ret_status)
{
	int root_error = 0;
	struct static_entry *e = static_entry_load(c->site, rest, ret_status, &root_error);
	if (!e && *ret_status == 503 && c->descriptors) {
		/* No descriptor left: ours are the first to go. */
		while (c->descriptors)
			evict(c, true);
		e = static_entry_load(c->site, rest, ret_status, &root_error);
	}
	if (!e && root_error)
		warn_of_root(c, root_error);
	return e;
}

struct static_entry *static_cache_get(struct static_cache *c, struct slice rest, uint64_t epoch, unsigned *ret_status)
{
	uint64_t hash = hash_of(rest);
	struct static_entry *e = find(c, rest, hash);
	if (e && e->epoch != epoch && !is_current(c, e)) {
		take_out(c, e);
		e = NULL;
	}
	if (!e) {
		e = load(c, rest, ret_status);
		if (!e)
			return NULL;
		put_in(c, e, hash);
	}
	e->epoch = epoch;
	e->was_used = true;
	return e;
}
