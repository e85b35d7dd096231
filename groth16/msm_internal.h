/* msm_internal.h - what msm.c and its kernels share; nobody else includes it.
 *
 * A call is cut in tasks of one window and one slice of the points; windows with much work get more slices. A
 * kernel computes one task: it sorts the slice's points by the bucket of their digit and sums each bucket in
 * affine coordinates, pair by pair, with one inversion for many pairs (Montgomery's trick), then the buckets,
 * laid out as a matrix, likewise. Sorting makes every bucket's points lie together, so that a bucket which
 * holds half of all points (a witness of zeros and ones) is a tree of independent additions like any other.
 * All of this works on chunks that stay in a core's second-level cache. */
#ifndef GROTH16_MSM_INTERNAL_H
#define GROTH16_MSM_INTERNAL_H

#include "groth16/msm.h"

#include <stdbool.h>

enum {
    MSM_SCALAR_BITS = 254,
    MSM_WINDOW_BITS_MAX = 16,
    MSM_MATRIX_LOG2_MIN = 8, /* fewer buckets than 2^this are summed one by one */
    MSM_WINDOWS_MAX = 128,   /* windows have at least two bits */
    MSM_BLOCK = 64 /* scalars whose largest bit length is remembered, so that empty windows cost nothing */
};

/* Windows share their buckets in a task only if there is a table. */
struct msm_task {
    uint32_t window, windows;
    uint32_t slice, slices;
};

struct msm_call {
    const uint8_t *points;
    const uint8_t *scalars;
    size_t n;
    bool table; /* points holds n for each window, times 2^(window * window_bits) */
    unsigned window_bits;
    unsigned windows;
    size_t tasks_count;
    struct msm_task *tasks;
    size_t slice_points;       /* of the longest slice, times the windows of its task */
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

/* The making of a table: tasks are blocks of MSM_CHUNK / 2 points. */
struct msm_building {
    uint8_t *points;
    size_t n;
    unsigned window_bits;
    unsigned windows;
    unsigned char *workers;
    size_t worker_bytes;
};

typedef void msm_kernel(void *call, size_t task, unsigned worker);

msm_kernel msm_g1_task_portable, msm_g2_task_portable, msm_g1_task_adx, msm_g2_task_adx, msm_g1_task_fma,
    msm_g2_task_fma, msm_g1_task_ifma, msm_g2_task_ifma;
msm_kernel msm_g1_build_portable, msm_g2_build_portable, msm_g1_build_adx, msm_g2_build_adx, msm_g1_build_fma,
    msm_g2_build_fma, msm_g1_build_ifma, msm_g2_build_ifma;

/* The first point of a slice, a multiple of MSM_BLOCK or n. */
static inline size_t msm_slice_begin(size_t n, uint32_t slice, uint32_t slices)
{
    const size_t blocks = (n + MSM_BLOCK - 1) / MSM_BLOCK;
    const size_t begin = blocks * slice / slices * MSM_BLOCK;
    return begin < n ? begin : n;
}

/* The signed digit, -2^(c-1) .. 2^(c-1), of the window of c bits that begins at `bit`: Booth's recoding, in
 * which the window's own top bit counts negative and the bit below the window adds one. It needs no carries,
 * so digits can be computed in any order. */
static inline int32_t msm_digit(const uint8_t *scalar, unsigned bit, unsigned c)
{
    const unsigned below = bit == 0 ? 0 : bit - 1;
    const unsigned byte = below / 8 < U256_BYTES - 8 ? below / 8 : U256_BYTES - 8;
    uint64_t bits;
    memcpy(&bits, scalar + byte, sizeof bits);
    bits = bit == 0 ? bits << 1 : bits >> (below - 8 * byte);
    bits &= (UINT64_C(2) << c) - 1;
    return (int32_t)((bits + 1) >> 1) - (int32_t)(bits >> c << c);
}

#endif
