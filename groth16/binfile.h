/* binfile.h - the container that .zkey and .wtns files share (iden3's "binary file").
 *
 * Layout, little-endian throughout: four bytes that name the kind of file, a 32-bit version, a 32-bit number
 * of sections, then the sections one after another, each with a 32-bit type, a 64-bit length and that many
 * bytes. They may come in any order. Source: the format description in iden3's r1csfile repository and files
 * that snarkjs writes.
 *
 * A struct binfile is a view: it owns nothing, and the bytes and the name belong to the caller and must
 * outlive it. It is plain data that any number of threads may read. Parsing reads section headers only:
 * O(sections), with no access outside [bytes, bytes + size), whatever these hold. */
#ifndef GROTH16_BINFILE_H
#define GROTH16_BINFILE_H

#include "conf/error.h"

#include <stddef.h>
#include <stdint.h>

enum { BINFILE_TYPES = 32 }; /* section types below this are recorded, others are stepped over */

struct binfile_section {
    const uint8_t *bytes; /* NULL: the file has no such section */
    uint64_t size;
    uint64_t offset; /* of its first byte in the file */
};

/* What a kind of file looks like: constant data of its reader. */
struct binfile_format {
    char magic[5];
    const char *noun; /* "a proving key (.zkey)", for messages */
    uint32_t version_max;
    const char *section_names[BINFILE_TYPES]; /* NULL: no name known */
};

struct binfile {
    const struct binfile_format *format;
    const char *name; /* how messages call the file: its path */
    const uint8_t *bytes;
    size_t size;
    struct binfile_section sections[BINFILE_TYPES];
};

/* Fills *file. ERROR_INPUT: another kind of file, an unknown version, a section that leaves the file, a known
 * section that comes twice. Bytes after the last section are ignored, as snarkjs does. */
enum error_code ERROR_MUST_USE binfile_parse(struct binfile *file, const struct binfile_format *format,
                                             const uint8_t *bytes, size_t size, const char *name,
                                             struct error *error);

/* ERROR_INPUT unless section `type` is there. */
enum error_code ERROR_MUST_USE binfile_require(const struct binfile *file, unsigned type,
                                               struct error *error);

/* ERROR_INPUT unless section `type` is there and exactly count x item bytes long; `items` names the count in
 * the message ("points, one for each of 6454 wires"). */
enum error_code ERROR_MUST_USE binfile_require_items(const struct binfile *file, unsigned type,
                                                     uint64_t count, uint64_t item, const char *items,
                                                     struct error *error);

/* Checks the three values with which a field is declared in a header section (its width in bytes and its
 * modulus) against `modulus` of 32 bytes: ERROR_INPUT names the curve where it is a known one. *position, an
 * offset within the section, moves behind the modulus. `field` names it in messages ("scalar field"). */
enum error_code ERROR_MUST_USE binfile_check_field(const struct binfile *file, unsigned type,
                                                   size_t *position, const uint8_t modulus[32],
                                                   const char *field, struct error *error);

uint32_t binfile_load32(const uint8_t *bytes); /* little-endian, any alignment */
uint64_t binfile_load64(const uint8_t *bytes);

#endif
