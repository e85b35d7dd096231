/* group_tests.h - the tests of a curve group, written once: test_g1.c and test_g2.c define GROUP(name),
 * GROUP_TESTS_LOAD, GROUP_VECTORS, GROUP_COORDINATES (strings of an affine point), GROUP_EXTRA (a list of
 * more tests, each with a comma) and include this file. */

enum {
    GROUP_ROW = 2 + 5 * GROUP_COORDINATES,
    GROUP_ROWS = sizeof GROUP_VECTORS / sizeof *GROUP_VECTORS / GROUP_ROW
};

static const GROUP(affine) infinity;

static void assert_point(const GROUP(xyzz) * point, const GROUP(affine) * expected)
{
    GROUP(affine) affine;
    GROUP(xyzz_to_affine)(&affine, point);
    assert_true(GROUP(affine_equal)(&affine, expected));
    assert_true(GROUP(affine_on_curve)(&affine));
}

static const char *const *group_row(size_t row, size_t point)
{
    return &GROUP_VECTORS[row * GROUP_ROW + 2 + point * GROUP_COORDINATES];
}

/* The same point in other coordinates, so that no formula can rely on zz = 1. */
static GROUP(xyzz) group_disguise(const GROUP(affine) * a)
{
    GROUP(xyzz) r, generator;
    GROUP(affine) negated;
    GROUP(affine_neg)(&negated, &GROUP(generator));
    GROUP(xyzz_from_affine)(&r, a);
    GROUP(xyzz_from_affine)(&generator, &GROUP(generator));
    GROUP(xyzz_add)(&r, &r, &generator);
    GROUP(xyzz_add_affine)(&r, &r, &negated);
    return r;
}

static void multiples_match_the_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < GROUP_ROWS; i++) {
        const u256 k = curve_load_u256(GROUP_VECTORS[i * GROUP_ROW]);
        const u256 l = curve_load_u256(GROUP_VECTORS[i * GROUP_ROW + 1]);
        const GROUP(affine) p = GROUP_TESTS_LOAD(group_row(i, 0));
        const GROUP(affine) q = GROUP_TESTS_LOAD(group_row(i, 1));
        GROUP(xyzz) r;
        GROUP(xyzz_from_affine)(&r, &GROUP(generator));
        GROUP(xyzz_mul)(&r, &r, &k);
        assert_point(&r, &p);
        GROUP(xyzz_from_affine)(&r, &GROUP(generator));
        GROUP(xyzz_mul)(&r, &r, &l);
        assert_point(&r, &q);
    }
}

static void sums_match_the_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < GROUP_ROWS; i++) {
        const GROUP(affine) p = GROUP_TESTS_LOAD(group_row(i, 0));
        const GROUP(affine) q = GROUP_TESTS_LOAD(group_row(i, 1));
        const GROUP(affine) sum = GROUP_TESTS_LOAD(group_row(i, 2));
        const GROUP(affine) doubled = GROUP_TESTS_LOAD(group_row(i, 3));
        const GROUP(affine) difference = GROUP_TESTS_LOAD(group_row(i, 4));
        const GROUP(xyzz) hidden_p = group_disguise(&p);
        const GROUP(xyzz) hidden_q = group_disguise(&q);
        GROUP(xyzz) r;
        GROUP(affine) negated;
        GROUP(xyzz_add)(&r, &hidden_p, &hidden_q);
        assert_point(&r, &sum);
        GROUP(xyzz_add_affine)(&r, &hidden_p, &q);
        assert_point(&r, &sum);
        GROUP(xyzz_dbl)(&r, &hidden_p);
        assert_point(&r, &doubled);
        GROUP(xyzz_neg)(&r, &hidden_q);
        GROUP(xyzz_add)(&r, &r, &hidden_p);
        assert_point(&r, &difference);
        GROUP(affine_neg)(&negated, &q);
        GROUP(xyzz_add_affine)(&r, &hidden_p, &negated);
        assert_point(&r, &difference);
    }
}

static void equal_and_opposite_points_add(void **state)
{
    (void)state;
    const GROUP(affine) p = GROUP_TESTS_LOAD(group_row(0, 0));
    const GROUP(affine) doubled = GROUP_TESTS_LOAD(group_row(0, 3));
    const GROUP(xyzz) hidden = group_disguise(&p);
    GROUP(affine) negated;
    GROUP(xyzz) plain, r;
    GROUP(xyzz_from_affine)(&plain, &p);
    GROUP(affine_neg)(&negated, &p);
    GROUP(xyzz_add)(&r, &hidden, &plain);
    assert_point(&r, &doubled);
    GROUP(xyzz_add_affine)(&r, &hidden, &p);
    assert_point(&r, &doubled);
    GROUP(xyzz_neg)(&r, &hidden);
    GROUP(xyzz_add)(&r, &r, &plain);
    assert_true(GROUP(xyzz_is_infinity)(&r));
    GROUP(xyzz_add_affine)(&r, &hidden, &negated);
    assert_true(GROUP(xyzz_is_infinity)(&r));
    assert_point(&r, &infinity);
}

static void infinity_is_neutral(void **state)
{
    (void)state;
    const GROUP(affine) p = GROUP_TESTS_LOAD(group_row(1, 0));
    const GROUP(xyzz) hidden = group_disguise(&p);
    GROUP(xyzz) nothing, r;
    GROUP(affine) negated;
    GROUP(xyzz_set_infinity)(&nothing);
    GROUP(xyzz_add)(&r, &hidden, &nothing);
    assert_point(&r, &p);
    GROUP(xyzz_add)(&r, &nothing, &hidden);
    assert_point(&r, &p);
    GROUP(xyzz_add_affine)(&r, &nothing, &p);
    assert_point(&r, &p);
    GROUP(xyzz_add_affine)(&r, &hidden, &infinity);
    assert_point(&r, &p);
    GROUP(xyzz_dbl)(&r, &nothing);
    assert_true(GROUP(xyzz_is_infinity)(&r));
    GROUP(xyzz_from_affine)(&r, &infinity);
    assert_true(GROUP(xyzz_is_infinity)(&r));
    GROUP(xyzz_add)(&r, &r, &nothing);
    assert_true(GROUP(xyzz_is_infinity)(&r));
    GROUP(affine_neg)(&negated, &infinity);
    assert_true(GROUP(affine_is_infinity)(&negated));
    assert_true(GROUP(affine_on_curve)(&infinity));
}

static void order_times_a_point_is_infinity(void **state)
{
    (void)state;
    const GROUP(affine) p = GROUP_TESTS_LOAD(group_row(2, 0));
    GROUP(xyzz) point, r;
    GROUP(xyzz_from_affine)(&point, &p);
    GROUP(xyzz_mul)(&r, &point, &fr_modulus);
    assert_true(GROUP(xyzz_is_infinity)(&r));
    GROUP(xyzz_mul)(&r, &point, &(u256){{0, 0, 0, 0}});
    assert_true(GROUP(xyzz_is_infinity)(&r));
    u256 above = fr_modulus;
    above.w[0]++;
    GROUP(xyzz_mul)(&r, &point, &above);
    assert_point(&r, &p);
}

static void points_off_the_curve_are_seen(void **state)
{
    (void)state;
    GROUP(affine) p = GROUP_TESTS_LOAD(group_row(3, 0));
    assert_true(GROUP(affine_on_curve)(&p));
    assert_true(GROUP(affine_on_curve)(&GROUP(generator)));
    p.x = p.y;
    assert_false(GROUP(affine_on_curve)(&p));
}

static void packed_points_keep_their_bytes(void **state)
{
    (void)state;
    uint8_t bytes[1 + sizeof(GROUP(affine))], back[sizeof(GROUP(affine))];
    const GROUP(affine) p = GROUP_TESTS_LOAD(group_row(4, 0));
    GROUP(affine) loaded;
    GROUP(affine_store)(bytes + 1, &p);
    assert_true(GROUP(affine_load)(&loaded, bytes + 1));
    assert_true(GROUP(affine_equal)(&loaded, &p));
    GROUP(affine_store)(back, &loaded);
    assert_memory_equal(back, bytes + 1, sizeof back);
    for (size_t word = 0; word < sizeof back; word += U256_BYTES) {
        u256_store_le(back + word, &fq_modulus);
        assert_false(GROUP(affine_load)(&loaded, back));
        memcpy(back, bytes + 1, sizeof back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_EXTRA cmocka_unit_test(multiples_match_the_vectors),
        cmocka_unit_test(sums_match_the_vectors),
        cmocka_unit_test(equal_and_opposite_points_add),
        cmocka_unit_test(infinity_is_neutral),
        cmocka_unit_test(order_times_a_point_is_infinity),
        cmocka_unit_test(points_off_the_curve_are_seen),
        cmocka_unit_test(packed_points_keep_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
