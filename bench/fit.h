/* fit.h - the straight line through measured points, by least squares.
 *
 * Pure; any thread. Used to say how a trim's time grows with the heap, and what that would mean for a heap
 * that doesn't fit here: an extrapolation, which whoever prints it must call one. */
#ifndef BENCH_FIT_H
#define BENCH_FIT_H

#include <stddef.h>

struct fit {
    double intercept, slope;
    double r2; /* share of the variance that the line explains; 1 if there is none to explain */
};

/* count: at least 2, with at least two different x. */
void fit_line(struct fit *fit, const double *x, const double *y, size_t count);

double fit_at(const struct fit *fit, double x);

/* The value in the middle of the sorted values (the mean of two); sorts the array. count: at least 1. */
double fit_median(double *values, size_t count);

/* The smallest value that at least `percent` of the values do not exceed (nearest rank); sorts the array. */
double fit_percentile(double *values, size_t count, unsigned percent);

#endif
