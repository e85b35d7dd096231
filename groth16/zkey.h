/* zkey.h - a Groth16 proving key over BN254 in snarkjs' .zkey format, as a read-only view of the file.
 *
 * The file is an iden3 container (binfile.h) with these sections: 1 protocol, 2 header (fields, sizes, the
 * six points alpha, beta, gamma, delta), 3 IC, 4 coefficients of the constraint matrices A and B, 5 A, 6 B1,
 * 7 B2, 8 C, 9 H, 10 the ceremony's contributions (never read). Points are affine, coordinates are 32 bytes
 * little-endian in Montgomery form (R = 2^256), (0, 0) is infinity; G2 coordinates are c0, c1. A coefficient
 * is matrix:32 row:32 wire:32 value:256 with the value multiplied by R twice. H points are in the Lagrange
 * basis of the odd coset. Source: files of snarkjs 0.7 and its reader.
 *
 * Ownership: zkey_open maps the file, zkey_load reads it into memory of its own (huge pages where there are
 * any, since an MSM goes through the points in random order: a tenth of a proof's time at 2^20), and
 * zkey_close unmaps either; zkey_parse views bytes of the caller's. The name must outlive the struct. After
 * that the struct is plain data which any number of threads may read. A file that zkey_open has mapped must
 * not shrink before zkey_close.
 *
 * Errors are ERROR_INPUT for what the file holds and ERROR_SYSTEM for what the system refused. Parsing checks
 * every count and index and each coefficient's value, O(coefficients); the points are checked by
 * zkey_check_points. */
#ifndef GROTH16_ZKEY_H
#define GROTH16_ZKEY_H

#include "conf/error.h"
#include "groth16/fr.h"
#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/par.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZKEY_G1_BYTES = 64, ZKEY_G2_BYTES = 128, ZKEY_COEFFICIENT_BYTES = 44, ZKEY_DOMAIN_LOG2_MAX = 28 };

struct zkey {
    const char *name; /* for messages: the path */
    uint32_t wires;   /* values of a witness, the constant one included */
    uint32_t publics; /* wires 1 to publics are public */
    unsigned domain_log2;
    g1_affine alpha1, beta1, delta1;
    g2_affine beta2, gamma2, delta2;
    const uint8_t *ic; /* publics + 1 G1 points; NULL if the file lacks them (they serve verification only) */
    const uint8_t *a;  /* wires G1 points */
    const uint8_t *b1; /* wires G1 points */
    const uint8_t *b2; /* wires G2 points */
    const uint8_t *c;  /* wires - publics - 1 G1 points: of the wires that are not public */
    const uint8_t *h;  /* 2^domain_log2 G1 points */
    const uint8_t *coefficients; /* packed, ZKEY_COEFFICIENT_BYTES each */
    uint32_t coefficients_count;
    const uint8_t *bytes; /* the whole file */
    size_t size;
    uint64_t header_offset; /* of section 2 */
    void *mapping;          /* what zkey_close unmaps; NULL after zkey_parse */
};

/* One coefficient: row `row` of matrix A (0) or B (1) holds value / R^2 at `wire`. */
struct zkey_coefficient {
    uint32_t matrix, row, wire;
    fr value; /* limbs as stored: the value times R^2 */
};

enum zkey_points { ZKEY_POINTS_OFF, ZKEY_POINTS_CURVE, ZKEY_POINTS_FULL };

/* A look at a key, which reads no more of the file than what it looks at. */
enum error_code ERROR_MUST_USE zkey_open(struct zkey *key, const char *path, struct error *error);

/* For proving: reads the whole file, so that nothing that befalls it later befalls the proofs. */
enum error_code ERROR_MUST_USE zkey_load(struct zkey *key, const char *path, struct par *par,
                                         struct error *error);
void zkey_close(struct zkey *key);

/* As zkey_open for a key that already is in memory. */
enum error_code ERROR_MUST_USE zkey_parse(struct zkey *key, const uint8_t *bytes, size_t size,
                                          const char *name, struct error *error);

/* Checks that every point of the key is on its curve (CURVE) and that each G2 point is in the subgroup of
 * order r (FULL; about a thousand times the cost for G2). The error names the first bad point: its section,
 * index and byte offset; the same one whatever the number of workers. OFF checks nothing. */
enum error_code ERROR_MUST_USE zkey_check_points(const struct zkey *key, enum zkey_points mode,
                                                 struct par *par, struct error *error);

/* Coefficient number `index`, below coefficients_count. */
struct zkey_coefficient zkey_coefficient_at(const struct zkey *key, uint32_t index);

/* Whether a file that starts with these bytes calls itself a .zkey. */
bool zkey_recognize(const uint8_t *bytes, size_t size);

#endif
