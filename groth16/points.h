/* points.h - checks many packed points of a key at once: coordinates below p, and on the curve.
 *
 * Pure functions over the caller's bytes, any alignment, any thread. Three or four multiplications a point;
 * eight points at a time from CPU_FMA on (cpu.h), where a point of G1 costs about 60 ns in place of 170. */
#ifndef GROTH16_POINTS_H
#define GROTH16_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all of the `count` points are good; infinity is. False only says that one of them isn't, not which.
 */
bool points_g1_good(const uint8_t *bytes, size_t count);
bool points_g2_good(const uint8_t *bytes, size_t count);

#endif
