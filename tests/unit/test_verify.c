#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/json_read.h"
#include "groth16/fr.h"
#include "groth16/verify.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *load_cases(void)
{
    json_t *cases = json_load_file(UZK_TEST_DATA "/verify/cases.json", 0, NULL);
    assert_non_null(cases);
    return cases;
}

static void load_key(struct verify_key *key, struct json_vkey *vkey, const json_t *value)
{
    struct error error;
    char *text = json_dumps(value, 0);
    assert_non_null(text);
    assert_int_equal(json_parse_vkey(vkey, text, strlen(text), "vkey", &error), ERROR_NONE);
    assert_int_equal(verify_key_init(key, &vkey->parts, "vkey", &error), ERROR_NONE);
    free(text);
}

/* "valid", "invalid", or "refused" when the files already aren't what they must be. */
static const char *judge(const struct verify_key *key, const json_t *entry)
{
    struct error error;
    struct proof proof;
    struct json_public publics;
    const char *verdict = "refused";
    char *proof_text = json_dumps(json_object_get(entry, "proof"), 0);
    char *public_text = json_dumps(json_object_get(entry, "public"), 0);
    assert_non_null(proof_text);
    assert_non_null(public_text);
    if (json_parse_public(&publics, public_text, strlen(public_text), "public", &error) == ERROR_NONE) {
        if (json_parse_proof(&proof, proof_text, strlen(proof_text), "proof", &error) == ERROR_NONE &&
            publics.count == key->publics) {
            bool valid = verify_proof(key, publics.values, &proof) == VERIFY_VALID;
            verdict = valid ? "valid" : "invalid";
        }
        json_public_free(&publics);
    }
    free(proof_text);
    free(public_text);
    return verdict;
}

/* cases.json has snarkjs' verdict on sound and tampered proofs (tests/data/verify/README.md). */
static void test_verdicts_of_snarkjs(void **state)
{
    (void)state;
    json_t *groups = load_cases();
    size_t valid = 0, not_valid = 0, stricter = 0, group_index, entry_index;
    json_t *group, *entry;
    json_array_foreach(groups, group_index, group)
    {
        struct verify_key key;
        struct json_vkey vkey;
        load_key(&key, &vkey, json_object_get(group, "vkey"));
        json_array_foreach(json_object_get(group, "cases"), entry_index, entry)
        {
            const char *name = json_string_value(json_object_get(entry, "name"));
            const char *theirs = json_string_value(json_object_get(entry, "snarkjs"));
            const char *ours = judge(&key, entry);
            if (json_object_get(entry, "stricter") != NULL) {
                assert_string_equal(theirs, "valid");
                assert_string_equal(ours, "refused");
                stricter++;
            } else if ((strcmp(theirs, "valid") == 0) != (strcmp(ours, "valid") == 0)) {
                fail_msg("%s: snarkjs says %s, we say %s", name, theirs, ours);
            } else if (strcmp(theirs, "valid") == 0) {
                valid++;
            } else {
                not_valid++;
            }
        }
        json_vkey_free(&vkey);
    }
    json_decref(groups);
    assert_true(valid >= 10 && not_valid >= 30 && stricter >= 3); /* the file isn't empty */
}

/* Proofs that snarkjs made, straight from its files. */
static void check_files(const char *folder, uint32_t publics_expected)
{
    char path[3][256];
    const char *const names[] = {"vkey", "proof", "public"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s/%s.json", UZK_TEST_DATA, folder, names[i]);
    }
    struct error error;
    struct json_vkey vkey;
    struct proof proof;
    struct json_public publics;
    struct verify_key key;
    assert_int_equal(json_read_vkey(&vkey, path[0], &error), ERROR_NONE);
    assert_int_equal(json_read_proof(&proof, path[1], &error), ERROR_NONE);
    assert_int_equal(json_read_public(&publics, path[2], &error), ERROR_NONE);
    assert_int_equal(verify_key_init(&key, &vkey.parts, path[0], &error), ERROR_NONE);
    assert_int_equal(publics.count, publics_expected);
    assert_int_equal(key.publics, publics_expected);
    assert_int_equal(verify_proof(&key, publics.values, &proof), VERIFY_VALID);
    g1_affine_neg(&proof.c, &proof.c);
    assert_int_equal(verify_proof(&key, publics.values, &proof), VERIFY_INVALID);
    json_vkey_free(&vkey);
    json_public_free(&publics);
}

static void test_files_of_snarkjs(void **state)
{
    (void)state;
    check_files("circuit-small", 5);
    check_files("circuit-closed", 0);
}

static void load_first(struct verify_key *key, struct json_vkey *vkey, struct json_public *publics,
                       struct proof *proof)
{
    struct error error;
    json_t *groups = load_cases();
    json_t *group = json_array_get(groups, 0);
    json_t *entry = json_array_get(json_object_get(group, "cases"), 0);
    char *proof_text = json_dumps(json_object_get(entry, "proof"), 0);
    char *public_text = json_dumps(json_object_get(entry, "public"), 0);
    load_key(key, vkey, json_object_get(group, "vkey"));
    assert_int_equal(json_parse_proof(proof, proof_text, strlen(proof_text), "proof", &error), ERROR_NONE);
    assert_int_equal(json_parse_public(publics, public_text, strlen(public_text), "public", &error),
                     ERROR_NONE);
    free(proof_text);
    free(public_text);
    json_decref(groups);
}

/* A point of the twist whose order is not r. */
static g2_affine point_outside_subgroup(void)
{
    json_t *groups = load_cases();
    json_t *cases = json_object_get(json_array_get(groups, 0), "cases"), *entry;
    g2_affine point = g2_generator;
    size_t i;
    json_array_foreach(cases, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (strcmp(name, "pi_b on the curve, outside the subgroup") == 0) {
            struct error error;
            struct proof proof;
            char *text = json_dumps(json_object_get(entry, "proof"), 0);
            assert_int_equal(json_parse_proof(&proof, text, strlen(text), name, &error), ERROR_NONE);
            point = proof.b;
            free(text);
        }
    }
    json_decref(groups);
    assert_true(g2_affine_on_curve(&point));
    assert_false(g2_affine_in_subgroup(&point));
    return point;
}

static void test_reasons(void **state)
{
    (void)state;
    struct verify_key key;
    struct json_vkey vkey;
    struct json_public publics;
    struct proof proof, changed;
    load_first(&key, &vkey, &publics, &proof);
    assert_int_equal(verify_proof(&key, publics.values, &proof), VERIFY_VALID);

    changed = proof;
    fq_add(&changed.a.x, &changed.a.x, &fq_one);
    assert_int_equal(verify_proof(&key, publics.values, &changed), VERIFY_A_CURVE);
    changed = proof;
    fq_add(&changed.b.y.c1, &changed.b.y.c1, &fq_one);
    assert_int_equal(verify_proof(&key, publics.values, &changed), VERIFY_B_CURVE);
    changed = proof;
    changed.b = point_outside_subgroup();
    assert_int_equal(verify_proof(&key, publics.values, &changed), VERIFY_B_SUBGROUP);
    memset(&changed.b, 0, sizeof changed.b);
    assert_int_equal(verify_proof(&key, publics.values, &changed), VERIFY_B_INFINITY);
    changed = proof;
    fq_add(&changed.c.y, &changed.c.y, &fq_one);
    assert_int_equal(verify_proof(&key, publics.values, &changed), VERIFY_C_CURVE);

    publics.values[1].w[0] ^= 1;
    assert_int_equal(verify_proof(&key, publics.values, &proof), VERIFY_INVALID);
    publics.values[1] = fr_modulus;
    assert_int_equal(verify_proof(&key, publics.values, &proof), VERIFY_PUBLIC_RANGE);
    for (int result = 0; result < VERIFY_RESULTS; result++) {
        assert_non_null(verify_result_text((enum verify_result)result));
    }
    json_vkey_free(&vkey);
    json_public_free(&publics);
}

static void expect_bad_key(const struct verify_parts *parts, const char *message)
{
    struct verify_key key;
    struct error error;
    assert_int_equal(verify_key_init(&key, parts, "k.json", &error), ERROR_INPUT);
    assert_string_equal(error.text, message);
}

static void test_bad_keys(void **state)
{
    (void)state;
    struct verify_key key;
    struct json_vkey vkey;
    struct json_public publics;
    struct proof proof;
    load_first(&key, &vkey, &publics, &proof);
    struct verify_parts parts = vkey.parts;
    fq_add(&parts.alpha1.x, &parts.alpha1.x, &fq_one);
    expect_bad_key(&parts, "k.json: alpha is not on the curve");
    parts = vkey.parts;
    fq_add(&parts.beta2.x.c0, &parts.beta2.x.c0, &fq_one);
    expect_bad_key(&parts, "k.json: beta is not on the curve");
    parts = vkey.parts;
    memset(&parts.gamma2, 0, sizeof parts.gamma2);
    expect_bad_key(&parts, "k.json: gamma is the point at infinity, which no verification key has");
    parts = vkey.parts;
    parts.delta2 = point_outside_subgroup();
    expect_bad_key(&parts, "k.json: delta is on the curve, but not in the subgroup of order r");
    parts = vkey.parts;
    vkey.ic[2 * G1_BYTES] ^= 1;
    expect_bad_key(&parts, "k.json: IC[2] is not on the curve");
    memset(vkey.ic + 4 * G1_BYTES + 32, 0xff, 32);
    vkey.ic[2 * G1_BYTES] ^= 1;
    expect_bad_key(&parts, "k.json: a coordinate of IC[4] is not below the field's modulus");
    json_vkey_free(&vkey);
    json_public_free(&publics);
}

static void g1_of(g1_affine *r, const fr *scalar)
{
    u256 plain;
    g1_xyzz point;
    fr_to_u256(&plain, scalar);
    g1_xyzz_from_affine(&point, &g1_generator);
    g1_xyzz_mul(&point, &point, &plain);
    g1_xyzz_to_affine(r, &point);
}

/* A key with alpha = beta = gamma = delta = 1 and IC = 1, 2, 3..: a proof with B = 1 holds if a = 1 + sum +
 * c. */
static void check_many_publics(uint32_t count)
{
    uint8_t *ic = calloc((size_t)count + 1, G1_BYTES);
    u256 *values = calloc(count, sizeof *values);
    assert_non_null(ic);
    assert_non_null(values);
    struct proof proof = {.b = g2_generator};
    fr sum = fr_one, index = fr_one, value = fr_one, a, c;
    g1_affine point;
    g1_of(&point, &index);
    g1_affine_store(ic, &point);
    for (uint32_t i = 0; i < count; i++) {
        fr product;
        fr_add(&index, &index, &fr_one);
        g1_of(&point, &index);
        g1_affine_store(ic + ((size_t)i + 1) * G1_BYTES, &point);
        fr_inv(&value, &index); /* values of full size, but for some small ones and zeros */
        if (i % 7 == 3) {
            value = i % 2 == 0 ? fr_one : fr_zero;
        }
        fr_to_u256(&values[i], &value);
        fr_mul(&product, &value, &index);
        fr_add(&sum, &sum, &product);
    }
    fr_inv(&c, &index);
    fr_add(&a, &sum, &c);
    fr_add(&a, &a, &fr_one);
    g1_of(&proof.a, &a);
    g1_of(&proof.c, &c);

    const struct verify_parts parts = {.publics = count,
                                       .alpha1 = g1_generator,
                                       .beta2 = g2_generator,
                                       .gamma2 = g2_generator,
                                       .delta2 = g2_generator,
                                       .ic = ic};
    struct verify_key key;
    struct error error;
    assert_int_equal(verify_key_init(&key, &parts, "k", &error), ERROR_NONE);
    assert_int_equal(verify_proof(&key, values, &proof), VERIFY_VALID);
    values[count - 1].w[0] ^= 1;
    assert_int_equal(verify_proof(&key, values, &proof), VERIFY_INVALID);
    free(ic);
    free(values);
}

static void test_many_publics(void **state)
{
    (void)state;
    check_many_publics(1);
    check_many_publics(15);
    check_many_publics(16);
    check_many_publics(47);
    check_many_publics(48);
    check_many_publics(150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts_of_snarkjs),
        cmocka_unit_test(test_files_of_snarkjs),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_bad_keys),
        cmocka_unit_test(test_many_publics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
