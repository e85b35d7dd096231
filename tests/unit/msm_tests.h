/* msm_tests.h - the tests of the MSM, written once for both groups: test_msm.c defines MSM_TEST(name),
 * GROUP(name), MSM_RUN, MSM_TABLE(name), MSM_TABLE_RUN, MSM_SCRATCH_SIZE, MSM_VECTOR, MSM_TEST_LOAD and
 * includes this file twice.
 *
 * Points are small known multiples k_i of the generator, so the expected result is (sum of s_i k_i) times the
 * generator, with the sum taken in Fr: no group arithmetic beyond one multiplication stands behind it. */

struct MSM_TEST(instance) {
    GROUP(affine) multiples[MSM_MULTIPLES]; /* i * G */
    uint8_t *points;                        /* at an odd address, as in a file */
    uint8_t *scalars;
    size_t n;
    fr expected;
};

static void MSM_TEST(multiples)(struct MSM_TEST(instance) * instance)
{
    GROUP(xyzz) sum;
    GROUP(xyzz_set_infinity)(&sum);
    for (size_t i = 0; i < MSM_MULTIPLES; i++) {
        GROUP(xyzz_to_affine)(&instance->multiples[i], &sum);
        GROUP(xyzz_add_affine)(&sum, &sum, &GROUP(generator));
    }
}

/* Appends scalar * (multiple * G), the multiple negative or positive. */
static void MSM_TEST(append)(struct MSM_TEST(instance) * instance, const u256 *scalar, int multiple)
{
    GROUP(affine) point = instance->multiples[multiple < 0 ? -multiple : multiple];
    fr factor, product;
    u256 plain = {{(uint64_t)(multiple < 0 ? -multiple : multiple), 0, 0, 0}};
    CHECK(fr_from_u256(&factor, &plain));
    CHECK(fr_from_u256(&product, scalar));
    fr_mul(&product, &product, &factor);
    if (multiple < 0) {
        GROUP(affine_neg)(&point, &point);
        fr_sub(&instance->expected, &instance->expected, &product);
    } else {
        fr_add(&instance->expected, &instance->expected, &product);
    }
    GROUP(affine_store)(instance->points + instance->n * sizeof point, &point);
    u256_store_le(instance->scalars + instance->n * U256_BYTES, scalar);
    instance->n++;
}

static void MSM_TEST(expect)(const struct MSM_TEST(instance) * instance, const GROUP(xyzz) * r)
{
    GROUP(xyzz) expected;
    GROUP(affine) left, right;
    u256 plain;
    fr_to_u256(&plain, &instance->expected);
    GROUP(xyzz_from_affine)(&expected, &GROUP(generator));
    GROUP(xyzz_mul)(&expected, &expected, &plain);
    GROUP(xyzz_to_affine)(&left, r);
    GROUP(xyzz_to_affine)(&right, &expected);
    assert_true(GROUP(affine_equal)(&left, &right));
}

static void MSM_TEST(check)(const struct MSM_TEST(instance) * instance, unsigned workers)
{
    struct par threads = test_par(workers);
    struct par *par = workers == 0 ? &par_serial : &threads;
    const size_t size = (MSM_SCRATCH_SIZE(instance->n, par->workers) + 63) / 64 * 64;
    void *scratch = aligned_alloc(64, size + 64);
    assert_non_null(scratch);
    memset(scratch, 0xa5, size + 64);
    GROUP(xyzz) r;
    MSM_RUN(&r, instance->points, instance->scalars, instance->n, par, scratch);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(((uint8_t *)scratch)[size + i], 0xa5);
    }
    free(scratch);
    MSM_TEST(expect)(instance, &r);
}

/* The same with a table; small instances only, since a table is costly. */
static void MSM_TEST(check_table)(const struct MSM_TEST(instance) * instance, unsigned workers)
{
    struct par threads = test_par(workers);
    struct par *par = workers == 0 ? &par_serial : &threads;
    const struct msm_table shape = msm_table_shape(instance->n);
    const size_t size = (MSM_TABLE(scratch_size)(&shape, instance->n, par->workers) + 63) / 64 * 64;
    const size_t bytes = shape.windows * instance->n * sizeof(GROUP(affine));
    void *scratch = aligned_alloc(64, size + 64), *memory = malloc(bytes + 64);
    assert_non_null(scratch);
    assert_non_null(memory);
    memset(scratch, 0xa5, size + 64);
    memset(memory, 0xa5, bytes + 64);
    struct msm_table table;
    GROUP(xyzz) r;
    MSM_TABLE(init)(&table, instance->points, instance->n, memory, par, scratch);
    assert_int_equal(table.windows, shape.windows);
    MSM_TABLE_RUN(&r, &table, instance->points, instance->scalars, instance->n, par, scratch);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(((uint8_t *)scratch)[size + i], 0xa5);
        assert_int_equal(((uint8_t *)memory)[bytes + i], 0xa5);
    }
    free(memory);
    free(scratch);
    MSM_TEST(expect)(instance, &r);
}

static void MSM_TEST(open)(struct MSM_TEST(instance) * instance, size_t n_max)
{
    MSM_TEST(multiples)(instance);
    instance->points = (uint8_t *)malloc(n_max * sizeof(GROUP(affine)) + 1) + 1;
    instance->scalars = (uint8_t *)malloc(n_max * U256_BYTES + 3) + 3;
    assert_non_null(instance->points - 1);
    assert_non_null(instance->scalars - 3);
    instance->n = 0;
    instance->expected = fr_zero;
}

static void MSM_TEST(close)(struct MSM_TEST(instance) * instance)
{
    free(instance->points - 1);
    free(instance->scalars - 3);
}

static void MSM_TEST(matches_the_vector)(void **state)
{
    (void)state;
    const size_t n = sizeof vector_msm_scalars / sizeof *vector_msm_scalars;
    uint8_t points[300 * sizeof(GROUP(affine))], scalars[300 * U256_BYTES];
    assert_int_equal(n, 300);
    for (size_t i = 0; i < n; i++) {
        const u256 square = {{(i + 1) * (i + 1), 0, 0, 0}};
        const u256 scalar = curve_load_u256(vector_msm_scalars[i]);
        GROUP(xyzz) point;
        GROUP(affine) affine;
        GROUP(xyzz_from_affine)(&point, &GROUP(generator));
        GROUP(xyzz_mul)(&point, &point, &square);
        GROUP(xyzz_to_affine)(&affine, &point);
        GROUP(affine_store)(points + i * sizeof affine, &affine);
        u256_store_le(scalars + i * U256_BYTES, &scalar);
    }
    void *scratch = aligned_alloc(64, (MSM_SCRATCH_SIZE(n, 1) + 63) / 64 * 64);
    GROUP(xyzz) r;
    GROUP(affine) affine;
    MSM_RUN(&r, points, scalars, n, &par_serial, scratch);
    free(scratch);
    GROUP(xyzz_to_affine)(&affine, &r);
    const GROUP(affine) expected = MSM_TEST_LOAD(MSM_VECTOR);
    assert_true(GROUP(affine_equal)(&affine, &expected));
}

/* All patterns of scalars against all patterns of points, for sizes around the edges. */
static void MSM_TEST(patterns_match)(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 5, 31, 64, 300, 1000};
    struct MSM_TEST(instance) instance;
    MSM_TEST(open)(&instance, 1000);
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        for (int scalars = 0; scalars < MSM_SCALARS; scalars++) {
            for (int points = 0; points < MSM_POINTS; points++) {
                uint64_t seed = (uint64_t)scalars * 100 + (uint64_t)points;
                instance.n = 0;
                instance.expected = fr_zero;
                for (size_t i = 0; i < sizes[size]; i++) {
                    const u256 scalar = msm_test_scalar(scalars, i, &seed);
                    MSM_TEST(append)(&instance, &scalar, msm_test_multiple(points, i, &seed));
                }
                MSM_TEST(check)(&instance, points % 4);
            }
        }
    }
    MSM_TEST(close)(&instance);
}

/* Large enough for many windows' worth of chunks and for every stage of the bucket sums. */
static void MSM_TEST(large_sums_match)(void **state)
{
    (void)state;
    struct MSM_TEST(instance) instance;
    MSM_TEST(open)(&instance, MSM_LARGE);
    for (int scalars = 0; scalars < MSM_SCALARS; scalars++) {
        uint64_t seed = (uint64_t)scalars;
        instance.n = 0;
        instance.expected = fr_zero;
        for (size_t i = 0; i < MSM_LARGE; i++) {
            const u256 scalar = msm_test_scalar(scalars, i, &seed);
            MSM_TEST(append)(&instance, &scalar, msm_test_multiple(scalars % MSM_POINTS, i, &seed));
        }
        MSM_TEST(check)(&instance, 2);
    }
    MSM_TEST(close)(&instance);
}

static void MSM_TEST(tables_match)(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 7, 64, 300, 5000};
    struct MSM_TEST(instance) instance;
    MSM_TEST(open)(&instance, 5000);
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        for (int scalars = 0; scalars < MSM_SCALARS; scalars++) {
            const int points = (scalars + (int)size) % MSM_POINTS;
            uint64_t seed = (uint64_t)scalars * 100 + size;
            if (sizes[size] > 1000 && scalars != SCALARS_RANDOM && scalars != SCALARS_AROUND) {
                continue;
            }
            instance.n = 0;
            instance.expected = fr_zero;
            for (size_t i = 0; i < sizes[size]; i++) {
                const u256 scalar = msm_test_scalar(scalars, i, &seed);
                MSM_TEST(append)(&instance, &scalar, msm_test_multiple(points, i, &seed));
            }
            MSM_TEST(check_table)(&instance, (unsigned)scalars % 4);
        }
    }
    MSM_TEST(close)(&instance);
}
