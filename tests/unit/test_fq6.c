#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groth16/fq6.h"
#include "tests/unit/pairing_load.h"
#include "tests/unit/pairing_vectors.h"

static void assert_fq6(const fq6 *found, const char *const *expected)
{
    fq6 value = load_fq6(expected);
    assert_true(fq6_equal(found, &value));
}

static void test_linear(void **state)
{
    (void)state;
    fq6 a = load_fq6(vector_fq6_a), b = load_fq6(vector_fq6_b), r;
    fq6_add(&r, &a, &b);
    assert_fq6(&r, vector_fq6_sum);
    fq6_sub(&r, &r, &b);
    assert_fq6(&r, vector_fq6_a);
    fq6_sub(&r, &a, &b);
    assert_fq6(&r, vector_fq6_difference);
    fq6_neg(&r, &r);
    fq6_add(&r, &r, &a);
    assert_fq6(&r, vector_fq6_b);
    fq6_dbl(&r, &a);
    fq6_sub(&r, &r, &a);
    assert_fq6(&r, vector_fq6_a);
}

static void test_products(void **state)
{
    (void)state;
    fq6 a = load_fq6(vector_fq6_a), b = load_fq6(vector_fq6_b), r;
    fq6_mul(&r, &a, &b);
    assert_fq6(&r, vector_fq6_product);
    fq6_sqr(&r, &a);
    assert_fq6(&r, vector_fq6_square);
    fq6_mul_v(&r, &a);
    assert_fq6(&r, vector_fq6_times_v);
    fq6_mul_01(&r, &a, &b.c0, &b.c1);
    assert_fq6(&r, vector_fq6_times_01);
    fq6_inv(&r, &a);
    assert_fq6(&r, vector_fq6_inverse);
}

static void test_output_is_input(void **state)
{
    (void)state;
    const fq6 a = load_fq6(vector_fq6_a), b = load_fq6(vector_fq6_b);
    fq6 r = a;
    fq6_mul(&r, &r, &b);
    assert_fq6(&r, vector_fq6_product);
    r = b;
    fq6_mul(&r, &a, &r);
    assert_fq6(&r, vector_fq6_product);
    r = a;
    fq6_mul(&r, &r, &r);
    assert_fq6(&r, vector_fq6_square);
    r = a;
    fq6_sqr(&r, &r);
    assert_fq6(&r, vector_fq6_square);
    r = a;
    fq6_mul_v(&r, &r);
    assert_fq6(&r, vector_fq6_times_v);
    r = a;
    fq6_mul_01(&r, &r, &b.c0, &b.c1);
    assert_fq6(&r, vector_fq6_times_01);
    r = b;
    fq6_mul_01(&r, &a, &r.c0, &r.c1);
    assert_fq6(&r, vector_fq6_times_01);
    r = a;
    fq6_inv(&r, &r);
    assert_fq6(&r, vector_fq6_inverse);
}

static void test_zero(void **state)
{
    (void)state;
    const fq6 zero = {0};
    fq6 a = load_fq6(vector_fq6_a), r;
    assert_true(fq6_is_zero(&zero));
    assert_false(fq6_is_zero(&a));
    fq6_inv(&r, &zero);
    assert_true(fq6_is_zero(&r));
    fq6_mul(&r, &a, &zero);
    assert_true(fq6_is_zero(&r));
    fq6 changed = a;
    fq_add(&changed.c2.c1, &changed.c2.c1, &fq_one);
    assert_false(fq6_equal(&a, &changed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_output_is_input),
        cmocka_unit_test(test_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
