/* gen_points.h - many multiples of one fixed point, for making proving keys.
 *
 * gen_points_multiply_g1 writes scalar_i * G, packed as .zkey files hold points, G the group's generator: by
 * a table of d 2^(c w) G for every window w of c bits and every digit d, so a multiple costs 254 / c
 * additions. Building a table of 13-bit windows takes some 160,000 additions and 10 MiB (G1) or 20 MiB (G2);
 * tables for few points are smaller.
 *
 * The table belongs to the caller (gen_points_tables_close); it is immutable once open and shared by all
 * threads of the par. Scalars are made-up secrets of benchmark keys: nothing here is constant-time. */
#ifndef BENCH_GEN_POINTS_H
#define BENCH_GEN_POINTS_H

#include "conf/error.h"
#include "groth16/fr.h"
#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/par.h"

#include <stddef.h>
#include <stdint.h>

struct gen_points_tables {
    unsigned bits;    /* c */
    unsigned windows; /* of c bits, over 254 */
    g1_affine *g1;    /* windows << bits */
    g2_affine *g2;
};

/* points: how many multiples are to be made, roughly. ERROR_SYSTEM without memory. */
enum error_code ERROR_MUST_USE gen_points_tables_open(struct gen_points_tables *tables, size_t points,
                                                      struct par *par, struct error *error);
void gen_points_tables_close(struct gen_points_tables *tables);

/* bytes: n x G1_BYTES (G2_BYTES). A scalar of zero gives infinity. */
void gen_points_multiply_g1(uint8_t *bytes, const struct gen_points_tables *tables, const fr *scalars,
                            size_t n, struct par *par);
void gen_points_multiply_g2(uint8_t *bytes, const struct gen_points_tables *tables, const fr *scalars,
                            size_t n, struct par *par);

#endif
