#include "curve_load.h"
#include "curve_vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROW = 18, ROWS = sizeof vector_fq2 / sizeof *vector_fq2 / ROW };

static void assert_fq2(const fq2 *value, const char *const *decimals)
{
    const fq2 expected = curve_load_fq2(decimals);
    assert_true(fq2_equal(value, &expected));
}

static void operations_match_the_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        const char *const *row = &vector_fq2[ROW * i];
        const fq2 a = curve_load_fq2(row);
        const fq2 b = curve_load_fq2(row + 2);
        fq2 r;
        fq2_add(&r, &a, &b);
        assert_fq2(&r, row + 4);
        fq2_sub(&r, &a, &b);
        assert_fq2(&r, row + 6);
        fq2_mul(&r, &a, &b);
        assert_fq2(&r, row + 8);
        fq2_sqr(&r, &a);
        assert_fq2(&r, row + 10);
        fq2_inv(&r, &a);
        assert_fq2(&r, row + 12);
        fq2_neg(&r, &a);
        assert_fq2(&r, row + 14);
        fq2_mul_xi(&r, &a);
        assert_fq2(&r, row + 16);
    }
}

static void result_may_be_an_operand(void **state)
{
    (void)state;
    const char *const *row = vector_fq2;
    const fq2 a = curve_load_fq2(row);
    const fq2 b = curve_load_fq2(row + 2);
    fq2 r = a;
    fq2_mul(&r, &r, &b);
    assert_fq2(&r, row + 8);
    r = b;
    fq2_mul(&r, &a, &r);
    assert_fq2(&r, row + 8);
    r = a;
    fq2_sqr(&r, &r);
    assert_fq2(&r, row + 10);
    r = a;
    fq2_inv(&r, &r);
    assert_fq2(&r, row + 12);
    r = a;
    fq2_mul_xi(&r, &r);
    assert_fq2(&r, row + 16);
}

static void conjugate_gives_the_norm(void **state)
{
    (void)state;
    const fq2 a = curve_load_fq2(vector_fq2);
    fq2 r, scaled;
    fq norm, t;
    fq2_conj(&r, &a);
    fq2_mul(&r, &r, &a);
    fq_sqr(&norm, &a.c0);
    fq_sqr(&t, &a.c1);
    fq_add(&norm, &norm, &t);
    assert_true(fq_equal(&r.c0, &norm));
    assert_true(fq_is_zero(&r.c1));
    fq2_mul_fq(&scaled, &a, &norm);
    fq2_mul(&r, &r, &a);
    assert_true(fq2_equal(&r, &scaled));
}

static void zero_has_no_inverse(void **state)
{
    (void)state;
    fq2 values[3] = {fq2_zero, fq2_one, fq2_zero}, scratch[3];
    fq2 r;
    fq2_inv(&r, &fq2_zero);
    assert_true(fq2_is_zero(&r));
    values[2].c1 = fq_one; /* 1/u = -u */
    fq2_batch_inv(values, scratch, 3);
    assert_true(fq2_is_zero(&values[0]));
    assert_true(fq2_equal(&values[1], &fq2_one));
    fq_add(&r.c1, &values[2].c1, &fq_one);
    assert_true(fq_is_zero(&r.c1));
    assert_true(fq_is_zero(&values[2].c0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_match_the_vectors),
        cmocka_unit_test(result_may_be_an_operand),
        cmocka_unit_test(conjugate_gives_the_norm),
        cmocka_unit_test(zero_has_no_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
