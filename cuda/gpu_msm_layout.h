/* gpu_msm_layout.h - how an MSM's scratch is divided and how its kernels are shaped: what gpu_msm.cu and
 * gpu_msm_plan.c share; nobody else includes it. All counts are of one set of buckets unless they say so. */
#ifndef CUDA_GPU_MSM_LAYOUT_H
#define CUDA_GPU_MSM_LAYOUT_H

#include "cuda/gpu_msm.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GPU_MSM_SORT_THREADS = 256, /* also the most bins of one pass, so that a thread stands for a bin */
    GPU_MSM_SORT_ITEMS = 16,    /* a thread */
    GPU_MSM_SORT_TILE = GPU_MSM_SORT_THREADS * GPU_MSM_SORT_ITEMS,
    GPU_MSM_PASS_BITS_MAX = 8,
    GPU_MSM_SEGMENT_MIN = 8,
    GPU_MSM_SEGMENT_MAX = 128,
    GPU_MSM_MERGE = 4,       /* threads of one level whose partial sums a thread of the next adds up */
    GPU_MSM_REDUCE_LOG2 = 3, /* buckets, or chunks of them, that one thread weighs: 2^this */
    GPU_MSM_REDUCE = 1 << GPU_MSM_REDUCE_LOG2,
    GPU_MSM_ALIGNMENT = 256
};

struct gpu_msm_layout {
    size_t entries; /* digits of a set: n * levels */
    size_t tiles;   /* of the sort */
    size_t buckets;
    unsigned passes, pass_bits;
    size_t threads;     /* of the first level of sums */
    size_t partials[2]; /* entries of the lists of partial sums, of the first level and of the second */
    size_t nodes[2];    /* chunks of buckets after the first level of weighing and after the second */
    /* offsets into the scratch */
    size_t keys[2], values[2]; /* uint32, for the sort to go to and fro */
    size_t counts;             /* uint32, bins * tiles */
    size_t totals;             /* uint32, bins */
    size_t lengths;            /* uint32, one */
    size_t bucket_sums;        /* XYZZ */
    size_t partial_keys[2];    /* uint32 */
    size_t partial_sums[2];    /* XYZZ */
    size_t node_weighed[2];    /* XYZZ */
    size_t node_sums[2];       /* XYZZ */
    size_t bytes;
};

void gpu_msm_layout_init(struct gpu_msm_layout *layout, const struct gpu_msm_plan *plan, size_t xyzz_bytes);

#ifdef __cplusplus
}
#endif

#endif
