/* curve_load.h - field elements and points from the decimal strings of curve_vectors.h, and a seeded
 * generator of inputs, for the tests of the fields, the curves and the MSM. */
#ifndef TESTS_CURVE_LOAD_H
#define TESTS_CURVE_LOAD_H

#include "conf/check.h"
#include "groth16/fr.h"
#include "groth16/g1.h"
#include "groth16/g2.h"

#include <string.h>

static inline u256 curve_load_u256(const char *decimal)
{
    u256 plain;
    CHECK(u256_from_decimal(&plain, decimal, strlen(decimal)));
    return plain;
}

static inline fq curve_load_fq(const char *decimal)
{
    fq r;
    u256 plain = curve_load_u256(decimal);
    CHECK(fq_from_u256(&r, &plain));
    return r;
}

static inline fq2 curve_load_fq2(const char *const *decimals)
{
    return (fq2){.c0 = curve_load_fq(decimals[0]), .c1 = curve_load_fq(decimals[1])};
}

static inline g1_affine curve_load_g1(const char *const *decimals)
{
    return (g1_affine){.x = curve_load_fq(decimals[0]), .y = curve_load_fq(decimals[1])};
}

static inline g2_affine curve_load_g2(const char *const *decimals)
{
    return (g2_affine){.x = curve_load_fq2(decimals), .y = curve_load_fq2(decimals + 2)};
}

/* splitmix64: a full-period generator whose whole state is one word. */
static inline uint64_t curve_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline u256 curve_random_below(uint64_t *state, const u256 *modulus)
{
    u256 r;
    do {
        for (int i = 0; i < 4; i++) {
            r.w[i] = curve_random(state);
        }
        r.w[3] >>= 2;
    } while (!u256_less(&r, modulus));
    return r;
}

#endif
