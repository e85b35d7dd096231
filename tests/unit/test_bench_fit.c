/* Lines through points whose lines are published: F. J. Anscombe, "Graphs in Statistical Analysis" (1973),
 * four sets with the same line y = 3.00 + 0.500 x and r2 = 0.67, to the digits printed there. */
#include "bench/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { POINTS = 11, SETS = 4 };

static const double x_common[POINTS] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
static const double x_last[POINTS] = {8, 8, 8, 8, 8, 8, 8, 19, 8, 8, 8};
static const double y[SETS][POINTS] = {
    {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68},
    {9.14, 8.14, 8.74, 8.77, 9.26, 8.10, 6.13, 3.10, 9.13, 7.26, 4.74},
    {7.46, 6.77, 12.74, 7.11, 7.81, 8.84, 6.08, 5.39, 8.15, 6.42, 5.73},
    {6.58, 5.76, 7.71, 8.84, 8.47, 7.04, 5.25, 12.50, 5.56, 7.91, 6.89},
};

static void test_anscombe(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SETS; i++) {
        struct fit fit;
        fit_line(&fit, i == SETS - 1 ? x_last : x_common, y[i], POINTS);
        assert_float_equal((float)fit.intercept, 3.00F, 0.005F);
        assert_float_equal((float)fit.slope, 0.500F, 0.0005F);
        assert_float_equal((float)fit.r2, 0.67F, 0.005F);
        assert_float_equal((float)fit_at(&fit, 20), 13.0F, 0.01F);
    }
}

static void test_exact(void **state)
{
    (void)state;
    const double x[] = {1, 2, 4, 8, 12};
    const double line[] = {-1, 1, 5, 13, 21}, flat[] = {3, 3, 3, 3, 3};
    struct fit fit;
    fit_line(&fit, x, line, 5);
    assert_float_equal((float)fit.intercept, -3.0F, 1e-6F);
    assert_float_equal((float)fit.slope, 2.0F, 1e-6F);
    assert_float_equal((float)fit.r2, 1.0F, 1e-6F);
    assert_float_equal((float)fit_at(&fit, 400), 797.0F, 1e-3F);
    fit_line(&fit, x, flat, 5);
    assert_float_equal((float)fit.slope, 0.0F, 1e-9F);
    assert_float_equal((float)fit.r2, 1.0F, 1e-9F);
}

static void test_ranks(void **state)
{
    (void)state;
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    assert_float_equal((float)fit_median(odd, 3), 3.0F, 0.0F);
    assert_float_equal((float)fit_median(even, 4), 2.5F, 0.0F);
    assert_float_equal((float)fit_percentile(one, 1, 99), 7.0F, 0.0F);
    double hundred[100];
    for (unsigned i = 0; i < 100; i++) {
        hundred[i] = 100 - i; /* 100 down to 1 */
    }
    assert_float_equal((float)fit_percentile(hundred, 100, 99), 99.0F, 0.0F);
    assert_float_equal((float)fit_percentile(hundred, 100, 50), 50.0F, 0.0F);
    assert_float_equal((float)fit_percentile(hundred, 100, 0), 1.0F, 0.0F);
    assert_float_equal((float)fit_percentile(hundred, 100, 100), 100.0F, 0.0F);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_anscombe), cmocka_unit_test(test_exact),
                                       cmocka_unit_test(test_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
