/* fq_ifma.h - eight elements of Fq, or of Fq2, at once: AVX-512 with 52-bit integer multiply-add.
 *
 * For kernels compiled for CPU_IFMA only (cpu.h); they include this inside their target region. A value is
 * five limbs of 52 bits, limb i of all eight lanes in one register. Limbs are "normal" when each is in [0,
 * 2^52); what enters a multiplication must be normal, and the comments give bounds as multiples of p: a
 * multiplication of values below a*p and b*p gives one below (a*b/84 + 1)*p, so reductions can wait.
 *
 * Montgomery multiplication in this radix divides by 2^260, while elements in memory carry 2^256 (mont.h). No
 * conversion is needed: callers keep elements as they are in memory and account for the factor 2^-4 of each
 * multiplication in their formulas. Source of the method: Gueron and Krasnov, "Accelerating Big Integer
 * Arithmetic Using Intel IFMA Extensions" (2016); the operand-scanning form used here reduces limb by limb.
 */
#ifndef GROTH16_FQ_IFMA_H
#define GROTH16_FQ_IFMA_H

#include "groth16/fq2.h"

#include <immintrin.h>

typedef __m512i lanes; /* a word of each of eight lanes */

typedef struct {
    lanes l[5];
} fq8;

typedef struct {
    fq8 c0, c1;
} fq2x8;

#define FQ8_INLINE static inline __attribute__((always_inline, unused))

enum { FQ8_LANES = 8 };

#define FQ8_MASK UINT64_C(0xfffffffffffff)

/* p, 2p and 4p in limbs, and -1/p mod 2^52 */
static const uint64_t fq8_p[5] = {0x8c16d87cfd47, 0x916871ca8d3c2, 0x181585d97816a, 0xa029b85045b68,
                                  0x30644e72e131};
static const uint64_t fq8_n0 = 0x20782e4866389;

FQ8_INLINE lanes fq8_word(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* Makes limbs normal that are signed and off by any small number of bits; the value must be in [0, 2^260). */
FQ8_INLINE void fq8_normalize(fq8 *r)
{
    const lanes mask = fq8_word(FQ8_MASK);
    for (int i = 0; i < 4; i++) {
        r->l[i + 1] = _mm512_add_epi64(r->l[i + 1], _mm512_srai_epi64(r->l[i], 52));
        r->l[i] = _mm512_and_si512(r->l[i], mask);
    }
}

/* r = a + b, not normal. */
FQ8_INLINE void fq8_add_raw(fq8 *r, const fq8 *a, const fq8 *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_add_epi64(a->l[i], b->l[i]);
    }
}

/* r = a - b + multiple*p, not normal; b must be at most multiple*p. */
FQ8_INLINE void fq8_sub_raw(fq8 *r, const fq8 *a, const fq8 *b, unsigned multiple)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_add_epi64(_mm512_sub_epi64(a->l[i], b->l[i]), fq8_word(fq8_p[i] * multiple));
    }
}

FQ8_INLINE void fq8_shift_raw(fq8 *r, const fq8 *a, unsigned bits)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_slli_epi64(a->l[i], bits);
    }
}

/* One limb b of the multiplier: adds a*b to the accumulator, high halves a limb up. */
FQ8_INLINE void fq8_row(lanes t[6], const fq8 *a, lanes b)
{
    for (int j = 0; j < 5; j++) {
        t[j] = _mm512_madd52lo_epu64(t[j], a->l[j], b);
    }
    for (int j = 0; j < 5; j++) {
        t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], a->l[j], b);
    }
}

/* Adds the multiple of p that clears the lowest limb, and moves all down by one. */
FQ8_INLINE void fq8_reduce_row(lanes t[6])
{
    const lanes zero = _mm512_setzero_si512();
    const lanes m = _mm512_madd52lo_epu64(zero, t[0], fq8_word(fq8_n0));
    t[0] = _mm512_madd52lo_epu64(t[0], m, fq8_word(fq8_p[0]));
    t[1] = _mm512_madd52hi_epu64(t[1], m, fq8_word(fq8_p[0]));
    t[1] = _mm512_add_epi64(t[1], _mm512_srli_epi64(t[0], 52));
    for (int j = 1; j < 5; j++) {
        t[j - 1] = _mm512_madd52lo_epu64(t[j], m, fq8_word(fq8_p[j]));
        t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], m, fq8_word(fq8_p[j]));
    }
    t[4] = t[5];
    t[5] = zero;
}

/* r = a*b / 2^260 */
FQ8_INLINE void fq8_mul(fq8 *r, const fq8 *a, const fq8 *b)
{
    lanes t[6];
    for (int i = 0; i < 6; i++) {
        t[i] = _mm512_setzero_si512();
    }
    for (int i = 0; i < 5; i++) {
        fq8_row(t, a, b->l[i]);
        fq8_reduce_row(t);
    }
    memcpy(r->l, t, sizeof r->l);
    fq8_normalize(r);
}

/* r = (a*b + c*d) / 2^260, with one reduction for both */
FQ8_INLINE void fq8_mul_two(fq8 *r, const fq8 *a, const fq8 *b, const fq8 *c, const fq8 *d)
{
    lanes t[6];
    for (int i = 0; i < 6; i++) {
        t[i] = _mm512_setzero_si512();
    }
    for (int i = 0; i < 5; i++) {
        fq8_row(t, a, b->l[i]);
        fq8_row(t, c, d->l[i]);
        fq8_reduce_row(t);
    }
    memcpy(r->l, t, sizeof r->l);
    fq8_normalize(r);
}

/* Takes multiple*p from the lanes that hold at least as much. */
FQ8_INLINE void fq8_reduce_by(fq8 *r, unsigned multiple)
{
    fq8 less;
    for (int i = 0; i < 5; i++) {
        less.l[i] = _mm512_sub_epi64(r->l[i], fq8_word(fq8_p[i] * multiple));
    }
    fq8_normalize(&less);
    const __mmask8 below = _mm512_movepi64_mask(less.l[4]);
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_mask_mov_epi64(less.l[i], below, r->l[i]);
    }
}

/* From [0, 4p), normal, to [0, p). */
FQ8_INLINE void fq8_canonical(fq8 *r)
{
    fq8_reduce_by(r, 2);
    fq8_reduce_by(r, 1);
}

/* Between four words and five limbs. */
FQ8_INLINE void fq8_from_words(fq8 *r, const lanes w[4])
{
    const lanes mask = fq8_word(FQ8_MASK);
    r->l[0] = _mm512_and_si512(w[0], mask);
    r->l[1] =
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[0], 52), _mm512_slli_epi64(w[1], 12)), mask);
    r->l[2] =
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[1], 40), _mm512_slli_epi64(w[2], 24)), mask);
    r->l[3] =
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[2], 28), _mm512_slli_epi64(w[3], 36)), mask);
    r->l[4] = _mm512_srli_epi64(w[3], 16);
}

FQ8_INLINE void fq8_to_words(lanes w[4], const fq8 *a)
{
    w[0] = _mm512_or_si512(a->l[0], _mm512_slli_epi64(a->l[1], 52));
    w[1] = _mm512_or_si512(_mm512_srli_epi64(a->l[1], 12), _mm512_slli_epi64(a->l[2], 40));
    w[2] = _mm512_or_si512(_mm512_srli_epi64(a->l[2], 24), _mm512_slli_epi64(a->l[3], 28));
    w[3] = _mm512_or_si512(_mm512_srli_epi64(a->l[3], 36), _mm512_slli_epi64(a->l[4], 16));
}

/* Rows to columns of an 8 x 8 matrix of words, in place: from one element a register to one word a register,
 * and back. */
FQ8_INLINE void fq8_transpose(lanes m[8])
{
    lanes pairs[8], quads[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm512_unpacklo_epi64(m[i], m[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_epi64(m[i], m[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int odd = 0; odd < 2; odd++) {
            quads[i + odd] = _mm512_shuffle_i64x2(pairs[i + odd], pairs[i + 2 + odd], 0x88);
            quads[i + 2 + odd] = _mm512_shuffle_i64x2(pairs[i + odd], pairs[i + 2 + odd], 0xdd);
        }
    }
    for (int i = 0; i < 4; i++) {
        m[i] = _mm512_shuffle_i64x2(quads[i], quads[i + 4], 0x88);
        m[i + 4] = _mm512_shuffle_i64x2(quads[i], quads[i + 4], 0xdd);
    }
}

FQ8_INLINE __mmask8 fq8_equal(const fq8 *a, const fq8 *b)
{
    lanes differ = _mm512_xor_si512(a->l[0], b->l[0]);
    for (int i = 1; i < 5; i++) {
        differ = _mm512_or_si512(differ, _mm512_xor_si512(a->l[i], b->l[i]));
    }
    return _mm512_testn_epi64_mask(differ, differ);
}

FQ8_INLINE __mmask8 fq8_is_zero(const fq8 *a)
{
    lanes any = a->l[0];
    for (int i = 1; i < 5; i++) {
        any = _mm512_or_si512(any, a->l[i]);
    }
    return _mm512_testn_epi64_mask(any, any);
}

/* r = a in the lanes of the mask */
FQ8_INLINE void fq8_select(fq8 *r, __mmask8 mask, const fq8 *a)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_mask_mov_epi64(r->l[i], mask, a->l[i]);
    }
}

FQ8_INLINE void fq8_broadcast(fq8 *r, const fq *a)
{
    lanes w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = fq8_word(a->w[i]);
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
        negated.l[i] = _mm512_sub_epi64(fq8_word(2 * fq8_p[i]), a->c1.l[i]);
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

FQ8_INLINE __mmask8 fq2x8_equal(const fq2x8 *a, const fq2x8 *b)
{
    return fq8_equal(&a->c0, &b->c0) & fq8_equal(&a->c1, &b->c1);
}

FQ8_INLINE __mmask8 fq2x8_is_zero(const fq2x8 *a)
{
    return fq8_is_zero(&a->c0) & fq8_is_zero(&a->c1);
}

FQ8_INLINE void fq2x8_select(fq2x8 *r, __mmask8 mask, const fq2x8 *a)
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
