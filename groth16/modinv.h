/* modinv.h - inverses modulo an odd number, by division steps.
 *
 * Both fields use it through fq_inv and fr_inv. Bernstein and Yang, "Fast constant-time gcd computation and
 * modular inversion" (2019), in a form that takes variable time: 62 steps at a time on the lowest words
 * alone, runs of zeros at once, then one update of the long numbers. Any thread; about 1.5 us. */
#ifndef GROTH16_MODINV_H
#define GROTH16_MODINV_H

#include "groth16/u256.h"

/* r = 1/a mod modulus, and 0 for 0. modulus: odd, below 2^255, coprime to a; a below modulus; plain integers.
 */
void modinv(u256 *r, const u256 *a, const u256 *modulus);

#endif
