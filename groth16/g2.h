/* g2.h - points of G2 of BN254: the order-r subgroup of y^2 = x^3 + 3/(9 + u) over Fq2.
 *
 * Affine points have (0, 0) for infinity, as .zkey files do; XYZZ points have zz = 0. Every function is
 * complete: any operands, equal, opposite or infinite, and any operand may be the result. Variable-time.
 * Source: EIP-197; formulas in group_body.h. */
#ifndef GROTH16_G2_H
#define GROTH16_G2_H

#include "groth16/fq2.h"

typedef struct {
    fq2 x, y;
} g2_affine;

typedef struct {
    fq2 x, y, zz, zzz; /* x/zz, y/zzz with zz^3 = zzz^2 */
} g2_xyzz;

enum { G2_BYTES = 128 }; /* of a packed affine point: x.c0, x.c1, y.c0, y.c1, Montgomery limbs */

extern const fq2 g2_b; /* 3/(9 + u), of the curve's equation */
extern const g2_affine g2_generator;

/* False, and r undefined, if a coordinate is the modulus or more. Doesn't check that the point is on the
 * curve. */
bool g2_affine_load(g2_affine *r, const uint8_t bytes[G2_BYTES]);
void g2_affine_store(uint8_t bytes[G2_BYTES], const g2_affine *a);

bool g2_affine_is_infinity(const g2_affine *a);
bool g2_affine_equal(const g2_affine *a, const g2_affine *b);
void g2_affine_neg(g2_affine *r, const g2_affine *a);

/* Infinity counts as on the curve. */
bool g2_affine_on_curve(const g2_affine *a);

/* psi, the untwisted Frobenius map: (x, y) -> (conj(x) xi^((p-1)/3), conj(y) xi^((p-1)/2)). */
void g2_affine_psi(g2_affine *r, const g2_affine *a);

/* Whether a point of the curve has order r (infinity has); the curve has more points than the subgroup. By
 * psi(P) = [6z^2]P, z the curve's parameter: a 127-bit multiplication. Source: Scott, "A note on group
 * membership tests for G1, G2 and GT on BLS pairing-friendly curves", ePrint 2021/1130. */
bool g2_affine_in_subgroup(const g2_affine *a);

void g2_xyzz_set_infinity(g2_xyzz *r);
bool g2_xyzz_is_infinity(const g2_xyzz *a);
void g2_xyzz_from_affine(g2_xyzz *r, const g2_affine *a);
void g2_xyzz_to_affine(g2_affine *r, const g2_xyzz *a); /* one inversion */
void g2_xyzz_neg(g2_xyzz *r, const g2_xyzz *a);
void g2_xyzz_dbl(g2_xyzz *r, const g2_xyzz *a);
void g2_xyzz_add(g2_xyzz *r, const g2_xyzz *a, const g2_xyzz *b);
void g2_xyzz_add_affine(g2_xyzz *r, const g2_xyzz *a, const g2_affine *b);

/* Double and add over all 256 bits, so the scalar need not be reduced. */
void g2_xyzz_mul(g2_xyzz *r, const g2_xyzz *a, const u256 *scalar);

#endif
