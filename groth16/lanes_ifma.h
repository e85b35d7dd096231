/* lanes_ifma.h - eight 64-bit words at once, and eight numbers of five 52-bit limbs, with AVX-512 and its
 * 52-bit integer multiply-add. One of two makes of the same functions; lanes_fma.h is the other.
 *
 * For kernels compiled for CPU_IFMA only (cpu.h); they include this inside their target region. What the
 * functions promise stands in lanes.h. Source of the multiplication: Gueron and Krasnov, "Accelerating Big
 * Integer Arithmetic Using Intel IFMA Extensions" (2016); the operand-scanning form used here reduces limb by
 * limb. */
#ifndef GROTH16_LANES_H
#define GROTH16_LANES_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sanitizers make these functions so large that inlining them all takes a compiler a minute. */
#ifdef UZK_SANITIZED
#define LANES_INLINE static inline __attribute__((unused))
#else
#define LANES_INLINE static inline __attribute__((always_inline, unused))
#endif

/* Multiplications take long, but two that are independent overlap. */
enum { LANES_CHAINS = 2 };

/* Multiplications are short: inlined. */
#define LANES_CALL LANES_INLINE

typedef __m512i lanes;

/* Integers need no rounding. */
LANES_INLINE unsigned lanes_begin(void)
{
    return 0;
}

LANES_INLINE void lanes_end(unsigned before)
{
    (void)before;
}

LANES_INLINE lanes lanes_word(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

LANES_INLINE lanes lanes_load(const void *words)
{
    return _mm512_loadu_si512(words);
}

LANES_INLINE void lanes_store(void *words, lanes a)
{
    _mm512_storeu_si512(words, a);
}

LANES_INLINE lanes lanes_add(lanes a, lanes b)
{
    return _mm512_add_epi64(a, b);
}

LANES_INLINE lanes lanes_sub(lanes a, lanes b)
{
    return _mm512_sub_epi64(a, b);
}

LANES_INLINE lanes lanes_and(lanes a, lanes b)
{
    return _mm512_and_si512(a, b);
}

LANES_INLINE lanes lanes_or(lanes a, lanes b)
{
    return _mm512_or_si512(a, b);
}

LANES_INLINE lanes lanes_xor(lanes a, lanes b)
{
    return _mm512_xor_si512(a, b);
}

LANES_INLINE lanes lanes_left(lanes a, unsigned bits)
{
    return _mm512_slli_epi64(a, bits);
}

LANES_INLINE lanes lanes_right(lanes a, unsigned bits)
{
    return _mm512_srli_epi64(a, bits);
}

LANES_INLINE uint8_t lanes_zero(lanes a)
{
    return _mm512_testn_epi64_mask(a, a);
}

LANES_INLINE lanes lanes_select(uint8_t mask, lanes a, lanes b)
{
    return _mm512_mask_mov_epi64(b, mask, a);
}

LANES_INLINE void lanes_select_negative(lanes r[5], lanes sign, const lanes a[5])
{
    const __mmask8 negative = _mm512_movepi64_mask(sign);
    for (int i = 0; i < 5; i++) {
        r[i] = _mm512_mask_mov_epi64(r[i], negative, a[i]);
    }
}

LANES_INLINE void lanes_normalize(lanes l[5])
{
    const lanes mask = lanes_word(LANES_MASK);
    for (int i = 0; i < 4; i++) {
        l[i + 1] = _mm512_add_epi64(l[i + 1], _mm512_srai_epi64(l[i], 52));
        l[i] = _mm512_and_si512(l[i], mask);
    }
}

LANES_INLINE void lanes_transpose(lanes m[8])
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

LANES_INLINE lanes lanes_indices(size_t stride)
{
    const long long step = (long long)stride;
    return _mm512_setr_epi64(0, step, 2 * step, 3 * step, 4 * step, 5 * step, 6 * step, 7 * step);
}

LANES_INLINE void lanes_gather(lanes w[4], const uint64_t *words, size_t stride)
{
    const lanes at = lanes_indices(stride);
    for (int i = 0; i < 4; i++) {
        w[i] = _mm512_i64gather_epi64(at, words + i, 8);
    }
}

LANES_INLINE void lanes_gather_at(lanes w[4], const void *const at[8], size_t offset)
{
    const lanes addresses = _mm512_add_epi64(_mm512_loadu_si512(at), lanes_word(offset));
    for (int i = 0; i < 4; i++) {
        w[i] = _mm512_i64gather_epi64(addresses, (const void *)(uintptr_t)(8 * i), 1);
    }
}

LANES_INLINE void lanes_scatter(uint64_t *words, size_t stride, const lanes w[4])
{
    const lanes at = lanes_indices(stride);
    for (int i = 0; i < 4; i++) {
        _mm512_i64scatter_epi64(words + i, at, w[i], 8);
    }
}

/* One limb b of the multiplier: adds a*b to the accumulator, high halves a limb up. */
LANES_INLINE void lanes_row(lanes t[6], const lanes a[5], lanes b)
{
    for (int j = 0; j < 5; j++) {
        t[j] = _mm512_madd52lo_epu64(t[j], a[j], b);
    }
    for (int j = 0; j < 5; j++) {
        t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], a[j], b);
    }
}

/* Adds the multiple of p that clears the lowest limb, and moves all down by one. */
LANES_INLINE void lanes_reduce_row(lanes t[6], const struct lanes_prime *prime)
{
    const lanes zero = _mm512_setzero_si512();
    const lanes m = _mm512_madd52lo_epu64(zero, t[0], lanes_word(prime->n0));
    t[0] = _mm512_madd52lo_epu64(t[0], m, lanes_word(prime->p[0]));
    t[1] = _mm512_madd52hi_epu64(t[1], m, lanes_word(prime->p[0]));
    t[1] = _mm512_add_epi64(t[1], _mm512_srli_epi64(t[0], 52));
    for (int j = 1; j < 5; j++) {
        t[j - 1] = _mm512_madd52lo_epu64(t[j], m, lanes_word(prime->p[j]));
        t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], m, lanes_word(prime->p[j]));
    }
    t[4] = t[5];
    t[5] = zero;
}

LANES_INLINE void lanes_mul_sum(lanes r[5], const lanes *const a[], const lanes *const b[], int products,
                                const struct lanes_prime *prime)
{
    lanes t[6];
    for (int i = 0; i < 6; i++) {
        t[i] = _mm512_setzero_si512();
    }
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < products; k++) {
            lanes_row(t, a[k], b[k][i]);
        }
        lanes_reduce_row(t, prime);
    }
    memcpy(r, t, 5 * sizeof *r);
    lanes_normalize(r);
}

#endif
