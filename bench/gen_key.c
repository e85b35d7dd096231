#include "bench/gen_key.h"

#include "bench/gen_points.h"
#include "conf/check.h"
#include "groth16/wtns.h"
#include "groth16/zkey.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STREAM_SECRETS = 100, /* apart from those of gen_circuit.c */
    BUFFER_BYTES = 1 << 20,
    SLAB_POINTS = 1 << 16,
    TASK_ELEMENTS = 1024,
    CEREMONY_BYTES = 64 /* of the hash that section 10 begins with */
};

static const char warning[CEREMONY_BYTES] = "INSECURE: a benchmark key; its setup's secrets are known";

/* ---- files: little-endian, the first error is kept until the end ---- */

struct file {
    FILE *stream;
    const char *path;
    int error_number; /* errno of the first failure */
    long section;     /* where the open section's length stands */
};

static void file_write(struct file *file, const void *bytes, size_t size)
{
    if (file->error_number == 0 && size > 0 && fwrite(bytes, size, 1, file->stream) != 1) {
        file->error_number = errno ? errno : EIO;
    }
}

static void file_write32(struct file *file, uint32_t value)
{
    file_write(file, &value, sizeof value);
}

static void file_write64(struct file *file, uint64_t value)
{
    file_write(file, &value, sizeof value);
}

static enum error_code file_open(struct file *file, const char *path, struct error *error)
{
    *file = (struct file){.stream = fopen(path, "we"), .path = path};
    if (file->stream == NULL) {
        return error_set_errno(error, errno, "%s: cannot create the file", path);
    }
    setvbuf(file->stream, NULL, _IOFBF, BUFFER_BYTES);
    return ERROR_NONE;
}

static enum error_code file_close(struct file *file, struct error *error)
{
    if (fclose(file->stream) != 0 && file->error_number == 0) {
        file->error_number = errno;
    }
    if (file->error_number == 0) {
        return ERROR_NONE;
    }
    unlink(file->path);
    return error_set_errno(error, file->error_number, "%s: cannot write the file", file->path);
}

static void container_begin(struct file *file, const char magic[4], uint32_t version, uint32_t sections)
{
    file_write(file, magic, 4);
    file_write32(file, version);
    file_write32(file, sections);
}

static void section_begin(struct file *file, uint32_t type)
{
    file_write32(file, type);
    file->section = ftell(file->stream);
    file_write64(file, 0);
}

/* Goes back to write the section's length. */
static void section_end(struct file *file)
{
    const long end = ftell(file->stream);
    if (file->section < 0 || end < 0 || fseek(file->stream, file->section, SEEK_SET) != 0) {
        file->error_number = file->error_number ? file->error_number : errno;
        return;
    }
    file_write64(file, (uint64_t)(end - file->section) - sizeof(uint64_t));
    if (fseek(file->stream, end, SEEK_SET) != 0 && file->error_number == 0) {
        file->error_number = errno;
    }
}

static void field_write(struct file *file, const u256 *modulus)
{
    file_write32(file, U256_BYTES);
    file_write(file, modulus->w, U256_BYTES);
}

/* ---- the setup ---- */

struct secrets {
    fr tau, alpha, beta, gamma, delta;
};

struct setup {
    const struct gen_circuit *circuit;
    struct par *par;
    struct secrets secrets;
    struct gen_points_tables tables;
    fr *lagrange;    /* of the domain, then of the odd places of twice the domain */
    fr *a, *b, *c;   /* by wire */
    uint8_t *points; /* SLAB_POINTS of G2 */
    uint8_t *ic;     /* publics + 1 packed points */
    g1_affine alpha1, beta1, delta1;
    g2_affine beta2, gamma2, delta2;
};

static fr root_of_unity(unsigned log2)
{
    CHECK(log2 <= ZKEY_DOMAIN_LOG2_MAX);
    u256 exponent, five = {{5}};
    fr root;
    for (int i = 0; i < 4; i++) { /* (r - 1) / 2^28, r - 1 having 28 zero bits at the end */
        const uint64_t above = i < 3 ? fr_modulus.w[i + 1] << (64 - ZKEY_DOMAIN_LOG2_MAX) : 0;
        exponent.w[i] = fr_modulus.w[i] >> ZKEY_DOMAIN_LOG2_MAX | above;
    }
    CHECK(fr_from_u256(&root, &five));
    fr_pow(&root, &root, &exponent);
    for (unsigned i = log2; i < ZKEY_DOMAIN_LOG2_MAX; i++) {
        fr_sqr(&root, &root);
    }
    return root;
}

struct lagrange {
    fr *values;
    size_t n;
    fr tau, first, step, factor;
};

/* values[i] = factor z / (tau - z), z = first step^i. */
static void lagrange_task(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    const struct lagrange *work = argument;
    const size_t begin = index * TASK_ELEMENTS;
    const size_t n = work->n - begin < TASK_ELEMENTS ? work->n - begin : TASK_ELEMENTS;
    const u256 exponent = {{begin}};
    fr z[TASK_ELEMENTS], scratch[TASK_ELEMENTS];
    fr *values = work->values + begin;
    fr_pow(&z[0], &work->step, &exponent);
    fr_mul(&z[0], &z[0], &work->first);
    for (size_t i = 0; i < n; i++) {
        if (i > 0) {
            fr_mul(&z[i], &z[i - 1], &work->step);
        }
        fr_sub(&values[i], &work->tau, &z[i]);
        CHECK(!fr_is_zero(&values[i])); /* tau was drawn: never a root of unity */
    }
    fr_batch_inv(values, scratch, n);
    for (size_t i = 0; i < n; i++) {
        fr_mul(&values[i], &values[i], &z[i]);
        fr_mul(&values[i], &values[i], &work->factor);
    }
}

/* The Lagrange basis at tau of the 2^log2-th roots of unity, or of twice as many roots at the odd places;
 * times `factor`. L_j = (tau^m - 1) / m * w^j / (tau - w^j), m the order of w. */
static void compute_lagrange(struct setup *setup, bool odd, const fr *factor)
{
    const unsigned log2 = setup->circuit->domain_log2;
    const uint64_t order = UINT64_C(1) << (log2 + (odd ? 1 : 0));
    struct lagrange work = {.values = setup->lagrange,
                            .n = (size_t)1 << log2,
                            .tau = setup->secrets.tau,
                            .first = odd ? root_of_unity(log2 + 1) : fr_one,
                            .step = root_of_unity(log2)};
    const u256 order_plain = {{order}};
    fr order_inverse;
    CHECK(fr_from_u256(&order_inverse, &order_plain));
    fr_inv(&order_inverse, &order_inverse);
    fr_pow(&work.factor, &work.tau, &order_plain);
    fr_sub(&work.factor, &work.factor, &fr_one);
    fr_mul(&work.factor, &work.factor, &order_inverse);
    fr_mul(&work.factor, &work.factor, factor);
    par_run(setup->par, (work.n + TASK_ELEMENTS - 1) / TASK_ELEMENTS, lagrange_task, &work);
}

static void g1_multiple(g1_affine *r, const fr *scalar)
{
    g1_xyzz sum;
    u256 plain;
    fr_to_u256(&plain, scalar);
    g1_xyzz_from_affine(&sum, &g1_generator);
    g1_xyzz_mul(&sum, &sum, &plain);
    g1_xyzz_to_affine(r, &sum);
}

static void g2_multiple(g2_affine *r, const fr *scalar)
{
    g2_xyzz sum;
    u256 plain;
    fr_to_u256(&plain, scalar);
    g2_xyzz_from_affine(&sum, &g2_generator);
    g2_xyzz_mul(&sum, &sum, &plain);
    g2_xyzz_to_affine(r, &sum);
}

static void setup_close(struct setup *setup)
{
    gen_points_tables_close(&setup->tables);
    free(setup->lagrange);
    free(setup->a);
    free(setup->b);
    free(setup->c);
    free(setup->points);
    free(setup->ic);
}

static enum error_code setup_open(struct setup *setup, const struct gen_circuit *circuit, struct par *par,
                                  struct error *error)
{
    const size_t wires = circuit->wires, domain = (size_t)1 << circuit->domain_log2;
    *setup = (struct setup){.circuit = circuit, .par = par};
    fr *const secrets[] = {&setup->secrets.tau, &setup->secrets.alpha, &setup->secrets.beta,
                           &setup->secrets.gamma, &setup->secrets.delta};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        gen_circuit_draw(secrets[i], circuit->seed, STREAM_SECRETS, i);
    }
    setup->lagrange = malloc(domain * sizeof(fr));
    setup->a = calloc(wires, sizeof(fr));
    setup->b = calloc(wires, sizeof(fr));
    setup->c = calloc(wires, sizeof(fr));
    setup->points = malloc((size_t)SLAB_POINTS * G2_BYTES);
    setup->ic = malloc(((size_t)circuit->publics + 1) * G1_BYTES);
    if (!setup->lagrange || !setup->a || !setup->b || !setup->c || !setup->points || !setup->ic) {
        return error_set(error, ERROR_SYSTEM, "not enough memory for the setup of %" PRIu32 " wires",
                         circuit->wires);
    }
    g1_multiple(&setup->alpha1, &setup->secrets.alpha);
    g1_multiple(&setup->beta1, &setup->secrets.beta);
    g1_multiple(&setup->delta1, &setup->secrets.delta);
    g2_multiple(&setup->beta2, &setup->secrets.beta);
    g2_multiple(&setup->gamma2, &setup->secrets.gamma);
    g2_multiple(&setup->delta2, &setup->secrets.delta);
    compute_lagrange(setup, false, &fr_one);
    return gen_points_tables_open(&setup->tables, wires + domain, par, error);
}

/* ---- the proving key ---- */

static void write_header(struct file *file, const struct setup *setup)
{
    uint8_t g1[G1_BYTES], g2[G2_BYTES];
    section_begin(file, 1);
    file_write32(file, 1); /* Groth16 */
    section_end(file);
    section_begin(file, 2);
    field_write(file, &fq_modulus);
    field_write(file, &fr_modulus);
    file_write32(file, setup->circuit->wires);
    file_write32(file, setup->circuit->publics);
    file_write32(file, UINT32_C(1) << setup->circuit->domain_log2);
    const struct {
        const g1_affine *g1;
        const g2_affine *g2;
    } points[] = {{&setup->alpha1, NULL}, {&setup->beta1, NULL},  {NULL, &setup->beta2},
                  {NULL, &setup->gamma2}, {&setup->delta1, NULL}, {NULL, &setup->delta2}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        if (points[i].g1) {
            g1_affine_store(g1, points[i].g1);
            file_write(file, g1, sizeof g1);
        } else {
            g2_affine_store(g2, points[i].g2);
            file_write(file, g2, sizeof g2);
        }
    }
    section_end(file);
}

/* Adds a row's sum to the wires it has, and if matrix isn't negative, writes its entries. Returns how many.
 */
static uint32_t add_sum(struct file *file, fr *by_wire, const struct gen_circuit_sum *sum, const fr *lagrange,
                        int matrix, uint32_t row)
{
    for (unsigned i = 0; i < sum->count; i++) {
        const struct gen_circuit_term *term = &sum->terms[i];
        fr product;
        fr_mul(&product, &term->factor, lagrange);
        fr_add(&by_wire[term->wire], &by_wire[term->wire], &product);
        if (matrix >= 0) {
            fr stored; /* the factor times 2^512 */
            fr_mul(&stored, &term->factor, &fr_r2);
            file_write32(file, (uint32_t)matrix);
            file_write32(file, row);
            file_write32(file, term->wire);
            file_write(file, stored.w, sizeof stored.w);
        }
    }
    return matrix >= 0 ? sum->count : 0;
}

/* Section 4, and with it A, B and C of each wire. */
static void write_coefficients(struct file *file, struct setup *setup)
{
    const struct gen_circuit *circuit = setup->circuit;
    uint32_t count = 0;
    section_begin(file, 4);
    const long count_place = ftell(file->stream);
    file_write32(file, 0);
    struct gen_circuit_row row;
    for (uint32_t i = 0; i < circuit->constraints; i++) {
        gen_circuit_row(&row, circuit, i);
        count += add_sum(file, setup->a, &row.a, &setup->lagrange[i], 0, i);
        count += add_sum(file, setup->b, &row.b, &setup->lagrange[i], 1, i);
        add_sum(file, setup->c, &row.c, &setup->lagrange[i], -1, i);
    }
    for (uint32_t i = 0; i <= circuit->publics; i++) {
        const uint32_t place = circuit->constraints + i;
        const struct gen_circuit_sum sum = {.count = 1, .terms = {{i, fr_one}}};
        count += add_sum(file, setup->a, &sum, &setup->lagrange[place], 0, place);
    }
    section_end(file);
    const long end = ftell(file->stream);
    if (count_place < 0 || end < 0 || fseek(file->stream, count_place, SEEK_SET) != 0) {
        file->error_number = file->error_number ? file->error_number : errno;
        return;
    }
    file_write32(file, count);
    if (fseek(file->stream, end, SEEK_SET) != 0 && file->error_number == 0) {
        file->error_number = errno;
    }
}

static void write_points(struct file *file, const struct setup *setup, uint32_t section, const fr *scalars,
                         size_t n)
{
    const bool is_g2 = section == 7;
    section_begin(file, section);
    for (size_t begin = 0; begin < n; begin += SLAB_POINTS) {
        const size_t slab = n - begin < SLAB_POINTS ? n - begin : SLAB_POINTS;
        if (is_g2) {
            gen_points_multiply_g2(setup->points, &setup->tables, scalars + begin, slab, setup->par);
        } else {
            gen_points_multiply_g1(setup->points, &setup->tables, scalars + begin, slab, setup->par);
        }
        file_write(file, setup->points, slab * (is_g2 ? G2_BYTES : G1_BYTES));
    }
    section_end(file);
}

/* c becomes K: see the header. */
static void combine_wires(struct setup *setup)
{
    const struct secrets *secrets = &setup->secrets;
    fr gamma_inverse, delta_inverse;
    fr_inv(&gamma_inverse, &secrets->gamma);
    fr_inv(&delta_inverse, &secrets->delta);
    for (uint32_t wire = 0; wire < setup->circuit->wires; wire++) {
        fr a, b;
        fr_mul(&a, &setup->a[wire], &secrets->beta);
        fr_mul(&b, &setup->b[wire], &secrets->alpha);
        fr_add(&a, &a, &b);
        fr_add(&a, &a, &setup->c[wire]);
        fr_mul(&setup->c[wire], &a, wire <= setup->circuit->publics ? &gamma_inverse : &delta_inverse);
    }
}

static void write_sections(struct file *file, struct setup *setup)
{
    const struct gen_circuit *circuit = setup->circuit;
    const size_t wires = circuit->wires, first = (size_t)circuit->publics + 1;
    container_begin(file, "zkey", 1, 10);
    write_header(file, setup);
    write_coefficients(file, setup);
    write_points(file, setup, 5, setup->a, wires);
    write_points(file, setup, 6, setup->b, wires);
    write_points(file, setup, 7, setup->b, wires);
    combine_wires(setup);
    write_points(file, setup, 3, setup->c, first);
    write_points(file, setup, 8, setup->c + first, wires - first);
    gen_points_multiply_g1(setup->ic, &setup->tables, setup->c, first, setup->par); /* few: once more */
    fr delta_inverse;
    fr_inv(&delta_inverse, &setup->secrets.delta);
    compute_lagrange(setup, true, &delta_inverse);
    write_points(file, setup, 9, setup->lagrange, (size_t)1 << circuit->domain_log2);
    section_begin(file, 10);
    file_write(file, warning, sizeof warning);
    file_write32(file, 0); /* contributions */
    section_end(file);
}

/* ---- the verification key ---- */

static void print_number(FILE *stream, const char *indent, const fq *value, const char *end)
{
    u256 plain;
    char digits[U256_DECIMAL_BYTES];
    fq_to_u256(&plain, value);
    u256_to_decimal(digits, &plain);
    fprintf(stream, "%s\"%s\"%s", indent, digits, end);
}

/* A point's three projective coordinates, without the brackets. */
static void print_g1(FILE *stream, const char *indent, const g1_affine *point)
{
    const bool infinite = g1_affine_is_infinity(point);
    print_number(stream, indent, &point->x, ",\n");
    print_number(stream, indent, infinite ? &fq_one : &point->y, ",\n");
    print_number(stream, indent, infinite ? &fq_zero : &fq_one, "\n");
}

static void print_named_g1(FILE *stream, const char *name, const g1_affine *point)
{
    fprintf(stream, " \"%s\": [\n", name);
    print_g1(stream, "  ", point);
    fputs(" ],\n", stream);
}

static void print_named_g2(FILE *stream, const char *name, const g2_affine *point)
{
    const fq2 *const coordinates[] = {&point->x, &point->y, &fq2_one};
    fprintf(stream, " \"%s\": [\n", name);
    for (int i = 0; i < 3; i++) {
        fputs("  [\n", stream);
        print_number(stream, "   ", &coordinates[i]->c0, ",\n");
        print_number(stream, "   ", &coordinates[i]->c1, "\n");
        fprintf(stream, "  ]%s\n", i < 2 ? "," : "");
    }
    fputs(" ],\n", stream);
}

static void print_verification_key(FILE *stream, const struct setup *setup)
{
    const uint32_t publics = setup->circuit->publics;
    fprintf(stream, "{\n \"INSECURE\": \"%s\",\n", warning + sizeof "INSECURE:");
    fprintf(stream, " \"protocol\": \"groth16\",\n \"curve\": \"bn128\",\n \"nPublic\": %" PRIu32 ",\n",
            publics);
    print_named_g1(stream, "vk_alpha_1", &setup->alpha1);
    print_named_g2(stream, "vk_beta_2", &setup->beta2);
    print_named_g2(stream, "vk_gamma_2", &setup->gamma2);
    print_named_g2(stream, "vk_delta_2", &setup->delta2);
    fputs(" \"IC\": [\n", stream);
    for (size_t i = 0; i <= publics; i++) {
        g1_affine point;
        CHECK(g1_affine_load(&point, setup->ic + i * G1_BYTES));
        fputs("  [\n", stream);
        print_g1(stream, "   ", &point);
        fprintf(stream, "  ]%s\n", i < publics ? "," : "");
    }
    fputs(" ]\n}\n", stream);
}

static enum error_code write_files(struct setup *setup, const char *key_path, const char *verification_path,
                                   struct error *error)
{
    struct file file;
    enum error_code code = file_open(&file, key_path, error);
    if (code) {
        return code;
    }
    write_sections(&file, setup);
    code = file_close(&file, error);
    if (code) {
        return code;
    }
    code = file_open(&file, verification_path, error);
    if (code) {
        return code;
    }
    print_verification_key(file.stream, setup);
    if (ferror(file.stream)) {
        file.error_number = errno ? errno : EIO;
    }
    return file_close(&file, error);
}

enum error_code gen_key_write(const struct gen_circuit *circuit, const char *key_path,
                              const char *verification_path, struct par *par, struct error *error)
{
    struct setup setup;
    enum error_code code = setup_open(&setup, circuit, par, error);
    if (!code) {
        code = write_files(&setup, key_path, verification_path, error);
    }
    setup_close(&setup);
    return code;
}

enum error_code gen_key_write_witness(const struct gen_circuit *circuit, uint32_t number, const char *path,
                                      struct error *error)
{
    fr *values = malloc((size_t)circuit->wires * sizeof *values);
    if (values == NULL) {
        return error_set(error, ERROR_SYSTEM, "not enough memory for a witness of %" PRIu32 " values",
                         circuit->wires);
    }
    struct file file;
    enum error_code code = file_open(&file, path, error);
    if (code) {
        free(values);
        return code;
    }
    gen_circuit_witness(values, circuit, number);
    container_begin(&file, "wtns", 2, 2);
    section_begin(&file, 1);
    field_write(&file, &fr_modulus);
    file_write32(&file, circuit->wires);
    section_end(&file);
    section_begin(&file, 2);
    for (uint32_t i = 0; i < circuit->wires; i++) {
        u256 plain;
        fr_to_u256(&plain, &values[i]);
        file_write(&file, plain.w, sizeof plain.w);
    }
    section_end(&file);
    free(values);
    return file_close(&file, error);
}
