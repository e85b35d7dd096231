#include "groth16/fq.h"

const u256 fq_modulus = {{0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029}};
const fq fq_zero = {{0, 0, 0, 0}};
const fq fq_one = {{0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f}};
const fq fq_r2 = {{0xf32cfc5b538afa89, 0xb5e71911d44501fb, 0x47ab1eff0a417ff6, 0x06d89f71cab8351f}};

#define MONT_TYPE  fq
#define MONT(name) fq_##name
#include "groth16/mont_body.h"
