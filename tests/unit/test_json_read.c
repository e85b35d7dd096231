#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/json_read.h"
#include "groth16/fq.h"
#include "groth16/fr.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL UZK_TEST_DATA "/circuit-small"

#define Q "21888242871839275222246405745257275088696311157297823662689037894645226208583"
#define R "21888242871839275222246405745257275088548364400416034343698204186575808495617"

/* A whole file, terminated. */
static char *slurp(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    assert_true(feof(file));
    fclose(file);
    return text;
}

/* text with the first `from` replaced; the caller frees it. */
static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    char *result = NULL;
    assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
    return result;
}

static void test_proof(void **state)
{
    (void)state;
    struct proof proof;
    struct error error;
    const char *text =
        "{\"pi_a\": [\"1\", \"2\", \"1\"], \"pi_b\": [[\"3\", \"4\"], [\"5\", \"6\"], [\"1\", \"0\"]],"
        "\"pi_c\": [\"7\", \"8\", \"1\"], \"protocol\": \"groth16\", \"curve\": \"bn128\"}";
    assert_int_equal(json_parse_proof(&proof, text, strlen(text), "p", &error), ERROR_NONE);
    const fq *const values[] = {&proof.a.x,    &proof.a.y,    &proof.b.x.c0, &proof.b.x.c1,
                                &proof.b.y.c0, &proof.b.y.c1, &proof.c.x,    &proof.c.y};
    for (uint64_t i = 0; i < 8; i++) {
        u256 plain;
        fq_to_u256(&plain, values[i]);
        assert_true(u256_equal(&plain, &(u256){{i + 1, 0, 0, 0}}));
    }
}

static void test_infinity(void **state)
{
    (void)state;
    struct proof proof;
    struct error error;
    const char *text =
        "{\"pi_a\": [\"0\", \"1\", \"0\"], \"pi_b\": [[\"0\", \"0\"], [\"1\", \"0\"], [\"0\", \"0\"]],"
        "\"pi_c\": [\"0\", \"1\", \"0\"], \"protocol\": \"groth16\"}";
    assert_int_equal(json_parse_proof(&proof, text, strlen(text), "p", &error), ERROR_NONE);
    assert_true(g1_affine_is_infinity(&proof.a));
    assert_true(g2_affine_is_infinity(&proof.b));
    assert_true(g1_affine_is_infinity(&proof.c));
}

static void test_public(void **state)
{
    (void)state;
    struct json_public publics;
    struct error error;
    const char *text = "[\"0\",\"1\","
                       "\"21888242871839275222246405745257275088548364400416034343698204186575808495616\"]";
    assert_int_equal(json_parse_public(&publics, text, strlen(text), "w", &error), ERROR_NONE);
    assert_int_equal(publics.count, 3);
    assert_true(u256_is_zero(&publics.values[0]));
    assert_int_equal(publics.values[1].w[0], 1);
    publics.values[2].w[0]++;
    assert_true(u256_equal(&publics.values[2], &fr_modulus));
    json_public_free(&publics);
    assert_int_equal(json_parse_public(&publics, "[]", 2, "w", &error), ERROR_NONE);
    assert_int_equal(publics.count, 0);
    json_public_free(&publics);
}

static void test_vkey(void **state)
{
    (void)state;
    struct json_vkey vkey;
    struct error error;
    assert_int_equal(json_read_vkey(&vkey, SMALL "/vkey.json", &error), ERROR_NONE);
    assert_int_equal(vkey.parts.publics, 5);
    assert_true(g1_affine_on_curve(&vkey.parts.alpha1));
    assert_true(g2_affine_on_curve(&vkey.parts.beta2));
    assert_true(g2_affine_equal(&vkey.parts.gamma2, &g2_generator)); /* as in every key of snarkjs */
    assert_true(g2_affine_on_curve(&vkey.parts.delta2));
    assert_ptr_equal(vkey.ic, vkey.parts.ic);
    for (size_t i = 0; i <= 5; i++) {
        g1_affine point;
        assert_true(g1_affine_load(&point, vkey.ic + i * G1_BYTES));
        assert_true(g1_affine_on_curve(&point));
        assert_false(g1_affine_is_infinity(&point));
    }
    json_vkey_free(&vkey);
    assert_null(vkey.ic);
}

enum kind { VKEY, PROOF, PUBLIC };

static void expect_message(enum kind kind, const char *text, const char *message)
{
    struct error error = {0};
    struct json_vkey vkey;
    struct proof proof;
    struct json_public publics;
    enum error_code code = kind == VKEY    ? json_parse_vkey(&vkey, text, strlen(text), "f", &error)
                           : kind == PROOF ? json_parse_proof(&proof, text, strlen(text), "f", &error)
                                           : json_parse_public(&publics, text, strlen(text), "f", &error);
    assert_int_equal(code, ERROR_INPUT);
    assert_string_equal(error.text, message);
}

static void expect_change(enum kind kind, const char *from, const char *to, const char *message)
{
    char *text = slurp(kind == VKEY ? SMALL "/vkey.json" : SMALL "/proof.json");
    char *changed = replaced(text, from, to);
    expect_message(kind, changed, message);
    free(changed);
    free(text);
}

static void test_protocol_and_curve(void **state)
{
    (void)state;
    const enum kind kinds[] = {VKEY, PROOF};
    for (size_t i = 0; i < 2; i++) {
        expect_change(
            kinds[i], "\"groth16\"", "\"plonk\"",
            "f: protocol: expected \"groth16\", found \"plonk\", which uzk doesn't prove or verify");
        expect_change(kinds[i], "\"groth16\"", "\"\\u001b[31m and a long way to go to the end\"",
                      "f: protocol: expected \"groth16\", found \"?[31m and a long way to ...\", which uzk "
                      "doesn't prove or verify");
        expect_change(kinds[i], "\"groth16\"", "16",
                      "f: protocol: expected \"groth16\", found a number without quotes");
        expect_change(kinds[i], "\"protocol\"", "\"other\"",
                      "f: protocol: expected \"groth16\", found nothing");
        expect_change(kinds[i], "\"bn128\"", "\"bls12381\"",
                      "f: curve: expected \"bn128\" (or \"bn254\"), found \"bls12381\", the curve BLS12-381, "
                      "which uzk doesn't support");
        expect_change(kinds[i], "\"bn128\"", "\"secp256k1\"",
                      "f: curve: expected \"bn128\" (or \"bn254\"), found \"secp256k1\", an unknown curve");
        expect_change(kinds[i], "\"bn128\"", "null", "f: curve: expected \"bn128\", found null");
    }
    expect_change(VKEY, "\"curve\"", "\"other\"", "f: curve: expected \"bn128\", found nothing");
}

/* The names that snarkjs takes for BN254. */
static void test_curve_names(void **state)
{
    (void)state;
    const char *const names[] = {"\"bn254\"", "\"BN128\"", "\"alt_bn128\"", "\"BN-254\""};
    char *text = slurp(SMALL "/vkey.json");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct json_vkey vkey;
        struct error error;
        char *changed = replaced(text, "\"bn128\"", names[i]);
        assert_int_equal(json_parse_vkey(&vkey, changed, strlen(changed), "f", &error), ERROR_NONE);
        json_vkey_free(&vkey);
        free(changed);
    }
    free(text);
}

static void test_bad_vkey(void **state)
{
    (void)state;
    expect_change(VKEY, "\"nPublic\": 5", "\"nPublic\": 4",
                  "f: IC: nPublic is 4, so 5 points are expected, found 6");
    expect_change(VKEY, "\"nPublic\": 5", "\"nPublic\": 4294967294",
                  "f: IC: nPublic is 4294967294, so 4294967295 points are expected, found 6");
    expect_change(VKEY, "\"nPublic\": 5", "\"nPublic\": 4294967295",
                  "f: nPublic: expected the number of public values, found one out of range");
    expect_change(VKEY, "\"nPublic\": 5", "\"nPublic\": -1",
                  "f: nPublic: expected the number of public values, found one out of range");
    expect_change(VKEY, "\"nPublic\": 5", "\"nPublic\": \"5\"",
                  "f: nPublic: expected the number of public values, found a string");
    expect_change(VKEY, "\"nPublic\": 5", "\"nPublic\": 5.0",
                  "f: nPublic: expected the number of public values, found a number without quotes");
    expect_change(VKEY, "\"IC\"", "\"ic\"", "f: IC: expected an array, found nothing");
    expect_change(VKEY, "\"IC\": [", "\"IC\": {}, \"x\": [", "f: IC: expected an array, found an object");
    expect_change(VKEY, "\"vk_alpha_1\": [", "\"vk_alpha_1\": [\"1\",",
                  "f: vk_alpha_1: expected an array of 3, found 4");
    expect_change(VKEY, "\"vk_beta_2\": [", "\"vk_beta_2\": [[],",
                  "f: vk_beta_2: expected an array of 3, found 4");
    expect_change(VKEY, "\"vk_delta_2\"", "\"delta\"", "f: vk_delta_2: expected an array, found nothing");
    expect_change(VKEY, "\"nPublic\": 5", "\"nPublic\": 5, \"protocol\": \"groth16\"",
                  "f:4:25: not JSON: duplicate object key near '\"protocol\"'");
}

/* One place of a proof after another gets a bad value. */
static void test_bad_points(void **state)
{
    (void)state;
    static const char shape[] = "{\"protocol\": \"groth16\", \"pi_a\": %s, \"pi_b\": %s, \"pi_c\": %s}";
    static const char a[] = "[\"1\", \"2\", \"1\"]";
    static const char b[] = "[[\"1\", \"2\"], [\"3\", \"4\"], [\"1\", \"0\"]]";
    const struct {
        const char *a, *b, *c, *message;
    } rows[] = {
        {"7", b, a, "f: pi_a: expected an array, found a number without quotes"},
        {"[\"1\", \"2\"]", b, a, "f: pi_a: expected an array of 3, found 2"},
        {"[1, \"2\", \"1\"]", b, a,
         "f: pi_a[0]: expected a decimal number in quotes, found a number without quotes"},
        {"[\"1\", \"-2\", \"1\"]", b, a, "f: pi_a[1]: expected a decimal number in quotes, found \"-2\""},
        {"[\"1\", \"\", \"1\"]", b, a, "f: pi_a[1]: expected a decimal number in quotes, found \"\""},
        {"[\"1\", \"0x2\", \"1\"]", b, a, "f: pi_a[1]: expected a decimal number in quotes, found \"0x2\""},
        {"[\"1\", \" 2\", \"1\"]", b, a, "f: pi_a[1]: expected a decimal number in quotes, found \" 2\""},
        {"[\"1\", \"2\", \"2\"]", b, a,
         "f: pi_a[2]: expected the last coordinate of an affine point, \"1\" (or \"0\" for infinity)"},
        {"[\"" Q "\", \"2\", \"1\"]", b, a,
         "f: pi_a[0]: expected a number below the base field's modulus q = " Q
         ", found 218882428718392752222464... (77 digits)"},
        {"[\"1\", \"1" Q Q "\", \"1\"]", b, a,
         "f: pi_a[1]: expected a number below the base field's modulus q = " Q
         ", found 121888242871839275222246... (155 digits)"},
        {a, "[\"1\", \"2\", \"1\"]", a, "f: pi_b[0]: expected an array, found a string"},
        {a, "[[\"1\", \"2\"], [\"3\"], [\"1\", \"0\"]]", a, "f: pi_b[1]: expected an array of 2, found 1"},
        {a, "[[\"1\", \"2\"], [\"3\", null], [\"1\", \"0\"]]", a,
         "f: pi_b[1][1]: expected a decimal number in quotes, found null"},
        {a, "[[\"1\", \"2\"], [\"3\", \"4\"], [\"0\", \"1\"]]", a,
         "f: pi_b[2]: expected the last coordinate of an affine point, [\"1\", \"0\"] (or [\"0\", \"0\"] for "
         "infinity)"},
        {a, "[[\"1\", \"2\"], [\"3\", \"4\"], [\"1\", \"1\"]]", a,
         "f: pi_b[2]: expected the last coordinate of an affine point, [\"1\", \"0\"] (or [\"0\", \"0\"] for "
         "infinity)"},
        {a, b, "[\"1\", \"2\", true]",
         "f: pi_c[2]: expected a decimal number in quotes, found a truth value"},
        {a, b, "{}", "f: pi_c: expected an array, found an object"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = NULL;
        assert_true(asprintf(&text, shape, rows[i].a, rows[i].b, rows[i].c) > 0);
        expect_message(PROOF, text, rows[i].message);
        free(text);
    }
}

static void test_bad_public(void **state)
{
    (void)state;
    expect_message(PUBLIC, "[\"1\", \"" R "\"]",
                   "f: [1]: expected a number below the scalar field's modulus r = " R
                   ", found 218882428718392752222464... (77 digits)");
    expect_message(PUBLIC, "[\"1\", [\"2\"]]", "f: [1]: expected a decimal number in quotes, found an array");
    expect_message(PUBLIC, "{}", "f: the document: expected an array, found an object");
    expect_message(PROOF, "[]", "f: the document: expected an object, found an array");
}

static void test_not_json(void **state)
{
    (void)state;
    expect_message(PUBLIC, "", "f:1:0: not JSON: '[' or '{' expected near end of file");
    expect_message(PUBLIC, "[\"1\"", "f:1:4: not JSON: ']' expected near end of file");
    expect_message(PUBLIC, "[]x", "f:1:3: not JSON: end of file expected near 'x'");
    expect_message(PROOF, "{\n\"a\": \"\xff\"}", "f:2:6: not JSON: unable to decode byte 0xff near '\"'");
}

/* A text cut anywhere is an error, never a proof of fewer parts. */
static void test_truncated(void **state)
{
    (void)state;
    const char *const paths[] = {SMALL "/vkey.json", SMALL "/proof.json", SMALL "/public.json"};
    for (size_t i = 0; i < 3; i++) {
        char *text = slurp(paths[i]);
        size_t length = strlen(text);
        while (length > 0 && strchr(" \n", text[length - 1]) != NULL) {
            length--;
        }
        for (size_t cut = 0; cut < length; cut++) {
            struct error error;
            struct json_vkey vkey;
            struct proof proof;
            struct json_public publics;
            enum error_code code = i == 0   ? json_parse_vkey(&vkey, text, cut, "f", &error)
                                   : i == 1 ? json_parse_proof(&proof, text, cut, "f", &error)
                                            : json_parse_public(&publics, text, cut, "f", &error);
            assert_int_equal(code, ERROR_INPUT);
        }
        free(text);
    }
}

static void test_files(void **state)
{
    (void)state;
    struct json_public publics;
    struct proof proof;
    struct error error;
    assert_int_equal(json_read_public(&publics, "/nonexistent/public.json", &error), ERROR_INPUT);
    assert_string_equal(error.text, "/nonexistent/public.json: cannot open it: No such file or directory");
    assert_int_equal(json_read_proof(&proof, "/", &error), ERROR_SYSTEM);
    assert_string_equal(error.text, "/: reading failed: Is a directory");

    char path[] = "/tmp/uzk-json-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)JSON_READ_BYTES_MAX + 1), 0);
    assert_int_equal(json_read_public(&publics, path, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, ": longer than 67108864 bytes, the most that is read"));

    /* More text than one read takes. */
    assert_int_equal(ftruncate(fd, 0), 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputc('[', file);
    for (int i = 0; i < 50000; i++) {
        fprintf(file, "%s\"%d\"", i == 0 ? "" : ", ", i);
    }
    fputs("]\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(json_read_public(&publics, path, &error), ERROR_NONE);
    assert_int_equal(publics.count, 50000);
    assert_int_equal(publics.values[49999].w[0], 49999);
    json_public_free(&publics);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proof),
        cmocka_unit_test(test_infinity),
        cmocka_unit_test(test_public),
        cmocka_unit_test(test_vkey),
        cmocka_unit_test(test_protocol_and_curve),
        cmocka_unit_test(test_curve_names),
        cmocka_unit_test(test_bad_vkey),
        cmocka_unit_test(test_bad_points),
        cmocka_unit_test(test_bad_public),
        cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
