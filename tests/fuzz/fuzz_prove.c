/* Fuzzes a whole proof: a sound key and witness (tests/data/circuit-closed), edited as the input says, then
 * all that `uzk prove` does with them. Whatever the edits are, the program refuses or ends; sums over a key
 * whose points are on their curves are those of plain double-and-add; and what its self-check calls valid
 * still is when proof and public values come back from their files. Without an edit that changes a byte the
 * proof is valid.
 *
 * The input is a list of edits of EDIT_BYTES: what, which (16 bits), how, with which value (16 bits). */
#include "conf/check.h"
#include "coordinator/json_read.h"
#include "groth16/fq.h"
#include "groth16/prove.h"
#include "groth16/verify.h"
#include "groth16/wtns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    EDIT_BYTES = 6,
    EDITS_MAX = 32,
    FILE_MAX = 16384,
    WIRES_MAX = 64,
    DOMAIN_LOG2_MAX = 7,
    PUBLICS_MAX = 8
};
enum { HEADER_NUMBERS = 72, HEADER_POINTS = 84 }; /* offsets in section 2 */

struct file {
    uint8_t bytes[FILE_MAX];
    size_t size;
};

static struct file sound_key, sound_witness; /* as snarkjs wrote them */
static struct zkey layout;                   /* where what lies in sound_key */

struct edit {
    uint8_t what, how;
    uint16_t which, value;
};

static void file_read(struct file *file, const char *path)
{
    FILE *stream = fopen(path, "rbe");
    if (stream == NULL) {
        perror(path);
        abort();
    }
    file->size = fread(file->bytes, 1, sizeof file->bytes, stream);
    CHECK(file->size > 0 && file->size < sizeof file->bytes);
    fclose(stream);
}

static void seeds_read(void)
{
    struct error error;
    file_read(&sound_key, FUZZ_DATA "/circuit-closed/circuit.zkey");
    file_read(&sound_witness, FUZZ_DATA "/circuit-closed/witness-000.wtns");
    CHECK(zkey_parse(&layout, sound_key.bytes, sound_key.size, "sound.zkey", &error) == ERROR_NONE);
}

/* ---- edits ---- */

/* A field element of 32 bytes becomes one of the values at which code decides, or another one. */
static void edit_value(uint8_t *at, const struct edit *edit, const u256 *modulus)
{
    u256 value = {{0}};
    switch (edit->how % 8) {
    case 0:
        break;
    case 1:
        value.w[0] = 1;
        break;
    case 2: /* modulus - 1: it is odd */
        value = *modulus;
        value.w[0] ^= 1;
        break;
    case 3:
        value = *modulus;
        break;
    case 4:
        memset(&value, 0xff, sizeof value);
        break;
    case 5:
        u256_load_le(&value, at);
        value.w[edit->value % 4] ^= UINT64_C(1) << edit->value / 4 % 64;
        break;
    case 6: /* the same modulo the modulus */
        u256_load_le(&value, at);
        for (unsigned i = 0, carry = 0; i < 4; i++) {
            const unsigned __int128 sum = (unsigned __int128)value.w[i] + modulus->w[i] + carry;
            value.w[i] = (uint64_t)sum;
            carry = (unsigned)(sum >> 64);
        }
        break;
    default:
        value.w[0] = edit->value;
    }
    u256_store_le(at, &value);
}

static void negate(uint8_t *y)
{
    fq value;
    memcpy(&value, y, sizeof value);
    if (u256_less((const u256 *)&value, &fq_modulus)) {
        fq_neg(&value, &value);
        memcpy(y, &value, sizeof value);
    }
}

/* A point of `bytes` bytes at `at`, among `count` of its kind from `first` on. */
static void edit_point(uint8_t *at, uint8_t *first, size_t count, size_t bytes, const struct edit *edit)
{
    switch (edit->how % 8) {
    case 0:
        memset(at, 0, bytes);
        break;
    case 1: /* its opposite */
        for (size_t i = bytes / 2; i < bytes; i += U256_BYTES) {
            negate(at + i);
        }
        break;
    case 2: /* another one: equal points meet in a sum */
    case 3:
        memmove(at, first + edit->value % count * bytes, bytes);
        break;
    default:
        edit_value(at + edit->value % (bytes / U256_BYTES) * U256_BYTES,
                   &(struct edit){.how = edit->value >> 8, .value = edit->value}, &fq_modulus);
    }
}

static void edit_key_point(uint8_t *key, const struct edit *edit)
{
    static const uint16_t header[][2] = {{0, 64}, {64, 64}, {128, 128}, {256, 128}, {384, 64}, {448, 128}};
    const size_t domain = (size_t)1 << layout.domain_log2, wires = layout.wires;
    const struct {
        const uint8_t *at;
        size_t count, bytes;
    } sections[] = {{layout.ic, layout.publics + 1, 64},
                    {layout.a, wires, 64},
                    {layout.b1, wires, 64},
                    {layout.b2, wires, 128},
                    {layout.c, wires - layout.publics - 1, 64},
                    {layout.h, domain, 64}};
    const unsigned section = edit->which >> 8;
    if (section % 8 >= 6) {
        uint8_t *points = key + layout.header_offset + HEADER_POINTS;
        const unsigned point = edit->which % 6;
        edit_point(points + header[point][0], points + header[point][0], 1, header[point][1], edit);
        return;
    }
    uint8_t *first = key + (sections[section % 8].at - sound_key.bytes);
    const size_t bytes = sections[section % 8].bytes, count = sections[section % 8].count;
    edit_point(first + edit->which % 256 % count * bytes, first, count, bytes, edit);
}

static void put_u32(uint8_t *at, const struct edit *edit)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    const uint32_t values[] = {0,         1,          value + 1,   value - 1,
                               value * 2, UINT32_MAX, edit->value, value ^ edit->value};
    memcpy(at, &values[edit->how % 8], sizeof value);
}

static void edit_coefficient(uint8_t *key, const struct edit *edit)
{
    uint8_t *at = key + (layout.coefficients - sound_key.bytes) +
                  (size_t)(edit->which % 256 % layout.coefficients_count) * ZKEY_COEFFICIENT_BYTES;
    const unsigned part = edit->which >> 8 & 3;
    if (part < 3) {
        put_u32(at + 4 * part, edit);
    } else {
        edit_value(at + 12, edit, &fr_modulus);
    }
}

static void edit_file(struct file *file, const struct edit *edit)
{
    if (edit->how % 8 == 0) {
        file->size = edit->which % (file->size + 1);
    } else if (file->size > 0) {
        file->bytes[edit->which % file->size] ^= (uint8_t)(edit->value | edit->value >> 8);
    }
}

static void edit_apply(struct file *key, struct file *witness, const struct edit *edit)
{
    switch (edit->what % 8) {
    case 0:
    case 1:
        edit_key_point(key->bytes, edit);
        break;
    case 2:
        edit_coefficient(key->bytes, edit);
        break;
    case 3:
        put_u32(key->bytes + layout.header_offset + HEADER_NUMBERS + 4 * (size_t)(edit->which % 3), edit);
        break;
    case 4:
    case 5:
        edit_value(witness->bytes + WTNS_FRAME_BYTES +
                       (size_t)(edit->which % layout.wires) * WTNS_VALUE_BYTES,
                   edit, &fr_modulus);
        break;
    case 6:
        edit_file(key, edit);
        break;
    default:
        edit_file(witness, edit);
    }
}

/* ---- the proof ---- */

static void *memory_take(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    CHECK(memory != NULL);
    return memory;
}

/* Sums by double-and-add, all scalars together, a bit at a time. */
#define REFERENCE(group, GROUP)                                                                     \
    static void group##_reference(group##_affine *r, const uint8_t *points, const uint8_t *scalars, \
                                  size_t n)                                                         \
    {                                                                                               \
        group##_xyzz sum;                                                                           \
        group##_xyzz_set_infinity(&sum);                                                            \
        for (unsigned bit = 256; bit-- > 0;) {                                                      \
            group##_xyzz_dbl(&sum, &sum);                                                           \
            for (size_t i = 0; i < n; i++) {                                                        \
                group##_affine point;                                                               \
                if (scalars[i * U256_BYTES + bit / 8] >> bit % 8 & 1) {                             \
                    CHECK(group##_affine_load(&point, points + i * GROUP));                         \
                    group##_xyzz_add_affine(&sum, &sum, &point);                                    \
                }                                                                                   \
            }                                                                                       \
        }                                                                                           \
        group##_xyzz_to_affine(r, &sum);                                                            \
    }
REFERENCE(g1, ZKEY_G1_BYTES)
REFERENCE(g2, ZKEY_G2_BYTES)

static void g1_agrees(const g1_xyzz *sum, const uint8_t *points, const uint8_t *scalars, size_t n)
{
    g1_affine got, expected;
    g1_reference(&expected, points, scalars, n);
    g1_xyzz_to_affine(&got, sum);
    CHECK(g1_affine_equal(&got, &expected));
}

static void sums_agree(const struct prove_sums *sums, const struct zkey *key, const uint8_t *witness)
{
    g2_affine got, expected;
    const size_t first = (size_t)key->publics + 1;
    g1_agrees(&sums->a, key->a, witness, key->wires);
    g1_agrees(&sums->b1, key->b1, witness, key->wires);
    g1_agrees(&sums->c, key->c, witness + first * U256_BYTES, key->wires - first);
    g2_reference(&expected, key->b2, witness, key->wires);
    g2_xyzz_to_affine(&got, &sums->b2);
    CHECK(g2_affine_equal(&got, &expected));
}

static void compute(struct proof *proof, const struct zkey *key, const uint8_t *witness)
{
    struct circuit circuit;
    struct prove_sums sums;
    struct prove_blinding blinding;
    struct error error;
    void *memory = memory_take(circuit_memory_size(key));
    circuit_init(&circuit, key, memory, &par_serial);
    void *scratch = memory_take(prove_scratch_size(&circuit, 1));
    prove_compute(&sums, &circuit, witness, &par_serial, scratch, NULL, NULL);
    sums_agree(&sums, key, witness);
    CHECK(prove_blinding_draw(&blinding, &error) == ERROR_NONE);
    prove_assemble(proof, &circuit, &sums, &blinding);
    free(scratch);
    free(memory);
}

/* As whoever gets the two files would see it. */
static enum verify_result verdict_on_files(const struct verify_key *key, const struct proof *proof,
                                           const uint8_t *witness)
{
    char text[PROOF_JSON_BYTES];
    struct proof again;
    struct json_public publics;
    struct error error;
    size_t length = proof_write_json(text, sizeof text, proof);
    CHECK(json_parse_proof(&again, text, length, "proof.json", &error) == ERROR_NONE);
    size_t capacity = proof_public_json_size(key->publics);
    char *public_text = memory_take(capacity);
    length = proof_public_write_json(public_text, capacity, witness, key->publics);
    CHECK(json_parse_public(&publics, public_text, length, "public.json", &error) == ERROR_NONE);
    CHECK(publics.count == key->publics);
    enum verify_result result = verify_proof(key, publics.values, &again);
    json_public_free(&publics);
    free(public_text);
    return result;
}

/* Whether the self-check calls a proof of this witness valid. */
static bool prove(const struct zkey *key, const uint8_t *witness)
{
    const struct verify_parts parts = {.publics = key->publics,
                                       .alpha1 = key->alpha1,
                                       .beta2 = key->beta2,
                                       .gamma2 = key->gamma2,
                                       .delta2 = key->delta2,
                                       .ic = key->ic};
    struct verify_key verify_key;
    struct proof proof;
    struct error error;
    u256 publics[PUBLICS_MAX];
    compute(&proof, key, witness);
    if (key->ic == NULL || verify_key_init(&verify_key, &parts, key->name, &error) != ERROR_NONE) {
        return false;
    }
    for (uint32_t i = 0; i < key->publics; i++) {
        u256_load_le(&publics[i], witness + ((size_t)i + 1) * WTNS_VALUE_BYTES);
    }
    enum verify_result result = verify_proof(&verify_key, publics, &proof);
    CHECK(verdict_on_files(&verify_key, &proof, witness) == result);
    return result == VERIFY_VALID;
}

/* In a block of its own, so that an address sanitizer sees the first byte read too far. */
static uint8_t *exact(const struct file *file)
{
    uint8_t *bytes = malloc(file->size + (file->size == 0));
    CHECK(bytes != NULL);
    memcpy(bytes, file->bytes, file->size);
    return bytes;
}

/* What uzk prove does with the two files. */
static bool prove_files(const struct file *key_file, const struct file *witness_file)
{
    struct zkey key;
    struct wtns witness;
    struct error error;
    uint8_t *key_bytes = exact(key_file), *witness_bytes = exact(witness_file);
    const bool valid =
        zkey_parse(&key, key_bytes, key_file->size, "fuzz.zkey", &error) == ERROR_NONE &&
        wtns_parse(&witness, witness_bytes, witness_file->size, "fuzz.wtns", &error) == ERROR_NONE &&
        wtns_match(&witness, &key, &error) == ERROR_NONE && wtns_check(&witness, &error) == ERROR_NONE &&
        zkey_check_points(&key, ZKEY_POINTS_CURVE, &par_serial, &error) == ERROR_NONE &&
        key.wires <= WIRES_MAX && key.domain_log2 <= DOMAIN_LOG2_MAX && key.publics <= PUBLICS_MAX &&
        prove(&key, witness.values);
    free(witness_bytes);
    free(key_bytes);
    return valid;
}

static bool file_equal(const struct file *a, const struct file *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (sound_key.size == 0) {
        seeds_read();
    }
    static struct file key, witness;
    key = sound_key;
    witness = sound_witness;
    for (size_t at = 0; size - at >= EDIT_BYTES && at < EDITS_MAX * EDIT_BYTES; at += EDIT_BYTES) {
        const uint8_t *bytes = data + at;
        const struct edit edit = {.what = bytes[0],
                                  .which = (uint16_t)(bytes[1] << 8 | bytes[2]),
                                  .how = bytes[3],
                                  .value = (uint16_t)(bytes[4] << 8 | bytes[5])};
        edit_apply(&key, &witness, &edit);
    }
    const bool untouched = file_equal(&key, &sound_key) && file_equal(&witness, &sound_witness);
    const bool valid = prove_files(&key, &witness);
    CHECK(valid || !untouched);
    return 0;
}
