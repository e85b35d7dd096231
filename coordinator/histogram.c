#include "coordinator/histogram.h"

#include "conf/check.h"

#include <stdbool.h>

/* Buckets 0 .. 2^BITS - 1 hold one value each; then each octave has 2^BITS buckets, told apart by the BITS
 * bits behind the leading one. */
static unsigned bucket_of(uint64_t value)
{
    if (value < (1u << HISTOGRAM_BITS)) {
        return (unsigned)value;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
    return (shift << HISTOGRAM_BITS) + (unsigned)(value >> shift);
}

static uint64_t bucket_middle(unsigned bucket)
{
    if (bucket < (2u << HISTOGRAM_BITS)) {
        return bucket;
    }
    unsigned shift = (bucket >> HISTOGRAM_BITS) - 1;
    uint64_t top = bucket - (shift << HISTOGRAM_BITS);
    return (top << shift) + (UINT64_C(1) << (shift - 1));
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    unsigned bucket = bucket_of(value);
    CHECK(bucket < HISTOGRAM_BUCKETS);
    histogram->counts[bucket]++;
    histogram->total++;
}

uint64_t histogram_value(const struct histogram *histogram, unsigned permille)
{
    CHECK(permille <= 1000);
    if (histogram->total == 0) {
        return 0;
    }
    /* Nearest rank, rounded up without overflow: total / 1000 and the rest apart. */
    uint64_t rank = histogram->total / 1000 * permille + (histogram->total % 1000 * permille + 999) / 1000;
    if (rank == 0) {
        rank = 1;
    }
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->counts[bucket];
        if (seen >= rank) {
            return bucket_middle(bucket);
        }
    }
    CHECK(false && "counts do not add up to total");
    return 0;
}
