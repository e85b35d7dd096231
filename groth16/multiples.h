/* multiples.h - tables of multiples (msm.h) of a proving key's points, for a circuit that many proofs share.
 *
 * H's scalars are of full length in every proof, so its table always saves; those of A, B1, B2 and C save as
 * much as the witness has long values. Tables take 15 to 20 times the memory of the points. The struct is
 * plain data, immutable once made; the memory is the caller's and must outlive it. */
#ifndef GROTH16_MULTIPLES_H
#define GROTH16_MULTIPLES_H

#include "groth16/msm.h"
#include "groth16/zkey.h"

#include <stddef.h>
#include <stdint.h>

enum multiples_kind { MULTIPLES_NONE, MULTIPLES_H, MULTIPLES_ALL };

struct multiples {
    struct msm_table a, b1, c, h, b2; /* without windows: no table */
};

/* The shapes without the points: what sizes depend on. */
struct multiples multiples_shape(const struct zkey *key, enum multiples_kind kind);

/* Bytes of all tables of this shape; SIZE_MAX if that overflows. */
size_t multiples_size(const struct zkey *key, const struct multiples *shape);

size_t multiples_scratch_size(const struct zkey *key, const struct multiples *shape, unsigned workers);

/* Fills the tables of the shape. memory: multiples_size bytes; scratch: multiples_scratch_size bytes for
 * par->workers; both aligned to 64. Each point takes about 250 doublings, 40 to 150 us in G1. */
void multiples_init(struct multiples *multiples, const struct zkey *key, void *memory, struct par *par,
                    void *scratch);

#endif
