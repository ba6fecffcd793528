/* Log-linear buckets: values below 2^SUB have one each, each power of two above is cut in 2^SUB. */
#include "stats/histogram.h"

static unsigned bucket_of(uint64_t value)
{
	if (value < (1u << HISTOGRAM_SUB_BITS))
		return (unsigned)value;
	unsigned exponent = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
	unsigned bucket = ((exponent + 1) << HISTOGRAM_SUB_BITS) +
	                  (unsigned)((value >> exponent) & ((1u << HISTOGRAM_SUB_BITS) - 1));
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

uint64_t histogram_bucket_low(unsigned bucket)
{
	if (bucket < (1u << HISTOGRAM_SUB_BITS))
		return bucket;
	unsigned exponent = (bucket >> HISTOGRAM_SUB_BITS) - 1;
	uint64_t mantissa = (1u << HISTOGRAM_SUB_BITS) + (bucket & ((1u << HISTOGRAM_SUB_BITS) - 1));
	return mantissa << exponent;
}

void histogram_add(struct histogram *h, uint64_t value)
{
	atomic_uint_least32_t *bucket = &h->buckets[bucket_of(value)];
	atomic_store_explicit(bucket, atomic_load_explicit(bucket, memory_order_relaxed) + 1, memory_order_relaxed);
	atomic_store_explicit(
	        &h->sum, atomic_load_explicit(&h->sum, memory_order_relaxed) + value, memory_order_relaxed);
	if (value > atomic_load_explicit(&h->max, memory_order_relaxed))
		atomic_store_explicit(&h->max, value, memory_order_relaxed);
}

void histogram_clear(struct histogram *h)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		atomic_store_explicit(&h->buckets[i], 0, memory_order_relaxed);
	atomic_store_explicit(&h->sum, 0, memory_order_relaxed);
	atomic_store_explicit(&h->max, 0, memory_order_relaxed);
}

void histogram_view_add(struct histogram_view *v, const struct histogram *h)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint32_t n = atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
		v->buckets[i] += n;
		v->count += n;
	}
	v->sum += atomic_load_explicit(&h->sum, memory_order_relaxed);
	uint64_t max = atomic_load_explicit(&h->max, memory_order_relaxed);
	if (max > v->max)
		v->max = max;
}

uint64_t histogram_view_quantile(const struct histogram_view *v, double q)
{
	uint64_t rank = (uint64_t)(q * (double)v->count), below = 0;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		below += v->buckets[i];
		if (below > rank)
			return histogram_bucket_low(i);
	}
	return v->max;
}
