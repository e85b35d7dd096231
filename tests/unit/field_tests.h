/* field_tests.h - the tests of a prime field, written once: test_fq.c and test_fr.c define MONT_TYPE,
 * MONT(name), FIELD_VECTORS (rows of nine decimal strings, see curve_vectors.h) and include this file. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { FIELD_ROWS = sizeof FIELD_VECTORS / sizeof *FIELD_VECTORS / 9 };

static MONT_TYPE field_load(const char *decimal)
{
    MONT_TYPE r;
    u256 plain = curve_load_u256(decimal);
    CHECK(MONT(from_u256)(&r, &plain));
    return r;
}

static void assert_field(const MONT_TYPE *value, const char *decimal)
{
    u256 plain;
    char text[U256_DECIMAL_BYTES];
    MONT(to_u256)(&plain, value);
    u256_to_decimal(text, &plain);
    assert_string_equal(text, decimal);
}

static void operations_match_the_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIELD_ROWS; i++) {
        const char *const *row = &FIELD_VECTORS[9 * i];
        const MONT_TYPE a = field_load(row[0]);
        const MONT_TYPE b = field_load(row[1]);
        MONT_TYPE r;
        MONT(add)(&r, &a, &b);
        assert_field(&r, row[2]);
        MONT(sub)(&r, &a, &b);
        assert_field(&r, row[3]);
        MONT(mul)(&r, &a, &b);
        assert_field(&r, row[4]);
        MONT(sqr)(&r, &a);
        assert_field(&r, row[5]);
        MONT(inv)(&r, &a);
        assert_field(&r, row[6]);
        MONT(neg)(&r, &a);
        assert_field(&r, row[7]);
        const u256 exponent = curve_load_u256(row[1]);
        MONT(pow)(&r, &a, &exponent);
        assert_field(&r, row[8]);
    }
}

static void result_may_be_an_operand(void **state)
{
    (void)state;
    const char *const *row = &FIELD_VECTORS[9 * 4];
    const MONT_TYPE a = field_load(row[0]);
    const MONT_TYPE b = field_load(row[1]);
    MONT_TYPE r = a;
    MONT(add)(&r, &r, &b);
    assert_field(&r, row[2]);
    r = b;
    MONT(sub)(&r, &a, &r);
    assert_field(&r, row[3]);
    r = b;
    MONT(mul)(&r, &a, &r);
    assert_field(&r, row[4]);
    r = a;
    MONT(mul)(&r, &r, &r);
    assert_field(&r, row[5]);
    r = a;
    MONT(inv)(&r, &r);
    assert_field(&r, row[6]);
}

static void zero_and_one_are_neutral(void **state)
{
    (void)state;
    const MONT_TYPE a = field_load(FIELD_VECTORS[9 * 5]);
    MONT_TYPE r;
    MONT(mul)(&r, &a, &MONT(one));
    assert_true(MONT(equal)(&r, &a));
    MONT(add)(&r, &a, &MONT(zero));
    assert_true(MONT(equal)(&r, &a));
    MONT(neg)(&r, &MONT(zero));
    assert_true(MONT(is_zero)(&r));
    MONT(sub)(&r, &a, &a);
    assert_true(MONT(is_zero)(&r));
    MONT(inv)(&r, &MONT(zero));
    assert_true(MONT(is_zero)(&r));
    assert_false(MONT(is_zero)(&MONT(one)));
    assert_field(&MONT(one), "1");
}

/* Inversion and multiplication are different code; random values and small ones, near each end. */
static void inverses_multiply_to_one(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        u256 plain = curve_random_below(&seed, &MONT(modulus));
        if (i < 200) {
            plain = (u256){{(uint64_t)i + 1, 0, 0, 0}};
        } else if (i < 400) {
            plain = MONT(modulus);
            plain.w[0] -= (uint64_t)i - 199;
        } else if (i < 650) {
            plain = (u256){{0, 0, 0, 0}};
            plain.w[(i - 400) / 64] = 1ull << (i - 400) % 64;
        }
        MONT_TYPE a, r;
        assert_true(MONT(from_u256)(&a, &plain));
        MONT(inv)(&r, &a);
        MONT(mul)(&r, &r, &a);
        assert_true(MONT(equal)(&r, &MONT(one)));
    }
}

static void batch_inversion_skips_zeros(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    MONT_TYPE values[COUNT], inverses[COUNT], scratch[COUNT];
    uint64_t seed = 2;
    for (int i = 0; i < COUNT; i++) {
        u256 plain = curve_random_below(&seed, &MONT(modulus));
        if (i % 7 == 0) {
            plain = (u256){{0, 0, 0, 0}};
        }
        assert_true(MONT(from_u256)(&values[i], &plain));
    }
    memcpy(inverses, values, sizeof values);
    MONT(batch_inv)(inverses, scratch, COUNT);
    for (int i = 0; i < COUNT; i++) {
        MONT_TYPE r;
        MONT(inv)(&r, &values[i]);
        assert_true(MONT(equal)(&r, &inverses[i]));
    }
    MONT(batch_inv)(inverses, scratch, 0);
}

static void modulus_and_above_are_refused(void **state)
{
    (void)state;
    MONT_TYPE r = MONT(one);
    u256 plain = MONT(modulus);
    uint8_t bytes[U256_BYTES];
    assert_false(MONT(from_u256)(&r, &plain));
    u256_store_le(bytes, &plain);
    assert_false(MONT(load)(&r, bytes));
    memset(bytes, 0xff, sizeof bytes);
    assert_false(MONT(load)(&r, bytes));
    plain.w[3]++;
    assert_false(MONT(from_u256)(&r, &plain));
    assert_true(MONT(equal)(&r, &MONT(one)));
    plain = MONT(modulus);
    plain.w[0]--;
    assert_true(MONT(from_u256)(&r, &plain));
    u256_store_le(bytes, &plain);
    assert_true(MONT(load)(&r, bytes));
    uint8_t back[U256_BYTES];
    MONT(store)(back, &r);
    assert_memory_equal(back, bytes, U256_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_match_the_vectors), cmocka_unit_test(result_may_be_an_operand),
        cmocka_unit_test(zero_and_one_are_neutral),     cmocka_unit_test(inverses_multiply_to_one),
        cmocka_unit_test(batch_inversion_skips_zeros),  cmocka_unit_test(modulus_and_above_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
