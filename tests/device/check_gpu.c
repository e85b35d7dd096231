/* check_gpu - compares a GPU's proofs with the CPU's, part by part, and times them with the device's events.
 *
 * check_gpu [--runs N] [--no-cpu] KEY.zkey WITNESS.wtns: takes the key to device 0 and computes the five sums
 * of a proof there from the witness and from skewed ones (all 0, all 1, all equal, all r - 1, random), and
 * compares each with groth16's; then keeps two lanes of device_cuda.c busy with proofs of the witness and
 * verifies every one. Prints one row of a Markdown table: medians over N runs (10) in milliseconds. Exit code
 * 0: all agree; 1: something differs; 3: there is no GPU, or CUDA refuses something.
 *
 * Linked with the stand-in for the CUDA runtime it runs the same checks in CI and prints no times, since
 * those would say nothing about a GPU. */
#include "conf/check.h"
#include "cuda/device_cuda.h"
#include "cuda/gpu.h"
#include "groth16/verify.h"
#include "groth16/wtns.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

enum { RUNS_MAX = 101, LANES = 2, EXIT_DIFFERS = 1, EXIT_REFUSED = 3 };
enum { EDGE_BEGIN, EDGE_H2D, EDGE_EVALUATE, EDGE_NTT, EDGE_MSM, EDGE_D2H, EDGES };

struct given {
    struct zkey key;
    struct circuit circuit;
    struct verify_key verify;
    struct wtns witness;
    unsigned runs;
    bool compare;
};

/* The device's side, by hand: one stream, one lane. */
struct bench {
    struct gpu_circuit gpu;
    void *memory, *lane, *device_witness, *host_witness, *host_sums;
    size_t witness_bytes;
    cudaStream_t stream;
    cudaEvent_t edges[EDGES];
    float times[EDGES][RUNS_MAX]; /* ms since the edge before; [EDGE_BEGIN]: all */
};

#define CUDA(call) cuda_check((call), #call)
static void cuda_check(cudaError_t code, const char *call)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "check_gpu: %s: %s (%s)\n", call, cudaGetErrorName(code), cudaGetErrorString(code));
        exit(EXIT_REFUSED);
    }
}

static void die(const struct error *error)
{
    fprintf(stderr, "check_gpu: %s\n", error->text);
    exit(EXIT_REFUSED);
}

static void *block_of(size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (block == NULL) {
        fprintf(stderr, "check_gpu: no memory for %zu bytes\n", bytes);
        exit(EXIT_REFUSED);
    }
    return block;
}

static void read_given(struct given *given, const char *key_path, const char *witness_path)
{
    struct error error;
    if (zkey_open(&given->key, key_path, &error) != ERROR_NONE) {
        die(&error);
    }
    circuit_init(&given->circuit, &given->key, block_of(circuit_memory_size(&given->key)), &par_serial);
    const struct zkey *key = &given->key;
    const struct verify_parts parts = {key->publics, key->alpha1, key->beta2,
                                       key->gamma2,  key->delta2, key->ic};
    FILE *file = fopen(witness_path, "rb");
    size_t capacity = (size_t)wtns_file_size(key->wires) + 4096;
    uint8_t *bytes = block_of(capacity);
    size_t size = file != NULL ? fread(bytes, 1, capacity, file) : 0;
    if (file == NULL) {
        error_set_errno(&error, errno, "%s: opening", witness_path);
        die(&error);
    }
    fclose(file);
    if (verify_key_init(&given->verify, &parts, key_path, &error) != ERROR_NONE ||
        wtns_parse(&given->witness, bytes, size, witness_path, &error) != ERROR_NONE ||
        wtns_match(&given->witness, key, &error) != ERROR_NONE) {
        die(&error);
    }
}

static void bench_open(struct bench *bench, const struct circuit *circuit)
{
    memset(bench, 0, sizeof *bench);
    bench->witness_bytes = (size_t)circuit->key.wires * U256_BYTES;
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreateWithFlags(&bench->stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&bench->memory, gpu_circuit_bytes(circuit)));
    CUDA(cudaMalloc(&bench->lane, gpu_lane_bytes(circuit)));
    CUDA(cudaMalloc(&bench->device_witness, bench->witness_bytes));
    CUDA(cudaHostAlloc(&bench->host_witness, bench->witness_bytes, cudaHostAllocDefault));
    CUDA(cudaHostAlloc(&bench->host_sums, GPU_SUMS_BYTES_MAX, cudaHostAllocDefault));
    for (int i = 0; i < EDGES; i++) {
        CUDA(cudaEventCreateWithFlags(&bench->edges[i], cudaEventDefault));
    }
    gpu_circuit_layout(&bench->gpu, circuit, bench->memory);
    for (unsigned i = 0; i < bench->gpu.uploads_count; i++) {
        const struct gpu_upload *one = &bench->gpu.uploads[i];
        if (one->bytes > 0) {
            CUDA(cudaMemcpy(one->device, one->host, one->bytes, cudaMemcpyHostToDevice));
        }
    }
    CUDA(gpu_circuit_prepare(&bench->gpu, bench->stream));
    CUDA(cudaStreamSynchronize(bench->stream));
}

static void bench_close(struct bench *bench)
{
    for (int i = 0; i < EDGES; i++) {
        CUDA(cudaEventDestroy(bench->edges[i]));
    }
    CUDA(cudaFreeHost(bench->host_sums));
    CUDA(cudaFreeHost(bench->host_witness));
    CUDA(cudaFree(bench->device_witness));
    CUDA(cudaFree(bench->lane));
    CUDA(cudaFree(bench->memory));
    CUDA(cudaStreamDestroy(bench->stream));
}

/* One proof from host_witness. */
static void bench_run(struct bench *bench, struct prove_sums *sums, unsigned run)
{
    const struct gpu_circuit *gpu = &bench->gpu;
    cudaStream_t stream = bench->stream;
    CUDA(cudaEventRecord(bench->edges[EDGE_BEGIN], stream));
    CUDA(cudaMemcpyAsync(bench->device_witness, bench->host_witness, bench->witness_bytes,
                         cudaMemcpyHostToDevice, stream));
    CUDA(cudaEventRecord(bench->edges[EDGE_H2D], stream));
    CUDA(gpu_prove_evaluate(gpu, bench->lane, bench->device_witness, stream));
    CUDA(cudaEventRecord(bench->edges[EDGE_EVALUATE], stream));
    CUDA(gpu_prove_ntt(gpu, bench->lane, stream));
    CUDA(cudaEventRecord(bench->edges[EDGE_NTT], stream));
    CUDA(gpu_prove_msm(gpu, bench->lane, bench->device_witness, stream));
    CUDA(cudaEventRecord(bench->edges[EDGE_MSM], stream));
    CUDA(cudaMemcpyAsync(bench->host_sums, gpu_sums_address(gpu, bench->lane), gpu_sums_bytes(gpu),
                         cudaMemcpyDeviceToHost, stream));
    CUDA(cudaEventRecord(bench->edges[EDGE_D2H], stream));
    CUDA(cudaStreamSynchronize(stream));
    gpu_sums_read(sums, gpu, bench->host_sums);
    for (int i = EDGE_BEGIN; i < EDGES; i++) {
        int from = i == EDGE_BEGIN ? EDGE_BEGIN : i - 1, to = i == EDGE_BEGIN ? EDGE_D2H : i;
        CUDA(cudaEventElapsedTime(&bench->times[i][run], bench->edges[from], bench->edges[to]));
    }
}

/* ---- comparison ---- */

static unsigned differs_g1(const char *scalars, const char *name, const g1_xyzz *left, const g1_xyzz *right)
{
    g1_affine a, b;
    g1_xyzz_to_affine(&a, left);
    g1_xyzz_to_affine(&b, right);
    bool differs = memcmp(&a, &b, sizeof a) != 0;
    if (differs) {
        fprintf(stderr, "check_gpu: scalars %s: sum %s differs from the CPU's\n", scalars, name);
    }
    return differs;
}

static unsigned compare(const struct given *given, struct bench *bench, const char *scalars)
{
    struct prove_sums right, left;
    const struct circuit *circuit = &given->circuit;
    void *scratch = block_of(prove_scratch_size(circuit, 1));
    prove_compute(&right, circuit, bench->host_witness, &par_serial, scratch, NULL, NULL);
    free(scratch);
    bench_run(bench, &left, 0);
    g2_affine a, b;
    g2_xyzz_to_affine(&a, &left.b2);
    g2_xyzz_to_affine(&b, &right.b2);
    bool g2 = memcmp(&a, &b, sizeof a) != 0;
    if (g2) {
        fprintf(stderr, "check_gpu: scalars %s: sum B2 differs from the CPU's\n", scalars);
    }
    return g2 + differs_g1(scalars, "A", &left.a, &right.a) + differs_g1(scalars, "B1", &left.b1, &right.b1) +
           differs_g1(scalars, "C", &left.c, &right.c) +
           differs_g1(scalars, "H (evaluation and transforms come before it)", &left.h, &right.h);
}

enum pattern { WITNESS, ZEROS, ONES, EQUAL, LARGEST, RANDOM, PATTERNS };
static const char *const pattern_names[PATTERNS] = {"of the witness", "all 0",     "all 1",
                                                    "all equal",      "all r - 1", "random"};

static void fill(const struct given *given, struct bench *bench, enum pattern pattern)
{
    uint64_t state = 1;
    uint8_t *to = bench->host_witness;
    for (uint32_t wire = 0; wire < given->key.wires; wire++, to += U256_BYTES) {
        u256 value = {{0, 0, 0, 0}};
        if (pattern == ONES || wire == 0) {
            value.w[0] = 1;
        } else if (pattern == LARGEST) {
            value = fr_modulus;
            value.w[0]--;
        } else if (pattern == EQUAL) {
            value = (u256){{0x0123456789abcdef, 0xfedcba9876543210, 0x0f1e2d3c4b5a6978, 0x1badcafe1badcafe}};
        }
        for (int i = 0; i < 4 && pattern == RANDOM && wire > 0; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            value.w[i] = i < 3 ? state ^ state >> 29 : (state ^ state >> 29) >> 4; /* below r */
        }
        memcpy(to, value.w, U256_BYTES);
    }
    if (pattern == WITNESS) {
        memcpy(bench->host_witness, given->witness.values, bench->witness_bytes);
    }
}

/* ---- whole proofs, as a batch has them ---- */

static bool verified(const struct given *given, const struct prove_sums *sums)
{
    struct prove_blinding blinding;
    struct proof proof;
    struct error error;
    u256 *publics = block_of(given->key.publics * sizeof *publics);
    for (uint32_t i = 0; i < given->key.publics; i++) {
        u256_load_le(&publics[i], given->witness.values + (size_t)(i + 1) * U256_BYTES);
    }
    if (prove_blinding_draw(&blinding, &error) != ERROR_NONE) {
        die(&error);
    }
    prove_assemble(&proof, &given->circuit, sums, &blinding);
    bool valid = verify_proof(&given->verify, publics, &proof) == VERIFY_VALID;
    free(publics);
    return valid;
}

/* Milliseconds a proof with both lanes busy; counts what went wrong. */
static double batch(const struct given *given, unsigned works, unsigned *wrong)
{
    const struct circuit *circuits[] = {&given->circuit};
    const struct device_cuda_settings settings = {.lanes = LANES, .circuits = circuits, .circuits_count = 1};
    struct device_cuda cuda;
    struct error error;
    if (device_cuda_open(&cuda, &settings, &error) != ERROR_NONE ||
        device_attach(&cuda.device, &given->circuit, &error) != ERROR_NONE) {
        die(&error);
    }
    static struct prove_sums sums[RUNS_MAX + LANES];
    struct device_work work = {.circuit = &given->circuit, .witness = given->witness.values};
    unsigned next = 0, done = 0;
    uint64_t begin_ns = device_now_ns(), end_ns = begin_ns;
    for (; next < LANES && next < works; next++) {
        work.sums = &sums[next];
        device_submit(&cuda.device, next, &work);
    }
    while (done < next) {
        struct device_completion completions[LANES];
        struct pollfd bell = {.fd = cuda.device.doorbell, .events = POLLIN};
        poll(&bell, 1, -1);
        unsigned count = device_poll(&cuda.device, completions, LANES);
        for (unsigned i = 0; i < count; i++, done++) {
            end_ns = device_now_ns();
            if (completions[i].code != ERROR_NONE) {
                fprintf(stderr, "check_gpu: a proof failed: %s\n", completions[i].reason);
                ++*wrong;
            }
            if (next < works && !completions[i].sticky) {
                work.sums = &sums[next++];
                device_submit(&cuda.device, completions[i].lane, &work);
            }
        }
    }
    device_detach(&cuda.device, &given->circuit);
    device_close(&cuda.device);
    for (unsigned i = 0; i < next && *wrong == 0; i++) {
        if (!verified(given, &sums[i])) {
            fprintf(stderr, "check_gpu: proof %u does not verify\n", i);
            ++*wrong;
        }
    }
    return (double)(end_ns - begin_ns) / 1e6 / next;
}

/* ---- the row ---- */

static int compare_floats(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

static void print_row(const struct given *given, struct bench *bench, double batch_ms)
{
    printf("| 2^%u | %" PRIu32 " |", given->key.domain_log2, given->key.wires);
#ifdef UZK_STANDIN
    (void)bench;
    (void)batch_ms;
    (void)compare_floats;
    puts(" no GPU, so no times |");
#else
    static const int order[] = {EDGE_H2D, EDGE_EVALUATE, EDGE_NTT, EDGE_MSM, EDGE_D2H, EDGE_BEGIN};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        float *times = bench->times[order[i]];
        qsort(times, given->runs, sizeof *times, compare_floats);
        printf(" %.3f |", (double)times[given->runs / 2]);
    }
    printf(" %.3f |\n", batch_ms);
#endif
}

static int check(const struct given *given)
{
    static struct bench bench;
    struct prove_sums sums;
    unsigned wrong = 0;
    bench_open(&bench, &given->circuit);
    for (int pattern = PATTERNS; given->compare && pattern-- > 0;) {
        fill(given, &bench, (enum pattern)pattern);
        wrong += compare(given, &bench, pattern_names[pattern]);
    }
    fill(given, &bench, WITNESS);
    for (unsigned run = 0; run < given->runs; run++) {
        bench_run(&bench, &sums, run);
        wrong += !verified(given, &sums);
    }
    bench_close(&bench);
    double batch_ms = batch(given, given->runs, &wrong);
    print_row(given, &bench, batch_ms);
    return wrong == 0 ? 0 : EXIT_DIFFERS;
}

int main(int argc, char **argv)
{
    static struct given given = {.runs = 10, .compare = true};
    struct error error;
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--no-cpu") == 0) {
            given.compare = false;
        } else if (strcmp(argv[at], "--runs") == 0 && at + 1 < argc) {
            given.runs = (unsigned)strtoul(argv[++at], NULL, 10);
        } else {
            break;
        }
    }
    if (argc - at != 2 || given.runs < 1 || given.runs > RUNS_MAX) {
        fprintf(stderr, "usage: check_gpu [--runs 1..%d] [--no-cpu] KEY.zkey WITNESS.wtns\n", RUNS_MAX);
        return 2;
    }
    if (device_cuda_count(&error) == 0) {
        die(&error);
    }
    read_given(&given, argv[at], argv[at + 1]);
    return check(&given);
}
