/* wtns.h - a witness in snarkjs' .wtns format, as a view of its bytes.
 *
 * The file is an iden3 container (binfile.h): section 1 holds the scalar field (width, modulus) and the
 * number of values, section 2 the values, 32 bytes each, little-endian, canonical (below r). Value 0 is the
 * constant one, then come the public outputs, the public inputs and the rest. Source: files of snarkjs 0.7
 * and its reader.
 *
 * The view owns nothing: bytes and name belong to the caller and must outlive it. Any number of threads may
 * read it. Errors are ERROR_INPUT. */
#ifndef GROTH16_WTNS_H
#define GROTH16_WTNS_H

#include "conf/error.h"
#include "groth16/zkey.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WTNS_VALUE_BYTES = 32, WTNS_FRAME_BYTES = 76 };

struct wtns {
    const char *name;
    const uint8_t *values; /* count x 32 bytes, any alignment */
    uint32_t count;
    uint64_t values_offset; /* of values in the file, for messages */
};

/* Finds the values: O(1). Checks the container, the field (named where it is another curve's) and the counts.
 */
enum error_code ERROR_MUST_USE wtns_parse(struct wtns *witness, const uint8_t *bytes, size_t size,
                                          const char *name, struct error *error);

/* Checks that each value is below r and that value 0 is one; the first bad value is named with index and
 * offset. O(n). */
enum error_code ERROR_MUST_USE wtns_check(const struct wtns *witness, struct error *error);

/* Checks that the witness has as many values as the key has wires; both are named in the error. */
enum error_code ERROR_MUST_USE wtns_match(const struct wtns *witness, const struct zkey *key,
                                          struct error *error);

/* Bytes of the file snarkjs would write for so many values. A file may still be longer (unknown sections). */
static inline uint64_t wtns_file_size(uint32_t count)
{
    return WTNS_FRAME_BYTES + (uint64_t)WTNS_VALUE_BYTES * count;
}

bool wtns_recognize(const uint8_t *bytes, size_t size);

#endif
