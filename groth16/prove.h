/* prove.h - the Groth16 prover over BN254: from a witness to a proof.
 *
 * Two steps, so that a device can do the long one and the host the other. prove_compute does all that depends
 * on the witness: constraint evaluations, the quotient h at the odd coset, five multi-scalar multiplications.
 * prove_assemble adds the key's constants and the blinding: a handful of scalar multiplications. Source:
 * Groth, "On the Size of Pairing-Based Non-interactive Arguments" (2016), in the form of snarkjs' key: h(x)
 * (the quotient (A B - C) / Z) at the odd coset, where Z is the constant -2, which the key's H points absorb.
 *
 * The circuit is immutable and shared; each call needs its own sums and scratch. Arithmetic takes variable
 * time, as in the other provers: who can time this machine closely may learn about the witness. */
#ifndef GROTH16_PROVE_H
#define GROTH16_PROVE_H

#include "conf/error.h"
#include "groth16/circuit.h"
#include "groth16/par.h"
#include "groth16/proof.h"

#include <stddef.h>
#include <stdint.h>

enum prove_stage { PROVE_EVALUATE, PROVE_NTT, PROVE_MSM, PROVE_STAGES };

/* Witness-dependent parts of a proof, not yet blinded: as secret as the witness. */
struct prove_sums {
    g1_xyzz a, b1, c, h;
    g2_xyzz b2;
};

struct prove_blinding {
    fr r, s;
};

/* Scratch of prove_compute in bytes: three vectors over the domain, or one and an MSM's scratch if that is
 * more. */
size_t prove_scratch_size(const struct circuit *circuit, unsigned workers);

/* witness: wires x 32 bytes, little-endian, each below r (wtns_check), any alignment. scratch:
 * prove_scratch_size(circuit, par->workers) bytes, aligned to 64; what it holds afterwards is secret.
 * stage_done, if not NULL, is called on the calling thread at the end of each stage, in order. */
void prove_compute(struct prove_sums *sums, const struct circuit *circuit, const uint8_t *witness,
                   struct par *par, void *scratch, void (*stage_done)(void *context, enum prove_stage stage),
                   void *context);

/* The proof from the sums and one blinding. Blinding may serve one proof only: two proofs with equal r and s
 * of related witnesses are not zero-knowledge. */
void prove_assemble(struct proof *proof, const struct circuit *circuit, const struct prove_sums *sums,
                    const struct prove_blinding *blinding);

/* Draws r and s from the system's generator (getrandom), each uniform below r by rejection. The caller wipes
 * *blinding with explicit_bzero once the proof is assembled. ERROR_SYSTEM if getrandom fails. */
enum error_code ERROR_MUST_USE prove_blinding_draw(struct prove_blinding *blinding, struct error *error);

#endif
