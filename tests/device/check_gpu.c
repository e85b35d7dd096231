/* check_gpu - compares what a GPU computes with the CPU's results, part by part, and times it with the
 * device's events.
 *
 * check_gpu [OPTION...] KEY.zkey WITNESS.wtns takes the key to device 0 and computes the five sums of a proof
 * there from the witness and from skewed ones (all 0, all 1, all equal, all r - 1, mostly 0 and 1, random),
 * and compares each with groth16's; then keeps two lanes of device_cuda.c busy with proofs of the witness and
 * verifies every one.
 *
 * check_gpu [OPTION...] g1|g2|ntt LOG2 does the same with a part alone, of 2^LOG2 points or values
 * (check_parts.h).
 *
 * Options: --runs N are timed (10); --no-cpu compares nothing; --levels N for tables of multiples (1). Prints
 * lines as check_common.h describes them. Exit code 0: all agree; 1: something differs; 2: it was called
 * wrongly; 3: there is no GPU, or CUDA refuses something.
 *
 * Linked with the stand-in for the CUDA runtime it runs the same checks in CI and prints no times, since
 * those would say nothing about a GPU. */
#include "check_common.h"
#include "check_parts.h"

#include "conf/check.h"
#include "cuda/device_cuda.h"
#include "cuda/gpu.h"
#include "cuda/gpu_msm.h"
#include "cuda/team.h"
#include "groth16/verify.h"
#include "groth16/wtns.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LANES = 2 };
enum { EDGE_BEGIN, EDGE_H2D, EDGE_EVALUATE, EDGE_NTT, EDGE_MSM, EDGE_D2H, EDGES };

struct given {
    struct zkey key;
    struct circuit circuit;
    struct verify_key verify;
    struct wtns witness;
    const struct check_options *options;
};

/* The device's side, by hand: one stream, one lane. */
struct bench {
    struct gpu_circuit gpu;
    void *memory, *lane, *device_witness, *host_witness, *host_sums;
    size_t witness_bytes;
    cudaStream_t stream;
    cudaEvent_t edges[EDGES];
    struct check_times times[EDGES]; /* since the edge before; [EDGE_BEGIN]: all */
};

static void read_given(struct given *given, const char *key_path, const char *witness_path)
{
    struct error error;
    if (zkey_open(&given->key, key_path, &error) != ERROR_NONE) {
        check_die(&error);
    }
    circuit_init(&given->circuit, &given->key, check_block(circuit_memory_size(&given->key)),
                 given->options->par);
    const struct zkey *key = &given->key;
    const struct verify_parts parts = {key->publics, key->alpha1, key->beta2,
                                       key->gamma2,  key->delta2, key->ic};
    FILE *file = fopen(witness_path, "rb");
    size_t capacity = (size_t)wtns_file_size(key->wires) + 4096;
    uint8_t *bytes = check_block(capacity);
    size_t size = file != NULL ? fread(bytes, 1, capacity, file) : 0;
    if (file == NULL) {
        error_set_errno(&error, errno, "%s: opening", witness_path);
        check_die(&error);
    }
    fclose(file);
    if (verify_key_init(&given->verify, &parts, key_path, &error) != ERROR_NONE ||
        wtns_parse(&given->witness, bytes, size, witness_path, &error) != ERROR_NONE ||
        wtns_match(&given->witness, key, &error) != ERROR_NONE) {
        check_die(&error);
    }
}

static void bench_open(struct bench *bench, const struct circuit *circuit)
{
    memset(bench, 0, sizeof *bench);
    bench->witness_bytes = (size_t)circuit->key.wires * U256_BYTES;
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreateWithFlags(&bench->stream, cudaStreamNonBlocking));
    bench->memory = check_device_block(gpu_circuit_bytes(circuit));
    bench->lane = check_device_block(gpu_lane_bytes(circuit));
    bench->device_witness = check_device_block(bench->witness_bytes);
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
        CUDA(cudaEventElapsedTime(&bench->times[i].ms[run], bench->edges[from], bench->edges[to]));
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
    struct par *par = given->options->par;
    void *scratch = check_block(prove_scratch_size(circuit, par->workers));
    prove_compute(&right, circuit, bench->host_witness, par, scratch, NULL, NULL);
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

static void fill(const struct given *given, struct bench *bench, enum check_pattern pattern)
{
    uint8_t *to = bench->host_witness;
    for (uint32_t wire = 0; wire < given->key.wires; wire++, to += U256_BYTES) {
        const u256 value = check_scalar(wire == 0 ? ONES : pattern, wire);
        u256_store_le(to, &value);
    }
}

/* ---- whole proofs, as a batch has them ---- */

static bool verified(const struct given *given, const struct prove_sums *sums)
{
    struct prove_blinding blinding;
    struct proof proof;
    struct error error;
    u256 *publics = check_block(given->key.publics * sizeof *publics);
    for (uint32_t i = 0; i < given->key.publics; i++) {
        u256_load_le(&publics[i], given->witness.values + (size_t)(i + 1) * U256_BYTES);
    }
    if (prove_blinding_draw(&blinding, &error) != ERROR_NONE) {
        check_die(&error);
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
        check_die(&error);
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

/* ---- what is printed ---- */

/* Of a proof whose witness is random. */
static void proof_floors(struct check_floor floors[EDGES], const struct zkey *key)
{
    const size_t wires = key->wires, entries = key->coefficients_count;
    memset(floors, 0, EDGES * sizeof *floors);
    check_floor_evaluate(&floors[EDGE_EVALUATE], key->domain_log2, entries);
    check_floor_ntt(&floors[EDGE_NTT], key->domain_log2);
    check_floor_msm(&floors[EDGE_MSM], wires, 1, false);
    check_floor_msm(&floors[EDGE_MSM], wires, 1, false);
    check_floor_msm(&floors[EDGE_MSM], wires, 1, true);
    check_floor_msm(&floors[EDGE_MSM], wires - key->publics - 1, 1, false);
    check_floor_msm(&floors[EDGE_MSM], (size_t)1 << key->domain_log2, 1, false);
    for (int i = EDGE_EVALUATE; i <= EDGE_MSM; i++) {
        floors[EDGE_BEGIN].bytes += floors[i].bytes;
        floors[EDGE_BEGIN].multiplications += floors[i].multiplications;
        floors[EDGE_BEGIN].ms += floors[i].ms;
    }
}

static void print_lines(const struct given *given, struct bench *bench, double batch_ms)
{
    static const struct {
        int edge;
        const char *name;
    } order[] = {{EDGE_H2D, "H2D"}, {EDGE_EVALUATE, "evaluate"}, {EDGE_NTT, "NTT"},
                 {EDGE_MSM, "MSM"}, {EDGE_D2H, "D2H"},           {EDGE_BEGIN, "all"}};
    const struct zkey *key = &given->key;
    struct check_floor floors[EDGES];
    proof_floors(floors, key);
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++) {
        const int edge = order[i].edge;
        bench->times[edge].runs = given->options->runs;
        check_line("proof", key->domain_log2, key->wires, order[i].name, &bench->times[edge],
                   edge == EDGE_H2D || edge == EDGE_D2H ? NULL : &floors[edge]);
    }
    struct check_times batch = {.runs = 1, .ms = {(float)batch_ms}};
    check_line("proof", key->domain_log2, key->wires, "in a batch", &batch, &floors[EDGE_BEGIN]);
}

static unsigned check_proof(const struct check_options *options, const char *key, const char *witness)
{
    static struct given given;
    static struct bench bench;
    struct prove_sums sums;
    unsigned wrong = 0;
    given.options = options;
    read_given(&given, key, witness);
    bench_open(&bench, &given.circuit);
    for (int pattern = PATTERNS; options->compare && pattern-- > 0;) {
        fill(&given, &bench, (enum check_pattern)pattern);
        wrong += compare(&given, &bench, check_pattern_names[pattern]);
    }
    memcpy(bench.host_witness, given.witness.values, bench.witness_bytes);
    wrong += options->compare ? compare(&given, &bench, "of the witness") : 0;
    for (unsigned run = 0; run < options->runs; run++) {
        bench_run(&bench, &sums, run);
        wrong += !verified(&given, &sums);
    }
    bench_close(&bench);
    double batch_ms = batch(&given, options->runs, &wrong);
    print_lines(&given, &bench, batch_ms);
    return wrong;
}

/* ---- the command line ---- */

static unsigned check_part(const struct check_options *options, const char *part, const char *log2)
{
    static const struct {
        const char *name;
        unsigned (*check)(unsigned log2, const struct check_options *options);
    } parts[] = {{"g1", check_msm_g1}, {"g2", check_msm_g2}, {"ntt", check_ntt}};
    unsigned long size = strtoul(log2, NULL, 10);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts && size >= 1 && size <= CHECK_LOG2_MAX; i++) {
        if (strcmp(part, parts[i].name) == 0) {
            return parts[i].check((unsigned)size, options);
        }
    }
    fprintf(stderr, "check_gpu: %s %s: expected g1, g2 or ntt and 1 to %d\n", part, log2, CHECK_LOG2_MAX);
    exit(2);
}

static void open_team(struct team *team, struct check_options *options)
{
    struct error error;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const struct team_settings settings = {
        .workers = processors > 64 ? 64 : (unsigned)processors, .slots = 1, .guests = 1};
    if (team_open(team, &settings, &error) != ERROR_NONE) {
        check_die(&error);
    }
    options->par = team_par_open(team);
    CHECK(options->par != NULL);
}

static unsigned option(const char *text, unsigned most)
{
    const unsigned long value = strtoul(text, NULL, 10);
    if (value < 1 || value > most) {
        fprintf(stderr, "check_gpu: %s: expected 1 to %u\n", text, most);
        exit(2);
    }
    return (unsigned)value;
}

int main(int argc, char **argv)
{
    static struct team team;
    struct check_options options = {.runs = 10, .compare = true, .levels = 1};
    struct error error;
    int at = 1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--no-cpu") == 0) {
            options.compare = false;
        } else if (strcmp(argv[at], "--runs") == 0 && at + 1 < argc) {
            options.runs = option(argv[++at], RUNS_MAX);
        } else if (strcmp(argv[at], "--levels") == 0 && at + 1 < argc) {
            options.levels = option(argv[++at], GPU_MSM_SCALAR_BITS);
        } else {
            break;
        }
    }
    if (argc - at != 2) {
        fprintf(stderr,
                "usage: check_gpu [--runs 1..%d] [--no-cpu] [--levels N] KEY.zkey WITNESS.wtns | g1|g2|ntt "
                "LOG2\n",
                RUNS_MAX);
        return 2;
    }
    if (device_cuda_count(&error) == 0) {
        check_die(&error);
    }
    CUDA(cudaSetDevice(0));
    open_team(&team, &options);
    const char *first = argv[at], *second = argv[at + 1];
    const unsigned wrong = strchr(first, '.') != NULL ? check_proof(&options, first, second)
                                                      : check_part(&options, first, second);
    team_par_close(options.par);
    team_close(&team);
    return wrong == 0 ? 0 : EXIT_DIFFERS;
}
