#include "groth16/u256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Powers of two and their neighbours are computed by hand (bc). */
static const struct {
    const char *decimal;
    u256 value;
} cases[] = {
    {"0", {{0, 0, 0, 0}}},
    {"1", {{1, 0, 0, 0}}},
    {"18446744073709551615", {{UINT64_MAX, 0, 0, 0}}},
    {"18446744073709551616", {{0, 1, 0, 0}}},
    {"10000000000000000000", {{10000000000000000000u, 0, 0, 0}}},
    {"340282366920938463463374607431768211456", {{0, 0, 1, 0}}},
    {"57896044618658097711785492504343953926634992332820282019728792003956564819968",
     {{0, 0, 0, 1ull << 63}}},
    {"115792089237316195423570985008687907853269984665640564039457584007913129639935",
     {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}}},
};

static void reads_and_writes_decimal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        u256 value;
        char text[U256_DECIMAL_BYTES];
        assert_true(u256_from_decimal(&value, cases[i].decimal, strlen(cases[i].decimal)));
        assert_true(u256_equal(&value, &cases[i].value));
        assert_int_equal(u256_to_decimal(text, &value), strlen(cases[i].decimal));
        assert_string_equal(text, cases[i].decimal);
    }
}

static void accepts_leading_zeros(void **state)
{
    (void)state;
    u256 value;
    assert_true(u256_from_decimal(&value,
                                  "00000000000000000000000000000000000000000000000000000000000000000"
                                  "000000000000000000000000000042",
                                  95));
    assert_true(u256_equal(&value, &(u256){{42, 0, 0, 0}}));
}

static void refuses_what_is_no_number(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "0x10",
        "1.0",
        "12a",
        "115792089237316195423570985008687907853269984665640564039457584007913129639936", /* 2^256 */
        "1157920892373161954235709850086879078532699846656405640394575840079131296399350",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        u256 value;
        assert_false(u256_from_decimal(&value, bad[i], strlen(bad[i])));
    }
}

static void compares_from_the_top_word(void **state)
{
    (void)state;
    const u256 low = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, 0}};
    const u256 high = {{0, 0, 0, 1}};
    assert_true(u256_less(&low, &high));
    assert_false(u256_less(&high, &low));
    assert_false(u256_less(&low, &low));
    assert_false(u256_equal(&low, &high));
    assert_false(u256_is_zero(&high));
    assert_true(u256_is_zero(&(u256){{0, 0, 0, 0}}));
}

static void loads_little_endian(void **state)
{
    (void)state;
    uint8_t bytes[U256_BYTES + 1] = {0};
    uint8_t back[U256_BYTES];
    bytes[1] = 0x34;
    bytes[2] = 0x12;
    bytes[32] = 0x80;
    u256 value;
    u256_load_le(&value, bytes + 1);
    assert_true(u256_equal(&value, &(u256){{0x1234, 0, 0, 0x8000000000000000u}}));
    u256_store_le(back, &value);
    assert_memory_equal(back, bytes + 1, U256_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_writes_decimal),  cmocka_unit_test(accepts_leading_zeros),
        cmocka_unit_test(refuses_what_is_no_number), cmocka_unit_test(compares_from_the_top_word),
        cmocka_unit_test(loads_little_endian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
