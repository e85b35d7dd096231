#include "groth16/zkey.h"

#include "conf/check.h"
#include "groth16/binfile.h"
#include "groth16/circuit.h"
#include "groth16/points.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SECTION_PROTOCOL = 1,
    SECTION_HEADER,
    SECTION_IC,
    SECTION_COEFFICIENTS,
    SECTION_A,
    SECTION_B1,
    SECTION_B2,
    SECTION_C,
    SECTION_H,
    SECTION_CONTRIBUTIONS,
    HEADER_POINTS_OFFSET = 2 * (4 + 32) + 3 * 4,
    HEADER_BYTES = HEADER_POINTS_OFFSET + 3 * ZKEY_G1_BYTES + 3 * ZKEY_G2_BYTES,
    PROTOCOL_GROTH16 = 1,
    PROTOCOL_PLONK = 2,
    PROTOCOL_FFLONK = 10,
};

static const struct binfile_format format = {
    .magic = "zkey",
    .noun = "a proving key (.zkey)",
    .version_max = 2,
    .section_names = {[SECTION_PROTOCOL] = "protocol",
                      [SECTION_HEADER] = "header",
                      [SECTION_IC] = "IC points",
                      [SECTION_COEFFICIENTS] = "coefficients",
                      [SECTION_A] = "A points",
                      [SECTION_B1] = "B1 points",
                      [SECTION_B2] = "B2 points",
                      [SECTION_C] = "C points",
                      [SECTION_H] = "H points",
                      [SECTION_CONTRIBUTIONS] = "contributions"},
};

bool zkey_recognize(const uint8_t *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, format.magic, 4) == 0;
}

static enum error_code parse_protocol(const struct binfile *file, struct error *error)
{
    enum error_code code = binfile_require_items(file, SECTION_PROTOCOL, 1, 4, "number", error);
    if (code) {
        return code;
    }
    uint32_t protocol = binfile_load32(file->sections[SECTION_PROTOCOL].bytes);
    if (protocol == PROTOCOL_GROTH16) {
        return ERROR_NONE;
    }
    if (protocol == PROTOCOL_PLONK || protocol == PROTOCOL_FFLONK) {
        return error_set(
            error, ERROR_INPUT,
            "%s: this is a %s key; only Groth16 keys are supported (snarkjs groth16 setup makes one)",
            file->name, protocol == PROTOCOL_PLONK ? "PLONK" : "FFLONK");
    }
    return error_set(error, ERROR_INPUT,
                     "%s: unknown protocol %" PRIu32 " at offset %" PRIu64 ", 1 (Groth16) expected",
                     file->name, protocol, file->sections[SECTION_PROTOCOL].offset);
}

static enum error_code parse_sizes(struct zkey *key, const struct binfile *file, struct error *error)
{
    const struct binfile_section *section = &file->sections[SECTION_HEADER];
    enum { SIZES_OFFSET = HEADER_POINTS_OFFSET - 12 };
    key->header_offset = section->offset;
    key->wires = binfile_load32(section->bytes + SIZES_OFFSET);
    key->publics = binfile_load32(section->bytes + SIZES_OFFSET + 4);
    uint32_t domain = binfile_load32(section->bytes + SIZES_OFFSET + 8);
    uint64_t offset = section->offset + SIZES_OFFSET;
    if (key->wires == 0 || key->publics > key->wires - 1) {
        return error_set(error, ERROR_INPUT,
                         "%s: %" PRIu32 " public values (offset %" PRIu64 ") don't fit in %" PRIu32
                         " wires (offset %" PRIu64 "), of which one is the constant",
                         key->name, key->publics, offset + 4, key->wires, offset);
    }
    if (domain == 0 || (domain & (domain - 1)) != 0 || domain > UINT32_C(1) << ZKEY_DOMAIN_LOG2_MAX) {
        return error_set(error, ERROR_INPUT,
                         "%s: domain size %" PRIu32 " at offset %" PRIu64 " is not a power of two up to 2^%d",
                         key->name, domain, offset + 8, ZKEY_DOMAIN_LOG2_MAX);
    }
    key->domain_log2 = (unsigned)__builtin_ctz(domain);
    return ERROR_NONE;
}

static enum error_code header_point_error(const struct zkey *key, const char *point, uint64_t offset,
                                          const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: section %d (header): point %s at offset %" PRIu64 " %s",
                     key->name, SECTION_HEADER, point, offset, what);
}

static const char range_text[] = "has a coordinate that is not below the base field's modulus of bn128";
static const char infinity_text[] = "is infinity, which no finished setup makes";

static enum error_code parse_header_points(struct zkey *key, const struct binfile *file, struct error *error)
{
    const struct {
        const char *name;
        g1_affine *g1;
        g2_affine *g2;
    } points[] = {
        {"alpha1", &key->alpha1, NULL}, {"beta1", &key->beta1, NULL},   {"beta2", NULL, &key->beta2},
        {"gamma2", NULL, &key->gamma2}, {"delta1", &key->delta1, NULL}, {"delta2", NULL, &key->delta2},
    };
    const struct binfile_section *section = &file->sections[SECTION_HEADER];
    size_t position = HEADER_POINTS_OFFSET;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        const uint8_t *bytes = section->bytes + position;
        uint64_t offset = section->offset + position;
        bool in_range, infinity;
        if (points[i].g1) {
            in_range = g1_affine_load(points[i].g1, bytes);
            infinity = in_range && g1_affine_is_infinity(points[i].g1);
            position += ZKEY_G1_BYTES;
        } else {
            in_range = g2_affine_load(points[i].g2, bytes);
            infinity = in_range && g2_affine_is_infinity(points[i].g2);
            position += ZKEY_G2_BYTES;
        }
        if (!in_range || infinity) {
            return header_point_error(key, points[i].name, offset, in_range ? infinity_text : range_text,
                                      error);
        }
    }
    CHECK(position == HEADER_BYTES);
    return ERROR_NONE;
}

static enum error_code parse_header(struct zkey *key, const struct binfile *file, struct error *error)
{
    size_t position = 0;
    enum error_code code = binfile_require(file, SECTION_HEADER, error);
    if (!code) {
        code = binfile_check_field(file, SECTION_HEADER, &position, (const uint8_t *)fq_modulus.w,
                                   "base field", error);
    }
    if (!code) {
        code = binfile_check_field(file, SECTION_HEADER, &position, (const uint8_t *)fr_modulus.w,
                                   "scalar field", error);
    }
    if (!code) {
        code = binfile_require_items(file, SECTION_HEADER, 1, HEADER_BYTES, "header", error);
    }
    if (!code) {
        code = parse_sizes(key, file, error);
    }
    return code ? code : parse_header_points(key, file, error);
}

static enum error_code parse_points(struct zkey *key, const struct binfile *file, struct error *error)
{
    const struct {
        unsigned type;
        const uint8_t **points;
        uint64_t count;
        uint64_t item;
        const char *items;
    } sections[] = {
        {SECTION_IC, &key->ic, (uint64_t)key->publics + 1, ZKEY_G1_BYTES, "points (public values and one)"},
        {SECTION_A, &key->a, key->wires, ZKEY_G1_BYTES, "points (wires)"},
        {SECTION_B1, &key->b1, key->wires, ZKEY_G1_BYTES, "points (wires)"},
        {SECTION_B2, &key->b2, key->wires, ZKEY_G2_BYTES, "points (wires)"},
        {SECTION_C, &key->c, key->wires - key->publics - 1, ZKEY_G1_BYTES,
         "points (wires that are not public)"},
        {SECTION_H, &key->h, (uint64_t)1 << key->domain_log2, ZKEY_G1_BYTES, "points (domain)"},
    };
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        const struct binfile_section *section = &file->sections[sections[i].type];
        if (sections[i].type == SECTION_IC && !section->bytes) {
            continue;
        }
        enum error_code code = binfile_require_items(file, sections[i].type, sections[i].count,
                                                     sections[i].item, sections[i].items, error);
        if (code) {
            return code;
        }
        *sections[i].points = section->bytes;
    }
    return ERROR_NONE;
}

struct zkey_coefficient zkey_coefficient_at(const struct zkey *key, uint32_t index)
{
    CHECK(index < key->coefficients_count);
    const uint8_t *bytes = key->coefficients + (size_t)index * ZKEY_COEFFICIENT_BYTES;
    struct zkey_coefficient coefficient = {
        .matrix = binfile_load32(bytes),
        .row = binfile_load32(bytes + 4),
        .wire = binfile_load32(bytes + 8),
    };
    memcpy(coefficient.value.w, bytes + 12, sizeof coefficient.value.w);
    return coefficient;
}

static enum error_code check_coefficients(const struct zkey *key, uint64_t offset, struct error *error)
{
    const uint32_t rows = UINT32_C(1) << key->domain_log2;
    for (uint32_t i = 0; i < key->coefficients_count; i++) {
        struct zkey_coefficient coefficient = zkey_coefficient_at(key, i);
        u256 value;
        memcpy(value.w, coefficient.value.w, sizeof value.w);
        if (coefficient.matrix < CIRCUIT_MATRICES && coefficient.row < rows &&
            coefficient.wire < key->wires && u256_less(&value, &fr_modulus)) {
            continue;
        }
        char reason[96];
        if (coefficient.matrix >= CIRCUIT_MATRICES) {
            snprintf(reason, sizeof reason, "matrix %" PRIu32 ", 0 (A) or 1 (B) expected",
                     coefficient.matrix);
        } else if (coefficient.row >= rows) {
            snprintf(reason, sizeof reason, "row %" PRIu32 ", the domain has %" PRIu32, coefficient.row,
                     rows);
        } else if (coefficient.wire >= key->wires) {
            snprintf(reason, sizeof reason, "wire %" PRIu32 ", there are %" PRIu32, coefficient.wire,
                     key->wires);
        } else {
            snprintf(reason, sizeof reason, "a value that is not below the scalar field's modulus r");
        }
        return error_set(error, ERROR_INPUT,
                         "%s: section %d (coefficients): number %" PRIu32 " at offset %" PRIu64 " has %s",
                         key->name, SECTION_COEFFICIENTS, i, offset + (uint64_t)i * ZKEY_COEFFICIENT_BYTES,
                         reason);
    }
    return ERROR_NONE;
}

static enum error_code parse_coefficients(struct zkey *key, const struct binfile *file, struct error *error)
{
    enum error_code code = binfile_require(file, SECTION_COEFFICIENTS, error);
    if (code) {
        return code;
    }
    const struct binfile_section *section = &file->sections[SECTION_COEFFICIENTS];
    uint32_t count = section->size >= 4 ? binfile_load32(section->bytes) : 0;
    if (section->size < 4 || section->size - 4 != (uint64_t)count * ZKEY_COEFFICIENT_BYTES) {
        return error_set(error, ERROR_INPUT,
                         "%s: section %d (coefficients) at offset %" PRIu64 " is %" PRIu64
                         " bytes long, %" PRIu64 " expected for the %" PRIu32 " coefficients it announces",
                         key->name, SECTION_COEFFICIENTS, section->offset, section->size,
                         4 + (uint64_t)count * ZKEY_COEFFICIENT_BYTES, count);
    }
    if (count > UINT32_MAX - CIRCUIT_DICTIONARY) {
        return error_set(error, ERROR_INPUT,
                         "%s: %" PRIu32 " coefficients are more than this program can address", key->name,
                         count);
    }
    key->coefficients = section->bytes + 4;
    key->coefficients_count = count;
    return check_coefficients(key, section->offset + 4, error);
}

enum error_code zkey_parse(struct zkey *key, const uint8_t *bytes, size_t size, const char *name,
                           struct error *error)
{
    struct binfile file;
    *key = (struct zkey){.name = name, .bytes = bytes, .size = size};
    enum error_code code = binfile_parse(&file, &format, bytes, size, name, error);
    if (!code) {
        code = parse_protocol(&file, error);
    }
    if (!code) {
        code = parse_header(key, &file, error);
    }
    if (!code) {
        code = parse_points(key, &file, error);
    }
    return code ? code : parse_coefficients(key, &file, error);
}

/* A descriptor of the plain file at path, not negative, and its size; or *error says why not. */
static int open_file(size_t *size, const char *path, struct error *error)
{
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not make us wait */
    if (descriptor < 0) {
        error_set_errno(error, errno, "%s: cannot open the proving key", path);
        return -1;
    }
    if (fstat(descriptor, &status) != 0) {
        error_set_errno(error, errno, "%s: cannot read the file's size", path);
    } else if (!S_ISREG(status.st_mode)) {
        error_set(error, ERROR_INPUT, "%s: this is not a plain file", path);
    } else {
        *size = (size_t)status.st_size;
        return descriptor;
    }
    close(descriptor);
    return -1;
}

/* Parses what was mapped, and unmaps it if it is no key. */
static enum error_code parse_mapping(struct zkey *key, void *mapping, size_t size, const char *path,
                                     struct error *error)
{
    const enum error_code code = zkey_parse(key, mapping, size, path, error);
    key->mapping = mapping;
    if (code) {
        zkey_close(key);
    }
    return code;
}

enum error_code zkey_open(struct zkey *key, const char *path, struct error *error)
{
    size_t size = 0;
    void *mapping = NULL;
    *key = (struct zkey){.name = path};
    const int descriptor = open_file(&size, path, error);
    if (descriptor < 0) {
        return error->code;
    }
    if (size > 0) {
        mapping = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    if (mapping == MAP_FAILED) {
        error_set_errno(error, errno, "%s: cannot map %zu bytes", path, size);
        close(descriptor);
        return error->code;
    }
    close(descriptor);
    return parse_mapping(key, mapping, size, path, error);
}

enum { READ_TASK_BYTES = 1 << 20 };

struct reading {
    int descriptor;
    uint8_t *bytes;
    size_t size;
    _Atomic int failure; /* an errno; EIO where the file has become shorter */
};

static void read_task(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    struct reading *reading = argument;
    size_t at = index * READ_TASK_BYTES;
    const size_t end = reading->size - at < READ_TASK_BYTES ? reading->size : at + READ_TASK_BYTES;
    while (at < end) {
        const ssize_t got = pread(reading->descriptor, reading->bytes + at, end - at, (off_t)at);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            reading->failure = got < 0 ? errno : EIO;
            return;
        }
        at += got > 0 ? (size_t)got : 0;
    }
}

enum error_code zkey_load(struct zkey *key, const char *path, struct par *par, struct error *error)
{
    struct reading reading = {0};
    void *memory = NULL;
    *key = (struct zkey){.name = path};
    reading.descriptor = open_file(&reading.size, path, error);
    if (reading.descriptor < 0) {
        return error->code;
    }
    if (reading.size > 0) {
        memory = mmap(NULL, reading.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (memory == MAP_FAILED) {
        error_set_errno(error, errno, "%s: no memory for the %zu bytes of the proving key", path,
                        reading.size);
        close(reading.descriptor);
        return error->code;
    }
    (void)madvise(memory, reading.size, MADV_HUGEPAGE);
    reading.bytes = memory;
    par_run(par, (reading.size + READ_TASK_BYTES - 1) / READ_TASK_BYTES, read_task, &reading);
    close(reading.descriptor);
    if (reading.failure != 0) {
        error_set_errno(error, reading.failure, "%s: cannot read the %zu bytes of the proving key", path,
                        reading.size);
        munmap(memory, reading.size);
        return error->code;
    }
    return parse_mapping(key, memory, reading.size, path, error);
}

void zkey_close(struct zkey *key)
{
    if (key->mapping) {
        CHECK(munmap(key->mapping, key->size) == 0);
    }
    *key = (struct zkey){.name = key->name};
}

/* ---- points ---- */

enum point_state { POINT_GOOD, POINT_RANGE, POINT_CURVE, POINT_SUBGROUP };

static const char *const point_texts[] = {
    [POINT_RANGE] = range_text,
    [POINT_CURVE] = "is not on the curve",
    [POINT_SUBGROUP] = "is on the curve, but not in the subgroup of order r",
};

static enum point_state check_g1(const uint8_t *bytes)
{
    g1_affine point;
    if (!g1_affine_load(&point, bytes)) {
        return POINT_RANGE;
    }
    return g1_affine_on_curve(&point) ? POINT_GOOD : POINT_CURVE;
}

static enum point_state check_g2(const uint8_t *bytes, enum zkey_points mode)
{
    g2_affine point;
    if (!g2_affine_load(&point, bytes)) {
        return POINT_RANGE;
    }
    if (!g2_affine_on_curve(&point)) {
        return POINT_CURVE;
    }
    return mode != ZKEY_POINTS_FULL || g2_affine_in_subgroup(&point) ? POINT_GOOD : POINT_SUBGROUP;
}

struct point_section {
    unsigned type;
    const uint8_t *points;
    size_t count;
    size_t item;
    size_t first_task;
};

enum { POINT_SECTIONS = 6, POINTS_TASK_BYTES = 1 << 18, POINTS_BLOCK = 128 };

struct point_check {
    const uint8_t *bytes; /* of the file */
    enum zkey_points mode;
    struct point_section sections[POINT_SECTIONS];
    _Atomic uint64_t first_bad; /* lowest file offset of a bad point, or UINT64_MAX */
};

static enum point_state check_point(const uint8_t *point, size_t item, enum zkey_points mode)
{
    return item == ZKEY_G1_BYTES ? check_g1(point) : check_g2(point, mode);
}

/* Whether all points of a block are good, which is cheaper to know than which one isn't. FULL looks at each.
 */
static bool block_good(const uint8_t *points, size_t count, size_t item, enum zkey_points mode)
{
    return item == ZKEY_G1_BYTES ? points_g1_good(points, count)
                                 : mode != ZKEY_POINTS_FULL && points_g2_good(points, count);
}

/* Notes the first bad point of a block and returns whether there is one. */
static bool block_search(struct point_check *check, const uint8_t *points, size_t count, size_t item)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t offset = (uint64_t)(points + i * item - check->bytes);
        if (check_point(points + i * item, item, check->mode) != POINT_GOOD) {
            uint64_t lowest = atomic_load_explicit(&check->first_bad, memory_order_relaxed);
            while (offset < lowest && !atomic_compare_exchange_weak(&check->first_bad, &lowest, offset)) {
            }
            return true;
        }
    }
    return false;
}

static void check_points_task(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    struct point_check *check = argument;
    const struct point_section *section = check->sections;
    while (section + 1 < check->sections + POINT_SECTIONS && index >= section[1].first_task) {
        section++;
    }
    size_t per_task = POINTS_TASK_BYTES / section->item;
    size_t begin = (index - section->first_task) * per_task;
    size_t end = section->count - begin < per_task ? section->count : begin + per_task;
    for (size_t i = begin; i < end; i += POINTS_BLOCK) {
        const uint8_t *points = section->points + i * section->item;
        const size_t count = end - i < POINTS_BLOCK ? end - i : POINTS_BLOCK;
        if ((uint64_t)(points - check->bytes) >
            atomic_load_explicit(&check->first_bad, memory_order_relaxed)) {
            return; /* whatever is bad from here on comes later in the file */
        }
        if (!block_good(points, count, section->item, check->mode) &&
            block_search(check, points, count, section->item)) {
            return;
        }
    }
}

static enum error_code check_header_points(const struct zkey *key, enum zkey_points mode, uint64_t header,
                                           struct error *error)
{
    static const struct {
        const char *name;
        size_t item;
    } points[] = {{"alpha1", ZKEY_G1_BYTES}, {"beta1", ZKEY_G1_BYTES},  {"beta2", ZKEY_G2_BYTES},
                  {"gamma2", ZKEY_G2_BYTES}, {"delta1", ZKEY_G1_BYTES}, {"delta2", ZKEY_G2_BYTES}};
    uint64_t offset = header + HEADER_POINTS_OFFSET;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        enum point_state state = check_point(key->bytes + offset, points[i].item, mode);
        if (state != POINT_GOOD) {
            return header_point_error(key, points[i].name, offset, point_texts[state], error);
        }
        offset += points[i].item;
    }
    return ERROR_NONE;
}

static enum error_code point_error(const struct zkey *key, const struct point_check *check,
                                   struct error *error)
{
    const uint8_t *point = key->bytes + check->first_bad;
    for (size_t i = 0; i < POINT_SECTIONS; i++) {
        const struct point_section *section = &check->sections[i];
        if (section->count == 0 || point < section->points ||
            point >= section->points + section->count * section->item) {
            continue;
        }
        enum point_state state = check_point(point, section->item, check->mode);
        CHECK(state != POINT_GOOD);
        return error_set(error, ERROR_INPUT, "%s: section %u (%s): point %zu at offset %" PRIu64 " %s",
                         key->name, section->type, format.section_names[section->type],
                         (size_t)(point - section->points) / section->item, (uint64_t)check->first_bad,
                         point_texts[state]);
    }
    CHECK(false);
    return ERROR_INPUT;
}

enum error_code zkey_check_points(const struct zkey *key, enum zkey_points mode, struct par *par,
                                  struct error *error)
{
    if (mode == ZKEY_POINTS_OFF) {
        return ERROR_NONE;
    }
    enum error_code code = check_header_points(key, mode, key->header_offset, error);
    if (code) {
        return code;
    }
    size_t wires = key->wires;
    struct point_check check = {
        .bytes = key->bytes,
        .mode = mode,
        .sections = {{SECTION_B2, key->b2, wires, ZKEY_G2_BYTES, 0}, /* the longest first */
                     {SECTION_A, key->a, wires, ZKEY_G1_BYTES, 0},
                     {SECTION_B1, key->b1, wires, ZKEY_G1_BYTES, 0},
                     {SECTION_H, key->h, (size_t)1 << key->domain_log2, ZKEY_G1_BYTES, 0},
                     {SECTION_C, key->c, wires - key->publics - 1, ZKEY_G1_BYTES, 0},
                     {SECTION_IC, key->ic, key->ic ? (size_t)key->publics + 1 : 0, ZKEY_G1_BYTES, 0}},
        .first_bad = UINT64_MAX,
    };
    size_t tasks = 0;
    for (size_t i = 0; i < POINT_SECTIONS; i++) {
        size_t per_task = POINTS_TASK_BYTES / check.sections[i].item;
        check.sections[i].first_task = tasks;
        tasks += check.sections[i].count / per_task + (check.sections[i].count % per_task != 0);
    }
    par_run(par, tasks, check_points_task, &check);
    return check.first_bad == UINT64_MAX ? ERROR_NONE : point_error(key, &check, error);
}
