#include "bench/mul_cost.h"

#include "conf/check.h"

#include <time.h>

enum { RUNS = 9, STEPS = 10000 };

double mul_cost_thread_seconds(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void mul_cost_portable(fq values[MUL_COST_CHAINS], size_t steps)
{
    const fq factor = fq_r2;
    for (size_t step = 0; step < steps; step++) {
        for (int i = 0; i < MUL_COST_CHAINS; i++) {
            fq_mul(&values[i], &values[i], &factor);
        }
    }
}

double mul_cost(enum cpu_level level)
{
    void (*const runs[CPU_LEVELS])(fq *, size_t) = {[CPU_PORTABLE] = mul_cost_portable,
                                                    [CPU_ADX] = mul_cost_adx,
                                                    [CPU_FMA] = mul_cost_fma,
                                                    [CPU_IFMA] = mul_cost_ifma};
    fq values[MUL_COST_CHAINS];
    double best = 1;
    CHECK(level <= cpu_level());
    for (int i = 0; i < MUL_COST_CHAINS; i++) {
        values[i] = i == 0 ? fq_r2 : values[i - 1];
        fq_dbl(&values[i], &values[i]);
    }
    for (int run = 0; run < RUNS; run++) {
        const double begin = mul_cost_thread_seconds();
        runs[level](values, STEPS);
        const double spent = (mul_cost_thread_seconds() - begin) / (STEPS * (double)MUL_COST_CHAINS);
        best = spent < best ? spent : best;
    }
    CHECK(!fq_is_zero(&values[0])); /* and so the work can't be left out */
    return best;
}
