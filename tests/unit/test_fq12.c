#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "groth16/fq12.h"
#include "tests/unit/pairing_load.h"
#include "tests/unit/pairing_vectors.h"

static void assert_fq12(const fq12 *found, const char *const *expected)
{
    fq12 value = load_fq12(expected);
    assert_true(fq12_equal(found, &value));
}

static void test_products(void **state)
{
    (void)state;
    const fq12 a = load_fq12(vector_fq12_a), b = load_fq12(vector_fq12_b);
    fq12 r;
    fq12_mul(&r, &a, &b);
    assert_fq12(&r, vector_fq12_product);
    fq12_sqr(&r, &a);
    assert_fq12(&r, vector_fq12_square);
    fq12_inv(&r, &a);
    assert_fq12(&r, vector_fq12_inverse);
    fq12_mul(&r, &r, &a);
    assert_true(fq12_is_one(&r));
    fq12_conj(&r, &a);
    assert_fq12(&r, vector_fq12_conjugate);
    fq12_mul_line(&r, &a, &b.c0.c0, &b.c0.c1);
    assert_fq12(&r, vector_fq12_times_line);
}

static void test_output_is_input(void **state)
{
    (void)state;
    const fq12 a = load_fq12(vector_fq12_a), b = load_fq12(vector_fq12_b);
    fq12 r = a;
    fq12_mul(&r, &r, &b);
    assert_fq12(&r, vector_fq12_product);
    r = b;
    fq12_mul(&r, &a, &r);
    assert_fq12(&r, vector_fq12_product);
    r = a;
    fq12_mul(&r, &r, &r);
    assert_fq12(&r, vector_fq12_square);
    r = a;
    fq12_sqr(&r, &r);
    assert_fq12(&r, vector_fq12_square);
    r = a;
    fq12_inv(&r, &r);
    assert_fq12(&r, vector_fq12_inverse);
    r = a;
    fq12_conj(&r, &r);
    assert_fq12(&r, vector_fq12_conjugate);
    r = a;
    fq12_mul_line(&r, &r, &b.c0.c0, &b.c0.c1);
    assert_fq12(&r, vector_fq12_times_line);
    r = a;
    fq12_frobenius(&r, &r, 1);
    assert_fq12(&r, vector_fq12_frobenius1);
}

static void test_frobenius(void **state)
{
    (void)state;
    const fq12 a = load_fq12(vector_fq12_a);
    fq12 r;
    fq12_frobenius(&r, &a, 1);
    assert_fq12(&r, vector_fq12_frobenius1);
    fq12_frobenius(&r, &a, 2);
    assert_fq12(&r, vector_fq12_frobenius2);
    fq12_frobenius(&r, &a, 3);
    assert_fq12(&r, vector_fq12_frobenius3);
}

/* The Frobenius map is a^q, here by plain squaring and multiplying. */
static void test_frobenius_is_power(void **state)
{
    (void)state;
    const fq12 a = load_fq12(vector_fq12_a);
    fq12 power, image;
    fq12_set_one(&power);
    for (int bit = 255; bit >= 0; bit--) {
        fq12_sqr(&power, &power);
        if (fq_modulus.w[bit / 64] >> (bit % 64) & 1) {
            fq12_mul(&power, &power, &a);
        }
    }
    fq12_frobenius(&image, &a, 1);
    assert_true(fq12_equal(&power, &image));
}

static void test_cyclotomic(void **state)
{
    (void)state;
    fq12 r = load_fq12(vector_fq12_cyclotomic);
    fq12_cyclotomic_sqr(&r, &r);
    assert_fq12(&r, vector_fq12_cyclotomic_square);
    fq12 plain = load_fq12(vector_fq12_cyclotomic);
    fq12_sqr(&plain, &plain);
    assert_fq12(&plain, vector_fq12_cyclotomic_square);
}

static void test_zero_and_one(void **state)
{
    (void)state;
    const fq12 zero = {0};
    fq12 a = load_fq12(vector_fq12_a), one, r;
    fq12_set_one(&one);
    assert_true(fq12_is_one(&one));
    assert_false(fq12_is_one(&a));
    assert_false(fq12_is_one(&zero));
    fq12_mul(&r, &a, &one);
    assert_true(fq12_equal(&r, &a));
    fq12_inv(&r, &zero);
    assert_true(fq12_equal(&r, &zero));
    r = a;
    fq_add(&r.c1.c2.c1, &r.c1.c2.c1, &fq_one);
    assert_false(fq12_equal(&r, &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),   cmocka_unit_test(test_output_is_input),
        cmocka_unit_test(test_frobenius),  cmocka_unit_test(test_frobenius_is_power),
        cmocka_unit_test(test_cyclotomic), cmocka_unit_test(test_zero_and_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
