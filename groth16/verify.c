#include "groth16/verify.h"

#include "conf/check.h"
#include "groth16/fr.h"

#include <stddef.h>

#define VERIFY_G1_BYTES   64
#define VERIFY_BITS       254 /* of a scalar below r */
#define VERIFY_WINDOW_MAX 6

static enum error_code verify_check_g2(const g2_affine *point, const char *label, const char *name,
                                       struct error *error)
{
    if (g2_affine_is_infinity(point)) {
        return error_set(error, ERROR_INPUT, "%s: %s is the point at infinity, which no verification key has",
                         name, label);
    }
    if (!g2_affine_on_curve(point)) {
        return error_set(error, ERROR_INPUT, "%s: %s is not on the curve", name, label);
    }
    if (!g2_affine_in_subgroup(point)) {
        return error_set(error, ERROR_INPUT, "%s: %s is on the curve, but not in the subgroup of order r",
                         name, label);
    }
    return ERROR_NONE;
}

static enum error_code verify_check_ic(const struct verify_parts *parts, const char *name,
                                       struct error *error)
{
    for (size_t i = 0; i <= parts->publics; i++) {
        g1_affine point;
        if (!g1_affine_load(&point, parts->ic + i * VERIFY_G1_BYTES)) {
            return error_set(error, ERROR_INPUT,
                             "%s: a coordinate of IC[%zu] is not below the field's modulus", name, i);
        }
        if (!g1_affine_on_curve(&point)) {
            return error_set(error, ERROR_INPUT, "%s: IC[%zu] is not on the curve", name, i);
        }
    }
    return ERROR_NONE;
}

static enum error_code verify_check_parts(const struct verify_parts *parts, const char *name,
                                          struct error *error)
{
    if (!g1_affine_on_curve(&parts->alpha1)) {
        return error_set(error, ERROR_INPUT, "%s: alpha is not on the curve", name);
    }
    enum error_code code = verify_check_g2(&parts->beta2, "beta", name, error);
    if (code == ERROR_NONE) {
        code = verify_check_g2(&parts->gamma2, "gamma", name, error);
    }
    if (code == ERROR_NONE) {
        code = verify_check_g2(&parts->delta2, "delta", name, error);
    }
    if (code == ERROR_NONE) {
        code = verify_check_ic(parts, name, error);
    }
    return code;
}

enum error_code verify_key_init(struct verify_key *key, const struct verify_parts *parts, const char *name,
                                struct error *error)
{
    CHECK(parts->ic != NULL);
    enum error_code code = verify_check_parts(parts, name, error);
    if (code != ERROR_NONE) {
        return code;
    }
    key->publics = parts->publics;
    key->ic = parts->ic;
    pairing(&key->alpha_beta, &parts->alpha1, &parts->beta2);
    pairing_prepare(&key->gamma2, &parts->gamma2);
    pairing_prepare(&key->delta2, &parts->delta2);
    return ERROR_NONE;
}

/* The `bits` bits of value from bit `low` up. */
static unsigned verify_digit(const u256 *value, unsigned low, unsigned bits)
{
    uint64_t digit = value->w[low / 64] >> (low % 64);
    if (low % 64 + bits > 64 && low / 64 < 3) {
        digit |= value->w[low / 64 + 1] << (64 - low % 64);
    }
    return (unsigned)(digit & ((1u << bits) - 1));
}

/* r += the sum of digit_i IC_{i + 1} for the window at bit low. */
static void verify_window(g1_xyzz *r, const struct verify_key *key, const u256 *publics, unsigned low,
                          unsigned bits)
{
    g1_xyzz buckets[1 << VERIFY_WINDOW_MAX];
    unsigned top = 0;
    for (size_t i = 0; i < key->publics; i++) {
        unsigned digit = verify_digit(&publics[i], low, bits);
        for (; top < digit; top++) {
            g1_xyzz_set_infinity(&buckets[top + 1]);
        }
        if (digit != 0) {
            g1_affine point;
            bool loaded = g1_affine_load(&point, key->ic + (i + 1) * VERIFY_G1_BYTES);
            CHECK(loaded); /* verify_key_init has seen it */
            g1_xyzz_add_affine(&buckets[digit], &buckets[digit], &point);
        }
    }
    g1_xyzz running;
    g1_xyzz_set_infinity(&running);
    for (unsigned digit = top; digit > 0; digit--) {
        g1_xyzz_add(&running, &running, &buckets[digit]);
        g1_xyzz_add(r, r, &running);
    }
}

/* IC_0 + sum of publics_i IC_{i + 1}: buckets as in msm.c, but on the stack and without its scratch, since
 * there are few values and each proof pays for this. A window of one bit is plain double-and-add with shared
 * doublings. */
static void verify_public_sum(g1_affine *r, const struct verify_key *key, const u256 *publics)
{
    unsigned bits = key->publics < 16 ? 1 : key->publics < 48 ? 3 : VERIFY_WINDOW_MAX;
    g1_xyzz sum;
    g1_xyzz_set_infinity(&sum);
    for (unsigned window = (VERIFY_BITS + bits - 1) / bits; window-- > 0;) {
        for (unsigned i = 0; i < bits && !g1_xyzz_is_infinity(&sum); i++) {
            g1_xyzz_dbl(&sum, &sum);
        }
        verify_window(&sum, key, publics, window * bits, bits);
    }
    g1_affine constant;
    bool loaded = g1_affine_load(&constant, key->ic);
    CHECK(loaded);
    g1_xyzz_add_affine(&sum, &sum, &constant);
    g1_xyzz_to_affine(r, &sum);
}

static enum verify_result verify_check_input(const struct verify_key *key, const u256 *publics,
                                             const struct proof *proof)
{
    for (size_t i = 0; i < key->publics; i++) {
        if (!u256_less(&publics[i], &fr_modulus)) {
            return VERIFY_PUBLIC_RANGE;
        }
    }
    if (!g1_affine_on_curve(&proof->a)) {
        return VERIFY_A_CURVE;
    }
    if (!g2_affine_on_curve(&proof->b)) {
        return VERIFY_B_CURVE;
    }
    if (!g2_affine_in_subgroup(&proof->b)) {
        return VERIFY_B_SUBGROUP;
    }
    if (g2_affine_is_infinity(&proof->b)) {
        return VERIFY_B_INFINITY;
    }
    if (!g1_affine_on_curve(&proof->c)) {
        return VERIFY_C_CURVE;
    }
    return VERIFY_VALID;
}

enum verify_result verify_proof(const struct verify_key *key, const u256 *publics, const struct proof *proof)
{
    CHECK(key->publics == 0 || publics != NULL);
    enum verify_result result = verify_check_input(key, publics, proof);
    if (result != VERIFY_VALID) {
        return result;
    }
    g1_affine points[3] = {proof->a};
    verify_public_sum(&points[1], key, publics);
    g1_affine_neg(&points[1], &points[1]);
    g1_affine_neg(&points[2], &proof->c);
    struct pairing_prepared b2;
    pairing_prepare(&b2, &proof->b);
    fq12 product;
    pairing_miller(&product, points, (const struct pairing_prepared *[]){&b2, &key->gamma2, &key->delta2}, 3);
    pairing_final_exponentiation(&product, &product);
    return fq12_equal(&product, &key->alpha_beta) ? VERIFY_VALID : VERIFY_INVALID;
}

const char *verify_result_text(enum verify_result result)
{
    static const char *const texts[VERIFY_RESULTS] = {
        [VERIFY_VALID] = "the proof is valid",
        [VERIFY_INVALID] = "the proof does not hold for this key and these public values",
        [VERIFY_PUBLIC_RANGE] = "a public value is not below the order r of the curve",
        [VERIFY_A_CURVE] = "the proof's point A (pi_a) is not on the curve",
        [VERIFY_B_CURVE] = "the proof's point B (pi_b) is not on the curve",
        [VERIFY_B_SUBGROUP] = "the proof's point B (pi_b) is not in the subgroup of order r",
        [VERIFY_B_INFINITY] = "the proof's point B (pi_b) is the point at infinity",
        [VERIFY_C_CURVE] = "the proof's point C (pi_c) is not on the curve",
    };
    CHECK(result < VERIFY_RESULTS);
    return texts[result];
}
