#include "groth16/wtns.h"

#include "conf/check.h"
#include "groth16/binfile.h"

#include <inttypes.h>
#include <string.h>

enum { SECTION_HEADER = 1, SECTION_VALUES = 2, HEADER_BYTES = 4 + 32 + 4 };

static const struct binfile_format format = {
    .magic = "wtns",
    .noun = "a witness (.wtns)",
    .version_max = 2,
    .section_names = {[SECTION_HEADER] = "header", [SECTION_VALUES] = "values"},
};

bool wtns_recognize(const uint8_t *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, format.magic, 4) == 0;
}

enum error_code wtns_parse(struct wtns *witness, const uint8_t *bytes, size_t size, const char *name,
                           struct error *error)
{
    struct binfile file;
    enum error_code code = binfile_parse(&file, &format, bytes, size, name, error);
    if (!code) {
        code = binfile_require(&file, SECTION_HEADER, error);
    }
    size_t position = 0;
    if (!code) {
        code = binfile_check_field(&file, SECTION_HEADER, &position, (const uint8_t *)fr_modulus.w,
                                   "scalar field", error);
    }
    if (!code) {
        code = binfile_require_items(&file, SECTION_HEADER, 1, HEADER_BYTES, "header", error);
    }
    if (code) {
        return code;
    }
    uint32_t count = binfile_load32(file.sections[SECTION_HEADER].bytes + position);
    code = binfile_require_items(&file, SECTION_VALUES, count, WTNS_VALUE_BYTES, "values", error);
    if (code) {
        return code;
    }
    if (count == 0) {
        return error_set(error, ERROR_INPUT,
                         "%s: the witness has no values; even an empty circuit has the value one", name);
    }
    *witness = (struct wtns){
        .name = name,
        .values = file.sections[SECTION_VALUES].bytes,
        .count = count,
        .values_offset = file.sections[SECTION_VALUES].offset,
    };
    return ERROR_NONE;
}

enum error_code wtns_check(const struct wtns *witness, struct error *error)
{
    static const u256 one = {{1, 0, 0, 0}};
    CHECK(witness->values && witness->count > 0);
    u256 value;
    for (uint32_t i = 0; i < witness->count; i++) {
        u256_load_le(&value, witness->values + (size_t)i * WTNS_VALUE_BYTES);
        if (!u256_less(&value, &fr_modulus)) {
            return error_set(error, ERROR_INPUT,
                             "%s: value %" PRIu32 " at offset %" PRIu64
                             " is not below the scalar field's modulus r of bn128",
                             witness->name, i, witness->values_offset + (uint64_t)i * WTNS_VALUE_BYTES);
        }
    }
    u256_load_le(&value, witness->values);
    if (!u256_equal(&value, &one)) {
        char text[U256_DECIMAL_BYTES];
        u256_to_decimal(text, &value);
        return error_set(error, ERROR_INPUT,
                         "%s: value 0 at offset %" PRIu64 " must be the constant 1, it is %s", witness->name,
                         witness->values_offset, text);
    }
    return ERROR_NONE;
}

enum error_code wtns_match(const struct wtns *witness, const struct zkey *key, struct error *error)
{
    CHECK(witness->count > 0 && key->wires > 0);
    if (witness->count != key->wires) {
        return error_set(error, ERROR_INPUT,
                         "%s: the witness has %" PRIu32 " values, the circuit of %s has %" PRIu32
                         " wires: they don't belong together",
                         witness->name, witness->count, key->name, key->wires);
    }
    return ERROR_NONE;
}
