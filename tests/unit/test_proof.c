/* Texts are compared with files that snarkjs wrote (tests/data/README.md says how). */
#include "groth16/proof.h"

#include "groth16/fr.h"
#include "tests/unit/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char *next_number(const char *text, u256 *value)
{
    while (*text && !(text[0] == '"' && text[1] >= '0' && text[1] <= '9')) {
        text++;
    }
    size_t length = strspn(text + 1, "0123456789");
    assert_true(u256_from_decimal(value, text + 1, length));
    return text + 1 + length + 1;
}

static const char *next_fq(const char *text, fq *value)
{
    u256 plain;
    text = next_number(text, &plain);
    assert_true(fq_from_u256(value, &plain));
    return text;
}

static void proof_text_is_snarkjs_own(void **state)
{
    (void)state;
    static const char *const names[] = {"circuit-small/proof.json", "circuit-closed/proof.json"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture_file file = fixture_read(names[i]);
        struct proof proof;
        fq skipped;
        const char *text = (const char *)file.bytes;
        fq *const order[] = {&proof.a.x,    &proof.a.y, &skipped, &proof.b.x.c0, &proof.b.x.c1, &proof.b.y.c0,
                             &proof.b.y.c1, &skipped,   &skipped, &proof.c.x,    &proof.c.y};
        for (size_t j = 0; j < sizeof order / sizeof order[0]; j++) {
            text = next_fq(text, order[j]);
        }
        assert_true(g1_affine_on_curve(&proof.a) && g2_affine_on_curve(&proof.b) &&
                    g1_affine_on_curve(&proof.c));
        char written[PROOF_JSON_BYTES];
        size_t length = proof_write_json(written, sizeof written, &proof);
        assert_int_equal(length, file.size);
        assert_string_equal(written, (const char *)file.bytes);
        free(file.bytes);
    }
}

/* As snarkjs 0.7.5 prints curve.G1.zero and curve.G2.zero in place of pi_a, pi_b and pi_c. */
static void infinity_text(void **state)
{
    (void)state;
    struct proof proof;
    memset(&proof, 0, sizeof proof);
    char written[PROOF_JSON_BYTES];
    size_t length = proof_write_json(written, sizeof written, &proof);
    const char *expected = "{\n \"pi_a\": [\n  \"0\",\n  \"1\",\n  \"0\"\n ],\n"
                           " \"pi_b\": [\n  [\n   \"0\",\n   \"0\"\n  ],\n  [\n   \"1\",\n   \"0\"\n  ],\n"
                           "  [\n   \"0\",\n   \"0\"\n  ]\n ],\n"
                           " \"pi_c\": [\n  \"0\",\n  \"1\",\n  \"0\"\n ],\n"
                           " \"protocol\": \"groth16\",\n \"curve\": \"bn128\"\n}";
    assert_string_equal(written, expected);
    assert_int_equal(length, strlen(expected));
}

/* p - 1 has 77 digits, as many as any coordinate. */
static void the_longest_proof_fits(void **state)
{
    (void)state;
    fq longest;
    fq_neg(&longest, &fq_one);
    struct proof proof = {
        .a = {longest, longest}, .b = {{longest, longest}, {longest, longest}}, .c = {longest, longest}};
    char written[PROOF_JSON_BYTES];
    size_t length = proof_write_json(written, sizeof written, &proof);
    assert_int_equal(length, strlen(written));
    assert_in_range(length, 800, sizeof written - 1);
}

static void public_text_is_snarkjs_own(void **state)
{
    (void)state;
    static const struct {
        const char *witness, *expected;
        uint32_t publics;
    } cases[] = {
        {"circuit-small/witness-000.wtns", "circuit-small/public.json", 5},
        {"circuit-closed/witness-000.wtns", "circuit-closed/public.json", 0},
    };
    for (size_t i = 0; i < 2; i++) {
        struct fixture_file witness = fixture_read(cases[i].witness);
        struct fixture_file expected = fixture_read(cases[i].expected);
        size_t capacity = proof_public_json_size(cases[i].publics);
        char *written = malloc(capacity);
        size_t length = proof_public_write_json(
            written, capacity, witness.bytes + fixture_section(&witness, 2), cases[i].publics);
        assert_int_equal(length, expected.size);
        assert_string_equal(written, (const char *)expected.bytes);
        free(written);
        free(witness.bytes);
        free(expected.bytes);
    }
}

static void the_longest_public_values_fit(void **state)
{
    (void)state;
    enum { PUBLICS = 3 };
    uint8_t witness[(PUBLICS + 1) * 32];
    memset(witness, 0xff, sizeof witness); /* longer than any value below r */
    size_t capacity = proof_public_json_size(PUBLICS);
    char *written = malloc(capacity);
    for (int i = 0; i <= PUBLICS; i++) {
        u256 top = fr_modulus;
        top.w[0]--;
        u256_store_le(witness + i * 32, &top);
    }
    size_t length = proof_public_write_json(written, capacity, witness, PUBLICS);
    assert_int_equal(length, strlen(written));
    assert_true(length < capacity);
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proof_text_is_snarkjs_own),     cmocka_unit_test(infinity_text),
        cmocka_unit_test(the_longest_proof_fits),        cmocka_unit_test(public_text_is_snarkjs_own),
        cmocka_unit_test(the_longest_public_values_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
