/* summary.h - the table that a batch ends with.
 *
 * A pure function of the result: it writes to the stream it is given and keeps nothing. Lines that don't
 * apply (nothing resumed, nothing failed) are left out. */
#ifndef COORDINATOR_SUMMARY_H
#define COORDINATOR_SUMMARY_H

#include "coordinator/run.h"

#include <stdio.h>

/* name: of the batch, its configuration file. width: columns at which reasons of failures are wrapped between
 * words; 0: not at all. */
void summary_print(FILE *out, const struct run_result *result, const char *name, unsigned width);

#endif
