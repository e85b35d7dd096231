#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groth16/pairing.h"
#include "tests/unit/pairing_load.h"
#include "tests/unit/pairing_vectors.h"

static void assert_fq12(const fq12 *found, const char *const *expected)
{
    fq12 value = load_fq12(expected);
    assert_true(fq12_equal(found, &value));
}

static g1_affine vector_p(void)
{
    g1_affine p;
    load_fq(&p.x, vector_pairing_p[0]);
    load_fq(&p.y, vector_pairing_p[1]);
    return p;
}

static g2_affine vector_q(void)
{
    g2_affine q;
    load_fq2(&q.x, vector_pairing_q);
    load_fq2(&q.y, vector_pairing_q + 2);
    return q;
}

static g1_affine g1_times(const g1_affine *p, uint64_t scalar)
{
    g1_xyzz sum;
    g1_affine r;
    g1_xyzz_from_affine(&sum, p);
    g1_xyzz_mul(&sum, &sum, &(u256){{scalar, 0, 0, 0}});
    g1_xyzz_to_affine(&r, &sum);
    return r;
}

static g2_affine g2_times(const g2_affine *q, uint64_t scalar)
{
    g2_xyzz sum;
    g2_affine r;
    g2_xyzz_from_affine(&sum, q);
    g2_xyzz_mul(&sum, &sum, &(u256){{scalar, 0, 0, 0}});
    g2_xyzz_to_affine(&r, &sum);
    return r;
}

static void test_values(void **state)
{
    (void)state;
    fq12 value;
    pairing(&value, &g1_generator, &g2_generator);
    assert_fq12(&value, vector_pairing_generators);
    g1_affine p = vector_p();
    g2_affine q = vector_q();
    pairing(&value, &p, &q);
    assert_fq12(&value, vector_pairing_p_q);
}

static void test_final_exponentiation(void **state)
{
    (void)state;
    fq12 value = load_fq12(vector_fq12_a);
    pairing_final_exponentiation(&value, &value);
    assert_fq12(&value, vector_pairing_last_of_a);
    fq12 zero = {0};
    pairing_final_exponentiation(&value, &zero);
    assert_true(fq12_equal(&value, &zero));
}

static void test_bilinear(void **state)
{
    (void)state;
    g1_affine p = vector_p(), p6 = g1_times(&p, 6);
    g2_affine q = vector_q(), q35 = g2_times(&q, 35);
    fq12 value, power;
    pairing(&value, &p, &q);
    fq12_set_one(&power);
    for (int i = 0; i < 210; i++) {
        fq12_mul(&power, &power, &value);
    }
    pairing(&value, &p6, &q35);
    assert_true(fq12_equal(&value, &power));
    assert_false(fq12_is_one(&value));
}

static void test_order(void **state)
{
    (void)state;
    /* The conjugate of a value is its inverse, and -P has the inverse value. */
    g1_affine p = vector_p(), negative;
    g2_affine q = vector_q();
    fq12 value, inverse;
    pairing(&value, &p, &q);
    g1_affine_neg(&negative, &p);
    pairing(&inverse, &negative, &q);
    fq12_mul(&inverse, &inverse, &value);
    assert_true(fq12_is_one(&inverse));
    fq12_conj(&inverse, &value);
    fq12_mul(&value, &value, &inverse);
    assert_true(fq12_is_one(&value));
}

/* e(P, 2Q) e(3P, Q) e(-5P, Q) = 1, and not with another last factor. */
static void test_product(void **state)
{
    (void)state;
    g1_affine p = vector_p();
    g2_affine q = vector_q(), q2 = g2_times(&q, 2);
    struct pairing_prepared prepared, doubled;
    pairing_prepare(&prepared, &q);
    pairing_prepare(&doubled, &q2);
    const struct pairing_prepared *const lines[] = {&doubled, &prepared, &prepared};
    g1_affine points[3] = {p, g1_times(&p, 3), g1_times(&p, 5)};
    g1_affine_neg(&points[2], &points[2]);
    fq12 value;
    pairing_miller(&value, points, lines, 3);
    pairing_final_exponentiation(&value, &value);
    assert_true(fq12_is_one(&value));
    points[2] = p;
    pairing_miller(&value, points, lines, 3);
    pairing_final_exponentiation(&value, &value);
    assert_false(fq12_is_one(&value));
}

static void test_infinity(void **state)
{
    (void)state;
    const g1_affine p0 = {.x = fq_zero};
    const g2_affine q0 = {.x = {.c0 = fq_zero}};
    g1_affine p = vector_p();
    g2_affine q = vector_q();
    fq12 value;
    pairing(&value, &p0, &q);
    assert_true(fq12_is_one(&value));
    pairing(&value, &p, &q0);
    assert_true(fq12_is_one(&value));
    pairing(&value, &p0, &q0);
    assert_true(fq12_is_one(&value));

    struct pairing_prepared prepared, nothing;
    pairing_prepare(&prepared, &q);
    pairing_prepare(&nothing, &q0);
    const struct pairing_prepared *const lines[] = {&nothing, &prepared, &prepared};
    pairing_miller(&value, (const g1_affine[]){p, p, p0}, lines, 3);
    pairing_final_exponentiation(&value, &value);
    assert_fq12(&value, vector_pairing_p_q);
    pairing_miller(&value, NULL, NULL, 0);
    assert_true(fq12_is_one(&value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_final_exponentiation),
        cmocka_unit_test(test_bilinear), cmocka_unit_test(test_order),
        cmocka_unit_test(test_product),  cmocka_unit_test(test_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
