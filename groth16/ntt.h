/* ntt.h - number-theoretic transforms over Fr: from a domain to its odd coset.
 *
 * Groth16 needs one transform, three times a proof: a polynomial of degree < n = 2^log2 given by its values
 * at the n-th roots of unity w^i is evaluated at the odd coset g w^i, g = a primitive 2n-th root of unity
 * with g^2 = w (for n = 2^28, the field's two-adicity, g = 25). Roots are powers of 5, the smallest
 * non-residue, as snarkjs takes them.
 *
 * The inverse transform runs with decimation that takes values in natural order to coefficients in
 * bit-reversed order, the coefficients are scaled by g^j / n, and the forward transform takes them back to
 * natural order; so no element ever moves to a bit-reversed place. Twiddle factors are constant over each
 * block of butterflies, so the passes with long strides read almost no table, and the last pass of the
 * inverse, the scaling and the first pass of the forward transform are one pass over memory.
 *
 * The same results come from every level of cpu.h. struct ntt is immutable after ntt_init and shared by all
 * threads; its tables lie in caller memory. */
#ifndef GROTH16_NTT_H
#define GROTH16_NTT_H

#include "groth16/fr.h"
#include "groth16/par.h"

#include <stdbool.h>
#include <stddef.h>

enum { NTT_LOG2_MAX = 28 };

struct ntt {
    unsigned log2;
    bool wide;         /* entries of all three tables carry 2^260 in place of 2^256, for ntt_ifma.c */
    const fr *inverse; /* w^-bitreverse(k), k < n / 2 */
    const fr *forward; /* w^bitreverse(k), k < n / 2 */
    const fr *shift;   /* g^j / n at position bitreverse(j), j < n */
};

/* Bytes of the tables: 64 for each point of the domain. */
size_t ntt_table_size(unsigned log2);

/* Fills memory (ntt_table_size bytes, aligned to 64) and *ntt: O(n) multiplications. */
void ntt_init(struct ntt *ntt, unsigned log2, void *memory, struct par *par);

/* values: n elements in natural order, in place, from the domain to the odd coset. O(n log n)
 * multiplications, three passes over memory (five from 2^18 or so on). scratch: ntt_scratch_size bytes,
 * aligned to 64. */
void ntt_to_coset(const struct ntt *ntt, fr *values, struct par *par, void *scratch);
size_t ntt_scratch_size(unsigned workers);

#endif
