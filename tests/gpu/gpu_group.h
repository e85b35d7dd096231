/* gpu_group.h - groth16's G1 and G2 and their counterparts on the GPU, under names that a template of a test
 * can use for both. */
#ifndef TESTS_GPU_GPU_GROUP_H
#define TESTS_GPU_GPU_GROUP_H

#include "gpu_test.h"

#include "cuda/gpu_curve.cuh"
#include "cuda/gpu_msm.h"

#define GPU_GROUP(group, device_field, host_field, random_element)                     \
    struct gpu_group_##group {                                                         \
        using affine = group##_affine;                                                 \
        using xyzz = group##_xyzz;                                                     \
        using field = device_field;                                                    \
        static constexpr auto add = group##_xyzz_add;                                  \
        static constexpr auto add_affine = group##_xyzz_add_affine;                    \
        static constexpr auto dbl = group##_xyzz_dbl;                                  \
        static constexpr auto mul = group##_xyzz_mul;                                  \
        static constexpr auto neg = group##_xyzz_neg;                                  \
        static constexpr auto set_infinity = group##_xyzz_set_infinity;                \
        static constexpr auto from_affine = group##_xyzz_from_affine;                  \
        static constexpr auto to_affine = group##_xyzz_to_affine;                      \
        static constexpr auto msm_scratch_size = msm_##group##_scratch_size;           \
        static constexpr auto msm = msm_##group;                                       \
        static constexpr auto gpu_msm_result_bytes = gpu_msm_##group##_result_bytes;   \
        static constexpr auto gpu_msm_scratch_bytes = gpu_msm_##group##_scratch_bytes; \
        static constexpr auto gpu_msm_table_bytes = gpu_msm_##group##_table_bytes;     \
        static constexpr auto gpu_msm_table = gpu_msm_##group##_table;                 \
        static constexpr auto gpu_msm = gpu_msm_##group;                               \
        static constexpr auto gpu_msm_read = gpu_msm_##group##_read;                   \
        static const affine *generator()                                               \
        {                                                                              \
            return &group##_generator;                                                 \
        }                                                                              \
        /* the same point with other coordinates */                                    \
        static void scale(xyzz *p, uint64_t *seed)                                     \
        {                                                                              \
            host_field factor = random_element(seed), square, cube;                    \
            host_field##_sqr(&square, &factor);                                        \
            host_field##_mul(&cube, &square, &factor);                                 \
            host_field##_mul(&p->x, &p->x, &square);                                   \
            host_field##_mul(&p->y, &p->y, &cube);                                     \
            host_field##_mul(&p->zz, &p->zz, &square);                                 \
            host_field##_mul(&p->zzz, &p->zzz, &cube);                                 \
        }                                                                              \
    }

static inline fq gpu_group_random_fq(uint64_t *seed)
{
    fq r;
    const u256 plain = gpu_test_random_below(seed, &fq_modulus);
    CHECK(fq_from_u256(&r, &plain));
    return r;
}

static inline fq2 gpu_group_random_fq2(uint64_t *seed)
{
    fq2 r;
    r.c0 = gpu_group_random_fq(seed);
    r.c1 = gpu_group_random_fq(seed);
    return r;
}

GPU_GROUP(g1, gpu_fq, fq, gpu_group_random_fq);
GPU_GROUP(g2, gpu_fq2, fq2, gpu_group_random_fq2);

/* multiple * generator */
template <class G> static typename G::affine gpu_group_multiple(int64_t multiple)
{
    typename G::xyzz p;
    typename G::affine r;
    const u256 scalar = {{(uint64_t)(multiple < 0 ? -multiple : multiple), 0, 0, 0}};
    G::from_affine(&p, G::generator());
    G::mul(&p, &p, &scalar);
    if (multiple < 0) {
        G::neg(&p, &p);
    }
    G::to_affine(&r, &p);
    return r;
}

#endif
