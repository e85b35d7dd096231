/* histogram.h - counts of durations in buckets whose width grows with the value, for percentiles in fixed
 * memory.
 *
 * Values below 128 have a bucket each; above, every power of two is cut into 64 equal buckets, so that the
 * middle of a bucket is within 1/128 of every value in it. (The idea is that of HdrHistogram.) Zeroed memory
 * is an empty histogram. One thread owns it. Cost: add O(1); value O(buckets). */
#ifndef COORDINATOR_HISTOGRAM_H
#define COORDINATOR_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BITS = 6, HISTOGRAM_BUCKETS = (64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS };

struct histogram {
    uint64_t total;
    uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* The value that permille thousandths of the added ones do not exceed (nearest rank; 500 is the median, 1000
 * the largest), as the middle of its bucket. 0 if nothing was added. permille is at most 1000. */
uint64_t histogram_value(const struct histogram *histogram, unsigned permille);

#endif
