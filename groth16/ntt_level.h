/* ntt_level.h - private to the NTT: what ntt.c and the kernels for each level of processor agree on. */
#ifndef GROTH16_NTT_LEVEL_H
#define GROTH16_NTT_LEVEL_H

#include "groth16/ntt.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* 2^stages rows of `columns` adjacent elements, `stride` elements from row to row. */
struct ntt_tile {
    fr *values; /* first element of the first row */
    size_t stride, columns;
    unsigned stages;
    const fr *twiddles;
    size_t block;
    bool forward;
};

/* far: the stages of one direction over a tile. near: on blocks of 2^stages adjacent elements, the first of
 * them number `block`, the last stages of the inverse, the scaling, and the first stages of the forward
 * transform. */
typedef void ntt_far(const struct ntt_tile *tile, void *scratch);
typedef void ntt_near(const struct ntt *ntt, fr *values, unsigned stages, size_t block, void *scratch);

ntt_far ntt_portable_far, ntt_adx_far, ntt_fma_far, ntt_ifma_far;
ntt_near ntt_portable_near, ntt_adx_near, ntt_fma_near, ntt_ifma_near;

#endif
