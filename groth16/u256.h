/* u256.h - plain 256-bit integers as four little-endian words, with no modulus.
 *
 * Used where a number is a number: scalars on their way into an MSM, decimal text, moduli. Values are the
 * caller's; any thread; no errors beyond the bool results; constant small cost. Variable-time. */
#ifndef GROTH16_U256_H
#define GROTH16_U256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t w[4];
} u256;

enum { U256_BYTES = 32, U256_DECIMAL_BYTES = 79 }; /* 78 digits and the terminator */

static inline void u256_load_le(u256 *r, const uint8_t bytes[U256_BYTES])
{
    memcpy(r->w, bytes, U256_BYTES); /* uzk runs on little-endian machines only */
}

static inline void u256_store_le(uint8_t bytes[U256_BYTES], const u256 *a)
{
    memcpy(bytes, a->w, U256_BYTES);
}

static inline bool u256_less(const u256 *a, const u256 *b)
{
    for (int i = 3; i > 0; i--) {
        if (a->w[i] != b->w[i]) {
            return a->w[i] < b->w[i];
        }
    }
    return a->w[0] < b->w[0];
}

static inline bool u256_is_zero(const u256 *a)
{
    return (a->w[0] | a->w[1] | a->w[2] | a->w[3]) == 0;
}

static inline bool u256_equal(const u256 *a, const u256 *b)
{
    return ((a->w[0] ^ b->w[0]) | (a->w[1] ^ b->w[1]) | (a->w[2] ^ b->w[2]) | (a->w[3] ^ b->w[3])) == 0;
}

/* Reads length decimal digits; false if there are none, if one isn't a digit, or if the value is 2^256 or
 * more. */
bool u256_from_decimal(u256 *r, const char *digits, size_t length);

/* Writes the decimal digits and a terminator; returns the number of digits. */
size_t u256_to_decimal(char text[U256_DECIMAL_BYTES], const u256 *a);

#endif
