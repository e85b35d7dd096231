#include "groth16/binfile.h"

#include "conf/check.h"

#include <inttypes.h>
#include <string.h>

enum { HEADER_BYTES = 12, SECTION_HEADER_BYTES = 12 };

uint32_t binfile_load32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint64_t binfile_load64(const uint8_t *bytes)
{
    return binfile_load32(bytes) | (uint64_t)binfile_load32(bytes + 4) << 32;
}

static const char *section_name(const struct binfile_format *format, unsigned type)
{
    const char *name = type < BINFILE_TYPES ? format->section_names[type] : NULL;
    return name ? name : "unknown";
}

/* People mix up the files of one circuit: say which one this is. */
static const char *guess_kind(const uint8_t *bytes, size_t size)
{
    static const struct {
        char magic[5];
        const char *noun;
    } kinds[] = {
        {"zkey", "a proving key (.zkey)"},          {"wtns", "a witness (.wtns)"},
        {"r1cs", "a constraint system (.r1cs)"},    {"ptau", "a powers-of-tau file (.ptau)"},
        {"\0asm", "a WebAssembly program (.wasm)"},
    };
    if (size == 0) {
        return "empty";
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (size >= 4 && memcmp(bytes, kinds[i].magic, 4) == 0) {
            return kinds[i].noun;
        }
    }
    return bytes[0] == '{' || bytes[0] == '[' ? "text, perhaps JSON" : "of an unknown kind";
}

static enum error_code check_header(const struct binfile *file, struct error *error)
{
    const struct binfile_format *format = file->format;
    if (file->size < 4 || memcmp(file->bytes, format->magic, 4) != 0) {
        return error_set(error, ERROR_INPUT, "%s: this is not %s: the file is %s", file->name, format->noun,
                         guess_kind(file->bytes, file->size));
    }
    if (file->size < HEADER_BYTES) {
        return error_set(error, ERROR_INPUT,
                         "%s: the file ends at %zu, within its header of %d bytes: was it copied whole?",
                         file->name, file->size, HEADER_BYTES);
    }
    uint32_t version = binfile_load32(file->bytes + 4);
    if (version == 0 || version > format->version_max) {
        return error_set(error, ERROR_INPUT,
                         "%s: format version %" PRIu32 " at offset 4, at most %" PRIu32 " is known here",
                         file->name, version, format->version_max);
    }
    return ERROR_NONE;
}

static enum error_code add_section(struct binfile *file, uint32_t type, uint64_t size, size_t offset,
                                   struct error *error)
{
    const char *name = section_name(file->format, type);
    if (size > file->size - offset) {
        return error_set(error, ERROR_INPUT,
                         "%s: section %" PRIu32 " (%s) claims %" PRIu64
                         " bytes at offset %zu, the file ends at %zu: "
                         "was it copied whole?",
                         file->name, type, name, size, offset, file->size);
    }
    if (type >= BINFILE_TYPES) {
        return ERROR_NONE;
    }
    struct binfile_section *section = &file->sections[type];
    if (section->bytes) {
        return error_set(error, ERROR_INPUT,
                         "%s: section %" PRIu32 " (%s) is there twice, at offsets %" PRIu64 " and %zu",
                         file->name, type, name, section->offset, offset);
    }
    *section = (struct binfile_section){.bytes = file->bytes + offset, .size = size, .offset = offset};
    return ERROR_NONE;
}

enum error_code binfile_parse(struct binfile *file, const struct binfile_format *format, const uint8_t *bytes,
                              size_t size, const char *name, struct error *error)
{
    CHECK(format && name);
    CHECK(bytes || size == 0);
    *file = (struct binfile){.format = format, .name = name, .bytes = bytes, .size = size};
    enum error_code code = check_header(file, error);
    if (code) {
        return code;
    }
    uint32_t sections = binfile_load32(bytes + 8);
    size_t position = HEADER_BYTES;
    for (uint32_t i = 0; i < sections; i++) {
        if (size - position < SECTION_HEADER_BYTES) {
            return error_set(error, ERROR_INPUT,
                             "%s: %" PRIu32
                             " sections announced, but the file ends at %zu, where the header of number "
                             "%" PRIu32 " should be (offset %zu): was it copied whole?",
                             name, sections, size, i + 1, position);
        }
        uint32_t type = binfile_load32(bytes + position);
        uint64_t length = binfile_load64(bytes + position + 4);
        position += SECTION_HEADER_BYTES;
        code = add_section(file, type, length, position, error);
        if (code) {
            return code;
        }
        position += (size_t)length;
    }
    return ERROR_NONE;
}

enum error_code binfile_require(const struct binfile *file, unsigned type, struct error *error)
{
    CHECK(type < BINFILE_TYPES);
    if (!file->sections[type].bytes) {
        return error_set(error, ERROR_INPUT, "%s: section %u (%s) is missing", file->name, type,
                         section_name(file->format, type));
    }
    return ERROR_NONE;
}

enum error_code binfile_require_items(const struct binfile *file, unsigned type, uint64_t count,
                                      uint64_t item, const char *items, struct error *error)
{
    CHECK(item && count <= UINT64_MAX / item);
    enum error_code code = binfile_require(file, type, error);
    if (code) {
        return code;
    }
    const struct binfile_section *section = &file->sections[type];
    if (section->size != count * item) {
        return error_set(error, ERROR_INPUT,
                         "%s: section %u (%s) at offset %" PRIu64 " is %" PRIu64 " bytes long, %" PRIu64
                         " expected: %" PRIu64 " %s of %" PRIu64 " bytes",
                         file->name, type, section_name(file->format, type), section->offset, section->size,
                         count * item, count, items, item);
    }
    return ERROR_NONE;
}

/* Only for messages, so the low eight bytes of a modulus are enough to tell the curves apart. */
static const char *curve_name(uint32_t width, const uint8_t *modulus)
{
    static const struct {
        uint32_t width;
        uint64_t low;
        const char *name;
    } curves[] = {
        {48, 0xb9feffffffffaaab, "bls12381"},        {32, 0xffffffff00000001, "bls12381"},
        {48, 0x8508c00000000001, "bls12377"},        {32, 0x0a11800000000001, "bls12377"},
        {32, 0x992d30ed00000001, "pallas or vesta"}, {32, 0x8c46eb2100000001, "pallas or vesta"},
    };
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) {
        if (width == curves[i].width && binfile_load64(modulus) == curves[i].low) {
            return curves[i].name;
        }
    }
    return "an unknown curve";
}

enum error_code binfile_check_field(const struct binfile *file, unsigned type, size_t *position,
                                    const uint8_t modulus[32], const char *field, struct error *error)
{
    const struct binfile_section *section = &file->sections[type];
    CHECK(section->bytes && *position <= section->size);
    uint64_t left = section->size - *position;
    uint32_t width = left >= 4 ? binfile_load32(section->bytes + *position) : 0;
    if (left < 4 || width > left - 4) {
        return error_set(error, ERROR_INPUT,
                         "%s: section %u (%s) ends at offset %" PRIu64 ", before the modulus of the %s",
                         file->name, type, section_name(file->format, type), section->offset + section->size,
                         field);
    }
    const uint8_t *found = section->bytes + *position + 4;
    if (width != 32 || memcmp(found, modulus, 32) != 0) {
        return error_set(error, ERROR_INPUT,
                         "%s: the %s at offset %" PRIu64 " (%" PRIu32
                         " bytes) belongs to %s; only bn128 (BN254) is "
                         "supported",
                         file->name, field, section->offset + *position, width,
                         width >= 8 ? curve_name(width, found) : "an unknown curve");
    }
    *position += 4 + 32;
    return ERROR_NONE;
}
