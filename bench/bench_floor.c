/* bench_floor - where one proof's time goes, and how far each part is from the multiplications that it needs.
 *
 * bench_floor [OPTION...] CIRCUIT.zkey WITNESS.wtns: each part of a proof on one thread, its processor time
 * (the best of several runs), and its floor: the field multiplications that the part needs by the best method
 * known here, times the measured cost of one (mul_cost.h) at the level in use. Needed are
 * - evaluate: one for each coefficient but 1 and -1, two to bring a row's sums into Montgomery form, one for
 * C;
 * - NTT: n/2 log2 n for each of two transforms, n to scale, three times; 2 n for the quotient;
 * - MSM: additions of points into buckets, one for each window that a scalar reaches, and 2^c a window to sum
 *   its buckets, for the best c; 6 for each in G1 (affine: 2 M + 1 S and 3 M for a shared inversion), 17 in
 * G2;
 * - check points: 3 for each G1 point and 7 for each G2 point, to see that it is on its curve.
 *
 * Additions, memory, sorting and parsing are free in a floor, so a part can come near it and never reach it.
 * The cost of one is that of many side by side: a part that is a chain, as assembly is, can't get there. */
#include "bench/mul_cost.h"
#include "conf/check.h"
#include "groth16/msm.h"
#include "groth16/prove.h"
#include "groth16/wtns.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RUNS_MAX = 100, BITS = 254, WINDOW_MAX = 24, G1_ADD = 6, G2_ADD = 17, G1_CHECK = 3, G2_CHECK = 7 };

enum part {
    PART_PARSE,
    PART_CHECK_POINTS,
    PART_CIRCUIT,
    PART_WITNESS,
    PART_EVALUATE,
    PART_NTT,
    PART_MSM_B2,
    PART_MSM_H,
    PART_MSM_A,
    PART_MSM_B1,
    PART_MSM_C,
    PART_ASSEMBLE,
    PARTS
};

static const char *const part_names[PARTS] = {
    "parse the key", "check points", "circuit tables", "check witness", "evaluate", "NTT",
    "MSM B2 (G2)",   "MSM H",        "MSM A",          "MSM B1",        "MSM C",    "assemble"};

struct options {
    const char *key, *witness, *json;
    unsigned runs;
};

struct bench {
    struct zkey key;
    struct wtns witness;
    struct circuit circuit;
    void *circuit_memory, *scratch;
    uint8_t *file; /* the witness' */
    uint8_t *h;    /* scalars as large and even as those of h */
    double seconds[PARTS], needed[PARTS];
};

static void *memory_of(size_t size)
{
    void *memory = aligned_alloc(64, (size + 63) / 64 * 64);
    if (memory == NULL) {
        fprintf(stderr, "bench_floor: not enough memory for %zu bytes\n", size);
        exit(3);
    }
    return memory;
}

static void stop_if(enum error_code code, const struct error *error)
{
    if (code) {
        fprintf(stderr, "bench_floor: %s\n", error->text);
        exit(code == ERROR_INPUT ? 2 : 3);
    }
}

/* ---- time ---- */

static double started;

static void start(void)
{
    started = mul_cost_thread_seconds();
}

/* Keeps the best of a part's runs, and starts the next part. */
static void stop(struct bench *bench, enum part part)
{
    const double spent = mul_cost_thread_seconds() - started;
    if (bench->seconds[part] == 0 || spent < bench->seconds[part]) {
        bench->seconds[part] = spent;
    }
    start();
}

static void stage_done(void *context, enum prove_stage stage)
{
    if (stage != PROVE_MSM) {
        stop(context, stage == PROVE_EVALUATE ? PART_EVALUATE : PART_NTT);
    }
}

static void load(struct bench *bench, const struct options *options)
{
    struct error error = {0};
    start();
    stop_if(zkey_load(&bench->key, options->key, &par_serial, &error), &error);
    stop(bench, PART_PARSE);
    stop_if(zkey_check_points(&bench->key, ZKEY_POINTS_CURVE, &par_serial, &error), &error);
    stop(bench, PART_CHECK_POINTS);
    bench->circuit_memory = memory_of(circuit_memory_size(&bench->key));
    start();
    circuit_init(&bench->circuit, &bench->key, bench->circuit_memory, &par_serial);
    stop(bench, PART_CIRCUIT);
}

static void read_witness(struct bench *bench, const struct options *options)
{
    struct stat status;
    struct error error;
    FILE *file = fopen(options->witness, "re");
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        stop_if(error_set_errno(&error, errno, "%s: cannot open the witness", options->witness), &error);
        return;
    }
    const size_t size = (size_t)status.st_size;
    bench->file = memory_of(size + 1);
    if (fread(bench->file, 1, size, file) != size) {
        stop_if(error_set(&error, ERROR_SYSTEM, "%s: cannot read the witness", options->witness), &error);
    }
    fclose(file);
    stop_if(wtns_parse(&bench->witness, bench->file, size, options->witness, &error), &error);
    stop_if(wtns_match(&bench->witness, &bench->key, &error), &error);
}

static void run_multiplications(struct bench *bench)
{
    const struct zkey *key = &bench->key;
    const size_t first = (size_t)key->publics + 1;
    const uint8_t *values = bench->witness.values;
    g1_xyzz g1;
    g2_xyzz g2;
    start();
    msm_g2(&g2, key->b2, values, key->wires, &par_serial, bench->scratch);
    stop(bench, PART_MSM_B2);
    msm_g1(&g1, key->h, bench->h, (size_t)1 << key->domain_log2, &par_serial, bench->scratch);
    stop(bench, PART_MSM_H);
    msm_g1(&g1, key->a, values, key->wires, &par_serial, bench->scratch);
    stop(bench, PART_MSM_A);
    msm_g1(&g1, key->b1, values, key->wires, &par_serial, bench->scratch);
    stop(bench, PART_MSM_B1);
    msm_g1(&g1, key->c, values + first * U256_BYTES, key->wires - first, &par_serial, bench->scratch);
    stop(bench, PART_MSM_C);
}

static void run_once(struct bench *bench)
{
    struct error error;
    struct prove_sums sums;
    struct proof proof;
    const struct prove_blinding blinding = {fr_r2, fr_r2}; /* nobody sees this proof */
    start();
    stop_if(wtns_check(&bench->witness, &error), &error);
    stop(bench, PART_WITNESS);
    prove_compute(&sums, &bench->circuit, bench->witness.values, &par_serial, bench->scratch, stage_done,
                  bench);
    start();
    prove_assemble(&proof, &bench->circuit, &sums, &blinding);
    stop(bench, PART_ASSEMBLE);
    run_multiplications(bench);
}

static void prepare(struct bench *bench)
{
    const size_t n = (size_t)1 << bench->key.domain_log2, wires = bench->key.wires;
    const size_t sizes[] = {prove_scratch_size(&bench->circuit, 1), msm_g2_scratch_size(wires, 1),
                            msm_g1_scratch_size(wires, 1), msm_g1_scratch_size(n, 1)};
    size_t most = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        most = sizes[i] > most ? sizes[i] : most;
    }
    bench->scratch = memory_of(most);
    bench->h = memory_of(n * U256_BYTES);
    fr value = fr_r2;
    for (size_t i = 0; i < n; i++) {
        u256 plain;
        fr_mul(&value, &value, &fr_r2); /* powers of 2^256: as good as random here */
        fr_to_u256(&plain, &value);
        u256_store_le(bench->h + i * U256_BYTES, &plain);
    }
}

/* ---- floors ---- */

static unsigned bit_length(const u256 *value)
{
    for (int i = 3; i >= 0; i--) {
        if (value->w[i] != 0) {
            return 64 * (unsigned)i + 64 - (unsigned)__builtin_clzll(value->w[i]);
        }
    }
    return 0;
}

/* Multiplications of the best window width. */
static double msm_needed(const uint8_t *points, size_t point_bytes, const uint8_t *scalars, size_t n,
                         unsigned per_add)
{
    static const uint8_t infinity[G2_BYTES];
    size_t lengths[BITS + 2] = {0};
    for (size_t i = 0; i < n; i++) {
        u256 scalar;
        u256_load_le(&scalar, scalars + i * U256_BYTES);
        if (memcmp(points + i * point_bytes, infinity, point_bytes) != 0) {
            lengths[bit_length(&scalar)]++;
        }
    }
    double best = 1e30;
    for (unsigned c = 1; c <= WINDOW_MAX; c++) {
        double additions = 0;
        unsigned longest = 0;
        for (unsigned length = 1; length <= BITS; length++) {
            const unsigned windows = length == 1 ? 1 : length / c + 1; /* a signed digit may carry */
            additions += (double)lengths[length] * windows;
            longest = lengths[length] ? length / c + 1 : longest;
        }
        additions += (double)longest * (double)(UINT64_C(1) << c);
        best = additions < best ? additions : best;
    }
    return best * per_add;
}

static void count_needed(struct bench *bench)
{
    const struct zkey *key = &bench->key;
    const double n = (double)((size_t)1 << key->domain_log2), wires = key->wires;
    const size_t first = (size_t)key->publics + 1;
    const uint8_t *values = bench->witness.values;
    fr minus_one;
    double products = 0, rows = 0;
    fr_neg(&minus_one, &fr_r2);
    for (uint32_t i = 0; i < key->coefficients_count; i++) {
        const struct zkey_coefficient coefficient = zkey_coefficient_at(key, i);
        products += !fr_equal(&coefficient.value, &fr_r2) && !fr_equal(&coefficient.value, &minus_one);
        rows = coefficient.row >= rows ? coefficient.row + 1 : rows;
    }
    double *needed = bench->needed;
    needed[PART_CHECK_POINTS] = (2 * wires + (wires - (double)first) + n) * G1_CHECK + wires * G2_CHECK;
    needed[PART_CIRCUIT] = 2 * n; /* the tables of the transforms */
    needed[PART_EVALUATE] = products + 3 * rows;
    needed[PART_NTT] = 3 * (n * key->domain_log2 + n) + 2 * n;
    needed[PART_MSM_B2] = msm_needed(key->b2, G2_BYTES, values, key->wires, G2_ADD);
    needed[PART_MSM_H] = msm_needed(key->h, G1_BYTES, bench->h, (size_t)n, G1_ADD);
    needed[PART_MSM_A] = msm_needed(key->a, G1_BYTES, values, key->wires, G1_ADD);
    needed[PART_MSM_B1] = msm_needed(key->b1, G1_BYTES, values, key->wires, G1_ADD);
    needed[PART_MSM_C] =
        msm_needed(key->c, G1_BYTES, values + first * U256_BYTES, key->wires - first, G1_ADD);
    /* five multiples in G1, one in G2: 254 doublings and 127 additions each, 9 and 14 in G1, 24 and 40 in G2
     */
    needed[PART_ASSEMBLE] = 5 * (254 * 9 + 127 * 14) + (254 * 24 + 127 * 40);
}

/* ---- results ---- */

static void print_results(const struct bench *bench, const struct options *options, double cost)
{
    double total = 0, floor = 0;
    json_t *parts = json_array();
    for (int part = 0; part < PARTS; part++) {
        total += bench->seconds[part];
        floor += bench->needed[part] * cost;
    }
    printf("%s: 2^%u, level %s, one multiplication %.2f ns\n", options->key, bench->key.domain_log2,
           cpu_level_name(cpu_level()), cost * 1e9);
    printf("%-16s %12s %8s %16s %12s %8s\n", "part", "ms", "share", "multiplications", "floor ms", "times");
    for (int part = 0; part < PARTS; part++) {
        const double seconds = bench->seconds[part], least = bench->needed[part] * cost;
        printf("%-16s %12.3f %7.1f%% %16.0f %12.3f", part_names[part], seconds * 1e3, 100 * seconds / total,
               bench->needed[part], least * 1e3);
        printf(least > 0 ? " %7.1fx\n" : "\n", least > 0 ? seconds / least : 0);
        json_array_append_new(parts,
                              json_pack("{s:s, s:f, s:f, s:f}", "part", part_names[part], "seconds", seconds,
                                        "multiplications", bench->needed[part], "floor_s", least));
    }
    printf("%-16s %12.3f %7.1f%% %16.0f %12.3f %7.1fx\n", "all", total * 1e3, 100.0, floor / cost,
           floor * 1e3, total / floor);
    json_t *root = json_pack("{s:s, s:i, s:s, s:f, s:f, s:f, s:o}", "key", options->key, "domain_log2",
                             (int)bench->key.domain_log2, "level", cpu_level_name(cpu_level()),
                             "multiplication_s", cost, "seconds", total, "floor_s", floor, "parts", parts);
    if (options->json && json_dump_file(root, options->json, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0) {
        fprintf(stderr, "bench_floor: %s: cannot write the file\n", options->json);
        exit(3);
    }
    json_decref(root);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    char *end;
    switch (key) {
    case 'j':
        options->json = text;
        return 0;
    case 'r':
        options->runs = (unsigned)strtoul(text, &end, 10);
        if (*text < '0' || *text > '9' || *end != '\0' || options->runs < 1 || options->runs > RUNS_MAX) {
            argp_error(state, "%s: expected a number from 1 to %d", text, RUNS_MAX);
        }
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            return ARGP_ERR_UNKNOWN;
        }
        *(state->arg_num == 0 ? &options->key : &options->witness) = text;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < 2) {
            argp_error(state, "expected a key and a witness");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"runs", 'r', "N", 0, "proofs; 3 unless given", 0},
    {"json", 'j', "FILE", 0, "write the figures there, too", 0},
    {0},
};

static const struct argp argp = {.options = option_table,
                                 .parser = parse_option,
                                 .args_doc = "CIRCUIT.zkey WITNESS.wtns",
                                 .doc =
                                     "Measures the parts of a proof against the multiplications they need"};

int main(int argc, char **argv)
{
    struct options options = {.runs = 3};
    struct bench bench = {0};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    load(&bench, &options);
    read_witness(&bench, &options);
    prepare(&bench);
    double cost = mul_cost(cpu_level());
    for (unsigned run = 0; run < options.runs; run++) {
        run_once(&bench);
        const double again = mul_cost(cpu_level()); /* between runs, so that a slow moment hits both alike */
        cost = again < cost ? again : cost;
    }
    count_needed(&bench);
    print_results(&bench, &options, cost);
    free(bench.circuit_memory);
    free(bench.scratch);
    free(bench.file);
    free(bench.h);
    zkey_close(&bench.key);
    return 0;
}
