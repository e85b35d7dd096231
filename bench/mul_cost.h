/* mul_cost.h - what one multiplication in Fq costs here when many independent ones follow each other.
 *
 * That is the unit in which bench_floor states what a proof needs at least. Chains that depend on nothing but
 * themselves run side by side (eight of them, or four of eight lanes), so the figure is a throughput, not a
 * latency. Processor time of the calling thread, the best of several runs. */
#ifndef BENCH_MUL_COST_H
#define BENCH_MUL_COST_H

#include "groth16/cpu.h"
#include "groth16/fq.h"

#include <stddef.h>

enum { MUL_COST_CHAINS = 32 };

/* Seconds for one multiplication at a level, which must not be above cpu_level(). About 0.1 s. */
double mul_cost(enum cpu_level level);

/* Raises every value to a power that only `steps` decides: MUL_COST_CHAINS multiplications a step. */
void mul_cost_portable(fq values[MUL_COST_CHAINS], size_t steps);
void mul_cost_adx(fq values[MUL_COST_CHAINS], size_t steps);
void mul_cost_fma(fq values[MUL_COST_CHAINS], size_t steps);
void mul_cost_ifma(fq values[MUL_COST_CHAINS], size_t steps);

/* Processor time of the calling thread. */
double mul_cost_thread_seconds(void);

#endif
