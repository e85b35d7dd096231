/* sim_model.h - what must be true of the core's effects, told a second time and independently.
 *
 * The model sees the same events as the core and then its effects, and knows nothing of its tables: it keeps
 * what each effect means for partitions, slots, lanes, circuits and memory, and fails on the first effect
 * that breaks a rule of coordinator/core.h. It is slow (it looks for the most urgent partition by looking at
 * every job). */
#ifndef TESTS_SIM_MODEL_H
#define TESTS_SIM_MODEL_H

#include "coordinator/core.h"

struct sim_model;

/* Prints the rule that was broken and ends the program; sim_core.c adds the seed. */
_Noreturn void sim_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct sim_model *sim_model_open(const struct core_settings *settings);
void sim_model_close(struct sim_model *model);

/* Before the core takes the event. */
void sim_model_event(struct sim_model *model, uint64_t now_ns, const struct core_event *event);

/* Each effect, in order, after the step. */
void sim_model_effect(struct sim_model *model, uint64_t now_ns, const struct core_effect *effect);

/* When all effects of the step were shown: nothing waits that could go on. */
void sim_model_settled(const struct sim_model *model, uint64_t now_ns, const struct core *core);

/* After DRAINED: everything ended, counts agree. */
void sim_model_finished(const struct sim_model *model, const struct core *core);

bool sim_model_drained(const struct sim_model *model);

/* One line for each job that has not ended, with what its first open partition waits for. */
void sim_model_explain(const struct sim_model *model);

#endif
