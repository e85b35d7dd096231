/* verify.h - does a Groth16 proof hold?
 *
 * A struct verify_key is what checking against one verification key needs again and again: e(alpha, beta) and
 * the prepared lines of gamma and delta. It comes from a verification_key.json (coordinator/json_read.h) or
 * from a loaded circuit; the same code then checks a stranger's proof and our own before it is delivered.
 *
 * All memory is the caller's. A key is immutable after verify_key_init, holds a pointer to the caller's
 * points of IC, which must outlive it, and may be used by any number of threads at once. About 24 KiB.
 *
 * The check is e(A, B) = e(alpha, beta) e(IC_0 + sum of w_i IC_i, gamma) e(C, delta), as e(A, B) e(-IC..,
 * gamma) e(-C, delta) = e(alpha, beta): three Miller loops and one final exponentiation, two to three
 * milliseconds with the subgroup check of B, plus less than 0.1 ms for a public value of full size.
 *
 * Verdicts are snarkjs' own, with three differences that all refuse more: a B outside the subgroup of order r
 * is refused as such, coordinates and values must be below their modulus, and the number of public values
 * must be the key's. A and C may be infinity. B may not: snarkjs never accepts such a proof, and an honest
 * one isn't.
 *
 * Source: Groth, "On the size of pairing-based non-interactive arguments", eprint.iacr.org/2016/260. */
#ifndef GROTH16_VERIFY_H
#define GROTH16_VERIFY_H

#include "conf/error.h"
#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/pairing.h"
#include "groth16/proof.h"
#include "groth16/u256.h"

#include <stdint.h>

/* A verification key as files have it. */
struct verify_parts {
    uint32_t publics;
    g1_affine alpha1;
    g2_affine beta2, gamma2, delta2;
    const uint8_t
        *ic; /* publics + 1 packed points of 64 bytes, as in a zkey's section 3; unaligned is fine */
};

struct verify_key {
    uint32_t publics;
    const uint8_t *ic;
    fq12 alpha_beta;
    struct pairing_prepared gamma2, delta2;
};

enum verify_result {
    VERIFY_VALID = 0,
    VERIFY_INVALID,      /* all is well formed, the equation doesn't hold */
    VERIFY_PUBLIC_RANGE, /* a public value is not below r */
    VERIFY_A_CURVE,      /* A is not on the curve */
    VERIFY_B_CURVE,
    VERIFY_B_SUBGROUP, /* B is on the curve, but not of order r */
    VERIFY_B_INFINITY,
    VERIFY_C_CURVE,
    VERIFY_RESULTS
};

/* Checks every point of the key (on the curve; beta, gamma and delta also in the subgroup and not infinity)
 * and computes what stays the same. ERROR_INPUT names the file (name) and the point. A few milliseconds, and
 * less than a microsecond for each public value. On error the key must not be used. */
enum error_code verify_key_init(struct verify_key *key, const struct verify_parts *parts, const char *name,
                                struct error *error) ERROR_MUST_USE;

/* publics has key->publics values, plain integers; it may be NULL if there are none. The proof may be any
 * bytes: its points are checked. Of several faults the first in the order of enum verify_result is told,
 * except that VERIFY_INVALID is last. */
enum verify_result verify_proof(const struct verify_key *key, const u256 *publics,
                                const struct proof *proof) ERROR_MUST_USE;

/* What a result means, for a message: "the proof's point A (pi_a) is not on the curve". */
const char *verify_result_text(enum verify_result result);

#endif
