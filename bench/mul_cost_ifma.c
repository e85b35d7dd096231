#include "bench/mul_cost.h"
#include "conf/check.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512ifma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512ifma")
#endif

#define MUL_COST mul_cost_ifma
#include "bench/mul_cost_lanes.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

void mul_cost_ifma(fq values[MUL_COST_CHAINS], size_t steps)
{
    (void)values;
    CHECK(steps == 0); /* no such level here */
}

#endif
