#include "groth16/msm.h"

#include "curve_load.h"
#include "curve_vectors.h"
#include "test_par.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MSM_MULTIPLES = 257, MSM_LARGE = 70001 };

enum {
    SCALARS_RANDOM,
    SCALARS_ZERO,
    SCALARS_ONE,
    SCALARS_MINUS_ONE,
    SCALARS_EQUAL,
    SCALARS_BITS,    /* a hash circuit's witness: almost all 0 or 1 */
    SCALARS_SMALL,   /* 0 to 255 */
    SCALARS_AROUND,  /* small and small negative ones */
    SCALARS_HALVES,  /* digits of exactly half a window, where the sign turns */
    SCALARS_ONE_BIG, /* one bucket gets nearly everything */
    MSM_SCALARS
};

enum {
    POINTS_MIXED,
    POINTS_EQUAL,
    POINTS_OPPOSITE, /* pairs that cancel */
    POINTS_INFINITE,
    POINTS_SOME_INFINITE,
    MSM_POINTS
};

static u256 msm_test_minus(uint64_t small)
{
    u256 r = fr_modulus;
    if (small == 0) {
        return (u256){{0, 0, 0, 0}};
    }
    r.w[0] -= small; /* the lowest word of r is larger than any small number used here */
    return r;
}

static u256 msm_test_scalar(int pattern, size_t index, uint64_t *seed)
{
    const uint64_t random = curve_random(seed);
    switch (pattern) {
    case SCALARS_RANDOM:
        return curve_random_below(seed, &fr_modulus);
    case SCALARS_ZERO:
        return (u256){{0, 0, 0, 0}};
    case SCALARS_ONE:
        return (u256){{1, 0, 0, 0}};
    case SCALARS_MINUS_ONE:
        return msm_test_minus(1);
    case SCALARS_EQUAL:
        return (u256){{0x123456789abcdef0, 0x0fedcba987654321, 0x5555aaaa5555aaaa, 0x2222222222222222}};
    case SCALARS_BITS:
        return random % 16 == 0 ? curve_random_below(seed, &fr_modulus) : (u256){{random >> 8 & 1, 0, 0, 0}};
    case SCALARS_SMALL:
        return (u256){{random & 255, 0, 0, 0}};
    case SCALARS_AROUND:
        return random & 1 ? msm_test_minus(random >> 1 & 63) : (u256){{random >> 1 & 63, 0, 0, 0}};
    case SCALARS_HALVES: {
        u256 r = {{0, 0, 0, 0}};
        const unsigned bit = (unsigned)(random % 253);
        r.w[bit / 64] = 1ull << bit % 64;
        return r;
    }
    default: /* SCALARS_ONE_BIG */
        return index % 50 == 0 ? curve_random_below(seed, &fr_modulus) : (u256){{77, 77, 77, 0}};
    }
}

static int msm_test_multiple(int pattern, size_t index, uint64_t *seed)
{
    const int random = (int)(curve_random(seed) % (2 * MSM_MULTIPLES - 1)) - (MSM_MULTIPLES - 1);
    switch (pattern) {
    case POINTS_MIXED:
        return random == 0 ? 1 : random;
    case POINTS_EQUAL:
        return 5;
    case POINTS_OPPOSITE:
        return index % 2 == 0 ? 7 : -7;
    case POINTS_INFINITE:
        return 0;
    default: /* POINTS_SOME_INFINITE */
        return index % 3 == 0 ? 0 : random;
    }
}

#define MSM_TEST(name)   g1_##name
#define GROUP(name)      g1_##name
#define MSM_RUN          msm_g1
#define MSM_TABLE(name)  msm_g1_table_##name
#define MSM_TABLE_RUN    msm_g1_table
#define MSM_SCRATCH_SIZE msm_g1_scratch_size
#define MSM_VECTOR       vector_g1_msm
#define MSM_TEST_LOAD    curve_load_g1
#include "msm_tests.h"
#undef MSM_TEST
#undef GROUP
#undef MSM_RUN
#undef MSM_TABLE
#undef MSM_TABLE_RUN
#undef MSM_SCRATCH_SIZE
#undef MSM_VECTOR
#undef MSM_TEST_LOAD

#define MSM_TEST(name)   g2_##name
#define GROUP(name)      g2_##name
#define MSM_RUN          msm_g2
#define MSM_TABLE(name)  msm_g2_table_##name
#define MSM_TABLE_RUN    msm_g2_table
#define MSM_SCRATCH_SIZE msm_g2_scratch_size
#define MSM_VECTOR       vector_g2_msm
#define MSM_TEST_LOAD    curve_load_g2
#include "msm_tests.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(g1_matches_the_vector), cmocka_unit_test(g2_matches_the_vector),
        cmocka_unit_test(g1_patterns_match),     cmocka_unit_test(g2_patterns_match),
        cmocka_unit_test(g1_tables_match),       cmocka_unit_test(g2_tables_match),
        cmocka_unit_test(g1_large_sums_match),   cmocka_unit_test(g2_large_sums_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
