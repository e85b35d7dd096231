/* matrix_plot.h - the comparison as a picture: one SVG file a batch, a panel for each number of the table.
 *
 * A bar is a cell's median, the thin line over it its least and largest value. Nothing outside the file is
 * needed; colours follow the reader's light or dark setting. */
#ifndef BENCH_MATRIX_PLOT_H
#define BENCH_MATRIX_PLOT_H

#include "bench/matrix.h"

/* Errors of the stream are the caller's to look for. */
void matrix_plot(FILE *out, const struct matrix *matrix, unsigned batch);

#endif
