/* msm_lanes.h - the MSM's kernels for a level with eight-lane arithmetic (lanes.h): pairs are added eight at
 * a time; the little that remains runs as at the level of CPU_ADX. msm_ifma.c and msm_fma.c define
 * MSM_LEVEL(name) and include this inside their target regions. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MONT_ADX
#include "groth16/fq_lanes.h"
#include "groth16/g1.h"
#include "groth16/g2.h"

/* Eight lanes of one element to eight elements in memory, and back. */
FQ8_INLINE void msm_lanes_unload(fq *values, size_t stride, const fq8 *a)
{
    lanes w[4];
    fq8_to_words(w, a);
    for (int i = 0; i < 4; i++) {
        uint64_t words[LANES];
        lanes_store(words, w[i]);
        for (int lane = 0; lane < LANES; lane++) {
            values[(size_t)lane * stride].w[i] = words[lane];
        }
    }
}

FQ8_INLINE void msm_lanes_reload(fq8 *r, const fq *values, size_t stride)
{
    lanes w[4];
    for (int i = 0; i < 4; i++) {
        uint64_t words[LANES];
        for (int lane = 0; lane < LANES; lane++) {
            words[lane] = values[(size_t)lane * stride].w[i];
        }
        w[i] = lanes_load(words);
    }
    fq8_from_words(r, w);
}

FQ8_INLINE void msm_g1_vector_unload(fq *values, const fq8 *a)
{
    msm_lanes_unload(values, 1, a);
}

FQ8_INLINE void msm_g1_vector_reload(fq8 *r, const fq *values)
{
    msm_lanes_reload(r, values, 1);
}

FQ8_INLINE void msm_g2_vector_unload(fq2 *values, const fq2x8 *a)
{
    msm_lanes_unload(&values->c0, 2, &a->c0);
    msm_lanes_unload(&values->c1, 2, &a->c1);
}

FQ8_INLINE void msm_g2_vector_reload(fq2x8 *r, const fq2 *values)
{
    msm_lanes_reload(&r->c0, &values->c0, 2);
    msm_lanes_reload(&r->c1, &values->c1, 2);
}

FQ8_INLINE void msm_g1_vector_split(fq8 *x, fq8 *y, lanes words[1][LANES])
{
    fq8_from_words(x, words[0]);
    fq8_from_words(y, words[0] + 4);
}

FQ8_INLINE void msm_g2_vector_split(fq2x8 *x, fq2x8 *y, lanes words[2][LANES])
{
    fq8_from_words(&x->c0, words[0]);
    fq8_from_words(&x->c1, words[0] + 4);
    fq8_from_words(&y->c0, words[1]);
    fq8_from_words(&y->c1, words[1] + 4);
}

/* The x alone of the points that lie `step` behind those given. */
FQ8_INLINE void msm_g1_vector_gather_x(fq8 *x, const g1_affine *const points[LANES], size_t step)
{
    lanes words[4];
    lanes_gather_at(words, (const void *const *)points, step * sizeof(g1_affine));
    fq8_from_words(x, words);
}

FQ8_INLINE void msm_g2_vector_gather_x(fq2x8 *x, const g2_affine *const points[LANES], size_t step)
{
    lanes words[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        words[lane] = lanes_load(&points[lane][step].x);
    }
    lanes_transpose(words);
    fq8_from_words(&x->c0, words);
    fq8_from_words(&x->c1, words + 4);
}

/* Lanes whose points could be infinite (x = 0) or have the same x (their difference plus p is p), judged by
 * the lowest limbs. */
FQ8_INLINE uint8_t msm_g1_vector_is_special(const fq8 *x1, const fq8 *x2, const fq8 *difference)
{
    const lanes same = lanes_xor(difference->l[0], lanes_word(fq8_prime.p[0]));
    return lanes_zero(x1->l[0]) | lanes_zero(x2->l[0]) | lanes_zero(same);
}

FQ8_INLINE uint8_t msm_g2_vector_is_special(const fq2x8 *x1, const fq2x8 *x2, const fq2x8 *difference)
{
    return msm_g1_vector_is_special(&x1->c0, &x2->c0, &difference->c0);
}

FQ8_INLINE void msm_g1_vector_scatter(g1_affine *out, const uint16_t *outs, const fq8 *x, const fq8 *y,
                                      size_t count)
{
    lanes words[LANES];
    fq8_to_words(words, x);
    fq8_to_words(words + 4, y);
    lanes_transpose(words);
    for (size_t lane = 0; lane < count; lane++) {
        lanes_store(&out[outs[lane]], words[lane]);
    }
}

FQ8_INLINE void msm_g2_vector_scatter(g2_affine *out, const uint16_t *outs, const fq2x8 *x, const fq2x8 *y,
                                      size_t count)
{
    lanes left[LANES], right[LANES];
    fq8_to_words(left, &x->c0);
    fq8_to_words(left + 4, &x->c1);
    fq8_to_words(right, &y->c0);
    fq8_to_words(right + 4, &y->c1);
    lanes_transpose(left);
    lanes_transpose(right);
    for (size_t lane = 0; lane < count; lane++) {
        lanes_store(&out[outs[lane]].x, left[lane]);
        lanes_store(&out[outs[lane]].y, right[lane]);
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

_Static_assert(2 * sizeof(fq) * LANES >= sizeof(fq8) && 2 * sizeof(fq2) * LANES >= sizeof(fq2x8),
               "the kernel's room for products holds vectors");

#define MSM_VECTOR
#include "groth16/msm_groups.h"
