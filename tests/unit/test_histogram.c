#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/histogram.h"
#include "tests/sim/sim_random.h"

#include <stdlib.h>
#include <string.h>

static struct histogram histogram;

static void test_empty(void **state)
{
    (void)state;
    memset(&histogram, 0, sizeof histogram);
    assert_int_equal(histogram_value(&histogram, 500), 0);
}

/* The value found lies within 2% of the one put in (exactly, when small), over the whole range. */
static void test_one_value_comes_back(void **state)
{
    (void)state;
    struct sim_random random;
    sim_random_init(&random, 1);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t value = i < 1000 ? i : sim_random_word(&random) >> (i % 64);
        value = i == 1000 ? UINT64_MAX : value;
        memset(&histogram, 0, sizeof histogram);
        histogram_add(&histogram, value);
        uint64_t found = histogram_value(&histogram, 1000);
        uint64_t distance = found > value ? found - value : value - found;
        assert_true(distance <= value / 100);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Against sorting: nearest rank. */
static void test_percentiles_match_sorting(void **state)
{
    (void)state;
    enum { VALUES = 5000 };
    static uint64_t values[VALUES];
    struct sim_random random;
    sim_random_init(&random, 2);
    memset(&histogram, 0, sizeof histogram);
    for (unsigned i = 0; i < VALUES; i++) {
        values[i] = sim_random_between(&random, 1000, 1000000) * sim_random_between(&random, 1, 1000);
        histogram_add(&histogram, values[i]);
    }
    qsort(values, VALUES, sizeof values[0], compare);
    const unsigned permilles[] = {1, 10, 500, 900, 950, 990, 999, 1000};
    for (unsigned i = 0; i < sizeof permilles / sizeof permilles[0]; i++) {
        uint64_t rank = ((uint64_t)VALUES * permilles[i] + 999) / 1000;
        uint64_t expected = values[rank - 1];
        uint64_t found = histogram_value(&histogram, permilles[i]);
        assert_in_range(found, expected - expected / 50, expected + expected / 50);
    }
    assert_true(histogram_value(&histogram, 0) <= histogram_value(&histogram, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_one_value_comes_back),
        cmocka_unit_test(test_percentiles_match_sorting),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
