#include "coordinator/json_read.h"

#include "conf/check.h"
#include "groth16/fq.h"
#include "groth16/fr.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JSON_READ_G1_BYTES      64
#define JSON_READ_PLACE_BYTES   64
#define JSON_READ_EXCERPT_BYTES 28

/* Where messages go: which file is being read, and into what. */
struct json_read {
    const char *name;
    struct error *error;
};

/* A place in the document, "vk_delta_2[1][0]". */
struct json_place {
    char text[JSON_READ_PLACE_BYTES];
};

static struct json_place json_read_place(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct json_place json_read_place(const char *format, ...)
{
    struct json_place place;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(place.text, sizeof place.text, format, arguments);
    va_end(arguments);
    return place;
}

/* The start of a string from the file. */
struct json_excerpt {
    char text[JSON_READ_EXCERPT_BYTES];
};

/* Makes text from the file safe to print on a terminal. */
static void json_read_printable(char *text)
{
    for (; *text != '\0'; text++) {
        *text = *text >= ' ' && *text <= '~' ? *text : '?';
    }
}

static struct json_excerpt json_read_excerpt(const json_t *string)
{
    struct json_excerpt excerpt;
    size_t length = json_string_length(string);
    bool cut = length >= sizeof excerpt.text;
    size_t shown = cut ? sizeof excerpt.text - 4 : length;
    memcpy(excerpt.text, json_string_value(string), shown);
    memcpy(excerpt.text + shown, cut ? "..." : "", cut ? 4 : 1);
    json_read_printable(excerpt.text);
    return excerpt;
}

static const char *json_read_type(const json_t *value)
{
    if (value == NULL) {
        return "nothing";
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number without quotes";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a truth value";
    case JSON_NULL:
        return "null";
    }
    return "something unknown";
}

static enum error_code json_read_mismatch(const struct json_read *in, const char *place, const char *expected,
                                          const json_t *found)
{
    return error_set(in->error, ERROR_INPUT, "%s: %s: expected %s, found %s", in->name, place, expected,
                     json_read_type(found));
}

static enum error_code json_read_array(const struct json_read *in, const json_t *value, size_t length,
                                       const char *place)
{
    if (!json_is_array(value)) {
        return json_read_mismatch(in, place, "an array", value);
    }
    if (json_array_size(value) != length) {
        return error_set(in->error, ERROR_INPUT, "%s: %s: expected an array of %zu, found %zu", in->name,
                         place, length, json_array_size(value));
    }
    return ERROR_NONE;
}

/* A decimal string below modulus, which has the name `modulus_name`. */
static enum error_code json_read_number(const struct json_read *in, u256 *number, const json_t *value,
                                        const u256 *modulus, const char *modulus_name, const char *place)
{
    if (!json_is_string(value)) {
        return json_read_mismatch(in, place, "a decimal number in quotes", value);
    }
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (length == 0 || strspn(text, "0123456789") != length) {
        return error_set(in->error, ERROR_INPUT, "%s: %s: expected a decimal number in quotes, found \"%s\"",
                         in->name, place, json_read_excerpt(value).text);
    }
    if (!u256_from_decimal(number, text, length) || !u256_less(number, modulus)) {
        char bound[U256_DECIMAL_BYTES];
        u256_to_decimal(bound, modulus);
        return error_set(in->error, ERROR_INPUT,
                         "%s: %s: expected a number below %s = %s, found %s (%zu digits)", in->name, place,
                         modulus_name, bound, json_read_excerpt(value).text, length);
    }
    return ERROR_NONE;
}

static enum error_code json_read_fq(const struct json_read *in, fq *r, const json_t *value, const char *place)
{
    u256 number;
    enum error_code code =
        json_read_number(in, &number, value, &fq_modulus, "the base field's modulus q", place);
    if (code == ERROR_NONE) {
        bool below = fq_from_u256(r, &number);
        CHECK(below);
    }
    return code;
}

static enum error_code json_read_fq2(const struct json_read *in, fq2 *r, const json_t *value,
                                     const char *place)
{
    enum error_code code = json_read_array(in, value, 2, place);
    if (code == ERROR_NONE) {
        code = json_read_fq(in, &r->c0, json_array_get(value, 0), json_read_place("%s[0]", place).text);
    }
    if (code == ERROR_NONE) {
        code = json_read_fq(in, &r->c1, json_array_get(value, 1), json_read_place("%s[1]", place).text);
    }
    return code;
}

/* The last coordinate of a point as snarkjs writes it. */
static enum error_code json_read_last(const struct json_read *in, bool *infinity, const fq2 *z,
                                      const char *place, const char *expected)
{
    *infinity = fq2_is_zero(z);
    if (!*infinity && !(fq_equal(&z->c0, &fq_one) && fq_is_zero(&z->c1))) {
        return error_set(in->error, ERROR_INPUT,
                         "%s: %s: expected the last coordinate of an affine point, %s", in->name, place,
                         expected);
    }
    return ERROR_NONE;
}

static enum error_code json_read_g1(const struct json_read *in, g1_affine *r, const json_t *value,
                                    const char *place)
{
    fq coordinates[3];
    enum error_code code = json_read_array(in, value, 3, place);
    for (size_t i = 0; code == ERROR_NONE && i < 3; i++) {
        code = json_read_fq(in, &coordinates[i], json_array_get(value, i),
                            json_read_place("%s[%zu]", place, i).text);
    }
    bool infinity = false;
    if (code == ERROR_NONE) {
        code = json_read_last(in, &infinity, &(fq2){.c0 = coordinates[2]},
                              json_read_place("%s[2]", place).text, "\"1\" (or \"0\" for infinity)");
    }
    if (code == ERROR_NONE) {
        *r = infinity ? (g1_affine){.x = fq_zero} : (g1_affine){.x = coordinates[0], .y = coordinates[1]};
    }
    return code;
}

static enum error_code json_read_g2(const struct json_read *in, g2_affine *r, const json_t *value,
                                    const char *place)
{
    fq2 coordinates[3];
    enum error_code code = json_read_array(in, value, 3, place);
    for (size_t i = 0; code == ERROR_NONE && i < 3; i++) {
        code = json_read_fq2(in, &coordinates[i], json_array_get(value, i),
                             json_read_place("%s[%zu]", place, i).text);
    }
    bool infinity = false;
    if (code == ERROR_NONE) {
        code = json_read_last(in, &infinity, &coordinates[2], json_read_place("%s[2]", place).text,
                              "[\"1\", \"0\"] (or [\"0\", \"0\"] for infinity)");
    }
    if (code == ERROR_NONE) {
        *r = infinity ? (g2_affine){.x.c0 = fq_zero} : (g2_affine){.x = coordinates[0], .y = coordinates[1]};
    }
    return code;
}

static enum error_code json_read_protocol(const struct json_read *in, const json_t *object)
{
    const json_t *protocol = json_object_get(object, "protocol");
    if (!json_is_string(protocol)) {
        return json_read_mismatch(in, "protocol", "\"groth16\"", protocol);
    }
    if (strcmp(json_string_value(protocol), "groth16") != 0) {
        return error_set(
            in->error, ERROR_INPUT,
            "%s: protocol: expected \"groth16\", found \"%s\", which uzk doesn't prove or verify", in->name,
            json_read_excerpt(protocol).text);
    }
    return ERROR_NONE;
}

/* Capital letters and digits of a curve's name; snarkjs compares names so. */
static void json_read_plain_name(char *plain, size_t capacity, const char *text)
{
    size_t length = 0;
    for (; *text != '\0' && length + 1 < capacity; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x80 && isalnum(c)) {
            plain[length++] = (char)toupper(c);
        }
    }
    plain[length] = '\0';
}

static enum error_code json_read_curve(const struct json_read *in, const json_t *object)
{
    const json_t *curve = json_object_get(object, "curve");
    if (!json_is_string(curve)) {
        return json_read_mismatch(in, "curve", "\"bn128\"", curve);
    }
    char plain[16];
    json_read_plain_name(plain, sizeof plain, json_string_value(curve));
    if (strcmp(plain, "BN128") == 0 || strcmp(plain, "BN254") == 0 || strcmp(plain, "ALTBN128") == 0) {
        return ERROR_NONE;
    }
    const char *why = strcmp(plain, "BLS12381") == 0 ? "the curve BLS12-381, which uzk doesn't support"
                                                     : "an unknown curve";
    return error_set(in->error, ERROR_INPUT, "%s: curve: expected \"bn128\" (or \"bn254\"), found \"%s\", %s",
                     in->name, json_read_excerpt(curve).text, why);
}

static enum error_code json_read_count(const struct json_read *in, uint32_t *count, const json_t *value)
{
    /* IC has one element more than there are values, and both fit 32 bits in a zkey. */
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= UINT32_MAX) {
        return error_set(in->error, ERROR_INPUT,
                         "%s: nPublic: expected the number of public values, found %s", in->name,
                         json_is_integer(value) ? "one out of range" : json_read_type(value));
    }
    *count = (uint32_t)json_integer_value(value);
    return ERROR_NONE;
}

static enum error_code json_read_ic(const struct json_read *in, struct json_vkey *vkey, const json_t *value)
{
    size_t points = (size_t)vkey->parts.publics + 1;
    if (json_is_array(value) && json_array_size(value) != points) {
        return error_set(in->error, ERROR_INPUT,
                         "%s: IC: nPublic is %u, so %zu points are expected, found %zu", in->name,
                         vkey->parts.publics, points, json_array_size(value));
    }
    enum error_code code = json_read_array(in, value, points, "IC");
    if (code != ERROR_NONE) {
        return code;
    }
    vkey->ic = calloc(points, JSON_READ_G1_BYTES);
    if (vkey->ic == NULL) {
        return error_set_errno(in->error, ENOMEM, "%s: no memory for %zu points", in->name, points);
    }
    vkey->parts.ic = vkey->ic;
    for (size_t i = 0; i < points; i++) {
        g1_affine point;
        code = json_read_g1(in, &point, json_array_get(value, i), json_read_place("IC[%zu]", i).text);
        if (code != ERROR_NONE) {
            return code;
        }
        g1_affine_store(vkey->ic + i * JSON_READ_G1_BYTES, &point);
    }
    return ERROR_NONE;
}

/* A document that has been parsed: its root belongs to the caller, who calls json_decref. */
static enum error_code json_read_root(const struct json_read *in, json_t **root, const char *text,
                                      size_t length, bool array)
{
    json_error_t fault;
    *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
    if (*root == NULL) {
        json_read_printable(fault.text);
        return error_set(in->error, ERROR_INPUT, "%s:%d:%d: not JSON: %s", in->name, fault.line, fault.column,
                         fault.text);
    }
    bool fits = array ? json_is_array(*root) : json_is_object(*root);
    if (!fits) {
        enum error_code code =
            json_read_mismatch(in, "the document", array ? "an array" : "an object", *root);
        json_decref(*root);
        return code;
    }
    return ERROR_NONE;
}

static enum error_code json_read_vkey_members(const struct json_read *in, struct json_vkey *vkey,
                                              const json_t *root)
{
    struct verify_parts *parts = &vkey->parts;
    const struct {
        const char *name;
        g2_affine *point;
    } points[] = {
        {"vk_beta_2", &parts->beta2}, {"vk_gamma_2", &parts->gamma2}, {"vk_delta_2", &parts->delta2}};
    enum error_code code = json_read_protocol(in, root);
    if (code == ERROR_NONE) {
        code = json_read_curve(in, root);
    }
    if (code == ERROR_NONE) {
        code = json_read_count(in, &parts->publics, json_object_get(root, "nPublic"));
    }
    if (code == ERROR_NONE) {
        code = json_read_g1(in, &parts->alpha1, json_object_get(root, "vk_alpha_1"), "vk_alpha_1");
    }
    for (size_t i = 0; code == ERROR_NONE && i < sizeof points / sizeof points[0]; i++) {
        code = json_read_g2(in, points[i].point, json_object_get(root, points[i].name), points[i].name);
    }
    if (code == ERROR_NONE) {
        code = json_read_ic(in, vkey, json_object_get(root, "IC"));
    }
    return code;
}

enum error_code json_parse_vkey(struct json_vkey *vkey, const char *text, size_t length, const char *name,
                                struct error *error)
{
    const struct json_read in = {.name = name, .error = error};
    *vkey = (struct json_vkey){0};
    json_t *root;
    enum error_code code = json_read_root(&in, &root, text, length, false);
    if (code != ERROR_NONE) {
        return code;
    }
    code = json_read_vkey_members(&in, vkey, root);
    json_decref(root);
    if (code != ERROR_NONE) {
        json_vkey_free(vkey);
    }
    return code;
}

enum error_code json_parse_proof(struct proof *proof, const char *text, size_t length, const char *name,
                                 struct error *error)
{
    const struct json_read in = {.name = name, .error = error};
    json_t *root;
    enum error_code code = json_read_root(&in, &root, text, length, false);
    if (code != ERROR_NONE) {
        return code;
    }
    code = json_read_protocol(&in, root);
    if (code == ERROR_NONE && json_object_get(root, "curve") != NULL) {
        code = json_read_curve(&in, root); /* provers other than snarkjs leave it out */
    }
    if (code == ERROR_NONE) {
        code = json_read_g1(&in, &proof->a, json_object_get(root, "pi_a"), "pi_a");
    }
    if (code == ERROR_NONE) {
        code = json_read_g2(&in, &proof->b, json_object_get(root, "pi_b"), "pi_b");
    }
    if (code == ERROR_NONE) {
        code = json_read_g1(&in, &proof->c, json_object_get(root, "pi_c"), "pi_c");
    }
    json_decref(root);
    return code;
}

static enum error_code json_read_values(const struct json_read *in, struct json_public *publics,
                                        const json_t *root)
{
    size_t count = json_array_size(root);
    CHECK(count <= JSON_READ_BYTES_MAX); /* an element takes more than a byte */
    publics->count = (uint32_t)count;
    if (count == 0) {
        return ERROR_NONE;
    }
    publics->values = calloc(count, sizeof publics->values[0]);
    if (publics->values == NULL) {
        return error_set_errno(in->error, ENOMEM, "%s: no memory for %zu values", in->name, count);
    }
    enum error_code code = ERROR_NONE;
    for (size_t i = 0; code == ERROR_NONE && i < count; i++) {
        code = json_read_number(in, &publics->values[i], json_array_get(root, i), &fr_modulus,
                                "the scalar field's modulus r", json_read_place("[%zu]", i).text);
    }
    return code;
}

enum error_code json_parse_public(struct json_public *publics, const char *text, size_t length,
                                  const char *name, struct error *error)
{
    const struct json_read in = {.name = name, .error = error};
    *publics = (struct json_public){0};
    json_t *root;
    enum error_code code = json_read_root(&in, &root, text, length, true);
    if (code != ERROR_NONE) {
        return code;
    }
    code = json_read_values(&in, publics, root);
    json_decref(root);
    if (code != ERROR_NONE) {
        json_public_free(publics);
    }
    return code;
}

void json_vkey_free(struct json_vkey *vkey)
{
    free(vkey->ic);
    *vkey = (struct json_vkey){0};
}

void json_public_free(struct json_public *publics)
{
    free(publics->values);
    *publics = (struct json_public){0};
}

/* A file's text; the caller frees it. */
struct json_text {
    char *bytes;
    size_t length;
};

static enum error_code json_read_all(const struct json_read *in, struct json_text *text, int fd)
{
    /* Read until the end rather than to a size asked for first: the file may be a pipe, or grow meanwhile. */
    size_t capacity = 0;
    for (;;) {
        if (text->length == capacity) {
            capacity = capacity == 0 ? (size_t)64 << 10 : 2 * capacity;
            char *bigger = realloc(text->bytes, capacity);
            if (bigger == NULL) {
                return error_set_errno(in->error, ENOMEM, "%s: no memory to read it", in->name);
            }
            text->bytes = bigger;
        }
        ssize_t got = TEMP_FAILURE_RETRY(read(fd, text->bytes + text->length, capacity - text->length));
        if (got < 0) {
            return error_set_errno(in->error, errno, "%s: reading failed", in->name);
        }
        if (got == 0) {
            return ERROR_NONE;
        }
        text->length += (size_t)got;
        if (text->length > JSON_READ_BYTES_MAX) {
            return error_set(in->error, ERROR_INPUT, "%s: longer than %zu bytes, the most that is read",
                             in->name, JSON_READ_BYTES_MAX);
        }
    }
}

static enum error_code json_read_file(struct json_text *text, const char *path, struct error *error)
{
    const struct json_read in = {.name = path, .error = error};
    *text = (struct json_text){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return error_set_errno(error, errno, "%s: cannot open it", path);
    }
    enum error_code code = json_read_all(&in, text, fd);
    close(fd);
    if (code != ERROR_NONE) {
        free(text->bytes);
        *text = (struct json_text){0};
    }
    return code;
}

enum error_code json_read_vkey(struct json_vkey *vkey, const char *path, struct error *error)
{
    struct json_text text;
    enum error_code code = json_read_file(&text, path, error);
    if (code == ERROR_NONE) {
        code = json_parse_vkey(vkey, text.bytes, text.length, path, error);
        free(text.bytes);
    }
    return code;
}

enum error_code json_read_proof(struct proof *proof, const char *path, struct error *error)
{
    struct json_text text;
    enum error_code code = json_read_file(&text, path, error);
    if (code == ERROR_NONE) {
        code = json_parse_proof(proof, text.bytes, text.length, path, error);
        free(text.bytes);
    }
    return code;
}

enum error_code json_read_public(struct json_public *publics, const char *path, struct error *error)
{
    struct json_text text;
    enum error_code code = json_read_file(&text, path, error);
    if (code == ERROR_NONE) {
        code = json_parse_public(publics, text.bytes, text.length, path, error);
        free(text.bytes);
    }
    return code;
}
