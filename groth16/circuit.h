/* circuit.h - a proving key made ready for proving: loaded once, kept resident, shared by all threads.
 *
 * Derived from the key: its coefficients sorted by matrix and row, and the tables of the NTT. All of it lies
 * in one block of memory that the caller provides and frees; points stay where the key's file is mapped, so
 * the key must not be closed (nor its bytes freed) before the circuit is done with. There is nothing to
 * deinitialize. Immutable after circuit_init. */
#ifndef GROTH16_CIRCUIT_H
#define GROTH16_CIRCUIT_H

#include "groth16/fr.h"
#include "groth16/multiples.h"
#include "groth16/ntt.h"
#include "groth16/par.h"
#include "groth16/zkey.h"

#include <stddef.h>
#include <stdint.h>

enum { CIRCUIT_A, CIRCUIT_B, CIRCUIT_MATRICES };

/* One entry of a matrix. Circuits use few distinct coefficients (mostly 1 and -1), so a value is a reference:
 * below CIRCUIT_DICTIONARY into circuit.dictionary, otherwise (minus CIRCUIT_DICTIONARY) the index of a
 * coefficient of the key. */
struct circuit_entry {
    uint32_t wire;
    uint32_t value;
};

enum { CIRCUIT_DICTIONARY = 1 << 14, CIRCUIT_ONE = 0, CIRCUIT_MINUS_ONE = 1 };

struct circuit {
    struct zkey key; /* a copy of the view; circuit does not own its mapping */
    struct ntt ntt;
    const struct circuit_entry *entries;
    const uint32_t
        *rows[CIRCUIT_MATRICES]; /* row i of a matrix is entries[rows[i]] up to entries[rows[i + 1]] */
    const fr *dictionary;        /* times R^2, as the key stores them */
    struct multiples multiples;  /* none after circuit_init; whoever fills it owns its memory */
};

/* Bytes that circuit_init needs: about 72 for each point of the domain, 8 for each coefficient, and up to 600
 * KB. */
size_t circuit_memory_size(const struct zkey *key);

/* memory: circuit_memory_size bytes, aligned to 64. O(coefficients + domain) time. */
void circuit_init(struct circuit *circuit, const struct zkey *key, void *memory, struct par *par);

#endif
