/* gpu_launch.cuh - what a kernel's source needs beside CUDA C++: function qualifiers, shared memory and
 * launches under names that nvcc takes and that a host compiler takes too, over the emulator of tests/gpu, so
 * that the same source runs in tests on a machine without a GPU. The emulator has threadIdx and the like,
 * __syncthreads and atomicAdd; a kernel that needs more of CUDA adds it there first.
 *
 * GPU_LAUNCH enqueues kernel(arguments) on the stream; arguments are copied. Refused launches show in
 * cudaGetLastError. */
#ifndef CUDA_GPU_LAUNCH_CUH
#define CUDA_GPU_LAUNCH_CUH

#ifdef __CUDACC__

#include <cuda_runtime.h>

#define GPU_INLINE   static __device__ __forceinline__
#define GPU_DEVICE   static __device__
#define GPU_NOINLINE static __device__ __noinline__
#define GPU_UNROLL   _Pragma("unroll")
#define GPU_SHARED   __shared__
#define GPU_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)

#else

#include <gpu_emulate.h>

#define GPU_INLINE   static inline
#define GPU_DEVICE   static inline
#define GPU_NOINLINE static
#define GPU_UNROLL
#define GPU_SHARED static thread_local
#define GPU_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    gpu_emulate_launch(grid, block, shared_bytes, stream, kernel, __VA_ARGS__)

#endif

#endif
