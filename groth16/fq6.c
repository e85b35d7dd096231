#include "groth16/fq6.h"

bool fq6_is_zero(const fq6 *a)
{
    return fq2_is_zero(&a->c0) && fq2_is_zero(&a->c1) && fq2_is_zero(&a->c2);
}

bool fq6_equal(const fq6 *a, const fq6 *b)
{
    return fq2_equal(&a->c0, &b->c0) && fq2_equal(&a->c1, &b->c1) && fq2_equal(&a->c2, &b->c2);
}

void fq6_add(fq6 *r, const fq6 *a, const fq6 *b)
{
    fq2_add(&r->c0, &a->c0, &b->c0);
    fq2_add(&r->c1, &a->c1, &b->c1);
    fq2_add(&r->c2, &a->c2, &b->c2);
}

void fq6_sub(fq6 *r, const fq6 *a, const fq6 *b)
{
    fq2_sub(&r->c0, &a->c0, &b->c0);
    fq2_sub(&r->c1, &a->c1, &b->c1);
    fq2_sub(&r->c2, &a->c2, &b->c2);
}

void fq6_neg(fq6 *r, const fq6 *a)
{
    fq2_neg(&r->c0, &a->c0);
    fq2_neg(&r->c1, &a->c1);
    fq2_neg(&r->c2, &a->c2);
}

void fq6_dbl(fq6 *r, const fq6 *a)
{
    fq2_dbl(&r->c0, &a->c0);
    fq2_dbl(&r->c1, &a->c1);
    fq2_dbl(&r->c2, &a->c2);
}

/* r = (a0 + a1)(b0 + b1) - p - q, which is a0 b1 + a1 b0 where p = a0 b0 and q = a1 b1. */
static void fq6_cross(fq2 *r, const fq2 *a0, const fq2 *a1, const fq2 *b0, const fq2 *b1, const fq2 *p,
                      const fq2 *q)
{
    fq2 sum_a, sum_b;
    fq2_add(&sum_a, a0, a1);
    fq2_add(&sum_b, b0, b1);
    fq2_mul(r, &sum_a, &sum_b);
    fq2_sub(r, r, p);
    fq2_sub(r, r, q);
}

void fq6_mul(fq6 *r, const fq6 *a, const fq6 *b)
{
    fq2 p0, p1, p2, t0, t1, t2;
    fq2_mul(&p0, &a->c0, &b->c0);
    fq2_mul(&p1, &a->c1, &b->c1);
    fq2_mul(&p2, &a->c2, &b->c2);
    fq6_cross(&t0, &a->c1, &a->c2, &b->c1, &b->c2, &p1, &p2);
    fq6_cross(&t1, &a->c0, &a->c1, &b->c0, &b->c1, &p0, &p1);
    fq6_cross(&t2, &a->c0, &a->c2, &b->c0, &b->c2, &p0, &p2);
    fq2_mul_xi(&t0, &t0);
    fq2_add(&r->c0, &p0, &t0);
    fq2_mul_xi(&p2, &p2);
    fq2_add(&r->c1, &t1, &p2);
    fq2_add(&r->c2, &t2, &p1);
}

void fq6_sqr(fq6 *r, const fq6 *a)
{
    fq2 s0, s1, s2, s3, s4;
    fq2_sqr(&s0, &a->c0);
    fq2_mul(&s1, &a->c0, &a->c1);
    fq2_dbl(&s1, &s1);
    fq2_sub(&s2, &a->c0, &a->c1);
    fq2_add(&s2, &s2, &a->c2);
    fq2_sqr(&s2, &s2);
    fq2_mul(&s3, &a->c1, &a->c2);
    fq2_dbl(&s3, &s3);
    fq2_sqr(&s4, &a->c2);

    /* c2: s1 + s2 + s3 - s0 - s4 = 2 a0 a2 + a1^2 */
    fq2_add(&s2, &s2, &s1);
    fq2_add(&s2, &s2, &s3);
    fq2_sub(&s2, &s2, &s0);
    fq2_sub(&r->c2, &s2, &s4);
    fq2_mul_xi(&s3, &s3);
    fq2_add(&r->c0, &s0, &s3);
    fq2_mul_xi(&s4, &s4);
    fq2_add(&r->c1, &s1, &s4);
}

void fq6_mul_v(fq6 *r, const fq6 *a)
{
    fq2 top;
    fq2_mul_xi(&top, &a->c2);
    r->c2 = a->c1;
    r->c1 = a->c0;
    r->c0 = top;
}

void fq6_mul_01(fq6 *r, const fq6 *a, const fq2 *b0, const fq2 *b1)
{
    fq2 p0, p1, low, high, top;
    fq2_mul(&p0, &a->c0, b0);
    fq2_mul(&p1, &a->c1, b1);
    fq6_cross(&low, &a->c0, &a->c1, b0, b1, &p0, &p1);
    fq2_mul(&high, &a->c2, b0);
    fq2_mul(&top, &a->c2, b1);
    fq2_mul_xi(&top, &top);
    fq2_add(&r->c0, &p0, &top);
    r->c1 = low;
    fq2_add(&r->c2, &p1, &high);
}

void fq6_inv(fq6 *r, const fq6 *a)
{
    /* The adjoint: a (t0 + t1 v + t2 v^2) = norm, an element of Fq2. */
    fq2 t0, t1, t2, product, norm;
    fq2_sqr(&t0, &a->c0);
    fq2_mul(&product, &a->c1, &a->c2);
    fq2_mul_xi(&product, &product);
    fq2_sub(&t0, &t0, &product);
    fq2_sqr(&t1, &a->c2);
    fq2_mul_xi(&t1, &t1);
    fq2_mul(&product, &a->c0, &a->c1);
    fq2_sub(&t1, &t1, &product);
    fq2_sqr(&t2, &a->c1);
    fq2_mul(&product, &a->c0, &a->c2);
    fq2_sub(&t2, &t2, &product);

    fq2_mul(&norm, &a->c2, &t1);
    fq2_mul(&product, &a->c1, &t2);
    fq2_add(&norm, &norm, &product);
    fq2_mul_xi(&norm, &norm);
    fq2_mul(&product, &a->c0, &t0);
    fq2_add(&norm, &norm, &product);
    fq2_inv(&norm, &norm);
    fq2_mul(&r->c0, &t0, &norm);
    fq2_mul(&r->c1, &t1, &norm);
    fq2_mul(&r->c2, &t2, &norm);
}
