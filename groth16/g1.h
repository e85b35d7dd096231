/* g1.h - points of G1 of BN254: y^2 = x^3 + 3 over Fq, of prime order r.
 *
 * Affine points have (0, 0) for infinity, as .zkey files do; XYZZ points have zz = 0. Every function is
 * complete: any operands, equal, opposite or infinite, and any operand may be the result. Variable-time.
 * Source: EIP-197; formulas in group_body.h. */
#ifndef GROTH16_G1_H
#define GROTH16_G1_H

#include "groth16/fq.h"

typedef struct {
    fq x, y;
} g1_affine;

typedef struct {
    fq x, y, zz, zzz; /* x/zz, y/zzz with zz^3 = zzz^2 */
} g1_xyzz;

enum { G1_BYTES = 64 }; /* of a packed affine point: x, y, Montgomery limbs */

extern const fq g1_b; /* 3, the curve's constant */
extern const g1_affine g1_generator;

/* False, and r undefined, if a coordinate is the modulus or more. Doesn't check that the point is on the
 * curve. */
bool g1_affine_load(g1_affine *r, const uint8_t bytes[G1_BYTES]);
void g1_affine_store(uint8_t bytes[G1_BYTES], const g1_affine *a);

bool g1_affine_is_infinity(const g1_affine *a);
bool g1_affine_equal(const g1_affine *a, const g1_affine *b);
void g1_affine_neg(g1_affine *r, const g1_affine *a);

/* Infinity counts as on the curve. */
bool g1_affine_on_curve(const g1_affine *a);

void g1_xyzz_set_infinity(g1_xyzz *r);
bool g1_xyzz_is_infinity(const g1_xyzz *a);
void g1_xyzz_from_affine(g1_xyzz *r, const g1_affine *a);
void g1_xyzz_to_affine(g1_affine *r, const g1_xyzz *a); /* one inversion */
void g1_xyzz_neg(g1_xyzz *r, const g1_xyzz *a);
void g1_xyzz_dbl(g1_xyzz *r, const g1_xyzz *a);
void g1_xyzz_add(g1_xyzz *r, const g1_xyzz *a, const g1_xyzz *b);
void g1_xyzz_add_affine(g1_xyzz *r, const g1_xyzz *a, const g1_affine *b);

/* Double and add over all 256 bits, so the scalar need not be reduced. */
void g1_xyzz_mul(g1_xyzz *r, const g1_xyzz *a, const u256 *scalar);

#endif
