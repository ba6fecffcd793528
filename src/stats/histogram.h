/* Counts of durations in buckets whose width grows with the value (relative error at most 1/8). One writer. */
#ifndef STATS_HISTOGRAM_H
#define STATS_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { HISTOGRAM_SUB_BITS = 3, HISTOGRAM_BUCKETS = 28 << HISTOGRAM_SUB_BITS }; /* 0 to about 2^30 us */

struct histogram {
	atomic_uint_least32_t buckets[HISTOGRAM_BUCKETS];
	atomic_uint_least64_t sum;
	atomic_uint_least64_t max;
};

/* A sum of histograms, private to its reader. */
struct histogram_view {
	uint64_t buckets[HISTOGRAM_BUCKETS];
	uint64_t count, sum, max;
};

void histogram_add(struct histogram *, uint64_t value);
void histogram_clear(struct histogram *);
void histogram_view_add(struct histogram_view *, const struct histogram *);
/* The value below which a share `q` (0..1) of the counts lies; 0 when empty. */
uint64_t histogram_view_quantile(const struct histogram_view *, double q);
/* The lowest value of a bucket. */
uint64_t histogram_bucket_low(unsigned bucket);

#endif
