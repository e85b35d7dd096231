#include "groth16/fq2.h"

const fq2 fq2_zero;
const fq2 fq2_one = {
    .c0 = {{0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f}}};

void fq2_mul_xi(fq2 *r, const fq2 *a)
{
    fq2 nine;
    fq2_dbl(&nine, a);
    fq2_dbl(&nine, &nine);
    fq2_dbl(&nine, &nine);
    fq2_add(&nine, &nine, a);
    fq c0;
    fq_sub(&c0, &nine.c0, &a->c1);
    fq_add(&r->c1, &nine.c1, &a->c0);
    r->c0 = c0;
}

void fq2_inv(fq2 *r, const fq2 *a)
{
    fq norm, t;
    fq_sqr(&norm, &a->c0);
    fq_sqr(&t, &a->c1);
    fq_add(&norm, &norm, &t);
    fq_inv(&norm, &norm);
    fq_mul(&r->c0, &a->c0, &norm);
    fq_mul(&t, &a->c1, &norm);
    fq_neg(&r->c1, &t);
}

void fq2_batch_inv(fq2 *values, fq2 *scratch, size_t n)
{
    fq2 product = fq2_one;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = product;
        if (!fq2_is_zero(&values[i])) {
            fq2_mul(&product, &product, &values[i]);
        }
    }
    fq2_inv(&product, &product);
    for (size_t i = n; i-- > 0;) {
        if (!fq2_is_zero(&values[i])) {
            fq2 inverse;
            fq2_mul(&inverse, &product, &scratch[i]);
            fq2_mul(&product, &product, &values[i]);
            values[i] = inverse;
        }
    }
}
