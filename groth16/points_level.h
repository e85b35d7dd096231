/* points_level.h - private to points.c and its kernels for each level of processor. */
#ifndef GROTH16_POINTS_LEVEL_H
#define GROTH16_POINTS_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef bool points_kernel(const uint8_t *bytes, size_t count);

points_kernel points_g1_good_fma, points_g2_good_fma, points_g1_good_ifma, points_g2_good_ifma;

#endif
