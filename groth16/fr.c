#include "groth16/fr.h"

const u256 fr_modulus = {{0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029}};
const fr fr_zero = {{0, 0, 0, 0}};
const fr fr_one = {{0xac96341c4ffffffb, 0x36fc76959f60cd29, 0x666ea36f7879462e, 0x0e0a77c19a07df2f}};
const fr fr_r2 = {{0x1bb8e645ae216da7, 0x53fe3ab1e35c59e3, 0x8c49833d53bb8085, 0x0216d0b17f4e44a5}};

#define MONT_TYPE  fr
#define MONT(name) fr_##name
#include "groth16/mont_body.h"
