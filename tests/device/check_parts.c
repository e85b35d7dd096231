#include "check_parts.h"

#include "cuda/gpu.h"
#include "cuda/gpu_msm.h"
#include "groth16/msm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTINCT_MAX = 1 << 12, PIECE = 1 << 16 /* scalars that go up at once */ };

/* ---- floors ---- */

/* What gpu_msm.cu says of its kernels: digits, two passes of the sort and more, the points' additions and
 * those of the buckets' sums. */
void check_floor_msm(struct check_floor *floor, size_t n, unsigned levels, bool g2)
{
    struct gpu_msm_plan plan;
    gpu_msm_plan_init(&plan, n, levels);
    const double digits = (double)n * plan.windows;
    const double buckets = (double)plan.sets * (double)((size_t)1 << (plan.window_bits - 1));
    const double passes = (plan.window_bits - 1 + 7) / 8; /* whole ones */
    check_floor_add(floor, 32.0 * (double)n + (4 + 20 * passes) * digits, 0);
    check_floor_add(floor, (g2 ? 136 : 72) * digits + (g2 ? 256 : 128) * buckets, (g2 ? 28 : 10) * digits);
    check_floor_add(floor, (g2 ? 256 : 128) * buckets, (g2 ? 80 : 28) * buckets);
}

/* Of the three vectors, each in as few passes over memory as gpu_prove.cu makes; and their quotient. */
void check_floor_ntt(struct check_floor *floor, unsigned log2)
{
    const double n = (double)((size_t)1 << log2);
    const unsigned far = log2 > 10 ? log2 - 10 : 0, passes = 2 * ((far + 2) / 3) + 1;
    check_floor_add(floor, 3 * 64.0 * n * passes, 3 * n * (log2 + 1));
    check_floor_add(floor, 128 * n, 2 * n);
}

void check_floor_evaluate(struct check_floor *floor, unsigned log2, size_t entries)
{
    const double n = (double)((size_t)1 << log2);
    check_floor_add(floor, 40 * (double)entries + 72 * n, 0);
    check_floor_add(floor, 96 * n, n);
}

/* ---- multi-scalar multiplications ---- */

struct group {
    const char *name;
    size_t affine_bytes;
    bool g2;
    size_t (*result_bytes)(const struct gpu_msm_plan *plan);
    size_t (*scratch_bytes)(const struct gpu_msm_plan *plan);
    size_t (*table_bytes)(const struct gpu_msm_plan *plan);
    int (*table)(void *table, const struct gpu_msm_plan *plan, cudaStream_t stream);
    int (*msm)(void *result, const struct gpu_msm_plan *plan, const void *points, const void *scalars,
               void *scratch, cudaStream_t stream);
    void (*points)(uint8_t *to, size_t count); /* 1 to count times the generator */
    bool (*same)(const struct gpu_msm_plan *plan, const void *result, const uint8_t *points,
                 const uint8_t *scalars, size_t count, struct par *par);
};

#define GROUP(G)                                                                                     \
    static void points_##G(uint8_t *to, size_t count)                                                \
    {                                                                                                \
        G##_xyzz sum;                                                                                \
        G##_affine point;                                                                            \
        G##_xyzz_set_infinity(&sum);                                                                 \
        for (size_t i = 0; i < count; i++) {                                                         \
            G##_xyzz_add_affine(&sum, &sum, &G##_generator);                                         \
            G##_xyzz_to_affine(&point, &sum);                                                        \
            memcpy(to + i * sizeof point, &point, sizeof point);                                     \
        }                                                                                            \
    }                                                                                                \
    static bool same_##G(const struct gpu_msm_plan *plan, const void *result, const uint8_t *points, \
                         const uint8_t *scalars, size_t count, struct par *par)                      \
    {                                                                                                \
        void *scratch = check_block(msm_##G##_scratch_size(count, par->workers));                    \
        G##_xyzz left, right;                                                                        \
        G##_affine a, b;                                                                             \
        gpu_msm_##G##_read(&left, plan, result);                                                     \
        msm_##G(&right, points, scalars, count, par, scratch);                                       \
        free(scratch);                                                                               \
        G##_xyzz_to_affine(&a, &left);                                                               \
        G##_xyzz_to_affine(&b, &right);                                                              \
        return memcmp(&a, &b, sizeof a) == 0;                                                        \
    }                                                                                                \
    static const struct group group_##G = {"MSM " #G,                                                \
                                           sizeof(G##_affine),                                       \
                                           sizeof(G##_affine) > sizeof(g1_affine),                   \
                                           gpu_msm_##G##_result_bytes,                               \
                                           gpu_msm_##G##_scratch_bytes,                              \
                                           gpu_msm_##G##_table_bytes,                                \
                                           gpu_msm_##G##_table,                                      \
                                           gpu_msm_##G,                                              \
                                           points_##G,                                               \
                                           same_##G};
GROUP(g1)
GROUP(g2)

struct msm {
    const struct group *group;
    struct gpu_msm_plan plan;
    size_t distinct;
    uint8_t *points; /* the distinct ones */
    fr *sums;        /* of the scalars of each, as plain numbers */
    uint8_t *piece;
    void *table, *scalars, *scratch, *result, *host_result;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

static void msm_open(struct msm *msm, const struct group *group, unsigned log2, unsigned levels)
{
    const size_t n = (size_t)1 << log2, bytes = group->affine_bytes;
    msm->group = group;
    gpu_msm_plan_init(&msm->plan, n, levels);
    msm->distinct = n < DISTINCT_MAX ? n : DISTINCT_MAX;
    msm->points = check_block(msm->distinct * bytes);
    msm->sums = check_block(msm->distinct * sizeof *msm->sums);
    msm->piece = check_block((size_t)PIECE * U256_BYTES);
    CUDA(cudaStreamCreateWithFlags(&msm->stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&msm->begin, cudaEventDefault));
    CUDA(cudaEventCreateWithFlags(&msm->end, cudaEventDefault));
    msm->table = check_device_block(group->table_bytes(&msm->plan));
    msm->scalars = check_device_block(n * U256_BYTES);
    msm->scratch = check_device_block(group->scratch_bytes(&msm->plan));
    msm->result = check_device_block(group->result_bytes(&msm->plan));
    msm->host_result = check_block(group->result_bytes(&msm->plan));
    group->points(msm->points, msm->distinct);
    CUDA(cudaMemcpy(msm->table, msm->points, msm->distinct * bytes, cudaMemcpyHostToDevice));
    for (size_t have = msm->distinct; have < n; have *= 2) {
        CUDA(cudaMemcpy((uint8_t *)msm->table + have * bytes, msm->table, have * bytes,
                        cudaMemcpyDeviceToDevice));
    }
    CUDA(cudaDeviceSynchronize()); /* a copy within the device need not have ended */
    CUDA(group->table(msm->table, &msm->plan, msm->stream));
    CUDA(cudaStreamSynchronize(msm->stream));
}

static void msm_close(struct msm *msm)
{
    CUDA(cudaFree(msm->result));
    CUDA(cudaFree(msm->scratch));
    CUDA(cudaFree(msm->scalars));
    CUDA(cudaFree(msm->table));
    CUDA(cudaEventDestroy(msm->end));
    CUDA(cudaEventDestroy(msm->begin));
    CUDA(cudaStreamDestroy(msm->stream));
    free(msm->host_result);
    free(msm->piece);
    free(msm->sums);
    free(msm->points);
}

static void msm_fill(struct msm *msm, enum check_pattern pattern)
{
    memset(msm->sums, 0, msm->distinct * sizeof *msm->sums);
    for (size_t first = 0; first < msm->plan.n; first += PIECE) {
        const size_t left = msm->plan.n - first, count = left < PIECE ? left : PIECE;
        for (size_t i = 0; i < count; i++) {
            const u256 scalar = check_scalar(pattern, first + i);
            fr value; /* not in Montgomery form, which additions don't mind */
            memcpy(value.w, scalar.w, sizeof value.w);
            fr *sum = &msm->sums[(first + i) % msm->distinct];
            fr_add(sum, sum, &value);
            u256_store_le(msm->piece + i * U256_BYTES, &scalar);
        }
        CUDA(cudaMemcpy((uint8_t *)msm->scalars + first * U256_BYTES, msm->piece, count * U256_BYTES,
                        cudaMemcpyHostToDevice));
    }
}

static float msm_run(struct msm *msm)
{
    float ms;
    CUDA(cudaEventRecord(msm->begin, msm->stream));
    CUDA(msm->group->msm(msm->result, &msm->plan, msm->table, msm->scalars, msm->scratch, msm->stream));
    CUDA(cudaEventRecord(msm->end, msm->stream));
    CUDA(cudaStreamSynchronize(msm->stream));
    CUDA(cudaEventElapsedTime(&ms, msm->begin, msm->end));
    return ms;
}

/* The first run, which also warms up. */
static unsigned msm_compare(struct msm *msm, enum check_pattern pattern, const struct check_options *options)
{
    const struct group *group = msm->group;
    msm_run(msm);
    CUDA(cudaMemcpy(msm->host_result, msm->result, group->result_bytes(&msm->plan), cudaMemcpyDeviceToHost));
    const bool same =
        !options->compare || group->same(&msm->plan, msm->host_result, msm->points,
                                         (const uint8_t *)msm->sums, msm->distinct, options->par);
    if (!same) {
        fprintf(stderr, "check_gpu: %s of %zu points, scalars %s: differs from the CPU's\n", group->name,
                msm->plan.n, check_pattern_names[pattern]);
    }
    return !same;
}

static unsigned check_msm(const struct group *group, unsigned log2, const struct check_options *options)
{
    struct msm msm;
    struct check_times times = {.runs = options->runs};
    unsigned wrong = 0;
    msm_open(&msm, group, log2, options->levels);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        const bool timed = pattern == BITS || pattern == RANDOM;
        if (!timed && !options->compare) {
            continue;
        }
        msm_fill(&msm, (enum check_pattern)pattern);
        wrong += msm_compare(&msm, (enum check_pattern)pattern, options);
        for (unsigned run = 0; timed && run < options->runs; run++) {
            times.ms[run] = msm_run(&msm);
        }
        struct check_floor floor = {0};
        check_floor_msm(&floor, msm.plan.n, options->levels, group->g2);
        if (timed) {
            check_line(group->name, log2, msm.plan.n, check_pattern_names[pattern], &times,
                       pattern == RANDOM ? &floor : NULL);
        }
    }
    msm_close(&msm);
    return wrong;
}

unsigned check_msm_g1(unsigned log2, const struct check_options *options)
{
    return check_msm(&group_g1, log2, options);
}

unsigned check_msm_g2(unsigned log2, const struct check_options *options)
{
    return check_msm(&group_g2, log2, options);
}

/* ---- transforms ---- */

/* A circuit whose row i of A and of B is wire i times 1, without points. Returns the memory of its tables. */
static void *squares_init(struct circuit *circuit, unsigned log2, struct par *par)
{
    const uint32_t n = (uint32_t)1 << log2;
    struct circuit_entry *entries = check_block((size_t)n * sizeof *entries);
    uint32_t *rows = check_block(((size_t)n + 1) * sizeof *rows);
    fr *dictionary = check_block(CIRCUIT_DICTIONARY * sizeof *dictionary);
    for (uint32_t i = 0; i < n; i++) {
        entries[i] = (struct circuit_entry){.wire = i, .value = CIRCUIT_ONE};
        rows[i] = i;
    }
    rows[n] = n;
    memset(dictionary, 0, CIRCUIT_DICTIONARY * sizeof *dictionary); /* 1 and -1 are not looked up */
    memset(circuit, 0, sizeof *circuit);
    circuit->key.wires = n;
    circuit->key.domain_log2 = log2;
    circuit->key.coefficients_count = n;
    circuit->entries = entries;
    circuit->rows[CIRCUIT_A] = circuit->rows[CIRCUIT_B] = rows;
    circuit->dictionary = dictionary;
    void *tables = check_block(ntt_table_size(log2));
    ntt_init(&circuit->ntt, log2, tables, par);
    return tables;
}

/* What the transforms leave: a b - c at the odd coset as plain numbers, with c = a b in the domain. */
static void squares_expect(u256 *quotient, const struct circuit *circuit, const uint8_t *witness,
                           struct par *par)
{
    const size_t n = circuit->key.wires;
    fr *a = check_block(n * sizeof *a), *c = check_block(n * sizeof *c);
    void *scratch = check_block(ntt_scratch_size(par->workers));
    for (size_t i = 0; i < n; i++) {
        u256 value;
        u256_load_le(&value, witness + i * U256_BYTES);
        if (!fr_from_u256(&a[i], &value)) {
            abort();
        }
        fr_sqr(&c[i], &a[i]);
    }
    ntt_to_coset(&circuit->ntt, a, par, scratch);
    ntt_to_coset(&circuit->ntt, c, par, scratch);
    for (size_t i = 0; i < n; i++) {
        fr_sqr(&a[i], &a[i]);
        fr_sub(&a[i], &a[i], &c[i]);
        fr_to_u256(&quotient[i], &a[i]);
    }
    free(scratch);
    free(c);
    free(a);
}

static void upload(const struct gpu_circuit *gpu)
{
    for (unsigned i = 0; i < gpu->uploads_count; i++) {
        const struct gpu_upload *one = &gpu->uploads[i];
        if (one->host != NULL && one->bytes > 0) {
            CUDA(cudaMemcpy(one->device, one->host, one->bytes, cudaMemcpyHostToDevice));
        }
    }
}

struct transform {
    struct circuit circuit;
    struct gpu_circuit gpu;
    uint8_t *witness;
    void *tables, *memory, *lane, *device_witness;
    cudaStream_t stream;
    cudaEvent_t edges[3];
};

static void transform_open(struct transform *t, unsigned log2, struct par *par)
{
    t->tables = squares_init(&t->circuit, log2, par);
    const size_t bytes = (size_t)t->circuit.key.wires * U256_BYTES;
    CUDA(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
    for (unsigned i = 0; i < sizeof t->edges / sizeof *t->edges; i++) {
        CUDA(cudaEventCreateWithFlags(&t->edges[i], cudaEventDefault));
    }
    t->memory = check_device_block(gpu_circuit_bytes(&t->circuit));
    t->lane = check_device_block(gpu_lane_bytes(&t->circuit));
    t->device_witness = check_device_block(bytes);
    t->witness = check_block(bytes);
    for (size_t i = 0; i < t->circuit.key.wires; i++) {
        const u256 value = check_scalar(RANDOM, i);
        u256_store_le(t->witness + i * U256_BYTES, &value);
    }
    gpu_circuit_layout(&t->gpu, &t->circuit, t->memory);
    upload(&t->gpu);
    CUDA(cudaMemcpy(t->device_witness, t->witness, bytes, cudaMemcpyHostToDevice));
    CUDA(gpu_circuit_prepare(&t->gpu, t->stream));
    CUDA(cudaStreamSynchronize(t->stream));
}

static void transform_close(struct transform *t)
{
    CUDA(cudaFree(t->device_witness));
    CUDA(cudaFree(t->lane));
    CUDA(cudaFree(t->memory));
    for (unsigned i = 0; i < sizeof t->edges / sizeof *t->edges; i++) {
        CUDA(cudaEventDestroy(t->edges[i]));
    }
    CUDA(cudaStreamDestroy(t->stream));
    free(t->witness);
    free(t->tables);
    free((void *)t->circuit.dictionary);
    free((void *)t->circuit.rows[CIRCUIT_A]);
    free((void *)t->circuit.entries);
}

static void transform_run(struct transform *t, float *evaluate_ms, float *ntt_ms)
{
    CUDA(cudaEventRecord(t->edges[0], t->stream));
    CUDA(gpu_prove_evaluate(&t->gpu, t->lane, t->device_witness, t->stream));
    CUDA(cudaEventRecord(t->edges[1], t->stream));
    CUDA(gpu_prove_ntt(&t->gpu, t->lane, t->stream));
    CUDA(cudaEventRecord(t->edges[2], t->stream));
    CUDA(cudaStreamSynchronize(t->stream));
    CUDA(cudaEventElapsedTime(evaluate_ms, t->edges[0], t->edges[1]));
    CUDA(cudaEventElapsedTime(ntt_ms, t->edges[1], t->edges[2]));
}

/* The scalars of H, which the transforms leave at the lane's beginning. */
static unsigned transform_compare(struct transform *t, struct par *par)
{
    const size_t n = t->circuit.key.wires;
    u256 *right = check_block(n * sizeof *right), *left = check_block(n * sizeof *left);
    squares_expect(right, &t->circuit, t->witness, par);
    CUDA(cudaMemcpy(left, t->lane, n * sizeof *left, cudaMemcpyDeviceToHost));
    const bool differs = memcmp(left, right, n * sizeof *left) != 0;
    if (differs) {
        fprintf(stderr, "check_gpu: the transforms of 2^%u values differ from the CPU's\n",
                t->circuit.ntt.log2);
    }
    free(left);
    free(right);
    return differs;
}

unsigned check_ntt(unsigned log2, const struct check_options *options)
{
    struct transform t;
    struct check_times evaluate = {.runs = options->runs}, ntt = evaluate;
    struct check_floor evaluate_floor = {0}, ntt_floor = {0};
    transform_open(&t, log2, options->par);
    const size_t n = t.circuit.key.wires;
    transform_run(&t, &evaluate.ms[0], &ntt.ms[0]);
    unsigned wrong = options->compare ? transform_compare(&t, options->par) : 0;
    for (unsigned run = 0; run < options->runs; run++) {
        transform_run(&t, &evaluate.ms[run], &ntt.ms[run]);
    }
    transform_close(&t);
    check_floor_evaluate(&evaluate_floor, log2, 2 * n);
    check_floor_ntt(&ntt_floor, log2);
    check_line("rows", log2, n, "one entry each", &evaluate, &evaluate_floor);
    check_line("NTT", log2, n, "three vectors", &ntt, &ntt_floor);
    return wrong;
}
