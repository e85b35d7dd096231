/* check_parts - the parts of a proof alone, on device 0: multi-scalar multiplications and transforms of any
 * size, compared with the CPU's and timed. Each prints its lines (check_common.h) and returns how many
 * results differ.
 *
 * Neither needs a key. An MSM's points are the first 4096 multiples of the generator, repeated, so that even
 * 2^24 of them are made at once and the CPU's sum is one of 4096 points, whose scalars are the sums of those
 * that meet the same point. A transform's domain has a made-up circuit in which row i is wire i, squared. */
#ifndef TESTS_DEVICE_CHECK_PARTS_H
#define TESTS_DEVICE_CHECK_PARTS_H

#include "check_common.h"

enum { CHECK_LOG2_MAX = 26 };

unsigned check_msm_g1(unsigned log2, const struct check_options *options);
unsigned check_msm_g2(unsigned log2, const struct check_options *options);
unsigned check_ntt(unsigned log2, const struct check_options *options);

/* Floors for n scalars that are all random, without tables of multiples; and for the transforms of a proof.
 */
void check_floor_msm(struct check_floor *floor, size_t n, unsigned levels, bool g2);
void check_floor_ntt(struct check_floor *floor, unsigned log2);
void check_floor_evaluate(struct check_floor *floor, unsigned log2, size_t entries);

#endif
