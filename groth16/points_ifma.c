/* The checks of points for CPU_IFMA. */
#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512ifma,bmi2,adx"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512ifma,bmi2,adx")
#endif

#define POINTS_LEVEL(name) name##_ifma
#include "groth16/points_lanes.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
