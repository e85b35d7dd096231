/* gen_key.h - a made-up circuit's proving key, verification key and witnesses, as files in snarkjs' formats.
 *
 * INSECURE by design: the setup's secrets (tau, alpha, beta, gamma, delta) follow from the circuit's seed, so
 * whoever knows the seed can prove anything. For measurements only; the files say so: the verification key
 * has a member "INSECURE", and the key's section 10, which in a real key has the ceremony's hash, has a
 * sentence.
 *
 * The setup is that of the Groth16 paper, in snarkjs' form: with L_i the Lagrange basis of the domain at tau,
 * wire w has A_w = sum of a_iw L_i (B, C likewise), K_w = (beta A_w + alpha B_w + C_w) / delta (/ gamma for
 * public ones); H point i is the Lagrange basis of the domain of double size at its odd places, / delta. Rows
 * behind the constraints hold wire 0 and each public in A. Where snarkjs' setup has gamma = 1, here it is
 * drawn, too.
 *
 * Cost: 254 / 13 point additions for each of five points a wire or row; three to five scalars a wire in
 * memory. Work is shared through par. Errors are ERROR_SYSTEM; a file that couldn't be finished is removed.
 */
#ifndef BENCH_GEN_KEY_H
#define BENCH_GEN_KEY_H

#include "bench/gen_circuit.h"
#include "conf/error.h"
#include "groth16/par.h"

#include <stdint.h>

/* Writes the .zkey and the verification key. */
enum error_code ERROR_MUST_USE gen_key_write(const struct gen_circuit *circuit, const char *key_path,
                                             const char *verification_path, struct par *par,
                                             struct error *error);

/* Writes the number-th witness as a .wtns. */
enum error_code ERROR_MUST_USE gen_key_write_witness(const struct gen_circuit *circuit, uint32_t number,
                                                     const char *path, struct error *error);

#endif
