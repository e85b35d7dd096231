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

/* Minus all constants that will be added to a column of `products` products and one reduction, which leaves
 * out the low half of the limb that it clears. */
#define LANES_COLUMN_LOWS(column)  ((column) < 5 ? (column) + 1 : 9 - (column))
#define LANES_COLUMN_HIGHS(column) ((column) < 6 ? (column) : 10 - (column))
#define LANES_COLUMN(column, products)                                                           \
    (0 - (uint64_t)(LANES_COLUMN_LOWS(column) * ((products) + 1) - ((column) < 5)) * LANES_LOW - \
     (uint64_t)(LANES_COLUMN_HIGHS(column) * ((products) + 1)) * LANES_HIGH)
#define LANES_FOUR(word)       \
    {                          \
        word, word, word, word \
    }
#define LANES_COLUMNS(products)                                                           \
    {                                                                                     \
        LANES_FOUR(LANES_COLUMN(0, products)), LANES_FOUR(LANES_COLUMN(1, products)),     \
            LANES_FOUR(LANES_COLUMN(2, products)), LANES_FOUR(LANES_COLUMN(3, products)), \
            LANES_FOUR(LANES_COLUMN(4, products)), LANES_FOUR(LANES_COLUMN(5, products)), \
            LANES_FOUR(LANES_COLUMN(6, products)), LANES_FOUR(LANES_COLUMN(7, products)), \
            LANES_FOUR(LANES_COLUMN(8, products)), LANES_FOUR(LANES_COLUMN(9, products))  \
    }

/* What the assembly below reads by offset: 0, 32, 64, 96 and from 128. */
struct lanes_constants {
    double high[4];     /* 2^104 */
    double high_low[4]; /* 2^104 + 2^52 */
    double low[4];      /* 2^52, whose bits are LANES_LOW */
    uint64_t mask[4];
    uint64_t columns[10][4];
};

static const _Alignas(32) struct lanes_constants lanes_constants[2] = {
    {LANES_FOUR(0x1p104), LANES_FOUR(0x1p104 + 0x1p52), LANES_FOUR(0x1p52), LANES_FOUR(LANES_MASK),
     LANES_COLUMNS(1)},
    {LANES_FOUR(0x1p104), LANES_FOUR(0x1p104 + 0x1p52), LANES_FOUR(0x1p52), LANES_FOUR(LANES_MASK),
     LANES_COLUMNS(2)},
};

/* The assembly keeps the six columns of the first half's row in six of ymm0 to ymm5, those of the second half
 * in ymm6 to ymm11, and 2^104 in ymm12; ymm13 to ymm15 are free. Each argument t, u or m below is a
 * register's number. */

/* Adds the halves of ymm`by` times the limb at `from`, with their constants' bits, to two columns. */
#define LANES_ASM_PRODUCT(from, by, low, high)         \
    "vmovapd " from ", %%ymm14\n\t"                    \
    "vfmadd213pd %%ymm12, %%ymm" by ", %%ymm14\n\t"    \
    "vsubpd 32(%[constants]), %%ymm14, %%ymm15\n\t"    \
    "vfmsub231pd " from ", %%ymm" by ", %%ymm15\n\t"   \
    "vpaddq %%ymm14, %%ymm" high ", %%ymm" high "\n\t" \
    "vpaddq %%ymm15, %%ymm" low ", %%ymm" low "\n\t"

#define LANES_ASM_COLUMN(column, t) "vmovapd 128+32*" column "(%[constants]), %%ymm" t "\n\t"

/* Adds one limb of b times a; h is where the half begins. */
#define LANES_ASM_PRODUCTS(h, a, b, limb, t0, t1, t2, t3, t4, t5)                                        \
    "vmovdqu 64*" limb "+" h "(%[" b "]), %%ymm13\n\t"                                                   \
    "vpor 64(%[constants]), %%ymm13, %%ymm13\n\t"                                                        \
    "vsubpd 64(%[constants]), %%ymm13, %%ymm13\n\t" LANES_ASM_PRODUCT("0+" h "(%[" a "])", "13", t0, t1) \
        LANES_ASM_PRODUCT("64+" h "(%[" a "])", "13", t1, t2)                                            \
            LANES_ASM_PRODUCT("128+" h "(%[" a "])", "13", t2, t3)                                       \
                LANES_ASM_PRODUCT("192+" h "(%[" a "])", "13", t3, t4)                                   \
                    LANES_ASM_PRODUCT("256+" h "(%[" a "])", "13", t4, t5)

/* Finds the multiple m of p that clears the lowest limb, t0, and leaves it in t0's register. The low half of
 * m p[0] makes t0 a multiple of 2^52: the next one, which goes to t1. Ten steps that wait for each other. */
#define LANES_ASM_M1(t0, t1) "vpand 96(%[constants]), %%ymm" t0 ", %%ymm13\n\t"
#define LANES_ASM_M2(t0, t1) "vpaddq 96(%[constants]), %%ymm" t0 ", %%ymm" t0 "\n\t"
#define LANES_ASM_M3(t0, t1) "vpor 64(%[constants]), %%ymm13, %%ymm13\n\t"
#define LANES_ASM_M4(t0, t1) "vpsrlq $52, %%ymm" t0 ", %%ymm" t0 "\n\t"
#define LANES_ASM_M5(t0, t1) "vsubpd 64(%[constants]), %%ymm13, %%ymm13\n\t"
#define LANES_ASM_M6(t0, t1) "vpaddq %%ymm" t0 ", %%ymm" t1 ", %%ymm" t1 "\n\t"
#define LANES_ASM_M7(t0, t1)                 \
    "vmovapd 160(%[prime]), %%ymm" t0 "\n\t" \
    "vfmadd213pd %%ymm12, %%ymm13, %%ymm" t0 "\n\t"
#define LANES_ASM_M8(t0, t1)  "vsubpd 32(%[constants]), %%ymm" t0 ", %%ymm" t0 "\n\t"
#define LANES_ASM_M9(t0, t1)  "vfmsub231pd 160(%[prime]), %%ymm13, %%ymm" t0 "\n\t"
#define LANES_ASM_M10(t0, t1) "vsubpd 64(%[constants]), %%ymm" t0 ", %%ymm" t0 "\n\t"
#define LANES_ASM_M(t0, t1)                                                                                  \
    LANES_ASM_M1(t0, t1)                                                                                     \
    LANES_ASM_M2(t0, t1) LANES_ASM_M3(t0, t1) LANES_ASM_M4(t0, t1) LANES_ASM_M5(t0, t1) LANES_ASM_M6(t0, t1) \
        LANES_ASM_M7(t0, t1) LANES_ASM_M8(t0, t1) LANES_ASM_M9(t0, t1) LANES_ASM_M10(t0, t1)

/* Adds m p without the low half of m p[0], */
#define LANES_ASM_REDUCE(m, t1, t2, t3, t4, t5)                                                   \
    "vmovapd (%[prime]), %%ymm14\n\t"                                                             \
    "vfmadd213pd %%ymm12, %%ymm" m ", %%ymm14\n\t"                                                \
    "vpaddq %%ymm14, %%ymm" t1 ", %%ymm" t1 "\n\t" LANES_ASM_PRODUCT("32(%[prime])", m, t1, t2)   \
        LANES_ASM_PRODUCT("64(%[prime])", m, t2, t3) LANES_ASM_PRODUCT("96(%[prime])", m, t3, t4) \
            LANES_ASM_PRODUCT("128(%[prime])", m, t4, t5)

/* and while that goes on, finds the other half's next m. */
#define LANES_ASM_REDUCE_AND_M(m, t1, t2, t3, t4, t5, u0, u1)                                               \
    LANES_ASM_M1(u0, u1)                                                                                    \
    "vmovapd (%[prime]), %%ymm14\n\t" LANES_ASM_M2(                                                         \
        u0, u1) "vfmadd213pd %%ymm12, %%ymm" m ", %%ymm14\n\t" LANES_ASM_M3(u0, u1) LANES_ASM_M4(u0, u1)    \
        LANES_ASM_M5(u0, u1) "vpaddq %%ymm14, %%ymm" t1 ", %%ymm" t1                                        \
                             "\n\t" LANES_ASM_PRODUCT("32(%[prime])", m, t1, t2) LANES_ASM_M6(u0, u1)       \
                                 LANES_ASM_M7(u0, u1) LANES_ASM_PRODUCT("64(%[prime])", m, t2, t3)          \
                                     LANES_ASM_M8(u0, u1) LANES_ASM_PRODUCT("96(%[prime])", m, t3, t4)      \
                                         LANES_ASM_M9(u0, u1) LANES_ASM_PRODUCT("128(%[prime])", m, t4, t5) \
                                             LANES_ASM_M10(u0, u1)

/* Carries, and stores what is normal then. */
#define LANES_ASM_CARRY(h, limb, t, next)                \
    "vpsrlq $52, %%ymm" t ", %%ymm14\n\t"                \
    "vpand 96(%[constants]), %%ymm" t ", %%ymm" t "\n\t" \
    "vpaddq %%ymm14, %%ymm" next ", %%ymm" next "\n\t"   \
    "vmovdqu %%ymm" t ", 64*" limb "+" h "(%[r])\n\t"
#define LANES_ASM_STORE(h, t0, t1, t2, t3, t4) \
    LANES_ASM_CARRY(h, "0", t0, t1)            \
    LANES_ASM_CARRY(h, "1", t1, t2)            \
    LANES_ASM_CARRY(h, "2", t2, t3)            \
    LANES_ASM_CARRY(h, "3", t3, t4)            \
    "vmovdqu %%ymm" t4 ", 256+" h "(%[r])\n\t"

/* All five rows of both halves, so staggered that the long way to an m is gone while the other half
 * multiplies. ROW(h, limb, column, t0, ..., t5) adds a row's products; the register that held m takes the
 * next row's last column. */
#define LANES_ASM_ROWS(ROW)                                                                                  \
    "vmovapd (%[constants]), %%ymm12\n\t" LANES_ASM_COLUMN("0", "0") LANES_ASM_COLUMN("0", "6")              \
        LANES_ASM_COLUMN("1", "1") LANES_ASM_COLUMN("1", "7") LANES_ASM_COLUMN("2", "2") LANES_ASM_COLUMN(   \
            "2", "8") LANES_ASM_COLUMN("3", "3") LANES_ASM_COLUMN("3", "9") LANES_ASM_COLUMN("4", "4")       \
            LANES_ASM_COLUMN("4", "10") ROW("0", "0", "5", "0", "1", "2", "3", "4", "5") LANES_ASM_M(        \
                "0", "1") ROW("32", "0", "5", "6", "7", "8", "9", "10",                                      \
                              "11") LANES_ASM_REDUCE_AND_M("0", "1", "2", "3", "4", "5", "6", "7")           \
                ROW("0", "1", "6", "1", "2", "3", "4", "5",                                                  \
                    "0") LANES_ASM_REDUCE_AND_M("6", "7", "8", "9", "10", "11", "1", "2")                    \
                    ROW("32", "1", "6", "7", "8", "9", "10", "11",                                           \
                        "6") LANES_ASM_REDUCE_AND_M("1", "2", "3", "4", "5", "0", "7", "8")                  \
                        ROW("0", "2", "7", "2", "3", "4", "5", "0",                                          \
                            "1") LANES_ASM_REDUCE_AND_M("7", "8", "9", "10", "11", "6", "2", "3")            \
                            ROW("32", "2", "7", "8", "9", "10", "11", "6",                                   \
                                "7") LANES_ASM_REDUCE_AND_M("2", "3", "4", "5", "0", "1", "8", "9")          \
                                ROW("0", "3", "8", "3", "4", "5", "0", "1",                                  \
                                    "2") LANES_ASM_REDUCE_AND_M("8", "9", "10", "11", "6", "7", "3", "4")    \
                                    ROW("32", "3", "8", "9", "10", "11", "6", "7",                           \
                                        "8") LANES_ASM_REDUCE_AND_M("3", "4", "5", "0", "1", "2", "9", "10") \
                                        ROW("0", "4", "9", "4", "5", "0", "1", "2", "3")                     \
                                            LANES_ASM_REDUCE_AND_M("9", "10", "11", "6", "7", "8", "4", "5") \
                                                ROW("32", "4", "9", "10", "11", "6", "7", "8", "9")          \
                                                    LANES_ASM_REDUCE_AND_M(                                  \
                                                        "4", "5", "0", "1", "2", "3", "10",                  \
                                                        "11") LANES_ASM_STORE("0", "5", "0", "1", "2", "3")  \
                                                        LANES_ASM_REDUCE("10", "11", "6", "7", "8", "9")     \
                                                            LANES_ASM_STORE("32", "11", "6", "7", "8", "9")

#define LANES_ASM_COLUMN_OF(column, t0, t1, t2, t3, t4, t5) LANES_ASM_COLUMN(column, t5)
#define LANES_ASM_ROW_ONE(h, limb, column, ...) \
    LANES_ASM_COLUMN_OF(column, __VA_ARGS__)    \
    LANES_ASM_PRODUCTS(h, "a", "b", limb, __VA_ARGS__)
#define LANES_ASM_ROW_TWO(h, limb, column, ...)        \
    LANES_ASM_COLUMN_OF(column, __VA_ARGS__)           \
    LANES_ASM_PRODUCTS(h, "a", "b", limb, __VA_ARGS__) \
    LANES_ASM_PRODUCTS(h, "c", "d", limb, __VA_ARGS__)

#define LANES_ASM_CLOBBERS                                                                            \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
        "xmm12", "xmm13", "xmm14", "xmm15", "memory"

struct lanes_factor {
    __m256d limb[5][2];
};

LANES_INLINE void lanes_to_doubles(struct lanes_factor *r, const lanes a[5])
{
    LANES_LIMBS(i, 0)
    LANES_HALVES(h)
    {
        const __m256i bits = _mm256_or_si256(a[i].h[h], lanes_half_word(LANES_LOW));
        r->limb[i][h] = _mm256_sub_pd(_mm256_castsi256_pd(bits), _mm256_set1_pd(0x1p52));
    }
}

/* Compilers keep neither columns nor factors in registers here and spend as many instructions on moving them
 * as on the sums, hence assembly. */
LANES_INLINE void lanes_mul_sum(lanes r[5], const lanes *const a[], const lanes *const b[], int products,
                                const struct lanes_prime *prime)
{
    struct lanes_factor first, second;
    lanes_to_doubles(&first, a[0]);
    if (products == 1) {
        __asm__ volatile(LANES_ASM_ROWS(LANES_ASM_ROW_ONE)
                         :
                         : [r] "r"(r), [a] "r"(&first), [b] "r"(b[0]), [prime] "r"(&prime->doubles),
                           [constants] "r"(&lanes_constants[0])
                         : LANES_ASM_CLOBBERS);
    } else {
        lanes_to_doubles(&second, a[1]);
        __asm__ volatile(LANES_ASM_ROWS(LANES_ASM_ROW_TWO)
                         :
                         : [r] "r"(r), [a] "r"(&first), [b] "r"(b[0]), [c] "r"(&second), [d] "r"(b[1]),
                           [prime] "r"(&prime->doubles), [constants] "r"(&lanes_constants[1])
                         : LANES_ASM_CLOBBERS);
    }
}

#undef LANES_HALVES
#undef LANES_LIMBS

#endif
