/* gpu_runtime.h - what the stand-in CUDA runtime (cuda_runtime.h) has, how slow it is, and what fails in it.
 *
 * For tests only. The settings come from gpu_runtime_configure, or, for whole programs, from the environment
 * variable UZK_STANDIN at the first call of the runtime: "devices=2,memory=67108864,delay_us=300,sticky=40"
 * and so on, with the names of the fields and faults below. Everything that may be random is drawn from the
 * seed and the operation's number; how threads interleave is left to the system, as it is on a GPU.
 *
 * Any thread may call, but for gpu_runtime_configure: no device may be in use then. */
#ifndef TESTS_GPU_GPU_RUNTIME_H
#define TESTS_GPU_GPU_RUNTIME_H

#include "cuda_runtime.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <functional>
extern "C" {
#endif

/* Each counts its own operations over all devices from 1 on and strikes at the nth. */
enum gpu_runtime_fault {
    GPU_RUNTIME_MALLOC, /* "malloc": cudaMalloc finds no memory */
    GPU_RUNTIME_PIN,    /* "pin": cudaHostAlloc finds none */
    GPU_RUNTIME_LAUNCH, /* "launch": a kernel is not launched (cudaErrorLaunchOutOfResources) */
    GPU_RUNTIME_STICKY, /* "sticky": whatever is enqueued nth (kernel, copy, host function, event) loses its
                           device when it is its turn: cudaErrorIllegalAddress, for good */
    GPU_RUNTIME_CALL,   /* "call": the nth call that enqueues something is refused (cudaErrorInvalidValue) and
                           enqueues nothing */
    GPU_RUNTIME_LOSE,   /* "lose": a host function is not called */
    GPU_RUNTIME_DOUBLE, /* "double": a host function is called twice */
    GPU_RUNTIME_HANG,   /* "hang": a kernel does not end before gpu_runtime_let_go */
    GPU_RUNTIME_FAULTS
};

struct gpu_runtime_settings {
    int devices;                      /* "devices"; 0: as without a driver's device */
    uint64_t memory_bytes;            /* "memory", of each device */
    uint32_t refused;                 /* "refused": bit i: cuda:i is there and cannot be opened */
    uint64_t seed;                    /* "seed" */
    unsigned delay_us;                /* "delay_us": each operation waits up to so long before it begins */
    uint64_t nth[GPU_RUNTIME_FAULTS]; /* 0: never */
    uint32_t permille[GPU_RUNTIME_FAULTS]; /* "malloc_permille" and so on: chance of each operation */
};

struct gpu_runtime_counts {
    uint64_t done[GPU_RUNTIME_FAULTS]; /* operations of each kind so far: what nth counts */
    uint64_t struck[GPU_RUNTIME_FAULTS];
    uint64_t streams, events, device_blocks, pinned_blocks; /* now */
    uint64_t device_bytes;
    uint64_t pinned_dirty; /* pinned blocks freed so far that were not all zero */
    uint64_t device_dirty; /* likewise device blocks */
    uint64_t waits;        /* calls so far in which the host waited for a device */
};

/* All zero but these: one device, 1 GiB, seed 1. */
struct gpu_runtime_settings gpu_runtime_defaults(void);
void gpu_runtime_configure(const struct gpu_runtime_settings *settings); /* also resets the counts */
void gpu_runtime_count(struct gpu_runtime_counts *counts);
void gpu_runtime_let_go(void);

#ifdef __cplusplus
}
/* What a kernel launch comes to: body runs on the stream's thread when its turn comes. */
cudaError_t gpu_runtime_launch(cudaStream_t stream, std::function<void()> body);
#endif
#endif
