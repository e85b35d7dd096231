/* fq12.h - the quadratic extension Fq12 = Fq6[w] / (w^2 - v), where pairings have their values.
 *
 * c0 + c1 w; in powers of w: c0 holds w^0, w^2, w^4 and c1 holds w^1, w^3, w^5. Values only: no memory is
 * owned or kept, any thread may call anything, and an output may be one of the inputs. Running times depend
 * on the values. fq12_mul costs 18 multiplications in Fq2, fq12_sqr 12, fq12_mul_line 10, fq12_cyclotomic_sqr
 * 9 squarings.
 *
 * Sources: Devegili et al., eprint.iacr.org/2006/471 (squaring by the complex method); Granger, Scott,
 * "Faster squaring in the cyclotomic subgroup of sixth degree extensions", eprint.iacr.org/2009/565. */
#ifndef GROTH16_FQ12_H
#define GROTH16_FQ12_H

#include "groth16/fq6.h"

typedef struct {
    fq6 c0, c1;
} fq12;

void fq12_set_one(fq12 *r);
bool fq12_is_one(const fq12 *a);
bool fq12_equal(const fq12 *a, const fq12 *b);
void fq12_mul(fq12 *r, const fq12 *a, const fq12 *b);
void fq12_sqr(fq12 *r, const fq12 *a);

/* The inverse of zero is zero. One inversion in Fq. */
void fq12_inv(fq12 *r, const fq12 *a);

/* r = c0 - c1 w, which is a^(q^6); the inverse of an element of the cyclotomic subgroup. */
void fq12_conj(fq12 *r, const fq12 *a);

/* r = a^(q^power) for power 1, 2 or 3. */
void fq12_frobenius(fq12 *r, const fq12 *a, unsigned power);

/* r = a (1 + b0 w + b1 w^3), the shape of a line of the Miller loop (pairing.c). */
void fq12_mul_line(fq12 *r, const fq12 *a, const fq2 *b0, const fq2 *b1);

/* r = a^2 for an a whose order divides q^4 - q^2 + 1; wrong for others. */
void fq12_cyclotomic_sqr(fq12 *r, const fq12 *a);

#endif
