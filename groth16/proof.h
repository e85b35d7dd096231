/* proof.h - a Groth16 proof over BN254 and its text, as snarkjs shapes proof.json and public.json.
 *
 * The texts are byte for byte what snarkjs 0.7 writes (JSON.stringify(value, null, 1), no newline at the
 * end), so that files can be compared. Everything here is a pure function on caller memory; any thread. */
#ifndef GROTH16_PROOF_H
#define GROTH16_PROOF_H

#include "groth16/g1.h"
#include "groth16/g2.h"

#include <stddef.h>
#include <stdint.h>

struct proof {
    g1_affine a;
    g2_affine b;
    g1_affine c;
};

enum { PROOF_JSON_BYTES = 1024 }; /* enough for any proof, terminator included */

/* Writes the terminated text of proof.json and returns its length without the terminator. capacity must be at
 * least PROOF_JSON_BYTES. Infinity prints as snarkjs prints it: ["0","1","0"] in G1. */
size_t proof_write_json(char *text, size_t capacity, const struct proof *proof);

/* Bytes that hold public.json for this many public values, terminator included. */
size_t proof_public_json_size(uint32_t publics);

/* Writes the terminated text of public.json, the values 1 to `publics` of a witness (32 bytes each,
 * little-endian, value 0 is the constant one), and returns its length; capacity must be at least
 * proof_public_json_size(publics). Without public values it is an empty array, which snarkjs breaks over two lines. */
size_t proof_public_write_json(char *text, size_t capacity, const uint8_t *witness, uint32_t publics);

#endif
