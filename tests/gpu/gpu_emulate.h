/* gpu_emulate.h - runs CUDA kernels on the CPU, for tests: what cuda/gpu_launch.cuh includes where nvcc's own
 * words are missing.
 *
 * A launch runs its blocks one after the other, and a block's threads as coroutines that give way at
 * __syncthreads, in ascending order before one barrier and in descending order before the next, so that a
 * missing barrier shows. A thread that has returned counts as having arrived. Shared memory is one block's:
 * static thread_local. Any number of host threads may run launches. Nothing that is timed here says anything
 * about a GPU.
 *
 * A launch is handed to the stand-in for CUDA's runtime (gpu_runtime.h), which runs it on the
 * stream's thread when it is its turn. Limits: blocks of up to 1024 threads in x, grids in x and y, neither
 * empty, and 48 KiB of dynamic shared memory, as a GPU has them; a launch beyond them aborts. */
#ifndef TESTS_GPU_GPU_EMULATE_H
#define TESTS_GPU_GPU_EMULATE_H

#include <gpu_runtime.h>

#include <functional>
#include <stddef.h>
#include <stdint.h>
#include <tuple>

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

extern thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

#define __global__ static

void __syncthreads(void);

/* One host thread runs a block, so these are plain. */
template <class T> static inline T atomicAdd(T *address, T value)
{
    const T before = *address;
    *address = before + value;
    return before;
}

/* body: one thread */
void gpu_emulate_run(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                     std::function<void()> body);

/* Arguments are converted and copied now, as a launch does. */
template <class... Parameters, class... Arguments>
static inline void gpu_emulate_launch(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                                      void (*kernel)(Parameters...), const Arguments &...arguments)
{
    gpu_emulate_run(
        grid, block, shared_bytes, stream,
        [kernel, copies = std::tuple<Parameters...>(arguments...)]() { std::apply(kernel, copies); });
}

#endif
