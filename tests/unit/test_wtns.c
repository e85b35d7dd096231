#include "groth16/wtns.h"

#include "tests/unit/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct fixture_file file; /* 21 values; header at 24, values at 76 */

static int load(void **state)
{
    (void)state;
    file = fixture_read("circuit-closed/witness-000.wtns");
    return 0;
}

static int unload(void **state)
{
    (void)state;
    free(file.bytes);
    return 0;
}

static void reads_a_witness_of_snarkjs(void **state)
{
    (void)state;
    struct wtns witness;
    struct error error;
    assert_int_equal(wtns_parse(&witness, file.bytes, file.size, "w", &error), ERROR_NONE);
    assert_int_equal(witness.count, 21);
    assert_ptr_equal(witness.values, file.bytes + 76);
    assert_int_equal(wtns_check(&witness, &error), ERROR_NONE);
    assert_int_equal(wtns_file_size(witness.count), file.size);
    assert_true(wtns_recognize(file.bytes, file.size));
    assert_false(wtns_recognize(file.bytes, 3));
    /* The circuit multiplies two factors of 3233, 53 and 61: they are among the wires. */
    int factors = 0;
    for (uint32_t i = 0; i < witness.count; i++) {
        u256 value;
        u256_load_le(&value, witness.values + i * 32);
        factors += value.w[0] == 53 || value.w[0] == 61;
    }
    assert_true(factors >= 2);
}

static void sections_in_any_order_at_any_address(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(file.size + 1 + 12 + 5);
    uint8_t *at = bytes + 1; /* odd on purpose */
    memcpy(at, file.bytes, 12);
    at[8] = 3;
    memcpy(at + 12, file.bytes + 64, file.size - 64);
    memcpy(at + 12 + file.size - 64, (uint8_t[]){77, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5}, 17);
    memcpy(at + 12 + file.size - 64 + 17, file.bytes + 12, 52);
    struct wtns witness;
    struct error error;
    assert_int_equal(wtns_parse(&witness, at, file.size + 17, "w", &error), ERROR_NONE);
    assert_int_equal(wtns_check(&witness, &error), ERROR_NONE);
    assert_memory_equal(witness.values, file.bytes + 76, 21 * 32);
    free(bytes);
}

/* Overwrites bytes of a good witness, or cuts it. */
struct bad {
    size_t offset;
    const char *bytes;
    size_t length;
    size_t cut; /* 0: not at all */
    const char *expected;
};

#define R_TEXT                                                                                             \
    "\001\000\000\360\223\365\341\103\221\160\271\171\110\350\063\050\135\130\201\201\266\105\120\270\051" \
    "\240\061\341\162\116\144\060"
#define BLS_R                                                                                              \
    "\001\000\000\000\377\377\377\377\376\133\376\377\002\244\275\123\005\330\241\011\010\330\071\063\110" \
    "\175\235\051\123\247\355\163"

static const struct bad bad_files[] = {
    {0, "zkey", 4, 0, "w: this is not a witness (.wtns): the file is a proving key (.zkey)"},
    {0, "{\"a\"", 4, 0, "w: this is not a witness (.wtns): the file is text, perhaps JSON"},
    {0, "\1\2\3\4", 4, 0, "w: this is not a witness (.wtns): the file is of an unknown kind"},
    {0, "", 0, 3, "w: this is not a witness (.wtns): the file is of an unknown kind"},
    {0, "", 0, 11, "w: the file ends at 11, within its header of 12 bytes: was it copied whole?"},
    {4, "\3", 1, 0, "w: format version 3 at offset 4, at most 2 is known here"},
    {4, "\0", 1, 0, "w: format version 0 at offset 4, at most 2 is known here"},
    {0, "", 0, 12,
     "w: 2 sections announced, but the file ends at 12, where the header of number 1 should be (offset 12): "
     "was it "
     "copied whole?"},
    {0, "", 0, 23,
     "w: 2 sections announced, but the file ends at 23, where the header of number 1 should be (offset 12): "
     "was it "
     "copied whole?"},
    {0, "", 0, 24,
     "w: section 1 (header) claims 40 bytes at offset 24, the file ends at 24: was it copied whole?"},
    {0, "", 0, 63,
     "w: section 1 (header) claims 40 bytes at offset 24, the file ends at 63: was it copied whole?"},
    {0, "", 0, 64,
     "w: 2 sections announced, but the file ends at 64, where the header of number 2 should be (offset 64): "
     "was it "
     "copied whole?"},
    {0, "", 0, 76,
     "w: section 2 (values) claims 672 bytes at offset 76, the file ends at 76: was it copied whole?"},
    {0, "", 0, 747,
     "w: section 2 (values) claims 672 bytes at offset 76, the file ends at 747: was it copied whole?"},
    {68, "\377\377\377\377\377\377\377\377", 8, 0,
     "w: section 2 (values) claims 18446744073709551615 bytes at offset 76, the file ends at 748: was it "
     "copied whole?"},
    {68, "\264\377\377\377\377\377\377\377", 8, 0, /* -76: offset + size would be 0 */
     "w: section 2 (values) claims 18446744073709551540 bytes at offset 76, the file ends at 748: was it "
     "copied whole?"},
    {64, "\1", 1, 0, "w: section 1 (header) is there twice, at offsets 24 and 76"},
    {64, "\5", 1, 0, "w: section 2 (values) is missing"},
    {12, "\7", 1, 0, "w: section 1 (header) is missing"},
    {24, "\40\0\0\0" BLS_R, 36, 0,
     "w: the scalar field at offset 24 (32 bytes) belongs to bls12381; only bn128 (BN254) is supported"},
    {28, "\2", 1, 0,
     "w: the scalar field at offset 24 (32 bytes) belongs to an unknown curve; only bn128 (BN254) is "
     "supported"},
    {24, "\10", 1, 0,
     "w: the scalar field at offset 24 (8 bytes) belongs to an unknown curve; only bn128 (BN254) is "
     "supported"},
    {24, "\377\377\377\377", 4, 0,
     "w: section 1 (header) ends at offset 64, before the modulus of the scalar field"},
    {16, "\44\0\0\0\0\0\0\0", 8, 0,
     ""}, /* what follows is then read as a section header: any message will do */
    {60, "\26", 1, 0,
     "w: section 2 (values) at offset 76 is 672 bytes long, 704 expected: 22 values of 32 bytes"},
    {60, "\377\377\377\377", 4, 0,
     "w: section 2 (values) at offset 76 is 672 bytes long, 137438953440 expected: 4294967295 values of 32 "
     "bytes"},
    {76, "\2", 1, 0, "w: value 0 at offset 76 must be the constant 1, it is 2"},
    {76 + 32, R_TEXT, 32, 0, "w: value 1 at offset 108 is not below the scalar field's modulus r of bn128"},
    {747, "\377", 1, 0, "w: value 20 at offset 716 is not below the scalar field's modulus r of bn128"},
};

static void bad_files_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        const struct bad *bad = &bad_files[i];
        size_t size = bad->cut ? bad->cut : file.size;
        uint8_t *bytes = malloc(size); /* exact, so that a sanitizer sees the first byte too far */
        memcpy(bytes, file.bytes, size);
        if (bad->length) {
            memcpy(bytes + bad->offset, bad->bytes, bad->length);
        }
        struct wtns witness;
        struct error error = {0};
        enum error_code code = wtns_parse(&witness, bytes, size, "w", &error);
        if (!code) {
            code = wtns_check(&witness, &error);
        }
        assert_int_equal(code, ERROR_INPUT);
        assert_int_equal(error.code, ERROR_INPUT);
        if (bad->expected[0]) {
            assert_string_equal(error.text, bad->expected);
        }
        free(bytes);
    }
}

static void an_empty_file_says_so(void **state)
{
    (void)state;
    struct wtns witness;
    struct error error;
    assert_int_equal(wtns_parse(&witness, NULL, 0, "w", &error), ERROR_INPUT);
    assert_string_equal(error.text, "w: this is not a witness (.wtns): the file is empty");
}

static void no_values_at_all(void **state)
{
    (void)state;
    uint8_t bytes[76];
    memcpy(bytes, file.bytes, 76);
    memset(bytes + 60, 0, 4);
    memset(bytes + 68, 0, 8);
    struct wtns witness;
    struct error error;
    assert_int_equal(wtns_parse(&witness, bytes, 76, "w", &error), ERROR_INPUT);
    assert_string_equal(error.text, "w: the witness has no values; even an empty circuit has the value one");
}

static void a_value_one_below_r_is_good(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(file.size);
    memcpy(bytes, file.bytes, file.size);
    memcpy(bytes + 108, R_TEXT, 32);
    bytes[108] = 0;
    struct wtns witness;
    struct error error;
    assert_int_equal(wtns_parse(&witness, bytes, file.size, "w", &error), ERROR_NONE);
    assert_int_equal(wtns_check(&witness, &error), ERROR_NONE);
    free(bytes);
}

static void length_is_compared_with_the_key(void **state)
{
    (void)state;
    struct wtns witness;
    struct error error;
    struct zkey key = {.name = "k", .wires = 21};
    assert_int_equal(wtns_parse(&witness, file.bytes, file.size, "w", &error), ERROR_NONE);
    assert_int_equal(wtns_match(&witness, &key, &error), ERROR_NONE);
    key.wires = 535;
    assert_int_equal(wtns_match(&witness, &key, &error), ERROR_INPUT);
    assert_string_equal(
        error.text,
        "w: the witness has 21 values, the circuit of k has 535 wires: they don't belong together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_witness_of_snarkjs),
        cmocka_unit_test(sections_in_any_order_at_any_address),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(an_empty_file_says_so),
        cmocka_unit_test(no_values_at_all),
        cmocka_unit_test(a_value_one_below_r_is_good),
        cmocka_unit_test(length_is_compared_with_the_key),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
