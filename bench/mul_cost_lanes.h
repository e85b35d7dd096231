/* mul_cost_lanes.h - mul_cost of a level with eight-lane arithmetic; mul_cost_ifma.c and mul_cost_fma.c
 * define MUL_COST, the function's name, and include this inside their target regions. */

#include "groth16/fq_lanes.h"

/* Here a value's words are limbs of some lane: any numbers below p do for a measurement. */
static __attribute__((noinline)) void run_steps(fq values[MUL_COST_CHAINS], size_t steps)
{
    enum { GROUPS = MUL_COST_CHAINS / LANES };
    fq8 chains[GROUPS], factor;
    for (int group = 0; group < GROUPS; group++) {
        lanes words[4];
        memcpy(words, &values[LANES * group], sizeof words);
        for (int i = 0; i < 4; i++) {
            words[i] = lanes_and(words[i], lanes_word(UINT64_MAX >> 3)); /* below p */
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
        memcpy(&values[LANES * group], words, sizeof words);
    }
}

void MUL_COST(fq values[MUL_COST_CHAINS], size_t steps)
{
    const unsigned before = lanes_begin();
    run_steps(values, steps);
    lanes_end(before);
}
