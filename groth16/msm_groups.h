/* msm_groups.h - both groups' kernels for one level of processor; msm_portable.c and its sisters define
 * MSM_LEVEL(name) and include it; with MSM_VECTOR defined, KERNEL_VECTOR's functions (msm_vector.h) must
 * exist. The group law is compiled here once more so that it, too, is inlined with this level's
 * multiplication. */

#include "groth16/msm_internal.h"

#define GROUP_LINKAGE static __attribute__((unused))

typedef g1_affine msm_g1_affine;
typedef g1_xyzz msm_g1_xyzz;
typedef g2_affine msm_g2_affine;
typedef g2_xyzz msm_g2_xyzz;

static inline void msm_g1_load(g1_affine *r, const uint8_t *bytes)
{
    memcpy(r, bytes,
           G1_BYTES); /* the file's order and limbs are the struct's; values were checked with the key */
}

static inline void msm_g2_load(g2_affine *r, const uint8_t *bytes)
{
    memcpy(r, bytes, G2_BYTES);
}

_Static_assert(sizeof(g1_affine) == G1_BYTES && sizeof(g2_affine) == G2_BYTES,
               "packed points are the structs");

/* The curve's constant is only asked for by on_curve, which no kernel calls. */
#define GROUP(name) msm_g1_##name
#define GROUP_FIELD fq
#define FIELD(name) fq_##name
#define GROUP_B     fq_zero
#include "groth16/group_body.h"
#undef GROUP
#undef GROUP_FIELD
#undef FIELD
#undef GROUP_B

#define GROUP(name) msm_g2_##name
#define GROUP_FIELD fq2
#define FIELD(name) fq2_##name
#define GROUP_B     fq2_zero
#include "groth16/group_body.h"

#define KERNEL(name)        msm_g1_##name
#define KERNEL_VECTOR(name) msm_g1_vector_##name
#define KERNEL_POINT(name)  msm_g1_##name
#define KERNEL_FIELD(name)  fq_##name
#define KERNEL_AFFINE       g1_affine
#define KERNEL_XYZZ         g1_xyzz
#define KERNEL_ELEMENT      fq
#define KERNEL_POINT_BYTES  G1_BYTES
#define KERNEL_TASK         MSM_LEVEL(msm_g1_task)
#define KERNEL_BUILD        MSM_LEVEL(msm_g1_build)
#include "groth16/msm_kernel.h"
#undef KERNEL
#undef KERNEL_VECTOR
#undef KERNEL_POINT
#undef KERNEL_FIELD
#undef KERNEL_AFFINE
#undef KERNEL_XYZZ
#undef KERNEL_ELEMENT
#undef KERNEL_POINT_BYTES
#undef KERNEL_TASK
#undef KERNEL_BUILD

#define KERNEL(name)        msm_g2_##name
#define KERNEL_VECTOR(name) msm_g2_vector_##name
#define KERNEL_POINT(name)  msm_g2_##name
#define KERNEL_FIELD(name)  fq2_##name
#define KERNEL_AFFINE       g2_affine
#define KERNEL_XYZZ         g2_xyzz
#define KERNEL_ELEMENT      fq2
#define KERNEL_POINT_BYTES  G2_BYTES
#define KERNEL_TASK         MSM_LEVEL(msm_g2_task)
#define KERNEL_BUILD        MSM_LEVEL(msm_g2_build)
#include "groth16/msm_kernel.h"
