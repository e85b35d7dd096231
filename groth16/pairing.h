/* pairing.h - the optimal ate pairing e: G1 x G2 -> Fq12 of BN254.
 *
 * pairing_prepare turns a point of G2 into the lines of its Miller loop, which do not depend on the other
 * point; a caller keeps the prepared form of points it meets again (those of a verification key).
 * pairing_miller multiplies the Miller values of several pairs with one chain of squarings, and
 * pairing_final_exponentiation takes the product into the group of r-th roots of unity. All memory is the
 * caller's; nothing is kept; any thread may call anything. Running times depend on the values.
 *
 * G1 points must be on the curve, G2 points in the subgroup of order r; infinity is allowed on either side
 * and gives one. The caller checks hostile points first (verify.c does): with others the value means nothing.
 *
 * Values are those of libff and ffjavascript: the exponent of the last part is 2x(6x^2 + 3x + 1) times
 * (q^4 - q^2 + 1) / r, which is as good as without that factor, and cheaper.
 *
 * Sources: Vercauteren, "Optimal pairings", eprint.iacr.org/2008/096; Costello, Lange, Naehrig, "Faster
 * pairing computations on curves with high-degree twists", eprint.iacr.org/2009/615 (steps in homogeneous
 * coordinates); Fuentes-Castaneda, Knapp, Rodriguez-Henriquez, "Faster hashing to G2" (SAC 2011; the last
 * exponentiation). */
#ifndef GROTH16_PAIRING_H
#define GROTH16_PAIRING_H

#include "groth16/fq12.h"
#include "groth16/g1.h"
#include "groth16/g2.h"

#include <stddef.h>

/* 65 doublings, 21 additions and the two last additions of the loop over 6x + 2 in signed binary. */
#define PAIRING_LINES 88

/* Most pairs that one pairing_miller takes. */
#define PAIRING_PAIRS_MAX 4

/* A line of slope s through (x, y), evaluated at (X, Y) in G1 and divided by Y: 1 + slope X/Y w + offset 1/Y
 * w^3 with slope = -s and offset = s x - y. */
struct pairing_line {
    fq2 slope, offset;
};

struct pairing_prepared {
    struct pairing_line lines[PAIRING_LINES]; /* in the order of the loop; unset for infinity */
    bool infinity;
};

/* Costs about a third of a pairing, one inversion in Fq included. */
void pairing_prepare(struct pairing_prepared *prepared, const g2_affine *q);

/* f = the product of the Miller values of (p[i], *q[i]); count is at most PAIRING_PAIRS_MAX. */
void pairing_miller(fq12 *f, const g1_affine *p, const struct pairing_prepared *const *q, size_t count);

/* r and f may be the same. A zero f, which no Miller value is, gives zero. */
void pairing_final_exponentiation(fq12 *r, const fq12 *f);

/* r = e(p, q) */
void pairing(fq12 *r, const g1_affine *p, const g2_affine *q);

#endif
