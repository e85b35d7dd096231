/* fq.h - the base field of BN254, in which the coordinates of points live.
 *
 * p = 21888242871839275222246405745257275088696311157297823662689037894645226208583 (EIP-196). All of it is
 * mont.h's; see there for representation, operands, timing and cost. */
#ifndef GROTH16_FQ_H
#define GROTH16_FQ_H

#include "groth16/u256.h"

typedef struct {
    uint64_t w[4];
} fq;

extern const u256 fq_modulus;
extern const fq fq_zero;
extern const fq fq_one;
extern const fq fq_r2; /* 2^512 mod p: one multiplication by it enters Montgomery form */

#define MONT_TYPE  fq
#define MONT(name) fq_##name
#define MONT_P0    0x3c208c16d87cfd47u
#define MONT_P1    0x97816a916871ca8du
#define MONT_P2    0xb85045b68181585du
#define MONT_P3    0x30644e72e131a029u
#define MONT_N0    0x87d20782e4866389u
#include "groth16/mont.h"
#undef MONT_TYPE
#undef MONT
#undef MONT_P0
#undef MONT_P1
#undef MONT_P2
#undef MONT_P3
#undef MONT_N0

#endif
