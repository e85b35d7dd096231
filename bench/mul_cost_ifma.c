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

#include "groth16/fq_ifma.h"

/* Here a value's words are limbs of some lane: any numbers below p do for a measurement. */
void mul_cost_ifma(fq values[MUL_COST_CHAINS], size_t steps)
{
    enum { GROUPS = MUL_COST_CHAINS / FQ8_LANES };
    fq8 chains[GROUPS], factor;
    for (int group = 0; group < GROUPS; group++) {
        lanes words[4];
        memcpy(words, &values[FQ8_LANES * group], sizeof words);
        for (int i = 0; i < 4; i++) {
            words[i] = _mm512_and_si512(words[i], fq8_word(UINT64_MAX >> 3)); /* below p */
        }
        fq8_from_words(&chains[group], words);
    }
    factor = chains[0];
    for (size_t step = 0; step < steps; step++) {
        for (int group = 0; group < GROUPS; group++) {
            fq8_mul(&chains[group], &chains[group], &factor);
        }
    }
    for (int group = 0; group < GROUPS; group++) {
        lanes words[4];
        fq8_canonical(&chains[group]);
        fq8_to_words(words, &chains[group]);
        memcpy(&values[FQ8_LANES * group], words, sizeof words);
    }
}

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
