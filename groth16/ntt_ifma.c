/* The NTT's kernels for CPU_IFMA. */
#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512ifma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512ifma")
#endif

#define NTT(name) ntt_ifma_##name
#include "groth16/ntt_lanes.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
