/* A witness from anywhere: it is refused, or every value it shows can be read and is below r. */
#include "groth16/wtns.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wtns witness;
    struct error error;
    if (wtns_parse(&witness, bytes, size, "fuzz.wtns", &error) || wtns_check(&witness, &error)) {
        return 0;
    }
    for (uint32_t i = 0; i < witness.count; i++) {
        u256 value;
        u256_load_le(&value, witness.values + (size_t)i * WTNS_VALUE_BYTES);
        if (!u256_less(&value, &fr_modulus)) {
            abort();
        }
    }
    return 0;
}
