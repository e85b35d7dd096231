/* A key from anywhere: parsing, the check of its points, and all that a proof then does with it may at most
 * refuse it. */
#include "groth16/prove.h"
#include "groth16/zkey.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { WIRES_MAX = 64, DOMAIN_LOG2_MAX = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct zkey key;
    struct error error;
    if (zkey_parse(&key, bytes, size, "fuzz.zkey", &error)) {
        return 0;
    }
    if (zkey_check_points(&key, ZKEY_POINTS_CURVE, &par_serial, &error)) {
        /* Proving goes on all the same, as with check_points = off: a wrong proof then, but never a wrong
         * access. */
    }
    if (key.wires > WIRES_MAX || key.domain_log2 > DOMAIN_LOG2_MAX) {
        return 0; /* too slow to prove millions of times */
    }
    struct circuit circuit;
    size_t memory_size = circuit_memory_size(&key);
    void *memory = aligned_alloc(64, (memory_size + 63) & ~(size_t)63);
    if (!memory) {
        abort();
    }
    circuit_init(&circuit, &key, memory, &par_serial);
    size_t scratch_size = prove_scratch_size(&circuit, 1);
    void *scratch = aligned_alloc(64, (scratch_size + 63) & ~(size_t)63);
    if (!scratch) {
        abort();
    }
    uint8_t witness[WIRES_MAX * 32] = {1};
    struct prove_sums sums;
    prove_compute(&sums, &circuit, witness, &par_serial, scratch, NULL, NULL);
    free(scratch);
    free(memory);
    return 0;
}
