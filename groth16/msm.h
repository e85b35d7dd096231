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

#endif
