/* gpu_msm.h - multi-scalar multiplication over G1 and G2 on an NVIDIA GPU: the sum of scalar_i * point_i.
 *
 * Everything here is enqueued on the caller's stream and nothing else happens: no allocation, no
 * synchronization, no copy to or from the host; the number and shape of launches depend on the plan alone,
 * never on scalars. So one thread may enqueue any number of calls on any number of streams; two calls in
 * flight need different scratch. Points may be shared by any number of calls.
 *
 * points: affine, as groth16's g1_affine and g2_affine (64 and 128 bytes, Montgomery, zeros for infinity), on
 * the curve. scalars: 32 bytes each, little-endian, plain (not Montgomery), below r. Both in device memory,
 * 16-byte aligned. scratch: gpu_msm_*_scratch_bytes() of device memory, 256-byte aligned, contents don't
 * matter. result: gpu_msm_*_result_bytes() of device memory, 16-byte aligned: one sum a set of buckets, which
 * the host, once it has copied them, combines with gpu_msm_*_read (254 doublings one after the other, which
 * one GPU thread would do more slowly).
 *
 * The functions that enqueue return a cudaError_t as an int: 0, or what a launch was refused with. Faults
 * of the device show later, on the stream, as always.
 *
 * Method: Pippenger's buckets with Booth's signed digits. A scalar has `windows` digits of window_bits bits;
 * the digits of one window put its points in 2^(window_bits - 1) buckets, and the window's sum is that of
 * bucket b times b + 1. With tables of multiples (levels > 1), `levels` windows share one set of buckets:
 * level l of the table holds 2^(window_bits * sets * l) times each point, and window l * sets + s goes to set
 * s. That takes `levels` times the points' memory, and leaves 1/levels of the bucket sums and of their
 * latency; the number of additions of points falls only by what wider windows then save. */
#ifndef CUDA_GPU_MSM_H
#define CUDA_GPU_MSM_H

#ifdef __cplusplus
extern "C" {
#endif

#include "groth16/g1.h"
#include "groth16/g2.h"

struct CUstream_st; /* what a cudaStream_t points to */

enum {
    GPU_MSM_SCALAR_BITS = 254,
    GPU_MSM_WINDOW_BITS_MIN = 2,
    GPU_MSM_WINDOW_BITS_MAX = 20,
    GPU_MSM_SETS_MAX = 128,
    GPU_MSM_RESULT_BYTES_MAX = GPU_MSM_SETS_MAX * 4 * 64 /* of any plan, either group */
};

/* How one MSM is computed; plain data. Made by gpu_msm_plan_init; the same plan serves G1 and G2. */
struct gpu_msm_plan {
    size_t n;        /* points, and scalars */
    unsigned levels; /* multiples of each point that the table holds; 1: the points alone */
    unsigned window_bits;
    unsigned windows;
    unsigned sets;         /* of buckets; ceil(windows / levels) */
    unsigned sets_at_once; /* computed together; the others after them, in the same scratch */
    unsigned segment;      /* points that one thread adds up, at most */
};

/* levels: 1 to windows; it may be lowered to the least that needs as few sets. n * levels must be below
 * 2^31. */
void gpu_msm_plan_init(struct gpu_msm_plan *plan, size_t n, unsigned levels);

size_t gpu_msm_g1_result_bytes(const struct gpu_msm_plan *plan);
size_t gpu_msm_g2_result_bytes(const struct gpu_msm_plan *plan);
size_t gpu_msm_g1_scratch_bytes(const struct gpu_msm_plan *plan);
size_t gpu_msm_g2_scratch_bytes(const struct gpu_msm_plan *plan);

/* Of the table of multiples, which is then what `points` points to; for levels = 1 it is the points. */
size_t gpu_msm_g1_table_bytes(const struct gpu_msm_plan *plan);
size_t gpu_msm_g2_table_bytes(const struct gpu_msm_plan *plan);

/* Fills a table whose first n points are in place already. Once a circuit: 254 doublings and, for each level,
 * one inversion a point. */
int gpu_msm_g1_table(void *table, const struct gpu_msm_plan *plan, struct CUstream_st *stream);
int gpu_msm_g2_table(void *table, const struct gpu_msm_plan *plan, struct CUstream_st *stream);

int gpu_msm_g1(void *result, const struct gpu_msm_plan *plan, const void *points, const void *scalars,
               void *scratch, struct CUstream_st *stream);
int gpu_msm_g2(void *result, const struct gpu_msm_plan *plan, const void *points, const void *scalars,
               void *scratch, struct CUstream_st *stream);

/* On the host: r = the MSM, from its result, copied to host memory (8-byte aligned). Any thread. */
void gpu_msm_g1_read(g1_xyzz *r, const struct gpu_msm_plan *plan, const void *result);
void gpu_msm_g2_read(g2_xyzz *r, const struct gpu_msm_plan *plan, const void *result);

#ifdef __cplusplus
}
#endif

#endif
