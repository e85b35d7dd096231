#include "bench/fit.h"

#include "conf/check.h"

#include <stdlib.h>

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum / (double)count;
}

void fit_line(struct fit *fit, const double *x, const double *y, size_t count)
{
    CHECK(count >= 2);
    const double x_mean = mean(x, count), y_mean = mean(y, count);
    double xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < count; i++) {
        const double dx = x[i] - x_mean, dy = y[i] - y_mean;
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    CHECK(xx > 0);
    fit->slope = xy / xx;
    fit->intercept = y_mean - fit->slope * x_mean;
    fit->r2 = yy > 0 ? xy * xy / (xx * yy) : 1;
}

double fit_at(const struct fit *fit, double x)
{
    return fit->intercept + fit->slope * x;
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double fit_median(double *values, size_t count)
{
    CHECK(count >= 1);
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double fit_percentile(double *values, size_t count, unsigned percent)
{
    CHECK(count >= 1 && percent <= 100);
    qsort(values, count, sizeof *values, compare);
    size_t rank = (count * percent + 99) / 100;
    return values[rank > 0 ? rank - 1 : 0];
}
