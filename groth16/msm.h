/* msm.h - multi-scalar multiplication: the sum of scalar_i * point_i over G1 or G2.
 *
 * points: n packed affine points as a .zkey holds them (64 or 128 bytes, any alignment), on the curve (a
 * caller has checked them), infinity allowed. scalars: n x 32 bytes, little-endian, plain (not Montgomery),
 * below r, any alignment. scratch: msm_*_scratch_size(n, par->workers) bytes, 64-byte aligned, contents don't
 * matter. The result is the same for any number of workers. Any thread; variable-time: its duration depends
 * on the scalars, as in the other provers.
 *
 * Method: Pippenger's buckets with signed digits, summed in affine coordinates; see msm_internal.h. */
#ifndef GROTH16_MSM_H
#define GROTH16_MSM_H

#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/par.h"

size_t msm_g1_scratch_size(size_t n, unsigned workers);
void msm_g1(g1_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch);

size_t msm_g2_scratch_size(size_t n, unsigned workers);
void msm_g2(g2_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch);

/* A table of multiples of fixed points: with it, all windows of the scalars share one set of buckets, so that
 * windows can be wider and only one set is summed: 0.7 to 0.75 of the work for scalars of full length. For
 * short scalars a call falls back to the points themselves, whichever needs fewer additions. Building one
 * costs about as much as 30 (2^13 points) to 60 (2^16) of the sums that it speeds up.
 *
 * windows * n packed points: number w * n + i is 2^(w * window_bits) times point i; the first n are the
 * points themselves. No windows: no table. Immutable once made; the memory is the caller's. */
struct msm_table {
    const uint8_t *points;
    unsigned window_bits;
    unsigned windows;
};

/* The shape for n points, without the points: all that scratch sizes depend on. */
struct msm_table msm_table_shape(size_t n);

/* memory: windows * n packed points. scratch: as for a sum of n points with this table. */
void msm_g1_table_init(struct msm_table *table, const uint8_t *points, size_t n, void *memory,
                       struct par *par, void *scratch);
void msm_g2_table_init(struct msm_table *table, const uint8_t *points, size_t n, void *memory,
                       struct par *par, void *scratch);

/* As msm_g1 and msm_g2 with a table, whose points may be NULL to ask for a size. */
size_t msm_g1_table_scratch_size(const struct msm_table *table, size_t n, unsigned workers);
void msm_g1_table(g1_xyzz *r, const struct msm_table *table, const uint8_t *points, const uint8_t *scalars,
                  size_t n, struct par *par, void *scratch);
size_t msm_g2_table_scratch_size(const struct msm_table *table, size_t n, unsigned workers);
void msm_g2_table(g2_xyzz *r, const struct msm_table *table, const uint8_t *points, const uint8_t *scalars,
                  size_t n, struct par *par, void *scratch);

#endif
