#include "groth16/multiples.h"

#include "conf/check.h"

static size_t multiples_domain(const struct zkey *key)
{
    return (size_t)1 << key->domain_log2;
}

static size_t multiples_private(const struct zkey *key)
{
    return (size_t)key->wires - key->publics - 1;
}

struct multiples multiples_shape(const struct zkey *key, enum multiples_kind kind)
{
    struct multiples shape = {0};
    if (kind != MULTIPLES_NONE) {
        shape.h = msm_table_shape(multiples_domain(key));
    }
    if (kind == MULTIPLES_ALL) {
        shape.a = shape.b1 = shape.b2 = msm_table_shape(key->wires);
        shape.c = msm_table_shape(multiples_private(key));
    }
    return shape;
}

/* Adds the table's bytes to *total, rounded up to 64, unless that overflows. */
static bool multiples_add(size_t *total, const struct msm_table *table, size_t n, size_t point_bytes)
{
    size_t bytes;
    return __builtin_mul_overflow(n, point_bytes * table->windows, &bytes) ||
           __builtin_add_overflow(bytes, (size_t)63, &bytes) ||
           __builtin_add_overflow(*total, bytes & ~(size_t)63, total);
}

size_t multiples_size(const struct zkey *key, const struct multiples *shape)
{
    size_t total = 0;
    const bool overflow = multiples_add(&total, &shape->h, multiples_domain(key), G1_BYTES) ||
                          multiples_add(&total, &shape->a, key->wires, G1_BYTES) ||
                          multiples_add(&total, &shape->b1, key->wires, G1_BYTES) ||
                          multiples_add(&total, &shape->c, multiples_private(key), G1_BYTES) ||
                          multiples_add(&total, &shape->b2, key->wires, G2_BYTES);
    return overflow ? SIZE_MAX : total;
}

size_t multiples_scratch_size(const struct zkey *key, const struct multiples *shape, unsigned workers)
{
    size_t most = msm_g1_table_scratch_size(&shape->h, multiples_domain(key), workers);
    const size_t wires = msm_g1_table_scratch_size(&shape->a, key->wires, workers);
    const size_t twisted = msm_g2_table_scratch_size(&shape->b2, key->wires, workers);
    most = wires > most ? wires : most; /* C's are not more than A's */
    return twisted > most ? twisted : most;
}

void multiples_init(struct multiples *multiples, const struct zkey *key, void *memory, struct par *par,
                    void *scratch)
{
    CHECK(((uintptr_t)memory & 63) == 0 && ((uintptr_t)scratch & 63) == 0);
    CHECK(multiples_size(key, multiples) != SIZE_MAX);
    uint8_t *next = memory;
#define MULTIPLES_FILL(member, group, points, n, point_bytes)                            \
    do {                                                                                 \
        if (multiples->member.windows != 0) {                                            \
            size_t bytes = 0;                                                            \
            (void)multiples_add(&bytes, &multiples->member, n, point_bytes);             \
            msm_##group##_table_init(&multiples->member, points, n, next, par, scratch); \
            next += bytes;                                                               \
        }                                                                                \
    } while (0)
    MULTIPLES_FILL(h, g1, key->h, multiples_domain(key), G1_BYTES);
    MULTIPLES_FILL(a, g1, key->a, key->wires, G1_BYTES);
    MULTIPLES_FILL(b1, g1, key->b1, key->wires, G1_BYTES);
    MULTIPLES_FILL(c, g1, key->c, multiples_private(key), G1_BYTES);
    MULTIPLES_FILL(b2, g2, key->b2, key->wires, G2_BYTES);
#undef MULTIPLES_FILL
}
