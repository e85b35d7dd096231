/* fq2.h - the quadratic extension Fq[u]/(u^2 + 1), in which the coordinates of G2 points live.
 *
 * Any operand may be the result. Variable-time where fq is. A multiplication costs three of fq (Karatsuba), a
 * squaring two. */
#ifndef GROTH16_FQ2_H
#define GROTH16_FQ2_H

#include "groth16/fq.h"

typedef struct {
    fq c0, c1; /* c0 + c1*u */
} fq2;

extern const fq2 fq2_zero;
extern const fq2 fq2_one;

static inline void fq2_add(fq2 *r, const fq2 *a, const fq2 *b)
{
    fq_add(&r->c0, &a->c0, &b->c0);
    fq_add(&r->c1, &a->c1, &b->c1);
}

static inline void fq2_sub(fq2 *r, const fq2 *a, const fq2 *b)
{
    fq_sub(&r->c0, &a->c0, &b->c0);
    fq_sub(&r->c1, &a->c1, &b->c1);
}

static inline void fq2_neg(fq2 *r, const fq2 *a)
{
    fq_neg(&r->c0, &a->c0);
    fq_neg(&r->c1, &a->c1);
}

static inline void fq2_dbl(fq2 *r, const fq2 *a)
{
    fq2_add(r, a, a);
}

static inline void fq2_conj(fq2 *r, const fq2 *a)
{
    r->c0 = a->c0;
    fq_neg(&r->c1, &a->c1);
}

static inline void fq2_mul(fq2 *r, const fq2 *a, const fq2 *b)
{
    fq v0, v1, sa, sb;
    fq_mul(&v0, &a->c0, &b->c0);
    fq_mul(&v1, &a->c1, &b->c1);
    fq_add(&sa, &a->c0, &a->c1);
    fq_add(&sb, &b->c0, &b->c1);
    fq_mul(&sa, &sa, &sb);
    fq_sub(&r->c0, &v0, &v1);
    fq_sub(&sa, &sa, &v0);
    fq_sub(&r->c1, &sa, &v1);
}

static inline void fq2_sqr(fq2 *r, const fq2 *a)
{
    fq sum, difference, product;
    fq_add(&sum, &a->c0, &a->c1);
    fq_sub(&difference, &a->c0, &a->c1);
    fq_mul(&product, &a->c0, &a->c1);
    fq_mul(&r->c0, &sum, &difference);
    fq_dbl(&r->c1, &product);
}

static inline void fq2_mul_fq(fq2 *r, const fq2 *a, const fq *b)
{
    fq_mul(&r->c0, &a->c0, b);
    fq_mul(&r->c1, &a->c1, b);
}

static inline bool fq2_is_zero(const fq2 *a)
{
    return fq_is_zero(&a->c0) && fq_is_zero(&a->c1);
}

static inline bool fq2_equal(const fq2 *a, const fq2 *b)
{
    return fq_equal(&a->c0, &b->c0) && fq_equal(&a->c1, &b->c1);
}

/* Multiplies by xi = 9 + u, the element that the towers above are built on. */
void fq2_mul_xi(fq2 *r, const fq2 *a);

/* 1/a, and 0 for 0. */
void fq2_inv(fq2 *r, const fq2 *a);

/* As fq_batch_inv. */
void fq2_batch_inv(fq2 *values, fq2 *scratch, size_t n);

#endif
