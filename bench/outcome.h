/* outcome.h - what is compared of one run, whichever pipeline made it.
 *
 * Computed from the run's trace by the code of `uzk explain`, so that the baseline and uzk are measured with
 * one ruler. A driver prints it for people, or as one line for the program that compares many runs. */
#ifndef BENCH_OUTCOME_H
#define BENCH_OUTCOME_H

#include "conf/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum outcome_number {
    OUTCOME_DONE, /* partitions */
    OUTCOME_FAILED,
    OUTCOME_SPAN_S,       /* the backlog's time */
    OUTCOME_RATE,         /* partitions a second of it */
    OUTCOME_BUSY_PERCENT, /* of it, all devices */
    OUTCOME_GAP_P99_MS,   /* of the gaps between two computations */
    OUTCOME_GAP_MAX_MS,
    OUTCOME_LATENCY_P50_S, /* of a partition, from reading to recorded */
    OUTCOME_LATENCY_P99_S,
    OUTCOME_TRIMS,
    OUTCOME_TRIM_TOTAL_MS,
    OUTCOME_TRIM_P50_MS,
    OUTCOME_TRIM_MAX_MS,
    OUTCOME_TRIMMED_MIB,
    OUTCOME_LOCK_TRIM_PERCENT, /* of the idle time: waits for the tracker's lock while its holder trimmed */
    OUTCOME_NOT_LOCK_TRIM_BUSY_PERCENT, /* utilization without those, as estimated */
    OUTCOME_RSS_PEAK_MIB,               /* while it ran */
    OUTCOME_RSS_SETTLED_MIB,            /* half a second after it ended */
    OUTCOME_NUMBERS
};

struct outcome {
    double numbers[OUTCOME_NUMBERS];
};

/* Reads the trace; what only the driver knows (done, failed, the settled size) is taken from here. The caller
 * has waited if it wants a settled size. */
enum error_code ERROR_MUST_USE outcome_measure(struct outcome *outcome, const char *trace, uint32_t done,
                                               uint32_t failed, struct error *error);

/* A table, one number a line. */
void outcome_print(FILE *out, const struct outcome *outcome);

/* One line that outcome_read takes. */
void outcome_write(FILE *out, const struct outcome *outcome);

/* False: no such line. Lines before it are skipped. */
bool outcome_read(FILE *in, struct outcome *outcome);

const char *outcome_label(enum outcome_number number);

#endif
