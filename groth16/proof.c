#include "groth16/proof.h"

#include "conf/check.h"

#include <stdarg.h>
#include <stdio.h>

struct writer {
    char *text;
    size_t capacity;
    size_t length;
};

static void write_format(struct writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void write_format(struct writer *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(writer->text + writer->length, writer->capacity - writer->length, format, arguments);
    va_end(arguments);
    CHECK(length >= 0 && (size_t)length < writer->capacity - writer->length);
    writer->length += (size_t)length;
}

static void write_fq(struct writer *writer, const char *indent, const fq *value, const char *end)
{
    char digits[U256_DECIMAL_BYTES];
    u256 plain;
    fq_to_u256(&plain, value);
    u256_to_decimal(digits, &plain);
    write_format(writer, "%s\"%s\"%s\n", indent, digits, end);
}

static void write_g1(struct writer *writer, const char *name, const g1_affine *point)
{
    bool infinity = g1_affine_is_infinity(point);
    write_format(writer, " \"%s\": [\n", name);
    write_fq(writer, "  ", &point->x, ",");
    write_fq(writer, "  ", infinity ? &fq_one : &point->y, ",");
    write_format(writer, "  \"%d\"\n ],\n", infinity ? 0 : 1);
}

static void write_fq2(struct writer *writer, const fq2 *value, const char *end)
{
    write_format(writer, "  [\n");
    write_fq(writer, "   ", &value->c0, ",");
    write_fq(writer, "   ", &value->c1, "");
    write_format(writer, "  ]%s\n", end);
}

static void write_g2(struct writer *writer, const char *name, const g2_affine *point)
{
    const fq2 zero = {fq_zero, fq_zero};
    const fq2 one = {fq_one, fq_zero};
    bool infinity = g2_affine_is_infinity(point);
    write_format(writer, " \"%s\": [\n", name);
    write_fq2(writer, &point->x, ",");
    write_fq2(writer, infinity ? &one : &point->y, ",");
    write_fq2(writer, infinity ? &zero : &one, "");
    write_format(writer, " ],\n");
}

size_t proof_write_json(char *text, size_t capacity, const struct proof *proof)
{
    CHECK(capacity >= PROOF_JSON_BYTES);
    struct writer writer = {.text = text, .capacity = capacity};
    write_format(&writer, "{\n");
    write_g1(&writer, "pi_a", &proof->a);
    write_g2(&writer, "pi_b", &proof->b);
    write_g1(&writer, "pi_c", &proof->c);
    write_format(&writer, " \"protocol\": \"groth16\",\n \"curve\": \"bn128\"\n}");
    return writer.length;
}

/* Each value takes two quotes, a space of indent, a comma, a line end and at most 77 digits. */
enum { PUBLIC_FRAME_BYTES = 4, PUBLIC_VALUE_BYTES = 82 };

size_t proof_public_json_size(uint32_t publics)
{
    return PUBLIC_FRAME_BYTES + (size_t)PUBLIC_VALUE_BYTES * publics;
}

size_t proof_public_write_json(char *text, size_t capacity, const uint8_t *witness, uint32_t publics)
{
    CHECK(capacity >= proof_public_json_size(publics));
    struct writer writer = {.text = text, .capacity = capacity};
    write_format(&writer, "[\n");
    for (uint32_t i = 1; i <= publics; i++) {
        char digits[U256_DECIMAL_BYTES];
        u256 value;
        u256_load_le(&value, witness + (size_t)i * U256_BYTES);
        u256_to_decimal(digits, &value);
        write_format(&writer, " \"%s\"%s\n", digits, i < publics ? "," : "");
    }
    write_format(&writer, "]");
    return writer.length;
}
