/* fq6.h - the cubic extension Fq6 = Fq2[v] / (v^3 - xi), xi = 9 + u.
 *
 * The middle storey of the tower that the pairing works in (fq2.h below, fq12.h above); c0 + c1 v + c2 v^2.
 * Values only: no memory is owned or kept, any thread may call anything, and an output may be one of the
 * inputs. Running times depend on the values: these are for verifying, where nothing is secret. fq6_mul costs
 * 6 multiplications in Fq2, fq6_sqr 2 and 3 squarings.
 *
 * Source: Devegili, O hEigeartaigh, Scott, Dahab, "Multiplication and squaring on pairing-friendly fields",
 * eprint.iacr.org/2006/471 (Karatsuba multiplication, squaring CH-SQR2). */
#ifndef GROTH16_FQ6_H
#define GROTH16_FQ6_H

#include "groth16/fq2.h"

typedef struct {
    fq2 c0, c1, c2;
} fq6;

bool fq6_is_zero(const fq6 *a);
bool fq6_equal(const fq6 *a, const fq6 *b);
void fq6_add(fq6 *r, const fq6 *a, const fq6 *b);
void fq6_sub(fq6 *r, const fq6 *a, const fq6 *b);
void fq6_neg(fq6 *r, const fq6 *a);
void fq6_dbl(fq6 *r, const fq6 *a);
void fq6_mul(fq6 *r, const fq6 *a, const fq6 *b);
void fq6_sqr(fq6 *r, const fq6 *a);

/* r = a v: moves the coefficients up by one, the last one around through xi. */
void fq6_mul_v(fq6 *r, const fq6 *a);

/* r = a (b0 + b1 v): 5 multiplications in Fq2. */
void fq6_mul_01(fq6 *r, const fq6 *a, const fq2 *b0, const fq2 *b1);

/* The inverse of zero is zero. One inversion in Fq. */
void fq6_inv(fq6 *r, const fq6 *a);

#endif
