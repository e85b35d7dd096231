#include "bench/mul_cost.h"
#include "conf/check.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define LANES_FMA
#define MUL_COST mul_cost_fma
#include "bench/mul_cost_lanes.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

void mul_cost_fma(fq values[MUL_COST_CHAINS], size_t steps)
{
    (void)values;
    CHECK(steps == 0); /* no such level here */
}

#endif
