/* report.h - a run as one self-contained HTML page.
 *
 * The page needs nothing from outside and no script: inline SVG and style, light and dark by the reader's
 * preference, details of each mark as its tooltip. From top to bottom: what happened in a sentence, how busy
 * each device was over time and what for not, the reasons ranked, the worst gaps, partitions as a waterfall,
 * latencies, memory and trims. Its size is bounded, whatever the trace's: time is drawn in REPORT_COLUMNS
 * columns, partitions beyond REPORT_ROWS_MAX are sampled evenly. Text from the trace is escaped.
 *
 * Main thread of a command; reads the explained trace only. */
#ifndef COORDINATOR_REPORT_H
#define COORDINATOR_REPORT_H

#include "conf/error.h"
#include "coordinator/explain.h"

#include <stdio.h>

enum { REPORT_COLUMNS = 250, REPORT_ROWS_MAX = 200 };

/* ERROR_SYSTEM: no memory. Errors of `out` are the caller's to look for. */
enum error_code ERROR_MUST_USE report_html(FILE *out, const struct explain *explain, const char *name,
                                           struct error *error);

#endif
