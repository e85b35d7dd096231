#include "groth16/msm.h"

#include "conf/check.h"

enum { MSM_SCALAR_BITS = 254 };

/* Balances n additions a window against 2^c for the running sums. */
static unsigned msm_window_bits(size_t n)
{
    unsigned log2 = 0;
    while (n >> (log2 + 1) != 0) {
        log2++;
    }
    return log2 < 6 ? 3 : log2 < 20 ? log2 - 3 : 16;
}

/* One more than fits the bits at times: the last window takes the carry of the signed digits. */
static size_t msm_windows(unsigned window_bits)
{
    return MSM_SCALAR_BITS / window_bits + 1;
}

static uint32_t msm_bits(const uint8_t *scalar, unsigned bit, unsigned count)
{
    uint64_t chunk = 0;
    unsigned first = bit / 8;
    for (unsigned i = 0; i < 5 && first + i < U256_BYTES; i++) {
        chunk |= (uint64_t)scalar[first + i] << (8 * i);
    }
    return (uint32_t)(chunk >> (bit % 8)) & ((1u << count) - 1);
}

/* Digit `index` in signed form: the raw digit plus the carry of the lower ones, less 2^c if that is above
 * 2^(c-1). The carry out of all lower windows is 1 exactly if their value is above the largest that signed
 * digits without carry can express, which is found by looking at lower digits until one decides. */
static int32_t msm_digit(const uint8_t *scalar, unsigned index, unsigned c)
{
    const uint32_t half = 1u << (c - 1);
    uint32_t carry = 0;
    for (unsigned lower = index; lower-- > 0;) {
        uint32_t raw = msm_bits(scalar, lower * c, c);
        if (raw != half) {
            carry = raw > half;
            break;
        }
    }
    uint32_t digit = msm_bits(scalar, index * c, c) + carry;
    return digit > half ? (int32_t)digit - (int32_t)(2 * half) : (int32_t)digit;
}

struct msm_g1_call {
    const uint8_t *points;
    const uint8_t *scalars;
    size_t n;
    unsigned window_bits;
    g1_xyzz *sums;    /* one a window */
    g1_xyzz *buckets; /* one set a worker */
};

struct msm_g2_call {
    const uint8_t *points;
    const uint8_t *scalars;
    size_t n;
    unsigned window_bits;
    g2_xyzz *sums;
    g2_xyzz *buckets;
};

#define MSM(name)       msm_g1_##name
#define MSM_POINT(name) g1_##name
#define MSM_XYZZ        g1_xyzz
#define MSM_AFFINE      g1_affine
#define MSM_POINT_BYTES G1_BYTES
#include "groth16/msm_body.h"
#undef MSM
#undef MSM_POINT
#undef MSM_XYZZ
#undef MSM_AFFINE
#undef MSM_POINT_BYTES

#define MSM(name)       msm_g2_##name
#define MSM_POINT(name) g2_##name
#define MSM_XYZZ        g2_xyzz
#define MSM_AFFINE      g2_affine
#define MSM_POINT_BYTES G2_BYTES
#include "groth16/msm_body.h"

size_t msm_g1_scratch_size(size_t n, unsigned workers)
{
    return msm_g1_scratch(n, workers);
}

void msm_g1(g1_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch)
{
    msm_g1_run(r, points, scalars, n, par, scratch);
}

size_t msm_g2_scratch_size(size_t n, unsigned workers)
{
    return msm_g2_scratch(n, workers);
}

void msm_g2(g2_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch)
{
    msm_g2_run(r, points, scalars, n, par, scratch);
}
