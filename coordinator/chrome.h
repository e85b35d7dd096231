/* chrome.h - a trace as JSON in the Trace Event Format that chrome://tracing and Perfetto's web page open.
 *
 * Processes are the devices (a track for each lane), the program (coordinator, workers, lock) and counters of
 * memory; times are microseconds from the start of the run with three decimals, so no nanosecond is lost.
 * Format: "Trace Event Format", complete ("X"), counter ("C") and metadata ("M") events. Beyond
 * CHROME_EVENTS_MAX events the rest is left out and a metadata event says so, since viewers can't load more.
 */
#ifndef COORDINATOR_CHROME_H
#define COORDINATOR_CHROME_H

#include "coordinator/trace_read.h"

#include <stdio.h>

enum { CHROME_EVENTS_MAX = 2000000 };

/* Errors of `out` are the caller's to look for. */
void chrome_write(FILE *out, const struct trace_read *read);

#endif
