/* gen_circuit.h - made-up circuits of any size, for measurements: rows of a constraint system, and witnesses.
 *
 * A circuit is a chain: row i of A w * B w = C w makes one new wire from earlier ones, so that a witness
 * follows from its inputs row by row. Rows are computed when asked for and never stored. The three kinds
 * resemble what people prove in what costs a prover time: the entries of a row, and the sizes of values.
 * - squaring: x <- (x + public)^2. One entry a side, every value of full size.
 * - poseidon: x <- L^5 with L = k1 x + k2 (the x before) + k3. 4.0 entries of A and B a row (Semaphore v4 has
 *   4.0), every value of full size; a third of the wires never occur in B, so their B points are infinity.
 * - bits: inputs checked to be bits, xor and and of bits, each 33rd row packs the last 32 bits into a word.
 *   2.9 entries a row (sha256-512 has 3.1), nearly all values 0 or 1.
 *
 * Equal settings give equal circuits and witnesses, on every machine.
 *
 * Plain data, nothing to release; immutable after gen_circuit_init; any number of threads may read. */
#ifndef BENCH_GEN_CIRCUIT_H
#define BENCH_GEN_CIRCUIT_H

#include "groth16/fr.h"

#include <stdbool.h>
#include <stdint.h>

enum gen_circuit_kind { GEN_CIRCUIT_SQUARING, GEN_CIRCUIT_POSEIDON, GEN_CIRCUIT_BITS, GEN_CIRCUIT_KINDS };

enum { GEN_CIRCUIT_TERMS_MAX = 32, GEN_CIRCUIT_CONSTANTS = 64, GEN_CIRCUIT_BIT_INPUTS = 512 };

struct gen_circuit {
    enum gen_circuit_kind kind;
    uint32_t constraints, publics;
    uint32_t inputs; /* private ones: wires publics + 1 and on */
    uint32_t wires;
    unsigned
        domain_log2; /* holds the constraints and, as in snarkjs' keys, one row for wire 0 and each public */
    uint64_t seed;
    fr constants[GEN_CIRCUIT_CONSTANTS];
    fr minus_one, minus_two;
    fr powers[GEN_CIRCUIT_TERMS_MAX]; /* of two */
};

struct gen_circuit_term {
    uint32_t wire;
    fr factor;
};

struct gen_circuit_sum {
    unsigned count;
    struct gen_circuit_term terms[GEN_CIRCUIT_TERMS_MAX];
};

struct gen_circuit_row {
    struct gen_circuit_sum a, b, c;
    bool makes_wire; /* the last term of c is a new wire, its factor is 1 */
};

/* "squaring", "poseidon", "bits" */
extern const char *const gen_circuit_kind_names[GEN_CIRCUIT_KINDS];

/* False if there are too few constraints to use each input and public once, or more than a domain of 2^27
 * holds. */
bool gen_circuit_init(struct gen_circuit *circuit, enum gen_circuit_kind kind, uint32_t constraints,
                      uint32_t publics, uint64_t seed);

/* Row number `index`, below circuit->constraints. */
void gen_circuit_row(struct gen_circuit_row *row, const struct gen_circuit *circuit, uint32_t index);

/* Fills values (circuit->wires of them) for the number-th set of inputs. O(constraints), one thread. */
void gen_circuit_witness(fr *values, const struct gen_circuit *circuit, uint32_t number);

/* An element, uniform below r, that follows from the arguments alone. */
void gen_circuit_draw(fr *r, uint64_t seed, uint64_t stream, uint64_t number);

#endif
