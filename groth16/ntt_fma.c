/* The NTT's kernels for CPU_FMA. */
#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define LANES_FMA
#define NTT(name) ntt_fma_##name
#include "groth16/ntt_lanes.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
