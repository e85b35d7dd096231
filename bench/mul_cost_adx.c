#define MONT_ADX
#include "bench/mul_cost.h"

void mul_cost_adx(fq values[MUL_COST_CHAINS], size_t steps)
{
    const fq factor = fq_r2;
    for (size_t step = 0; step < steps; step++) {
        for (int i = 0; i < MUL_COST_CHAINS; i++) {
            fq_mul(&values[i], &values[i], &factor);
        }
    }
}
