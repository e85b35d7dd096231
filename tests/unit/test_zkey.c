/* Mutations of a small key that snarkjs made (tests/data/README.md). */
#include "groth16/zkey.h"

#include "groth16/circuit.h"
#include "tests/unit/fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* circuit-closed: 21 wires, no public value, domain 32, 57 coefficients; sections 1 to 10 in order, at these
 * offsets. */
static const size_t offsets[] = {[1] = 24,   [2] = 40,   [3] = 712,  [4] = 788,   [5] = 3312,
                                 [6] = 4668, [7] = 6024, [8] = 8724, [9] = 10016, [10] = 12076};

static struct fixture_file file;

static int load(void **state)
{
    (void)state;
    file = fixture_read("circuit-closed/circuit.zkey");
    for (uint32_t type = 1; type <= 10; type++) {
        assert_int_equal(fixture_section(&file, type), offsets[type]);
    }
    return 0;
}

static int unload(void **state)
{
    (void)state;
    free(file.bytes);
    return 0;
}

static void reads_a_key_of_snarkjs(void **state)
{
    (void)state;
    struct zkey key;
    struct error error;
    assert_int_equal(zkey_parse(&key, file.bytes, file.size, "k", &error), ERROR_NONE);
    assert_int_equal(key.wires, 21);
    assert_int_equal(key.publics, 0);
    assert_int_equal(key.domain_log2, 5);
    assert_int_equal(key.coefficients_count, 57);
    assert_ptr_equal(key.b2, file.bytes + offsets[7]);
    assert_true(g1_affine_on_curve(&key.alpha1) && g2_affine_on_curve(&key.delta2));
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_CURVE, &par_serial, &error), ERROR_NONE);
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_FULL, &fixture_threads, &error), ERROR_NONE);
    assert_true(zkey_recognize(file.bytes, file.size));
    assert_false(zkey_recognize(file.bytes, 3));
    assert_false(zkey_recognize((const uint8_t *)"wtns", 4));
}

static void opens_and_closes_a_file(void **state)
{
    (void)state;
    struct zkey key;
    struct error error;
    const char *path = UZK_TEST_DATA "/circuit-small/circuit.zkey";
    assert_int_equal(zkey_open(&key, path, &error), ERROR_NONE);
    assert_int_equal(key.wires, 535);
    assert_int_equal(key.publics, 5);
    assert_int_equal(key.domain_log2, 10);
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_FULL, &fixture_threads, &error), ERROR_NONE);
    zkey_close(&key);
    assert_null(key.a);
    assert_int_equal(zkey_load(&key, path, &fixture_threads, &error), ERROR_NONE);
    struct fixture_file small = fixture_read("circuit-small/circuit.zkey");
    assert_int_equal(key.wires, 535);
    assert_int_equal(key.size, small.size);
    assert_memory_equal(key.bytes, small.bytes, small.size);
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_FULL, &par_serial, &error), ERROR_NONE);
    zkey_close(&key);
    assert_null(key.a);
    free(small.bytes);
}

static enum error_code load_serial(struct zkey *key, const char *path, struct error *error)
{
    return zkey_load(key, path, &par_serial, error);
}

static void cannot_be_opened(enum error_code (*open_key)(struct zkey *, const char *, struct error *))
{
    struct zkey key;
    struct error error;
    assert_int_equal(open_key(&key, "/nonexistent/k.zkey", &error), ERROR_INPUT);
    assert_string_equal(error.text,
                        "/nonexistent/k.zkey: cannot open the proving key: No such file or directory");
    assert_int_equal(open_key(&key, UZK_TEST_DATA, &error), ERROR_INPUT);
    assert_string_equal(error.text, UZK_TEST_DATA ": this is not a plain file");

    char folder[] = "/tmp/uzk-test-zkey-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/k.zkey", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(open_key(&key, path, &error), ERROR_INPUT); /* and without waiting for a writer */
    assert_int_equal(unlink(path), 0);
    int descriptor = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(open_key(&key, path, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "k.zkey: this is not a proving key (.zkey): the file is empty"));
    assert_int_equal(write(descriptor, "zkey", 4), 4);
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(open_key(&key, path, &error), ERROR_INPUT);
    assert_null(key.mapping);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    cannot_be_opened(zkey_open);
    cannot_be_opened(load_serial);
}

/* Appends section `type` with the content it has in the fixture. */
static size_t append_section(uint8_t *bytes, size_t position, uint32_t type)
{
    size_t at = offsets[type];
    uint64_t size;
    memcpy(&size, file.bytes + at - 8, 8);
    memcpy(bytes + position, file.bytes + at - 12, 12 + size);
    return position + 12 + size;
}

static void sections_in_any_order_and_without_the_unneeded(void **state)
{
    (void)state;
    uint8_t *block = malloc(file.size + 1), *bytes = block + 1;
    memcpy(bytes, file.bytes, 12);
    static const uint32_t order[] = {9, 4, 8, 2, 7, 6, 1, 5}; /* no IC, no contributions */
    bytes[8] = sizeof order / sizeof order[0];
    size_t size = 12;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        size = append_section(bytes, size, order[i]);
    }
    struct zkey key, original;
    struct error error;
    assert_int_equal(zkey_parse(&key, bytes, size, "k", &error), ERROR_NONE);
    assert_null(key.ic);
    assert_int_equal(zkey_parse(&original, file.bytes, file.size, "k", &error), ERROR_NONE);
    assert_memory_equal(key.b2, original.b2, 21 * ZKEY_G2_BYTES);
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_FULL, &par_serial, &error), ERROR_NONE);
    free(block);
}

/* Bytes written over a good key. */
struct bad {
    size_t offset;
    const char *bytes;
    size_t length;
    const char *expected;
};

#define R_TEXT                                                                                             \
    "\001\000\000\360\223\365\341\103\221\160\271\171\110\350\063\050\135\130\201\201\266\105\120\270\051" \
    "\240\061\341\162\116\144\060"
#define P_TEXT                                                                                             \
    "\107\375\174\330\026\214\040\074\215\312\161\150\221\152\201\227\135\130\201\201\266\105\120\270\051" \
    "\240\061\341\162\116\144\060"
#define ZEROS64                                                                                              \
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\0\0\0"                                                                                         \
    "\0\0\0\0\0\0"
#define BLS_P_START "\060\0\0\0\253\252\377\377\377\377\376\271"

/* Section 2 holds: base field at 40, scalar field at 76, wires at 112, publics at 116, domain at 120, alpha1
 * at 124, beta1 188, beta2 252, gamma2 380, delta1 508, delta2 572. */
static const struct bad bad_headers[] = {
    {0, "wtns", 4, "k: this is not a proving key (.zkey): the file is a witness (.wtns)"},
    {0, "ptau", 4, "k: this is not a proving key (.zkey): the file is a powers-of-tau file (.ptau)"},
    {0, "\0asm", 4, "k: this is not a proving key (.zkey): the file is a WebAssembly program (.wasm)"},
    {4, "\377", 1, "k: format version 255 at offset 4, at most 2 is known here"},
    {24, "\2", 1,
     "k: this is a PLONK key; only Groth16 keys are supported (snarkjs groth16 setup makes one)"},
    {24, "\12", 1,
     "k: this is a FFLONK key; only Groth16 keys are supported (snarkjs groth16 setup makes one)"},
    {24, "\3", 1, "k: unknown protocol 3 at offset 24, 1 (Groth16) expected"},
    {40, BLS_P_START, 12,
     "k: the base field at offset 40 (48 bytes) belongs to bls12381; only bn128 (BN254) is supported"},
    {107, "\61", 1,
     "k: the scalar field at offset 76 (32 bytes) belongs to an unknown curve; only bn128 (BN254) is "
     "supported"},
    {112, "\0\0\0\0", 4,
     "k: 0 public values (offset 116) don't fit in 0 wires (offset 112), of which one is the constant"},
    {116, "\25", 1,
     "k: 21 public values (offset 116) don't fit in 21 wires (offset 112), of which one is the constant"},
    {116, "\377\377\377\377", 4,
     "k: 4294967295 public values (offset 116) don't fit in 21 wires (offset 112), of which one is the "
     "constant"},
    {116, "\1", 1,
     "k: section 3 (IC points) at offset 712 is 64 bytes long, 128 expected: 2 points (public values and "
     "one) of 64 "
     "bytes"},
    {112, "\26", 1,
     "k: section 5 (A points) at offset 3312 is 1344 bytes long, 1408 expected: 22 points (wires) of 64 "
     "bytes"},
    {120, "\0\0\0\0", 4, "k: domain size 0 at offset 120 is not a power of two up to 2^28"},
    {120, "\41", 1, "k: domain size 33 at offset 120 is not a power of two up to 2^28"},
    {120, "\0\0\0\40", 4, "k: domain size 536870912 at offset 120 is not a power of two up to 2^28"},
    {120, "\20", 1,
     "k: section 9 (H points) at offset 10016 is 2048 bytes long, 1024 expected: 16 points (domain) of 64 "
     "bytes"},
    {124, P_TEXT, 32,
     "k: section 2 (header): point alpha1 at offset 124 has a coordinate that is not below the base field's "
     "modulus of "
     "bn128"},
    {508, ZEROS64, 64,
     "k: section 2 (header): point delta1 at offset 508 is infinity, which no finished setup makes"},
    {572, ZEROS64 ZEROS64, 128,
     "k: section 2 (header): point delta2 at offset 572 is infinity, which no finished setup makes"},
    {700, "\4", 1, "k: section 4 (coefficients) is there twice, at offsets 712 and 788"},
    {3300, "\77", 1, "k: section 5 (A points) is missing"},
    {6012, "\36", 1, "k: section 7 (B2 points) is missing"},
    {776, "\36", 1, "k: section 4 (coefficients) is missing"},
    {28, "\36", 1, "k: section 2 (header) is missing"},
    {12, "\36", 1, "k: section 1 (protocol) is missing"},
    {704, "\377\377\377\377\377\377\377\377", 8,
     "k: section 3 (IC points) claims 18446744073709551615 bytes at offset 712, the file ends at 12543: was "
     "it copied "
     "whole?"},
    {12068, "\0\0\0\0\0\0\0\200", 8,
     "k: section 10 (contributions) claims 9223372036854775808 bytes at offset 12076, the file ends at "
     "12543: was it "
     "copied whole?"},
    {788, "\70", 1,
     "k: section 4 (coefficients) at offset 788 is 2512 bytes long, 2468 expected for the 56 coefficients it "
     "announces"},
    {788, "\377\377\377\377", 4,
     "k: section 4 (coefficients) at offset 788 is 2512 bytes long, 188978560984 expected for the 4294967295 "
     "coefficients it announces"},
    {792, "\2", 1,
     "k: section 4 (coefficients): number 0 at offset 792 has matrix 2, 0 (A) or 1 (B) expected"},
    {796 + 44, "\40", 1, "k: section 4 (coefficients): number 1 at offset 836 has row 32, the domain has 32"},
    {800 + 56 * 44, "\25", 1,
     "k: section 4 (coefficients): number 56 at offset 3256 has wire 21, there are 21"},
    {800 + 56 * 44, "\377\377\377\377", 4,
     "k: section 4 (coefficients): number 56 at offset 3256 has wire 4294967295, there are 21"},
    {804 + 2 * 44, R_TEXT, 32,
     "k: section 4 (coefficients): number 2 at offset 880 has a value that is not below the scalar field's "
     "modulus r"},
};

static void expect_parse_error(const uint8_t *bytes, size_t size, const char *expected)
{
    struct zkey key;
    struct error error = {0};
    enum error_code code = zkey_parse(&key, bytes, size, "k", &error);
    assert_int_equal(code, ERROR_INPUT);
    assert_int_equal(error.code, ERROR_INPUT);
    assert_string_equal(error.text, expected);
}

static void bad_headers_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_headers / sizeof bad_headers[0]; i++) {
        const struct bad *bad = &bad_headers[i];
        uint8_t *bytes = malloc(file.size);
        memcpy(bytes, file.bytes, file.size);
        memcpy(bytes + bad->offset, bad->bytes, bad->length);
        expect_parse_error(bytes, file.size, bad->expected);
        free(bytes);
    }
}

static void truncation_at_every_section_boundary(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",          "protocol",  "header",   "IC points", "coefficients", "A points",
        "B1 points", "B2 points", "C points", "H points",  "contributions"};
    for (uint32_t type = 1; type <= 10; type++) {
        size_t header = offsets[type] - 12, begin = offsets[type];
        uint64_t length;
        memcpy(&length, file.bytes + begin - 8, 8);
        const size_t cuts[] = {header, header + 1, header + 11, begin, begin + 1, begin + (size_t)length - 1};
        for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
            char expected[256];
            if (cuts[i] < begin) {
                snprintf(expected, sizeof expected,
                         "k: 10 sections announced, but the file ends at %zu, where the header of number %u "
                         "should be "
                         "(offset %zu): was it copied whole?",
                         cuts[i], type, header);
            } else {
                snprintf(expected, sizeof expected,
                         "k: section %u (%s) claims %zu bytes at offset %zu, the file ends at %zu: was it "
                         "copied whole?",
                         type, names[type], (size_t)length, begin, cuts[i]);
            }
            uint8_t *bytes = malloc(cuts[i]); /* exact, for the address sanitizer */
            memcpy(bytes, file.bytes, cuts[i]);
            expect_parse_error(bytes, cuts[i], expected);
            free(bytes);
        }
    }
}

static void every_prefix_is_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < file.size; size++) {
        struct zkey key;
        struct error error = {0};
        assert_int_equal(zkey_parse(&key, file.bytes, size, "k", &error), ERROR_INPUT);
        assert_true(strncmp(error.text, "k: ", 3) == 0);
    }
}

static const char not_on_curve[] = "is not on the curve";
static const char out_of_range[] = "has a coordinate that is not below the base field's modulus of bn128";

static void bad_points_are_named(void **state)
{
    (void)state;
    static const struct {
        size_t offset;
        const char *bytes;
        size_t length;
        const char *where;
        const char *what;
    } cases[] = {
        {124, "\1\2\3", 3, "section 2 (header): point alpha1 at offset 124", not_on_curve},
        {572 + 127, "\1", 1, "section 2 (header): point delta2 at offset 572", not_on_curve},
        {712, "\1\2\3", 3, "section 3 (IC points): point 0 at offset 712", not_on_curve},
        {3312 + 64 * 20, "\1\2\3", 3, "section 5 (A points): point 20 at offset 4592", not_on_curve},
        {3312 + 64 * 3, P_TEXT, 32, "section 5 (A points): point 3 at offset 3504", out_of_range},
        {4668 + 64 * 20 + 32, P_TEXT, 32, "section 6 (B1 points): point 20 at offset 5948", out_of_range},
        {6024 + 128 * 7 + 96, P_TEXT, 32, "section 7 (B2 points): point 7 at offset 6920", out_of_range},
        {8724 + 19 * 64 + 1, "\1\2\3", 3, "section 8 (C points): point 19 at offset 9940", not_on_curve},
        {10016 + 31 * 64, "\1\2\3", 3, "section 9 (H points): point 31 at offset 12000", not_on_curve},
    };
    struct zkey key;
    struct error error;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t *bytes = malloc(file.size);
        memcpy(bytes, file.bytes, file.size);
        memcpy(bytes + cases[i].offset, cases[i].bytes, cases[i].length);
        assert_int_equal(zkey_parse(&key, bytes, file.size, "k", &error), ERROR_NONE);
        assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_OFF, &par_serial, &error), ERROR_NONE);
        for (int threads = 0; threads < 2; threads++) {
            char expected[256];
            struct par *par = threads ? &fixture_threads : &par_serial;
            assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_CURVE, par, &error), ERROR_INPUT);
            snprintf(expected, sizeof expected, "k: %s %s", cases[i].where, cases[i].what);
            assert_string_equal(error.text, expected);
        }
        free(bytes);
    }
}

/* A bigger key, so that there are several tasks: the first bad point in the file is named whichever task sees
 * it. */
static void the_first_bad_point_is_named(void **state)
{
    (void)state;
    struct fixture_file small = fixture_read("circuit-small/circuit.zkey");
    size_t a = fixture_section(&small, 5), b2 = fixture_section(&small, 7), h = fixture_section(&small, 9);
    small.bytes[h + 5] ^= 1;
    small.bytes[b2 + 128 * 534] ^= 1;
    small.bytes[a + 64 * 534] ^= 1;
    struct zkey key;
    struct error error;
    assert_int_equal(zkey_parse(&key, small.bytes, small.size, "k", &error), ERROR_NONE);
    for (int i = 0; i < 20; i++) {
        char expected[128];
        assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_CURVE, &fixture_threads, &error), ERROR_INPUT);
        snprintf(expected, sizeof expected,
                 "k: section 5 (A points): point 534 at offset %zu is not on the curve", a + 64 * 534);
        assert_string_equal(error.text, expected);
    }
    free(small.bytes);
}

/* x = 1 is on the twist, but outside the subgroup: by ffjavascript 0.3.1, G2.isValid is true and [r] of the
 * point is not zero. */
static void a_point_outside_the_subgroup(void **state)
{
    (void)state;
    static const char *const coordinates[] = {
        "1", "0", "18278151005453108793778860132295291098363647455926340152056652516292830556603",
        "5912654199736721486680175016176231956195085055698687135131307249486702594212"};
    uint8_t *bytes = malloc(file.size);
    memcpy(bytes, file.bytes, file.size);
    for (int i = 0; i < 4; i++) {
        u256 plain;
        fq value;
        assert_true(u256_from_decimal(&plain, coordinates[i], strlen(coordinates[i])));
        assert_true(fq_from_u256(&value, &plain));
        fq_store(bytes + offsets[7] + 5 * ZKEY_G2_BYTES + i * 32, &value);
    }
    struct zkey key;
    struct error error;
    assert_int_equal(zkey_parse(&key, bytes, file.size, "k", &error), ERROR_NONE);
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_CURVE, &par_serial, &error), ERROR_NONE);
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_FULL, &par_serial, &error), ERROR_INPUT);
    assert_string_equal(error.text,
                        "k: section 7 (B2 points): point 5 at offset 6664 is on the curve, but not in the "
                        "subgroup of order r");
    free(bytes);
}

static void infinity_points_are_good(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(file.size);
    memcpy(bytes, file.bytes, file.size);
    memset(bytes + offsets[5], 0, 21 * ZKEY_G1_BYTES);
    memset(bytes + offsets[7] + 128, 0, ZKEY_G2_BYTES);
    struct zkey key;
    struct error error;
    assert_int_equal(zkey_parse(&key, bytes, file.size, "k", &error), ERROR_NONE);
    assert_int_equal(zkey_check_points(&key, ZKEY_POINTS_FULL, &fixture_threads, &error), ERROR_NONE);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_key_of_snarkjs),
        cmocka_unit_test(opens_and_closes_a_file),
        cmocka_unit_test(what_cannot_be_opened),
        cmocka_unit_test(sections_in_any_order_and_without_the_unneeded),
        cmocka_unit_test(bad_headers_are_named),
        cmocka_unit_test(truncation_at_every_section_boundary),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(bad_points_are_named),
        cmocka_unit_test(the_first_bad_point_is_named),
        cmocka_unit_test(a_point_outside_the_subgroup),
        cmocka_unit_test(infinity_points_are_good),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
