/* msm_internal.h - what msm.c and its kernels share; nobody else includes it.
 *
 * A call is cut in tasks of one window and one slice of the points. A kernel computes one task: it sorts the
 * slice's points by the bucket of their digit and sums each bucket in affine coordinates, pair by pair, with
 * one inversion for many pairs (Montgomery's trick), then the buckets, laid out as a matrix, likewise.
 * Sorting makes every bucket's points lie together, so that a bucket which holds half of all points (a
 * witness of zeros and ones) is a tree of independent additions like any other. All of this works on chunks
 * that stay in a core's second-level cache. */
#ifndef GROTH16_MSM_INTERNAL_H
#define GROTH16_MSM_INTERNAL_H

#include "groth16/msm.h"

enum {
    MSM_SCALAR_BITS = 254,
    MSM_WINDOW_BITS_MAX = 16,
    MSM_MATRIX_LOG2_MIN = 8, /* fewer buckets than 2^this are summed one by one */
    MSM_WINDOWS_MAX = 128,   /* windows have at least two bits */
    MSM_BLOCK = 64 /* scalars whose largest bit length is remembered, so that empty windows cost nothing */
};

struct msm_call {
    const uint8_t *points;
    const uint8_t *scalars;
    size_t n;
    unsigned window_bits;
    unsigned windows;
    size_t slices;
    size_t slice_points;       /* a multiple of MSM_BLOCK */
    u256 offset;               /* half a window's range in every window but the last: makes digits signed */
    const uint8_t *block_bits; /* windows from this bit on are empty for the whole block */
    void *sums;                /* XYZZ, one a task */
    unsigned char *workers;    /* one scratch a worker */
    size_t worker_bytes;
};

/* Points added at once in one worker's chunk; segments are the parts of buckets in it. */
enum { MSM_CHUNK = 4096 };

struct msm_segment {
    uint32_t bucket;
    uint32_t length;
};

typedef void msm_kernel(void *call, size_t task, unsigned worker);

msm_kernel msm_g1_task_portable, msm_g2_task_portable, msm_g1_task_adx, msm_g2_task_adx, msm_g1_task_ifma,
    msm_g2_task_ifma;

/* The digit of window `index` of a scalar, signed: -2^(c-1) .. 2^(c-1). Adding the offset once turns the
 * borrowing of signed digits into plain bits: digit = bits(scalar + offset) - 2^(c-1), and the last window
 * just keeps its bits. */
static inline int32_t msm_digit(const struct msm_call *call, const uint8_t *scalar, unsigned index)
{
    u256 sum;
    u256_load_le(&sum, scalar);
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)sum.w[i] + call->offset.w[i];
        sum.w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    const unsigned c = call->window_bits;
    const unsigned bit = index * c;
    uint64_t chunk = sum.w[bit / 64] >> (bit % 64);
    if (bit % 64 + c > 64 && bit / 64 < 3) {
        chunk |= sum.w[bit / 64 + 1] << (64 - bit % 64);
    }
    int32_t digit = (int32_t)(chunk & ((1u << c) - 1));
    return index + 1 == call->windows ? digit : digit - (int32_t)(1u << (c - 1));
}

#endif
