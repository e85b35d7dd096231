/* The NTT's kernels for CPU_IFMA: eight elements of Fr at once in five limbs of 52 bits, limb i of all lanes
 * in one register. Only called where cpu_level() says that the processor has the instructions.
 *
 * Montgomery multiplication in this radix divides by 2^260 while elements carry 2^256. Butterflies multiply
 * by table entries only, so the tables are made with 2^260 (ntt_init) and elements stay as they are; results
 * are bit-identical to the other levels'. Reductions wait: a multiplication of values below a p and p gives
 * one below (a / 84 + 1) p. On the way to coefficients an element grows by at most 2p a stage, so up to 22p
 * over nine stages, and is brought below 4p only to be stored in 256 bits; on the way back sums double, and
 * are brought below 2p each time. Method: Gueron and Krasnov, "Accelerating Big Integer Arithmetic Using
 * Intel IFMA Extensions" (2016). */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512ifma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512ifma")
#endif

#include "groth16/ntt_level.h"

typedef __m512i lanes;

typedef struct {
    lanes l[5];
} fr8;

#define FR8_INLINE static inline __attribute__((always_inline))

static const uint64_t fr8_p[5] = {0x1f593f0000001, 0x4879b9709143e, 0x181585d2833e8, 0xa029b85045b68,
                                  0x30644e72e131};
static const uint64_t fr8_n0 = 0x1f593efffffff; /* -1/p mod 2^52 */

FR8_INLINE lanes word(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* Carries signed limbs upwards; the value must be in [0, 2^260). */
FR8_INLINE void normalize(fr8 *r)
{
    const lanes mask = word(UINT64_C(0xfffffffffffff));
    for (int i = 0; i < 4; i++) {
        r->l[i + 1] = _mm512_add_epi64(r->l[i + 1], _mm512_srai_epi64(r->l[i], 52));
        r->l[i] = _mm512_and_si512(r->l[i], mask);
    }
}

/* r = a + b */
FR8_INLINE void add(fr8 *r, const fr8 *a, const fr8 *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_add_epi64(a->l[i], b->l[i]);
    }
    normalize(r);
}

/* r = a - b + 2p, for b up to 2p */
FR8_INLINE void sub(fr8 *r, const fr8 *a, const fr8 *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_add_epi64(_mm512_sub_epi64(a->l[i], b->l[i]), word(2 * fr8_p[i]));
    }
    normalize(r);
}

/* Takes multiple * p from the lanes that hold at least as much. */
FR8_INLINE void reduce_by(fr8 *r, unsigned multiple)
{
    fr8 less;
    for (int i = 0; i < 5; i++) {
        less.l[i] = _mm512_sub_epi64(r->l[i], word(fr8_p[i] * multiple));
    }
    normalize(&less);
    const __mmask8 below = _mm512_movepi64_mask(less.l[4]);
    for (int i = 0; i < 5; i++) {
        r->l[i] = _mm512_mask_mov_epi64(less.l[i], below, r->l[i]);
    }
}

/* r = a b / 2^260; r may be a or b */
FR8_INLINE void mul(fr8 *r, const fr8 *a, const fr8 *b)
{
    const lanes zero = _mm512_setzero_si512();
    lanes t[6] = {zero, zero, zero, zero, zero, zero};
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            t[j] = _mm512_madd52lo_epu64(t[j], a->l[j], b->l[i]);
            t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], a->l[j], b->l[i]);
        }
        const lanes m = _mm512_madd52lo_epu64(zero, t[0], word(fr8_n0));
        for (int j = 0; j < 5; j++) {
            t[j] = _mm512_madd52lo_epu64(t[j], m, word(fr8_p[j]));
            t[j + 1] = _mm512_madd52hi_epu64(t[j + 1], m, word(fr8_p[j]));
        }
        t[1] = _mm512_add_epi64(t[1], _mm512_srli_epi64(t[0], 52));
        for (int j = 0; j < 5; j++) {
            t[j] = t[j + 1];
        }
        t[5] = zero;
    }
    memcpy(r->l, t, sizeof r->l);
    normalize(r);
}

/* Lane i is the element at values + i * stride. */
FR8_INLINE void load(fr8 *r, const fr *values, size_t stride)
{
    const lanes mask = word(UINT64_C(0xfffffffffffff));
    const long long step = (long long)(stride * sizeof(fr) / sizeof(uint64_t));
    const lanes at = _mm512_setr_epi64(0, step, 2 * step, 3 * step, 4 * step, 5 * step, 6 * step, 7 * step);
    lanes w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = _mm512_i64gather_epi64(at, values->w + i, 8);
    }
    r->l[0] = _mm512_and_si512(w[0], mask);
    r->l[1] =
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[0], 52), _mm512_slli_epi64(w[1], 12)), mask);
    r->l[2] =
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[1], 40), _mm512_slli_epi64(w[2], 24)), mask);
    r->l[3] =
        _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[2], 28), _mm512_slli_epi64(w[3], 36)), mask);
    r->l[4] = _mm512_srli_epi64(w[3], 16);
}

/* Values below 2^256. */
FR8_INLINE void store(fr *values, size_t stride, const fr8 *a)
{
    const long long step = (long long)(stride * sizeof(fr) / sizeof(uint64_t));
    const lanes at = _mm512_setr_epi64(0, step, 2 * step, 3 * step, 4 * step, 5 * step, 6 * step, 7 * step);
    const lanes *l = a->l;
    const lanes w[4] = {_mm512_or_si512(l[0], _mm512_slli_epi64(l[1], 52)),
                        _mm512_or_si512(_mm512_srli_epi64(l[1], 12), _mm512_slli_epi64(l[2], 40)),
                        _mm512_or_si512(_mm512_srli_epi64(l[2], 24), _mm512_slli_epi64(l[3], 28)),
                        _mm512_or_si512(_mm512_srli_epi64(l[3], 36), _mm512_slli_epi64(l[4], 16))};
    for (int i = 0; i < 4; i++) {
        _mm512_i64scatter_epi64(values->w + i, at, w[i], 8);
    }
}

/* Lane i is the twiddle of block number + (i << stage). In a far tile all lanes are in one block: step is 0.
 */
FR8_INLINE void split(fr8 *low, fr8 *high, const fr8 *twiddle)
{
    fr8 a = *low, b = *high;
    mul(&b, &b, twiddle);
    add(low, &a, &b);
    sub(high, &a, &b);
}

FR8_INLINE void merge(fr8 *low, fr8 *high, const fr8 *twiddle)
{
    fr8 a = *low, b = *high;
    add(low, &a, &b);
    reduce_by(low, 2);
    sub(&b, &a, &b);
    mul(high, &b, twiddle);
}

/* All stages of one direction over 2^stages rows of eight lanes, where lane i belongs to block number
 * block + i * lane_blocks. */
static void run_stages(fr8 *rows, unsigned stages, const fr *twiddles, size_t block, size_t lane_blocks,
                       bool forward)
{
    for (unsigned step = 0; step < stages; step++) {
        unsigned stage = forward ? stages - 1 - step : step;
        size_t half = ((size_t)1 << stages) >> (stage + 1);
        for (size_t i = 0; i < (size_t)1 << stage; i++) {
            fr8 twiddle;
            load(&twiddle, &twiddles[(block << stage) + i], lane_blocks << stage);
            fr8 *low = rows + 2 * i * half, *high = low + half;
            for (size_t j = 0; j < half; j++) {
                if (forward) {
                    merge(&low[j], &high[j], &twiddle);
                } else {
                    split(&low[j], &high[j], &twiddle);
                }
            }
        }
    }
}

void ntt_ifma_far(const struct ntt_tile *tile, void *scratch)
{
    fr8 *rows = scratch;
    size_t count = (size_t)1 << tile->stages;
    for (size_t i = 0; i < count; i++) {
        load(&rows[i], tile->values + i * tile->stride, 1);
    }
    run_stages(rows, tile->stages, tile->twiddles, tile->block, 0, tile->forward);
    for (size_t i = 0; i < count; i++) {
        if (tile->forward) {
            reduce_by(&rows[i], 1);
        } else {
            reduce_by(&rows[i], 16);
            reduce_by(&rows[i], 8);
            reduce_by(&rows[i], 4);
        }
        store(tile->values + i * tile->stride, 1, &rows[i]);
    }
}

/* Eight blocks side by side, a lane each. */
void ntt_ifma_near(const struct ntt *ntt, fr *values, unsigned stages, size_t block, void *scratch)
{
    fr8 *rows = scratch;
    size_t count = (size_t)1 << stages;
    const fr *shift = ntt->shift + (block << stages);
    for (size_t i = 0; i < count; i++) {
        load(&rows[i], values + i, count);
    }
    run_stages(rows, stages, ntt->inverse, block, 1, false);
    for (size_t i = 0; i < count; i++) {
        fr8 factor;
        load(&factor, shift + i, count);
        mul(&rows[i], &rows[i], &factor);
    }
    run_stages(rows, stages, ntt->forward, block, 1, true);
    for (size_t i = 0; i < count; i++) {
        store(values + i, count, &rows[i]);
    }
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
