/* bench_math - what the hot mathematics costs here: prints a table, one line a measurement.
 *
 * bench_math [LOG2_MAX [JSON]]: transforms and multi-scalar multiplications up to 2^LOG2_MAX points (default
 * 16); the same figures as JSON into a file. UZK_CPU lowers the level as everywhere (groth16/cpu.h). Times
 * are processor time of one thread, so that a busy machine disturbs them less; each is the best of several
 * runs. */
#include "bench/mul_cost.h"
#include "groth16/cpu.h"
#include "groth16/fr.h"
#include "groth16/msm.h"
#include "groth16/ntt.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_RUNS = 5 };

static double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Runs `code` `times` times in each of BENCH_RUNS runs and leaves the best seconds for one in `best`. */
#define BENCH(best, times, code)                                              \
    do {                                                                      \
        (best) = 1e9;                                                         \
        for (int run = 0; run < BENCH_RUNS; run++) {                          \
            const double start = bench_seconds();                             \
            for (size_t time = 0; time < (size_t)(times); time++) {           \
                code;                                                         \
            }                                                                 \
            const double spent = (bench_seconds() - start) / (double)(times); \
            (best) = spent < (best) ? spent : (best);                         \
        }                                                                     \
    } while (0)

static json_t *results;

static void bench_line(const char *name, double seconds)
{
    printf("%-28s %12.1f ns\n", name, seconds * 1e9);
    json_array_append_new(results, json_pack("{s:s, s:f}", "name", name, "seconds", seconds));
}

static void bench_line_sized(const char *name, unsigned log2, const char *what, double seconds)
{
    printf("%-7s 2^%-2u %-10s %12.3f ms %10.1f ns a point\n", name, log2, what, seconds * 1e3,
           seconds * 1e9 / (double)((size_t)1 << log2));
    json_array_append_new(results, json_pack("{s:s, s:i, s:s, s:f}", "name", name, "log2", (int)log2, "what",
                                             what, "seconds", seconds));
}

static uint64_t bench_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 32 ^ *state;
}

static void bench_fields(void)
{
    static const char *const throughputs[CPU_LEVELS] = {[CPU_PORTABLE] = "fq_mul (side by side, C)",
                                                        [CPU_ADX] = "fq_mul (side by side, adx)",
                                                        [CPU_FMA] = "fq_mul (side by side, fma)",
                                                        [CPU_IFMA] = "fq_mul (side by side, ifma)"};
    double best;
    for (int level = CPU_PORTABLE; level <= (int)cpu_level(); level++) {
        bench_line(throughputs[level], mul_cost(level));
    }
    fq a = fq_r2;
    const fq b = fq_r2;
    BENCH(best, 1000000, fq_mul(&a, &a, &b));
    bench_line("fq_mul (a chain)", best);
    BENCH(best, 1000000, fq_add(&a, &a, &b));
    bench_line("fq_add (a chain)", best);
    BENCH(best, 2000, fq_inv(&a, &a); fq_add(&a, &a, &b));
    bench_line("fq_inv", best);
    fr c = fr_r2;
    BENCH(best, 1000000, fr_mul(&c, &c, &fr_r2));
    bench_line("fr_mul (a chain)", best);
    if (fq_is_zero(&a) && fr_is_zero(&c)) {
        printf("the results are zero\n"); /* never; keeps them alive */
    }
}

static void bench_groups(void)
{
    double best;
    g1_xyzz p;
    g2_xyzz q;
    g1_xyzz_from_affine(&p, &g1_generator);
    g2_xyzz_from_affine(&q, &g2_generator);
    g1_xyzz_dbl(&p, &p);
    g2_xyzz_dbl(&q, &q);
    BENCH(best, 100000, g1_xyzz_add_affine(&p, &p, &g1_generator));
    bench_line("g1_xyzz_add_affine", best);
    BENCH(best, 100000, g1_xyzz_dbl(&p, &p));
    bench_line("g1_xyzz_dbl", best);
    BENCH(best, 30000, g2_xyzz_add_affine(&q, &q, &g2_generator));
    bench_line("g2_xyzz_add_affine", best);
}

/* n points as a key holds them: multiples of the generator, made by repeated addition. */
#define BENCH_POINTS(group, points, n)                                   \
    do {                                                                 \
        group##_xyzz sum;                                                \
        group##_affine affine;                                           \
        group##_xyzz_from_affine(&sum, &group##_generator);              \
        for (size_t i = 0; i < (n); i++) {                               \
            group##_xyzz_to_affine(&affine, &sum);                       \
            group##_affine_store((points) + i * sizeof affine, &affine); \
            group##_xyzz_add_affine(&sum, &sum, &group##_generator);     \
        }                                                                \
    } while (0)

#define BENCH_MSM(group, log2_max, bits)                                                                \
    do {                                                                                                \
        const size_t most = (size_t)1 << (log2_max);                                                    \
        uint8_t *points = malloc(most * sizeof(group##_affine));                                        \
        uint8_t *scalars = malloc(most * U256_BYTES);                                                   \
        void *scratch = aligned_alloc(64, (msm_##group##_scratch_size(most, 1) + 63) / 64 * 64);        \
        if (points == NULL || scalars == NULL || scratch == NULL) {                                     \
            fprintf(stderr, "bench_math: not enough memory for 2^%u points\n", (log2_max));             \
            exit(3);                                                                                    \
        }                                                                                               \
        BENCH_POINTS(group, points, most);                                                              \
        bench_scalars(scalars, most, (bits));                                                           \
        for (unsigned log2 = 8; log2 <= (log2_max); log2 += 2) {                                        \
            const size_t n = (size_t)1 << log2;                                                         \
            group##_xyzz r;                                                                             \
            double best;                                                                                \
            BENCH(best, log2 < 12 ? 10 : 1, msm_##group(&r, points, scalars, n, &par_serial, scratch)); \
            bench_line_sized("msm_" #group, log2, (bits) ? "bits" : "random", best);                    \
        }                                                                                               \
        free(points);                                                                                   \
        free(scalars);                                                                                  \
        free(scratch);                                                                                  \
    } while (0)

/* Random scalars, or, like the witness of a hash circuit, nine in ten of them 0 or 1. */
static void bench_scalars(uint8_t *scalars, size_t n, bool bits)
{
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        u256 scalar = {{0}};
        for (int word = 0; word < 4; word++) {
            scalar.w[word] = bench_random(&state);
        }
        scalar.w[3] >>= 3; /* below r */
        if (bits && i % 10 != 0) {
            scalar = (u256){{scalar.w[0] & 1, 0, 0, 0}};
        }
        u256_store_le(scalars + i * U256_BYTES, &scalar);
    }
}

/* A transform from the domain to its odd coset. */
static void bench_transforms(unsigned log2_max)
{
    for (unsigned log2 = 8; log2 <= log2_max; log2 += 2) {
        const size_t n = (size_t)1 << log2;
        void *tables = aligned_alloc(64, (ntt_table_size(log2) + 63) / 64 * 64);
        void *scratch = aligned_alloc(64, (ntt_scratch_size(1) + 63) / 64 * 64);
        fr *values = aligned_alloc(64, n * sizeof *values);
        if (tables == NULL || scratch == NULL || values == NULL) {
            fprintf(stderr, "bench_math: not enough memory for a transform of 2^%u\n", log2);
            exit(3);
        }
        for (size_t i = 0; i < n; i++) {
            values[i] = fr_r2;
        }
        struct ntt ntt;
        double best;
        BENCH(best, 1, ntt_init(&ntt, log2, tables, &par_serial));
        bench_line_sized("ntt", log2, "tables", best);
        BENCH(best, log2 < 12 ? 10 : 1, ntt_to_coset(&ntt, values, &par_serial, scratch));
        bench_line_sized("ntt", log2, "to coset", best);
        free(tables);
        free(scratch);
        free(values);
    }
}

int main(int argc, char **argv)
{
    const unsigned long log2_max = argc > 1 ? strtoul(argv[1], NULL, 10) : 16;
    if (argc > 3 || log2_max < 8 || log2_max > 24) {
        fprintf(stderr, "usage: bench_math [LOG2_MAX, 8 to 24 [JSON]]\n");
        return 2;
    }
    results = json_array();
    printf("level %s\n", cpu_level_name(cpu_level()));
    bench_fields();
    bench_groups();
    bench_transforms((unsigned)log2_max);
    BENCH_MSM(g1, (unsigned)log2_max, false);
    BENCH_MSM(g1, (unsigned)log2_max, true);
    BENCH_MSM(g2, (unsigned)log2_max, false);
    json_t *root = json_pack("{s:s, s:o}", "level", cpu_level_name(cpu_level()), "measurements", results);
    if (argc == 3 && json_dump_file(root, argv[2], JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0) {
        fprintf(stderr, "bench_math: %s: cannot write the file\n", argv[2]);
        return 3;
    }
    json_decref(root);
    return 0;
}
