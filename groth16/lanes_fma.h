/* lanes_fma.h - eight 64-bit words at once, and eight numbers of five 52-bit limbs, with AVX2 and
 * floating-point fused multiply-add. One of two makes of the same functions; lanes_ifma.h is the other.
 *
 * For kernels compiled for CPU_FMA only (cpu.h); they include this inside their target region. What the
 * functions promise stands in lanes.h. Eight lanes are two registers, whose chains of dependent steps
 * overlap.
 *
 * Limbs are multiplied as doubles, rounded towards zero. Both are integers below 2^52, so the product x is
 * below 2^104, and x + 2^104, rounded, is 2^104 + 2^52 floor(x / 2^52): its bits are those of the constant
 * plus the product's high half. Taken from 2^104 + 2^52, that leaves what x lacks to 2^52 + (x mod 2^52),
 * exactly, which a second fused multiply-add turns into bits of the constant 2^52 plus the low half. Halves
 * are added up as integers with their constants' bits, whose sum every column of the product starts from,
 * negated. Source of the method: N. Emmart, J. Luitjens, C. Weems, C. Woolley, "Optimizing Modular
 * Multiplication for NVIDIA's Maxwell GPUs" and Emmart's later work with doubles ("Faster modular
 * exponentiation using double precision floating point arithmetic on the GPU", 2018). */
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

/* Two halves are two chains already. */
enum { LANES_CHAINS = 1 };

/* Multiplications are called, since a loop with several inlined ones (5 KB each) leaves the instruction
 * cache. */
#define LANES_CALL static __attribute__((noinline, unused))

typedef struct {
    __m256i h[2];
} lanes;

#define LANES_HALVES(h)       _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++)
#define LANES_LIMBS(i, begin) _Pragma("GCC unroll 5") for (int i = (begin); i < 5; i++)

enum { LANES_TOWARDS_ZERO = 0x6000 }; /* the rounding bits of MXCSR */

LANES_INLINE unsigned lanes_begin(void)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | LANES_TOWARDS_ZERO);
    return before;
}

LANES_INLINE void lanes_end(unsigned before)
{
    _mm_setcsr(before);
}

LANES_INLINE __m256i lanes_half_word(uint64_t value)
{
    return _mm256_set1_epi64x((long long)value);
}

LANES_INLINE lanes lanes_word(uint64_t value)
{
    return (lanes){{lanes_half_word(value), lanes_half_word(value)}};
}

LANES_INLINE lanes lanes_load(const void *words)
{
    const __m256i *halves = words;
    return (lanes){{_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)}};
}

LANES_INLINE void lanes_store(void *words, lanes a)
{
    __m256i *halves = words;
    _mm256_storeu_si256(halves, a.h[0]);
    _mm256_storeu_si256(halves + 1, a.h[1]);
}

#define LANES_BY_HALF(name, operation)                                          \
    LANES_INLINE lanes name(lanes a, lanes b)                                   \
    {                                                                           \
        return (lanes){{operation(a.h[0], b.h[0]), operation(a.h[1], b.h[1])}}; \
    }

LANES_BY_HALF(lanes_add, _mm256_add_epi64)
LANES_BY_HALF(lanes_sub, _mm256_sub_epi64)
LANES_BY_HALF(lanes_and, _mm256_and_si256)
LANES_BY_HALF(lanes_or, _mm256_or_si256)
LANES_BY_HALF(lanes_xor, _mm256_xor_si256)
#undef LANES_BY_HALF

LANES_INLINE lanes lanes_left(lanes a, unsigned bits)
{
    return (lanes){{_mm256_slli_epi64(a.h[0], (int)bits), _mm256_slli_epi64(a.h[1], (int)bits)}};
}

LANES_INLINE lanes lanes_right(lanes a, unsigned bits)
{
    return (lanes){{_mm256_srli_epi64(a.h[0], (int)bits), _mm256_srli_epi64(a.h[1], (int)bits)}};
}

LANES_INLINE uint8_t lanes_zero(lanes a)
{
    const __m256i zero = _mm256_setzero_si256();
    const int low = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a.h[0], zero)));
    const int high = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a.h[1], zero)));
    return (uint8_t)(low | high << 4);
}

LANES_INLINE lanes lanes_select(uint8_t mask, lanes a, lanes b)
{
    const __m256i all = lanes_half_word(mask);
    lanes r;
    LANES_HALVES(h)
    {
        const __m256i bits = _mm256_setr_epi64x(1 << 4 * h, 2 << 4 * h, 4 << 4 * h, 8 << 4 * h);
        const __m256i chosen = _mm256_cmpeq_epi64(_mm256_and_si256(all, bits), bits);
        r.h[h] = _mm256_blendv_epi8(b.h[h], a.h[h], chosen);
    }
    return r;
}

LANES_INLINE void lanes_select_negative(lanes r[5], lanes sign, const lanes a[5])
{
    LANES_LIMBS(i, 0)
    LANES_HALVES(h)
    {
        r[i].h[h] = _mm256_castpd_si256(_mm256_blendv_pd(
            _mm256_castsi256_pd(r[i].h[h]), _mm256_castsi256_pd(a[i].h[h]), _mm256_castsi256_pd(sign.h[h])));
    }
}

/* AVX2 has no arithmetic shift of 64-bit words: limbs are made positive by 2^60 first, which the next limb
 * gives back. */
LANES_INLINE void lanes_normalize(lanes l[5])
{
    const __m256i mask = lanes_half_word(LANES_MASK);
    const __m256i lift = lanes_half_word(UINT64_C(1) << 60),
                  again = lanes_half_word((UINT64_C(1) << 60) - 256);
    LANES_HALVES(h)
    {
        __m256i carry = lift;
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
        {
            const __m256i limb = _mm256_add_epi64(l[i].h[h], carry);
            l[i].h[h] = _mm256_and_si256(limb, mask);
            carry = _mm256_srli_epi64(limb, 52);
            if (i < 3) {
                carry = _mm256_add_epi64(carry, again);
            }
        }
        l[4].h[h] = _mm256_add_epi64(l[4].h[h], _mm256_sub_epi64(carry, lanes_half_word(256)));
    }
}

/* Of four rows of four words. */
LANES_INLINE void lanes_transpose_half(__m256i r[4], __m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i ab_even = _mm256_unpacklo_epi64(a, b), ab_odd = _mm256_unpackhi_epi64(a, b);
    const __m256i cd_even = _mm256_unpacklo_epi64(c, d), cd_odd = _mm256_unpackhi_epi64(c, d);
    r[0] = _mm256_permute2x128_si256(ab_even, cd_even, 0x20);
    r[1] = _mm256_permute2x128_si256(ab_odd, cd_odd, 0x20);
    r[2] = _mm256_permute2x128_si256(ab_even, cd_even, 0x31);
    r[3] = _mm256_permute2x128_si256(ab_odd, cd_odd, 0x31);
}

LANES_INLINE void lanes_transpose(lanes m[8])
{
    __m256i quarter[2][2][4];
    LANES_HALVES(row)
    LANES_HALVES(h)
    {
        const lanes *rows = m + 4 * row;
        lanes_transpose_half(quarter[row][h], rows[0].h[h], rows[1].h[h], rows[2].h[h], rows[3].h[h]);
    }
    LANES_HALVES(row)
    LANES_HALVES(h)
    {
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
        {
            m[4 * row + i].h[h] = quarter[h][row][i];
        }
    }
}

LANES_INLINE void lanes_gather_at(lanes w[4], const void *const at[8], size_t offset)
{
    LANES_HALVES(h)
    {
        __m256i rows[4];
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
        {
            rows[i] =
                _mm256_loadu_si256((const __m256i *)(const void *)((const char *)at[4 * h + i] + offset));
        }
        lanes_transpose_half(rows, rows[0], rows[1], rows[2], rows[3]);
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
        {
            w[i].h[h] = rows[i];
        }
    }
}

LANES_INLINE void lanes_gather(lanes w[4], const uint64_t *words, size_t stride)
{
    const void *at[8];
    _Pragma("GCC unroll 8") for (size_t i = 0; i < 8; i++)
    {
        at[i] = words + i * stride;
    }
    lanes_gather_at(w, at, 0);
}

LANES_INLINE void lanes_scatter(uint64_t *words, size_t stride, const lanes w[4])
{
    LANES_HALVES(h)
    {
        __m256i rows[4];
        lanes_transpose_half(rows, w[0].h[h], w[1].h[h], w[2].h[h], w[3].h[h]);
        _Pragma("GCC unroll 4") for (size_t i = 0; i < 4; i++)
        {
            _mm256_storeu_si256((__m256i *)(void *)(words + (4 * (size_t)h + i) * stride), rows[i]);
        }
    }
}

/* Bits of the constants that stand for 0 in a low and in a high half. */
#define LANES_LOW  (UINT64_C(1075) << 52) /* 2^52 */
#define LANES_HIGH (UINT64_C(1127) << 52) /* 2^104 */

LANES_INLINE __m256d lanes_double(__m256i limb)
{
    const __m256i bits = _mm256_or_si256(limb, lanes_half_word(LANES_LOW));
    return _mm256_sub_pd(_mm256_castsi256_pd(bits), _mm256_set1_pd(0x1p52));
}

/* Adds the product's halves, with their constants' bits. */
LANES_INLINE void lanes_multiply_add(__m256i *low, __m256i *high, __m256d a, __m256d b)
{
    const __m256d above = _mm256_fmadd_pd(a, b, _mm256_set1_pd(0x1p104));
    const __m256d rest = _mm256_sub_pd(_mm256_set1_pd(0x1p104 + 0x1p52), above);
    *high = _mm256_add_epi64(*high, _mm256_castpd_si256(above));
    *low = _mm256_add_epi64(*low, _mm256_castpd_si256(_mm256_fmadd_pd(a, b, rest)));
}

/* Minus all constants that will be added to a column of `products` products and one reduction, which leaves
 * out the low half of the limb that it clears. */
LANES_INLINE __m256i lanes_column(int column, int products)
{
    const int lows = column < 5 ? column + 1 : 9 - column;
    const int highs = column < 6 ? column : 10 - column;
    const uint64_t bits = (uint64_t)(lows * (products + 1) - (column < 5)) * LANES_LOW +
                          (uint64_t)(highs * (products + 1)) * LANES_HIGH;
    return lanes_half_word(0 - bits);
}

/* Adds the multiple of p that clears the lowest limb, and moves all down by one. */
LANES_INLINE void lanes_reduce_row(__m256i t[6], const struct lanes_prime *prime)
{
    const __m256i mask = lanes_half_word(LANES_MASK);
    const __m256d n0 = _mm256_set1_pd((double)prime->n0);
    const __m256d lowest = lanes_double(_mm256_and_si256(t[0], mask));
    const __m256d above = _mm256_fmadd_pd(lowest, n0, _mm256_set1_pd(0x1p104));
    const __m256d rest = _mm256_sub_pd(_mm256_set1_pd(0x1p104 + 0x1p52), above);
    const __m256d m = _mm256_sub_pd(_mm256_fmadd_pd(lowest, n0, rest), _mm256_set1_pd(0x1p52));
    /* the low half of m p[0] makes t[0] a multiple of 2^52: the next one */
    t[1] = _mm256_add_epi64(t[1], _mm256_srli_epi64(_mm256_add_epi64(t[0], mask), 52));
    const __m256d high = _mm256_fmadd_pd(m, _mm256_set1_pd((double)prime->p[0]), _mm256_set1_pd(0x1p104));
    t[1] = _mm256_add_epi64(t[1], _mm256_castpd_si256(high));
    LANES_LIMBS(j, 1)
    {
        lanes_multiply_add(&t[j], &t[j + 1], m, _mm256_set1_pd((double)prime->p[j]));
    }
    LANES_LIMBS(j, 0)
    {
        t[j] = t[j + 1];
    }
}

LANES_INLINE void lanes_mul_sum(lanes r[5], const lanes *const a[], const lanes *const b[], int products,
                                const struct lanes_prime *prime)
{
    __m256d factor[2][2][5];
    __m256i t[2][6];
    LANES_HALVES(h)
    LANES_LIMBS(i, 0)
    {
        t[h][i] = lanes_column(i, products);
        _Pragma("GCC unroll 2") for (int k = 0; k < products; k++)
        {
            factor[h][k][i] = lanes_double(a[k][i].h[h]);
        }
    }
    LANES_LIMBS(i, 0)
    LANES_HALVES(h)
    {
        t[h][5] = lanes_column(i + 5, products);
        _Pragma("GCC unroll 2") for (int k = 0; k < products; k++)
        {
            const __m256d limb = lanes_double(b[k][i].h[h]);
            LANES_LIMBS(j, 0)
            {
                lanes_multiply_add(&t[h][j], &t[h][j + 1], factor[h][k][j], limb);
            }
        }
        lanes_reduce_row(t[h], prime);
    }
    LANES_HALVES(h)
    {
        _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++)
        {
            t[h][i + 1] = _mm256_add_epi64(t[h][i + 1], _mm256_srli_epi64(t[h][i], 52));
            r[i].h[h] = _mm256_and_si256(t[h][i], lanes_half_word(LANES_MASK));
        }
        r[4].h[h] = t[h][4];
    }
}

#undef LANES_HALVES
#undef LANES_LIMBS

#endif
