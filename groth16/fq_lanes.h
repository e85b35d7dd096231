/* fq_lanes.h - eight elements of Fq, or of Fq2, at once.
 *
 * For kernels compiled for CPU_IFMA or CPU_FMA (lanes.h); they include this inside their target region. A
 * value is five limbs of 52 bits; what enters a multiplication must be normal, and the comments give bounds
 * as multiples of p: a multiplication of values below a*p and b*p gives one below (a*b/84 + 1)*p, so
 * reductions can wait.
 *
 * Montgomery multiplication in this radix divides by 2^260, while elements in memory carry 2^256 (mont.h). No
 * conversion is needed: callers keep elements as they are in memory and account for the factor 2^-4 of each
 * multiplication in their formulas. */
#ifndef GROTH16_FQ_LANES_H
#define GROTH16_FQ_LANES_H

#include "groth16/fq2.h"
#include "groth16/lanes.h"

typedef struct {
    lanes l[5];
} fq8;

typedef struct {
    fq8 c0, c1;
} fq2x8;

#define FQ8_INLINE LANES_INLINE
#define FQ8_CALL   LANES_CALL

static const struct lanes_prime fq8_prime = LANES_PRIME(0x8c16d87cfd47, 0x916871ca8d3c2, 0x181585d97816a,
                                                        0xa029b85045b68, 0x30644e72e131, 0x20782e4866389);

FQ8_INLINE void fq8_normalize(fq8 *r)
{
    lanes_normalize(r->l);
}

/* r = a + b, not normal. */
FQ8_INLINE void fq8_add_raw(fq8 *r, const fq8 *a, const fq8 *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = lanes_add(a->l[i], b->l[i]);
    }
}

/* r = a - b + multiple*p, not normal; b must be at most multiple*p. */
FQ8_INLINE void fq8_sub_raw(fq8 *r, const fq8 *a, const fq8 *b, unsigned multiple)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = lanes_add(lanes_sub(a->l[i], b->l[i]), lanes_word(fq8_prime.p[i] * multiple));
    }
}

FQ8_INLINE void fq8_shift_raw(fq8 *r, const fq8 *a, unsigned bits)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = lanes_left(a->l[i], bits);
    }
}

/* r = a*b / 2^260 */
FQ8_CALL void fq8_mul(fq8 *r, const fq8 *a, const fq8 *b)
{
    lanes_mul_sum(r->l, (const lanes *const[]){a->l}, (const lanes *const[]){b->l}, 1, &fq8_prime);
}

/* r = (a*b + c*d) / 2^260, with one reduction for both */
FQ8_CALL void fq8_mul_two(fq8 *r, const fq8 *a, const fq8 *b, const fq8 *c, const fq8 *d)
{
    lanes_mul_sum(r->l, (const lanes *const[]){a->l, c->l}, (const lanes *const[]){b->l, d->l}, 2,
                  &fq8_prime);
}

/* From [0, 4p), normal, to [0, p). */
FQ8_INLINE void fq8_canonical(fq8 *r)
{
    lanes_reduce_by(r->l, 2, &fq8_prime);
    lanes_reduce_by(r->l, 1, &fq8_prime);
}

FQ8_INLINE void fq8_from_words(fq8 *r, const lanes w[4])
{
    lanes_from_words(r->l, w);
}

FQ8_INLINE void fq8_to_words(lanes w[4], const fq8 *a)
{
    lanes_to_words(w, a->l);
}

FQ8_INLINE uint8_t fq8_equal(const fq8 *a, const fq8 *b)
{
    lanes differ = lanes_xor(a->l[0], b->l[0]);
    for (int i = 1; i < 5; i++) {
        differ = lanes_or(differ, lanes_xor(a->l[i], b->l[i]));
    }
    return lanes_zero(differ);
}

FQ8_INLINE uint8_t fq8_is_zero(const fq8 *a)
{
    lanes any = a->l[0];
    for (int i = 1; i < 5; i++) {
        any = lanes_or(any, a->l[i]);
    }
    return lanes_zero(any);
}

/* r = a in the lanes of the mask */
FQ8_INLINE void fq8_select(fq8 *r, uint8_t mask, const fq8 *a)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = lanes_select(mask, a->l[i], r->l[i]);
    }
}

FQ8_INLINE void fq8_broadcast(fq8 *r, const fq *a)
{
    lanes w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = lanes_word(a->w[i]);
    }
    fq8_from_words(r, w);
}

FQ8_INLINE void fq8_sqr(fq8 *r, const fq8 *a)
{
    fq8_mul(r, a, a);
}

FQ8_INLINE void fq2x8_normalize(fq2x8 *r)
{
    fq8_normalize(&r->c0);
    fq8_normalize(&r->c1);
}

FQ8_INLINE void fq2x8_add_raw(fq2x8 *r, const fq2x8 *a, const fq2x8 *b)
{
    fq8_add_raw(&r->c0, &a->c0, &b->c0);
    fq8_add_raw(&r->c1, &a->c1, &b->c1);
}

FQ8_INLINE void fq2x8_sub_raw(fq2x8 *r, const fq2x8 *a, const fq2x8 *b, unsigned multiple)
{
    fq8_sub_raw(&r->c0, &a->c0, &b->c0, multiple);
    fq8_sub_raw(&r->c1, &a->c1, &b->c1, multiple);
}

FQ8_INLINE void fq2x8_shift_raw(fq2x8 *r, const fq2x8 *a, unsigned bits)
{
    fq8_shift_raw(&r->c0, &a->c0, bits);
    fq8_shift_raw(&r->c1, &a->c1, bits);
}

/* a below 2p; two fused multiplications, since a third with sums (Karatsuba) costs more than it saves here */
FQ8_INLINE void fq2x8_mul(fq2x8 *r, const fq2x8 *a, const fq2x8 *b)
{
    fq8 negated, c0;
    for (int i = 0; i < 5; i++) {
        negated.l[i] = lanes_sub(lanes_word(2 * fq8_prime.p[i]), a->c1.l[i]);
    }
    fq8_normalize(&negated);
    fq8_mul_two(&c0, &a->c0, &b->c0, &negated, &b->c1);
    fq8_mul_two(&r->c1, &a->c0, &b->c1, &a->c1, &b->c0);
    r->c0 = c0;
}

/* a at most 4p */
FQ8_INLINE void fq2x8_sqr(fq2x8 *r, const fq2x8 *a)
{
    fq8 sum, difference, twice;
    fq8_add_raw(&sum, &a->c0, &a->c1);
    fq8_sub_raw(&difference, &a->c0, &a->c1, 4);
    fq8_add_raw(&twice, &a->c0, &a->c0);
    fq8_normalize(&sum);
    fq8_normalize(&difference);
    fq8_normalize(&twice);
    fq8_mul(&r->c1, &twice, &a->c1);
    fq8_mul(&r->c0, &sum, &difference);
}

FQ8_INLINE void fq2x8_canonical(fq2x8 *r)
{
    fq8_canonical(&r->c0);
    fq8_canonical(&r->c1);
}

FQ8_INLINE uint8_t fq2x8_equal(const fq2x8 *a, const fq2x8 *b)
{
    return fq8_equal(&a->c0, &b->c0) & fq8_equal(&a->c1, &b->c1);
}

FQ8_INLINE uint8_t fq2x8_is_zero(const fq2x8 *a)
{
    return fq8_is_zero(&a->c0) & fq8_is_zero(&a->c1);
}

FQ8_INLINE void fq2x8_select(fq2x8 *r, uint8_t mask, const fq2x8 *a)
{
    fq8_select(&r->c0, mask, &a->c0);
    fq8_select(&r->c1, mask, &a->c1);
}

FQ8_INLINE void fq2x8_broadcast(fq2x8 *r, const fq2 *a)
{
    fq8_broadcast(&r->c0, &a->c0);
    fq8_broadcast(&r->c1, &a->c1);
}

#endif
