/* The checks of points for CPU_FMA. */
#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi2,adx"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi2,adx")
#endif

#define LANES_FMA
#define POINTS_LEVEL(name) name##_fma
#include "groth16/points_lanes.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
