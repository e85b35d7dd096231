/* lanes.h - what the two makes of eight-lane arithmetic, lanes_ifma.h and lanes_fma.h, agree on.
 *
 * `lanes` is a 64-bit word of each of eight lanes. A number is five limbs of 52 bits, limb i of all lanes in
 * one `lanes`. Limbs are "normal" when each is in [0, 2^52). A file that defines LANES_FMA gets the make for
 * CPU_FMA, any other the one for CPU_IFMA; it includes this inside its target region. Both give:
 *
 * lanes_begin, lanes_end: to be called around the outermost noinline function that multiplies, from one that
 *   doesn't; what begin returned goes to end. (One make needs another rounding mode.)
 * lanes_word, lanes_load, lanes_store (64 bytes, any alignment), lanes_add, lanes_sub, lanes_and, lanes_or,
 *   lanes_xor, lanes_left, lanes_right (zeros come in): by word.
 * lanes_zero: bit i is set where word i is 0. lanes_select: a where the mask's bit is set, else b.
 * lanes_select_negative: replaces r by a in the lanes where `sign` is negative.
 * lanes_normalize: makes limbs normal that are signed and below 2^58; the value must be in [0, 2^260), or the
 *   topmost limb comes out negative and tells a negative value.
 * lanes_transpose: rows to columns of an 8 x 8 matrix of words, in place.
 * lanes_gather, lanes_scatter: word j of the element of lane i is words[i * stride + j], j < 4.
 * lanes_gather_at: it is word j at at[i] + offset bytes.
 * lanes_mul_sum: the sum of a[k]*b[k] for `products` (1 or 2) pairs of normal numbers, divided by 2^260
 *   modulo p (Montgomery): below (sum/p/2^260 + 1) p, normal. r may be one of the factors. */
#ifndef GROTH16_LANES_COMMON_H
#define GROTH16_LANES_COMMON_H

#include <stdint.h>

enum { LANES = 8 };

#define LANES_MASK UINT64_C(0xfffffffffffff)

struct lanes_prime {
    uint64_t p[5];
    uint64_t n0;                       /* -1/p mod 2^52 */
    _Alignas(32) double doubles[6][4]; /* the same six, four times each */
};

#define LANES_PRIME(p0, p1, p2, p3, p4, minus_inverse)                   \
    {                                                                    \
        .p = {p0, p1, p2, p3, p4}, .n0 = minus_inverse, .doubles = {     \
            {p0, p0, p0, p0},                                            \
            {p1, p1, p1, p1},                                            \
            {p2, p2, p2, p2},                                            \
            {p3, p3, p3, p3},                                            \
            {p4, p4, p4, p4},                                            \
            {minus_inverse, minus_inverse, minus_inverse, minus_inverse} \
        }                                                                \
    }

#ifdef LANES_FMA
#include "groth16/lanes_fma.h"
#else
#include "groth16/lanes_ifma.h"
#endif

/* Between four words and five limbs. */
LANES_INLINE void lanes_from_words(lanes l[5], const lanes w[4])
{
    const lanes mask = lanes_word(LANES_MASK);
    l[0] = lanes_and(w[0], mask);
    l[1] = lanes_and(lanes_or(lanes_right(w[0], 52), lanes_left(w[1], 12)), mask);
    l[2] = lanes_and(lanes_or(lanes_right(w[1], 40), lanes_left(w[2], 24)), mask);
    l[3] = lanes_and(lanes_or(lanes_right(w[2], 28), lanes_left(w[3], 36)), mask);
    l[4] = lanes_right(w[3], 16);
}

LANES_INLINE void lanes_to_words(lanes w[4], const lanes l[5])
{
    w[0] = lanes_or(l[0], lanes_left(l[1], 52));
    w[1] = lanes_or(lanes_right(l[1], 12), lanes_left(l[2], 40));
    w[2] = lanes_or(lanes_right(l[2], 24), lanes_left(l[3], 28));
    w[3] = lanes_or(lanes_right(l[3], 36), lanes_left(l[4], 16));
}

/* Takes multiple*p from the lanes that hold at least as much. */
LANES_INLINE void lanes_reduce_by(lanes l[5], unsigned multiple, const struct lanes_prime *prime)
{
    lanes less[5], before[5];
    memcpy(before, l, sizeof before);
    for (int i = 0; i < 5; i++) {
        less[i] = lanes_sub(l[i], lanes_word(prime->p[i] * multiple));
    }
    lanes_normalize(less);
    memcpy(l, less, sizeof less);
    lanes_select_negative(l, less[4], before);
}

#endif
