/* fr.h - the scalar field of BN254, in which circuits compute.
 *
 * p = 21888242871839275222246405745257275088548364400416034343698204186575808495617 (EIP-196). All of it is
 * mont.h's; see there for representation, operands, timing and cost. */
#ifndef GROTH16_FR_H
#define GROTH16_FR_H

#include "groth16/u256.h"

typedef struct {
    uint64_t w[4];
} fr;

extern const u256 fr_modulus;
extern const fr fr_zero;
extern const fr fr_one;
extern const fr fr_r2; /* 2^512 mod p: one multiplication by it enters Montgomery form */

#define MONT_TYPE  fr
#define MONT(name) fr_##name
#define MONT_P0    0x43e1f593f0000001u
#define MONT_P1    0x2833e84879b97091u
#define MONT_P2    0xb85045b68181585du
#define MONT_P3    0x30644e72e131a029u
#define MONT_N0    0xc2e1f593efffffffu
#include "groth16/mont.h"
#undef MONT_TYPE
#undef MONT
#undef MONT_P0
#undef MONT_P1
#undef MONT_P2
#undef MONT_P3
#undef MONT_N0

#endif
