/* report_svg.h - what the charts of a report share: size, axes, colours by class, text that is escaped.
 *
 * A chart has the coordinates of its viewBox, REPORT_SVG_WIDTH wide, and draws within the plot that
 * report_svg_begin leaves room for. Colours are classes of the page's style: "k-busy", "k-" and a suspect's
 * word, "k-phase-" and a phase's. */
#ifndef COORDINATOR_REPORT_SVG_H
#define COORDINATOR_REPORT_SVG_H

#include "coordinator/explain.h"

#include <stdio.h>

enum {
    REPORT_SVG_WIDTH = 1000,
    REPORT_SVG_LEFT = 64, /* of the plot */
    REPORT_SVG_TOP = 10,
    REPORT_SVG_PLOT = REPORT_SVG_WIDTH - REPORT_SVG_LEFT - 16,
    REPORT_SVG_AXIS = 26 /* room below the plot */
};

/* &, <, > and quotes as entities. */
void report_svg_text(FILE *out, const char *text);

void report_svg_begin(FILE *out, unsigned plot_height, const char *label);
void report_svg_end(FILE *out);

/* Ticks and labels below the plot, from 0 to span_ns. */
void report_svg_time_axis(FILE *out, unsigned plot_height, uint64_t span_ns);

/* Lines across the plot with a label each, from 0 to max; bytes with units. Returns the value at the plot's
 * top. */
uint64_t report_svg_bytes_axis(FILE *out, unsigned plot_height, uint64_t max);
void report_svg_percent_axis(FILE *out, unsigned plot_height);
uint64_t report_svg_count_axis(FILE *out, unsigned plot_height, uint64_t max);

/* Where a time within span_ns lies. */
double report_svg_x(uint64_t ns, uint64_t span_ns);

/* Charts; each writes an <svg>, or a sentence if there is nothing to draw. False: no memory. */
bool report_timeline(FILE *out, const struct explain *explain, unsigned device);
bool report_waterfall(FILE *out, const struct explain *explain);
bool report_latency(FILE *out, const struct explain *explain);
bool report_memory(FILE *out, const struct explain *explain);

#endif
