/* gpu_field.cuh - both fields of BN254 on the GPU: gpu_fq and gpu_fr, eight 32-bit words in Montgomery form
 * with R = 2^256, always below the modulus, so in memory they are groth16's fq and fr.
 *
 * Every function exists twice: in PTX with carry chains for the device, and in portable C++ of the same
 * contract for the host. Any operand may be the result.
 *
 * A multiplication keeps two sums, of the products of even words and of odd words of one factor, a word
 * apart: so the low and high half of each product fall on neighbouring words of one carry chain, which ptxas
 * makes one 32 x 32 + 64 bit instruction of. It takes 16 such pairs for each of the eight words of the other
 * factor, 8 of them for the product and 8 for Montgomery's reduction, and one multiplication for the
 * quotient: 264 32-bit multiply-adds in all, half of them high halves. */
#ifndef CUDA_GPU_FIELD_CUH
#define CUDA_GPU_FIELD_CUH

#include "cuda/gpu_launch.cuh"

#include <stdint.h>

enum { GPU_FIELD_WORDS = 8 };

/* The moduli, -1/p mod 2^32, and 2^256 mod p, as constants that device code may name. */
struct gpu_fq_constants {
    enum : uint32_t {
        P0 = 0xd87cfd47,
        P1 = 0x3c208c16,
        P2 = 0x6871ca8d,
        P3 = 0x97816a91,
        P4 = 0x8181585d,
        P5 = 0xb85045b6,
        P6 = 0xe131a029,
        P7 = 0x30644e72,
        NEGATIVE_INVERSE = 0xe4866389
    };
    enum : uint32_t {
        ONE0 = 0xc58f0d9d,
        ONE1 = 0xd35d438d,
        ONE2 = 0xf5c70b3d,
        ONE3 = 0x0a78eb28,
        ONE4 = 0x7879462c,
        ONE5 = 0x666ea36f,
        ONE6 = 0x9a07df2f,
        ONE7 = 0x0e0a77c1
    };
};

struct gpu_fr_constants {
    enum : uint32_t {
        P0 = 0xf0000001,
        P1 = 0x43e1f593,
        P2 = 0x79b97091,
        P3 = 0x2833e848,
        P4 = 0x8181585d,
        P5 = 0xb85045b6,
        P6 = 0xe131a029,
        P7 = 0x30644e72,
        NEGATIVE_INVERSE = 0xefffffff
    };
    enum : uint32_t {
        ONE0 = 0x4ffffffb,
        ONE1 = 0xac96341c,
        ONE2 = 0x9f60cd29,
        ONE3 = 0x36fc7695,
        ONE4 = 0x7879462e,
        ONE5 = 0x666ea36f,
        ONE6 = 0x9a07df2f,
        ONE7 = 0x0e0a77c1
    };
};

template <class C> struct alignas(16) gpu_field {
    uint32_t w[GPU_FIELD_WORDS];
};

typedef gpu_field<gpu_fq_constants> gpu_fq;
typedef gpu_field<gpu_fr_constants> gpu_fr;

#define GPU_FIELD_MODULUS(C)                                   \
    {                                                          \
        C::P0, C::P1, C::P2, C::P3, C::P4, C::P5, C::P6, C::P7 \
    }

template <class C> GPU_INLINE void gpu_field_set_zero(gpu_field<C> *r)
{
    GPU_UNROLL
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        r->w[i] = 0;
    }
}

template <class C> GPU_INLINE void gpu_field_set_one(gpu_field<C> *r)
{
    *r = {{C::ONE0, C::ONE1, C::ONE2, C::ONE3, C::ONE4, C::ONE5, C::ONE6, C::ONE7}};
}

template <class C> GPU_INLINE bool gpu_field_is_zero(const gpu_field<C> *a)
{
    return (a->w[0] | a->w[1] | a->w[2] | a->w[3] | a->w[4] | a->w[5] | a->w[6] | a->w[7]) == 0;
}

template <class C> GPU_INLINE bool gpu_field_equal(const gpu_field<C> *a, const gpu_field<C> *b)
{
    uint32_t difference = 0;
    GPU_UNROLL
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        difference |= a->w[i] ^ b->w[i];
    }
    return difference == 0;
}

#ifdef __CUDA_ARCH__

/* r = a + b */
GPU_INLINE void gpu_words_add(uint32_t *r, const uint32_t *a, const uint32_t *b)
{
    asm("add.cc.u32 %0, %8, %16;\n\t"
        "addc.cc.u32 %1, %9, %17;\n\t"
        "addc.cc.u32 %2, %10, %18;\n\t"
        "addc.cc.u32 %3, %11, %19;\n\t"
        "addc.cc.u32 %4, %12, %20;\n\t"
        "addc.cc.u32 %5, %13, %21;\n\t"
        "addc.cc.u32 %6, %14, %22;\n\t"
        "addc.u32 %7, %15, %23;"
        : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5]), "=&r"(r[6]),
          "=&r"(r[7])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]),
          "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
}

/* r = a - b; returns all ones if it borrows, else 0 */
GPU_INLINE uint32_t gpu_words_sub(uint32_t *r, const uint32_t *a, const uint32_t *b)
{
    uint32_t borrow;
    asm("sub.cc.u32 %0, %9, %17;\n\t"
        "subc.cc.u32 %1, %10, %18;\n\t"
        "subc.cc.u32 %2, %11, %19;\n\t"
        "subc.cc.u32 %3, %12, %20;\n\t"
        "subc.cc.u32 %4, %13, %21;\n\t"
        "subc.cc.u32 %5, %14, %22;\n\t"
        "subc.cc.u32 %6, %15, %23;\n\t"
        "subc.cc.u32 %7, %16, %24;\n\t"
        "subc.u32 %8, 0, 0;"
        : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5]), "=&r"(r[6]),
          "=&r"(r[7]), "=&r"(borrow)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]),
          "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    return borrow;
}

/* t += a[0], a[2], a[4], a[6] times b, in pairs of words; the carry goes to top */
GPU_INLINE void gpu_words_row(uint32_t *t, uint32_t *top, const uint32_t *a, uint32_t b)
{
    asm("mad.lo.cc.u32 %0, %9, %13, %0;\n\t"
        "madc.hi.cc.u32 %1, %9, %13, %1;\n\t"
        "madc.lo.cc.u32 %2, %10, %13, %2;\n\t"
        "madc.hi.cc.u32 %3, %10, %13, %3;\n\t"
        "madc.lo.cc.u32 %4, %11, %13, %4;\n\t"
        "madc.hi.cc.u32 %5, %11, %13, %5;\n\t"
        "madc.lo.cc.u32 %6, %12, %13, %6;\n\t"
        "madc.hi.cc.u32 %7, %12, %13, %7;\n\t"
        "addc.u32 %8, %8, 0;"
        : "+r"(t[0]), "+r"(t[1]), "+r"(t[2]), "+r"(t[3]), "+r"(t[4]), "+r"(t[5]), "+r"(t[6]), "+r"(t[7]),
          "+r"(*top)
        : "r"(a[0]), "r"(a[2]), "r"(a[4]), "r"(a[6]), "r"(b));
}

/* r = t / 2^64 + a[0], a[2], a[4], a[6] times b plus the carry of *low += t[1]; t[0] is 0 */
GPU_INLINE void gpu_words_shifted_row(uint32_t *r, uint32_t *low, const uint32_t *t, const uint32_t *a,
                                      uint32_t b)
{
    asm("add.cc.u32 %8, %8, %9;\n\t"
        "madc.lo.cc.u32 %0, %16, %20, %10;\n\t"
        "madc.hi.cc.u32 %1, %16, %20, %11;\n\t"
        "madc.lo.cc.u32 %2, %17, %20, %12;\n\t"
        "madc.hi.cc.u32 %3, %17, %20, %13;\n\t"
        "madc.lo.cc.u32 %4, %18, %20, %14;\n\t"
        "madc.hi.cc.u32 %5, %18, %20, %15;\n\t"
        "madc.lo.cc.u32 %6, %19, %20, 0;\n\t"
        "madc.hi.u32 %7, %19, %20, 0;"
        : "=&r"(r[0]), "=&r"(r[1]), "=&r"(r[2]), "=&r"(r[3]), "=&r"(r[4]), "=&r"(r[5]), "=&r"(r[6]),
          "=&r"(r[7]), "+&r"(*low)
        : "r"(t[1]), "r"(t[2]), "r"(t[3]), "r"(t[4]), "r"(t[5]), "r"(t[6]), "r"(t[7]), "r"(a[0]), "r"(a[2]),
          "r"(a[4]), "r"(a[6]), "r"(b));
}

#else /* the same in portable C++ */

GPU_INLINE void gpu_words_add(uint32_t *r, const uint32_t *a, const uint32_t *b)
{
    uint64_t carry = 0;
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        carry += (uint64_t)a[i] + b[i];
        r[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

GPU_INLINE uint32_t gpu_words_sub(uint32_t *r, const uint32_t *a, const uint32_t *b)
{
    uint32_t borrow = 0;
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        const uint64_t difference = (uint64_t)a[i] - b[i] - borrow;
        r[i] = (uint32_t)difference;
        borrow = (uint32_t)(difference >> 63);
    }
    return 0 - borrow;
}

GPU_INLINE void gpu_words_row(uint32_t *t, uint32_t *top, const uint32_t *a, uint32_t b)
{
    uint64_t carry = 0;
    for (int i = 0; i < GPU_FIELD_WORDS; i += 2) {
        const uint64_t product = (uint64_t)a[i] * b;
        carry += (uint64_t)t[i] + (uint32_t)product;
        t[i] = (uint32_t)carry;
        carry = (carry >> 32) + t[i + 1] + (product >> 32);
        t[i + 1] = (uint32_t)carry;
        carry >>= 32;
    }
    *top += (uint32_t)carry;
}

GPU_INLINE void gpu_words_shifted_row(uint32_t *r, uint32_t *low, const uint32_t *t, const uint32_t *a,
                                      uint32_t b)
{
    uint64_t carry = (uint64_t)*low + t[1];
    *low = (uint32_t)carry;
    carry >>= 32;
    for (int i = 0; i < GPU_FIELD_WORDS; i += 2) {
        const uint64_t product = (uint64_t)a[i] * b;
        carry += (uint64_t)(i < 6 ? t[i + 2] : 0) + (uint32_t)product;
        r[i] = (uint32_t)carry;
        carry = (carry >> 32) + (i < 6 ? t[i + 3] : 0) + (product >> 32);
        r[i + 1] = (uint32_t)carry;
        carry >>= 32;
    }
}

#endif

/* a if it is below the modulus, else a less the modulus */
template <class C> GPU_INLINE void gpu_field_reduce_once(gpu_field<C> *r, const uint32_t *a)
{
    const uint32_t p[GPU_FIELD_WORDS] = GPU_FIELD_MODULUS(C);
    uint32_t less[GPU_FIELD_WORDS];
    const uint32_t below = gpu_words_sub(less, a, p);
    GPU_UNROLL
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        r->w[i] = below != 0 ? a[i] : less[i];
    }
}

template <class C>
GPU_INLINE void gpu_field_add(gpu_field<C> *r, const gpu_field<C> *a, const gpu_field<C> *b)
{
    uint32_t sum[GPU_FIELD_WORDS];
    gpu_words_add(sum, a->w, b->w); /* below 2^255 */
    gpu_field_reduce_once(r, sum);
}

template <class C>
GPU_INLINE void gpu_field_sub(gpu_field<C> *r, const gpu_field<C> *a, const gpu_field<C> *b)
{
    const uint32_t p[GPU_FIELD_WORDS] = GPU_FIELD_MODULUS(C);
    uint32_t difference[GPU_FIELD_WORDS], correction[GPU_FIELD_WORDS];
    const uint32_t borrow = gpu_words_sub(difference, a->w, b->w);
    GPU_UNROLL
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        correction[i] = p[i] & borrow;
    }
    gpu_words_add(r->w, difference, correction);
}

template <class C> GPU_INLINE void gpu_field_neg(gpu_field<C> *r, const gpu_field<C> *a)
{
    gpu_field<C> zero;
    gpu_field_set_zero(&zero);
    gpu_field_sub(r, &zero, a);
}

/* The sum is even + 2^32 odd, below 2^288, so that neither part outgrows its eight words once the carry of
 * even is put into odd's last. After each row its lowest word is 0 and drops out: odd takes the place of
 * even, and even, shifted by two words, that of odd, its second word joining what is now lowest. */
template <class C>
GPU_INLINE void gpu_field_mul(gpu_field<C> *r, const gpu_field<C> *a, const gpu_field<C> *b)
{
    const uint32_t p[GPU_FIELD_WORDS + 1] = {C::P0, C::P1, C::P2, C::P3, C::P4, C::P5, C::P6, C::P7, 0};
    uint32_t sums[2][GPU_FIELD_WORDS], none = 0;
    GPU_UNROLL
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        sums[0][i] = 0;
        sums[1][i] = 0;
    }
    GPU_UNROLL
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        uint32_t *even = sums[i % 2], *odd = sums[1 - i % 2], shifted[GPU_FIELD_WORDS];
        gpu_words_shifted_row(shifted, &even[0], odd, a->w + 1, b->w[i]);
        GPU_UNROLL
        for (int k = 0; k < GPU_FIELD_WORDS; k++) {
            odd[k] = shifted[k];
        }
        gpu_words_row(even, &odd[7], a->w, b->w[i]);
        const uint32_t quotient = even[0] * C::NEGATIVE_INVERSE;
        gpu_words_row(odd, &none, p + 1, quotient);
        gpu_words_row(even, &odd[7], p, quotient);
    }
    uint32_t high[GPU_FIELD_WORDS]; /* the last even part, sums[1], less its lowest word */
    GPU_UNROLL
    for (int i = 0; i < GPU_FIELD_WORDS; i++) {
        high[i] = i < 7 ? sums[1][i + 1] : 0;
    }
    gpu_words_add(high, high, sums[0]); /* below 2 p */
    gpu_field_reduce_once(r, high);
}

template <class C> GPU_INLINE void gpu_field_sqr(gpu_field<C> *r, const gpu_field<C> *a)
{
    gpu_field_mul(r, a, a);
}

/* The names of groth16's fields. */
#define GPU_FIELD_NAMES(type)                                         \
    GPU_INLINE void type##_set_zero(type *r)                          \
    {                                                                 \
        gpu_field_set_zero(r);                                        \
    }                                                                 \
    GPU_INLINE void type##_set_one(type *r)                           \
    {                                                                 \
        gpu_field_set_one(r);                                         \
    }                                                                 \
    GPU_INLINE bool type##_is_zero(const type *a)                     \
    {                                                                 \
        return gpu_field_is_zero(a);                                  \
    }                                                                 \
    GPU_INLINE bool type##_equal(const type *a, const type *b)        \
    {                                                                 \
        return gpu_field_equal(a, b);                                 \
    }                                                                 \
    GPU_INLINE void type##_add(type *r, const type *a, const type *b) \
    {                                                                 \
        gpu_field_add(r, a, b);                                       \
    }                                                                 \
    GPU_INLINE void type##_sub(type *r, const type *a, const type *b) \
    {                                                                 \
        gpu_field_sub(r, a, b);                                       \
    }                                                                 \
    GPU_INLINE void type##_neg(type *r, const type *a)                \
    {                                                                 \
        gpu_field_neg(r, a);                                          \
    }                                                                 \
    GPU_INLINE void type##_mul(type *r, const type *a, const type *b) \
    {                                                                 \
        gpu_field_mul(r, a, b);                                       \
    }                                                                 \
    GPU_INLINE void type##_sqr(type *r, const type *a)                \
    {                                                                 \
        gpu_field_sqr(r, a);                                          \
    }
GPU_FIELD_NAMES(gpu_fq)
GPU_FIELD_NAMES(gpu_fr)
#undef GPU_FIELD_NAMES

#endif
