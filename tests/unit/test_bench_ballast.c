/* A small ballast: as much resident as asked for, less after a trim, and its share of chunks freed. */
#include "bench/ballast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void test_frees_its_share(void **state)
{
    (void)state;
    for (unsigned percent = 0; percent <= 100; percent++) {
        for (size_t begin = 0; begin < 300; begin += 37) { /* any hundred in a row */
            unsigned freed = 0;
            for (size_t chunk = begin; chunk < begin + 100; chunk++) {
                freed += ballast_frees(percent, chunk);
            }
            assert_int_equal(freed, percent);
        }
    }
    for (size_t chunk = 0; chunk < 100; chunk++) { /* half: every other one, so that none merge */
        assert_true(ballast_frees(50, chunk) != ballast_frees(50, chunk + 1));
    }
}

static void test_fills(void **state)
{
    (void)state;
    static struct ballast ballast;
    struct ballast_settings settings;
    struct error error;
    ballast_defaults(&settings);
    settings.bytes = UINT64_C(24) << 20;
    settings.arenas = 3;
    assert_int_equal(ballast_init(&ballast, &settings, &error), ERROR_NONE);
    uint64_t kept[BALLAST_SIZES_MAX] = {0}, all[BALLAST_SIZES_MAX] = {0}, bytes = 0;
    for (unsigned i = 0; i < settings.arenas; i++) {
        const struct ballast_arena *arena = &ballast.arenas[i];
        for (size_t j = 0; j < arena->count; j++) {
            kept[j % settings.sizes_count] += arena->chunks[j] != NULL;
            all[j % settings.sizes_count]++;
            bytes += settings.sizes[j % settings.sizes_count];
        }
    }
    assert_true(bytes > settings.bytes - (UINT64_C(1) << 20) && bytes < settings.bytes + (UINT64_C(1) << 20));
    for (unsigned i = 0; i < settings.sizes_count; i++) { /* of each size, not only of the small ones */
        assert_true(all[i] > 100);
        assert_in_range(kept[i] * 100 / all[i], 48, 52);
    }
    ballast_deinit(&ballast);
    assert_int_equal(ballast.arenas_count, 0);
}

static void test_refuses_too_much(void **state)
{
    (void)state;
    static struct ballast ballast;
    struct ballast_settings settings;
    struct error error;
    ballast_defaults(&settings);
    settings.bytes = UINT64_C(1) << 60;
    assert_int_equal(ballast_init(&ballast, &settings, &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "choose a smaller one"));
    settings.bytes = 0;
    assert_int_equal(ballast_init(&ballast, &settings, &error), ERROR_NONE);
    ballast_deinit(&ballast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frees_its_share), cmocka_unit_test(test_fills),
                                       cmocka_unit_test(test_refuses_too_much)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
