#include "groth16/u256.h"

bool u256_from_decimal(u256 *r, const char *digits, size_t length)
{
    u256 value = {{0}};
    if (length == 0) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9') {
            return false;
        }
        unsigned __int128 carry = (unsigned)(digits[i] - '0');
        for (int j = 0; j < 4; j++) {
            carry += (unsigned __int128)value.w[j] * 10;
            value.w[j] = (uint64_t)carry;
            carry >>= 64;
        }
        if (carry != 0) {
            return false;
        }
    }
    *r = value;
    return true;
}

/* Divides a by 10^19, the largest power of ten in a word, and returns the remainder. */
static uint64_t u256_divide_chunk(u256 *a)
{
    const uint64_t divisor = 10000000000000000000u;
    unsigned __int128 remainder = 0;
    for (int i = 3; i >= 0; i--) {
        remainder = remainder << 64 | a->w[i];
        a->w[i] = (uint64_t)(remainder / divisor);
        remainder %= divisor;
    }
    return (uint64_t)remainder;
}

size_t u256_to_decimal(char text[U256_DECIMAL_BYTES], const u256 *a)
{
    char reversed[5 * 19];
    size_t length = 0;
    u256 rest = *a;
    do {
        uint64_t chunk = u256_divide_chunk(&rest);
        for (int i = 0; i < 19; i++) {
            reversed[length++] = (char)('0' + chunk % 10);
            chunk /= 10;
        }
    } while (!u256_is_zero(&rest));
    while (length > 1 && reversed[length - 1] == '0') {
        length--;
    }
    for (size_t i = 0; i < length; i++) {
        text[i] = reversed[length - 1 - i];
    }
    text[length] = '\0';
    return length;
}
