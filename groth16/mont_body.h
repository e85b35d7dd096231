/* mont_body.h - the functions of mont.h that need no inlining; fq.c and fr.c include it once each. */

#include "groth16/modinv.h"

bool MONT(from_u256)(MONT_TYPE *r, const u256 *a)
{
    if (!u256_less(a, &MONT(modulus))) {
        return false;
    }
    MONT_TYPE plain;
    memcpy(plain.w, a->w, sizeof plain.w);
    MONT(mul)(r, &plain, &MONT(r2));
    return true;
}

void MONT(to_u256)(u256 *r, const MONT_TYPE *a)
{
    static const MONT_TYPE one = {{1, 0, 0, 0}};
    MONT_TYPE plain;
    MONT(mul)(&plain, a, &one);
    memcpy(r->w, plain.w, sizeof r->w);
}

void MONT(pow)(MONT_TYPE *r, const MONT_TYPE *a, const u256 *exponent)
{
    MONT_TYPE base = *a;
    MONT_TYPE result = MONT(one);
    for (int bit = 255; bit >= 0; bit--) {
        MONT(sqr)(&result, &result);
        if (exponent->w[bit / 64] >> (bit % 64) & 1) {
            MONT(mul)(&result, &result, &base);
        }
    }
    *r = result;
}

void MONT(inv)(MONT_TYPE *r, const MONT_TYPE *a)
{
    u256 plain;
    MONT_TYPE cube;
    memcpy(plain.w, a->w, sizeof plain.w);
    modinv(&plain, &plain, &MONT(modulus)); /* of a R: 1/(a R), to be multiplied by R^2 */
    MONT(mul)(&cube, &MONT(r2), &MONT(r2));
    memcpy(r->w, plain.w, sizeof r->w);
    MONT(mul)(r, r, &cube);
}

void MONT(batch_inv)(MONT_TYPE *values, MONT_TYPE *scratch, size_t n)
{
    MONT_TYPE product = MONT(one);
    for (size_t i = 0; i < n; i++) {
        scratch[i] = product;
        if (!MONT(is_zero)(&values[i])) {
            MONT(mul)(&product, &product, &values[i]);
        }
    }
    MONT(inv)(&product, &product);
    for (size_t i = n; i-- > 0;) {
        if (!MONT(is_zero)(&values[i])) {
            MONT_TYPE inverse;
            MONT(mul)(&inverse, &product, &scratch[i]);
            MONT(mul)(&product, &product, &values[i]);
            values[i] = inverse;
        }
    }
}
