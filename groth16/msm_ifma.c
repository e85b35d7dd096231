/* The level of CPU_IFMA: pairs are added eight at a time; the little that remains runs as one level below. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512ifma,bmi2,adx"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512ifma,bmi2,adx")
#endif

#define MONT_ADX
#include "groth16/fq_ifma.h"
#include "groth16/g1.h"
#include "groth16/g2.h"

/* Eight lanes of one element to eight elements in memory, and back. */
FQ8_INLINE void msm_ifma_unload(fq *values, size_t stride, const fq8 *a)
{
    lanes w[4];
    fq8_to_words(w, a);
    for (int i = 0; i < 4; i++) {
        uint64_t words[FQ8_LANES];
        _mm512_storeu_si512(words, w[i]);
        for (int lane = 0; lane < FQ8_LANES; lane++) {
            values[(size_t)lane * stride].w[i] = words[lane];
        }
    }
}

FQ8_INLINE void msm_ifma_reload(fq8 *r, const fq *values, size_t stride)
{
    lanes w[4];
    for (int i = 0; i < 4; i++) {
        uint64_t words[FQ8_LANES];
        for (int lane = 0; lane < FQ8_LANES; lane++) {
            words[lane] = values[(size_t)lane * stride].w[i];
        }
        w[i] = _mm512_loadu_si512(words);
    }
    fq8_from_words(r, w);
}

FQ8_INLINE void msm_g1_vector_unload(fq *values, const fq8 *a)
{
    msm_ifma_unload(values, 1, a);
}

FQ8_INLINE void msm_g1_vector_reload(fq8 *r, const fq *values)
{
    msm_ifma_reload(r, values, 1);
}

FQ8_INLINE void msm_g2_vector_unload(fq2 *values, const fq2x8 *a)
{
    msm_ifma_unload(&values->c0, 2, &a->c0);
    msm_ifma_unload(&values->c1, 2, &a->c1);
}

FQ8_INLINE void msm_g2_vector_reload(fq2x8 *r, const fq2 *values)
{
    msm_ifma_reload(&r->c0, &values->c0, 2);
    msm_ifma_reload(&r->c1, &values->c1, 2);
}

FQ8_INLINE void msm_g1_vector_split(fq8 *x, fq8 *y, lanes words[1][FQ8_LANES])
{
    fq8_from_words(x, words[0]);
    fq8_from_words(y, words[0] + 4);
}

FQ8_INLINE void msm_g2_vector_split(fq2x8 *x, fq2x8 *y, lanes words[2][FQ8_LANES])
{
    fq8_from_words(&x->c0, words[0]);
    fq8_from_words(&x->c1, words[0] + 4);
    fq8_from_words(&y->c0, words[1]);
    fq8_from_words(&y->c1, words[1] + 4);
}

FQ8_INLINE void msm_g1_vector_scatter(g1_affine *out, const uint16_t *outs, const fq8 *x, const fq8 *y,
                                      size_t count)
{
    lanes words[FQ8_LANES];
    fq8_to_words(words, x);
    fq8_to_words(words + 4, y);
    fq8_transpose(words);
    for (size_t lane = 0; lane < count; lane++) {
        _mm512_storeu_si512(&out[outs[lane]], words[lane]);
    }
}

FQ8_INLINE void msm_g2_vector_scatter(g2_affine *out, const uint16_t *outs, const fq2x8 *x, const fq2x8 *y,
                                      size_t count)
{
    lanes left[FQ8_LANES], right[FQ8_LANES];
    fq8_to_words(left, &x->c0);
    fq8_to_words(left + 4, &x->c1);
    fq8_to_words(right, &y->c0);
    fq8_to_words(right + 4, &y->c1);
    fq8_transpose(left);
    fq8_transpose(right);
    for (size_t lane = 0; lane < count; lane++) {
        _mm512_storeu_si512(&out[outs[lane]].x, left[lane]);
        _mm512_storeu_si512(&out[outs[lane]].y, right[lane]);
    }
}

#define VECTOR(name)       msm_g1_vector_##name
#define VECTOR_FIELD(name) fq8_##name
#define VECTOR_ELEMENT     fq8
#define FIELD(name)        fq_##name
#define FIELD_ELEMENT      fq
#define VECTOR_AFFINE      g1_affine
#define VECTOR_REGISTERS   1
#include "groth16/msm_vector.h"
#undef VECTOR
#undef VECTOR_FIELD
#undef VECTOR_ELEMENT
#undef FIELD
#undef FIELD_ELEMENT
#undef VECTOR_AFFINE
#undef VECTOR_REGISTERS

#define VECTOR(name)       msm_g2_vector_##name
#define VECTOR_FIELD(name) fq2x8_##name
#define VECTOR_ELEMENT     fq2x8
#define FIELD(name)        fq2_##name
#define FIELD_ELEMENT      fq2
#define VECTOR_AFFINE      g2_affine
#define VECTOR_REGISTERS   2
#include "groth16/msm_vector.h"
#undef VECTOR
#undef VECTOR_FIELD
#undef VECTOR_ELEMENT
#undef FIELD
#undef FIELD_ELEMENT
#undef VECTOR_AFFINE
#undef VECTOR_REGISTERS

/* Fewer pairs than this cost less one by one. */
enum { MSM_VECTOR_PAIRS_MIN = 12 };

_Static_assert(2 * sizeof(fq) * FQ8_LANES >= sizeof(fq8) && 2 * sizeof(fq2) * FQ8_LANES >= sizeof(fq2x8),
               "the kernel's room for products holds vectors");

#define MSM_VECTOR
#define MSM_LEVEL(name) name##_ifma
#include "groth16/msm_groups.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
