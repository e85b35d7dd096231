/* pairing_load.h - tower elements from the decimal strings of pairing_vectors.h, for the tests of fq6, fq12
 * and pairing. */
#ifndef TESTS_PAIRING_LOAD_H
#define TESTS_PAIRING_LOAD_H

#include "conf/check.h"
#include "groth16/fq12.h"

#include <string.h>

static inline void load_fq(fq *r, const char *decimal)
{
    u256 plain;
    CHECK(u256_from_decimal(&plain, decimal, strlen(decimal)));
    CHECK(fq_from_u256(r, &plain));
}

static inline void load_fq2(fq2 *r, const char *const *decimals)
{
    load_fq(&r->c0, decimals[0]);
    load_fq(&r->c1, decimals[1]);
}

static inline fq6 load_fq6(const char *const *decimals)
{
    fq6 r;
    load_fq2(&r.c0, decimals);
    load_fq2(&r.c1, decimals + 2);
    load_fq2(&r.c2, decimals + 4);
    return r;
}

static inline fq12 load_fq12(const char *const *decimals)
{
    return (fq12){.c0 = load_fq6(decimals), .c1 = load_fq6(decimals + 6)};
}

#endif
