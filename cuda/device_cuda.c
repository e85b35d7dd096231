#include "cuda/device_cuda.h"

#include "conf/check.h"
#include "cuda/device_timer.h"
#include "cuda/gpu.h"

#include <cuda_runtime.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else /* ranges for NVIDIA's profilers, which nobody would look at */
#define nvtxRangePushA(name)  ((void)(name))
#define nvtxRangePop()        ((void)0)
#define nvtxRangeStartA(name) ((void)(name), 0)
#define nvtxRangeEnd(range)   ((void)(range))
typedef uint64_t nvtxRangeId_t;
#endif

enum { CHUNKS_MAX = 64, UPLOAD_HALVES = 2 };
#define CHUNK_BYTES ((size_t)64 << 20)   /* of a witness, staged at once, unless it has more than CHUNKS_MAX \
                                          */
#define UPLOAD_BYTES   ((size_t)8 << 20) /* of a circuit's points */
#define RESERVE_BYTES  ((uint64_t)64 << 20)
#define HEARTBEAT_NS   UINT64_C(100000000) /* how long a doorbell that was lost can go unnoticed */
#define CLOSE_LIMIT_NS UINT64_C(10000000000)
#define ALIGNMENT      ((size_t)256)

/* The edges of stages, each an event: begin, then one at each stage's end. */
enum { EDGE_BEGIN, EDGE_STAGES, EDGES = EDGE_STAGES + DEVICE_STAGES };
#define EDGE_LAST (EDGE_STAGES + DEVICE_STAGE_D2H)

struct device_cuda_lane;

/* One piece of a witness on its way into the pinned slab. */
struct device_cuda_chunk {
    struct device_cuda_lane *lane;
    size_t offset, bytes;
};

/* What the last host function of a work has done: it turns what came back into sums, which is mathematics and
 * so not for the coordinator, and rings. Whoever claims a work that has come back reads its sums: the host
 * function, or the coordinator if that is not called. */
enum { RING_PENDING, RING_CLAIMED, RING_READ };

/* A lane takes its two in turn, since the host function of a work may still be on its way when the lane has
 * the next one. */
struct device_cuda_ring {
    struct device_cuda_lane *lane;
    const struct gpu_circuit *gpu;
    struct prove_sums sums;
    _Atomic uint64_t rung_ns;
    _Atomic int state;
};

struct device_cuda_lane {
    struct device_cuda_state *state;
    bool busy;
    struct device_work work;
    uint64_t number; /* of the submission, over all lanes, from 1 on */
    uint64_t uses;   /* of the lane */
    uint64_t submit_ns;
    uint64_t ended_ns; /* when the end was first seen without a ring; 0 */
    size_t witness_bytes;
    cudaError_t code; /* of the call that was refused, if any */
    const char *doing;
    nvtxRangeId_t range;

    cudaStream_t stream;
    cudaEvent_t edges[EDGES];
    uint8_t *memory; /* gpu.h's block, then the witness */
    uint8_t *witness;
    void *sums; /* pinned */
    struct device_cuda_chunk chunks[CHUNKS_MAX];
    struct device_cuda_ring rings[2];
    _Atomic size_t staged; /* bytes of the witness that host functions have copied */
    _Atomic uint32_t
        gate; /* bit 0: host functions may not touch the work any more; the rest: 2 for each inside */
};

struct device_cuda_circuit {
    const struct circuit *_Atomic circuit; /* NULL: free */
    struct gpu_circuit gpu;
    void *memory;
    uint64_t bytes;
};

struct device_cuda_state {
    struct device *device;
    int index, doorbell;
    unsigned lanes_count;
    uint64_t close_limit_ns;
    cudaError_t lost; /* a sticky error: nothing works any more */
    const char *lost_doing;
    uint64_t submissions;

    cudaStream_t copies;
    uint8_t *slab; /* pinned, slab_bytes: where witnesses wait for their copy */
    size_t slab_bytes, witness_bytes, lane_bytes, block_bytes, sums_bytes;
    cudaEvent_t anchor; /* an event whose time is known */
    uint64_t anchor_ns, anchor_number;

    cudaStream_t uploads;
    uint8_t *upload_slab;
    cudaEvent_t uploaded[UPLOAD_HALVES];
    struct device_cuda_circuit *circuits;
    size_t circuits_count;
    struct device_cuda_lane lanes[DEVICE_LANES_MAX];
};

/* Evaluates to whether it went well; else `code` keeps the first refusal and `doing` what it was for. */
#define TRY(call, what) ((code = (call)) == cudaSuccess || (doing = (what), false))

static struct device_cuda_state *state_of(struct device *device)
{
    return ((struct device_cuda *)(void *)device)->state;
}

static size_t align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static unsigned long long mib(uint64_t bytes)
{
    return (bytes >> 20) + (bytes % (1 << 20) != 0);
}

static enum error_code refused(struct error *error, unsigned index, const char *doing, cudaError_t code)
{
    return error_set(error, ERROR_DEVICE, "cuda:%u: %s: %s (%s)", index, doing, cudaGetErrorName(code),
                     cudaGetErrorString(code));
}

/* ---- what there is ---- */

/* Kernels are loaded with the program, not one by one in the midst of proofs. */
static void load_at_once(void)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

unsigned device_cuda_count(struct error *why)
{
    int count = 0;
    load_at_once();
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count <= 0) {
        (void)cudaGetLastError();
        code = code == cudaSuccess ? cudaErrorNoDevice : code;
        error_set(why, ERROR_DEVICE, "no usable GPU: %s (%s)", cudaGetErrorName(code),
                  cudaGetErrorString(code));
        return 0;
    }
    return (unsigned)count;
}

static enum error_code select_device(unsigned index, struct error *error)
{
    struct error why;
    unsigned count = device_cuda_count(&why);
    if (count == 0) {
        return error_set(error, ERROR_DEVICE, "cuda:%u: %s", index, why.text);
    }
    if (index >= count) {
        return error_set(error, ERROR_INPUT, "cuda:%u: there is no such device; the last one is cuda:%u",
                         index, count - 1);
    }
    cudaError_t code = cudaSetDevice((int)index);
    return code == cudaSuccess ? ERROR_NONE : refused(error, index, "opening the device", code);
}

enum error_code device_cuda_info(struct device_cuda_info *info, unsigned index, struct error *error)
{
    struct cudaDeviceProp properties;
    size_t free_bytes, total_bytes;
    memset(info, 0, sizeof *info);
    enum error_code selected = select_device(index, error);
    if (selected != ERROR_NONE) {
        return selected;
    }
    cudaError_t code = cudaGetDeviceProperties(&properties, (int)index);
    code = code != cudaSuccess ? code : cudaMemGetInfo(&free_bytes, &total_bytes);
    if (code != cudaSuccess) {
        return refused(error, index, "asking what it is", code);
    }
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->major = properties.major;
    info->minor = properties.minor;
    info->processors = (unsigned)properties.multiProcessorCount;
    info->memory_bytes = total_bytes;
    info->free_bytes = free_bytes;
    return ERROR_NONE;
}

static size_t witness_bytes_of(const struct circuit *circuit)
{
    return (size_t)circuit->key.wires * U256_BYTES;
}

static uint64_t block_bytes_of(const struct circuit *circuit)
{
    return align(gpu_lane_bytes(circuit)) + align(witness_bytes_of(circuit));
}

uint64_t device_cuda_bytes(const struct circuit *circuit, unsigned lanes)
{
    CHECK(circuit != NULL && lanes > 0);
    return align(gpu_circuit_bytes(circuit)) + lanes * block_bytes_of(circuit);
}

/* ---- host functions: on a thread of CUDA's, which may call nothing of CUDA ---- */

static void stage_chunk(void *argument)
{
    struct device_cuda_chunk *chunk = argument;
    struct device_cuda_lane *lane = chunk->lane;
    if ((atomic_fetch_add_explicit(&lane->gate, 2, memory_order_acquire) & 1) == 0) {
        memcpy(lane->state->slab, lane->work.witness + chunk->offset, chunk->bytes);
        atomic_fetch_add_explicit(&lane->staged, chunk->bytes, memory_order_relaxed);
    }
    atomic_fetch_sub_explicit(&lane->gate, 2, memory_order_release);
}

static void wipe_slab(void *argument)
{
    struct device_cuda_lane *lane = argument;
    size_t bytes =
        lane->witness_bytes < lane->state->slab_bytes ? lane->witness_bytes : lane->state->slab_bytes;
    explicit_bzero(lane->state->slab, bytes);
}

/* Reads the sums, if nobody else has done or does so. */
static void read_sums(struct device_cuda_ring *ring)
{
    int pending = RING_PENDING;
    if (atomic_compare_exchange_strong_explicit(&ring->state, &pending, RING_CLAIMED, memory_order_acquire,
                                                memory_order_relaxed)) {
        if (ring->gpu != NULL) {
            gpu_sums_read(&ring->sums, ring->gpu, ring->lane->sums);
        }
        atomic_store_explicit(&ring->state, RING_READ, memory_order_release);
    }
}

static void end_work(void *argument)
{
    struct device_cuda_ring *ring = argument;
    uint64_t now_ns = device_now_ns();
    atomic_store_explicit(&ring->rung_ns, now_ns, memory_order_relaxed);
    read_sums(ring);
    device_timer_set(ring->lane->state->doorbell, now_ns);
}

/* ---- submit ---- */

static struct device_cuda_ring *ring_of(struct device_cuda_lane *lane)
{
    return &lane->rings[lane->uses & 1];
}

static struct device_cuda_circuit *find(struct device_cuda_state *state, const struct circuit *circuit)
{
    for (size_t i = 0; i < state->circuits_count; i++) {
        if (atomic_load_explicit(&state->circuits[i].circuit, memory_order_acquire) == circuit) {
            return &state->circuits[i];
        }
    }
    return NULL;
}

/* Witness into the pinned slab, from there to the device, and wiped; piece by piece if it is larger. */
static cudaError_t enqueue_copies(struct device_cuda_lane *lane, const char **what)
{
    struct device_cuda_state *state = lane->state;
    const char *doing = NULL;
    cudaError_t code = cudaSuccess;
    unsigned count = 0;
    bool fine = TRY(cudaEventRecord(lane->edges[EDGE_BEGIN], state->copies), "marking the begin");
    for (size_t offset = 0; fine && offset < lane->witness_bytes; count++) {
        struct device_cuda_chunk *chunk = &lane->chunks[count];
        size_t left = lane->witness_bytes - offset;
        CHECK(count < CHUNKS_MAX);
        *chunk =
            (struct device_cuda_chunk){lane, offset, left < state->slab_bytes ? left : state->slab_bytes};
        fine = TRY(cudaLaunchHostFunc(state->copies, stage_chunk, chunk), "staging the witness") &&
               TRY(cudaMemcpyAsync(lane->witness + offset, state->slab, chunk->bytes, cudaMemcpyHostToDevice,
                                   state->copies),
                   "copying the witness");
        offset += chunk->bytes;
    }
    fine = fine && TRY(cudaEventRecord(lane->edges[EDGE_STAGES + DEVICE_STAGE_H2D], state->copies),
                       "marking the copy's end");
    fine = fine && TRY(cudaLaunchHostFunc(state->copies, wipe_slab, lane), "wiping the pinned witness");
    *what = fine ? *what : doing;
    return fine ? cudaSuccess : code;
}

static cudaError_t enqueue_proof(struct device_cuda_lane *lane, const struct gpu_circuit *gpu,
                                 const char **what)
{
    const char *doing = NULL;
    cudaError_t code = cudaSuccess;
    cudaStream_t stream = lane->stream;
    cudaEvent_t *ends = lane->edges + EDGE_STAGES;
    bool fine =
        TRY(cudaStreamWaitEvent(stream, ends[DEVICE_STAGE_H2D], 0), "waiting for the witness") &&
        TRY(gpu_prove_evaluate(gpu, lane->memory, lane->witness, stream), "evaluating the constraints") &&
        TRY(cudaEventRecord(ends[DEVICE_STAGE_EVALUATE], stream), "marking the evaluation's end") &&
        TRY(gpu_prove_ntt(gpu, lane->memory, stream), "transforming") &&
        TRY(cudaEventRecord(ends[DEVICE_STAGE_NTT], stream), "marking the transforms' end") &&
        TRY(gpu_prove_msm(gpu, lane->memory, lane->witness, stream), "multiplying points") &&
        TRY(cudaEventRecord(ends[DEVICE_STAGE_MSM], stream), "marking the multiplications' end") &&
        TRY(cudaMemcpyAsync(lane->sums, gpu_sums_address(gpu, lane->memory), gpu_sums_bytes(gpu),
                            cudaMemcpyDeviceToHost, stream),
            "copying the sums");
    *what = fine ? *what : doing;
    return fine ? cudaSuccess : code;
}

/* The last event and the host function behind it, which may be refused: the doorbell rings by itself, too. */
static cudaError_t enqueue_end(struct device_cuda_lane *lane)
{
    cudaError_t code = cudaEventRecord(lane->edges[EDGE_LAST], lane->stream);
    if (code == cudaSuccess && cudaLaunchHostFunc(lane->stream, end_work, ring_of(lane)) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    return code;
}

/* After a refusal: whatever was enqueued, on whichever stream, must have ended before the work may fail.
 * False if not even that can be arranged. */
static bool enqueue_failure(struct device_cuda_lane *lane)
{
    cudaEvent_t copied = lane->edges[EDGE_STAGES + DEVICE_STAGE_H2D];
    (void)cudaGetLastError();
    ring_of(lane)->gpu = NULL; /* there are no sums to be read */
    return cudaEventRecord(copied, lane->state->copies) == cudaSuccess &&
           cudaStreamWaitEvent(lane->stream, copied, 0) == cudaSuccess && enqueue_end(lane) == cudaSuccess;
}

static void lose(struct device_cuda_state *state, cudaError_t code, const char *doing)
{
    CHECK(code != cudaSuccess && code != cudaErrorNotReady);
    if (state->lost == cudaSuccess) {
        state->lost = code;
        state->lost_doing = doing;
    }
}

static void enqueue(struct device_cuda_lane *lane, const struct gpu_circuit *gpu)
{
    struct device_cuda_state *state = lane->state;
    const char *doing = "selecting the device";
    cudaError_t code = cudaSetDevice(state->index);
    code = code != cudaSuccess ? code : enqueue_copies(lane, &doing);
    code = code != cudaSuccess ? code : enqueue_proof(lane, gpu, &doing);
    if (code == cudaSuccess) {
        doing = "marking the end";
        code = enqueue_end(lane);
    }
    if (code != cudaSuccess) {
        lane->code = code;
        lane->doing = doing;
        if (!enqueue_failure(lane)) {
            lose(state, code, doing);
        }
    }
}

static void device_cuda_submit(struct device *device, unsigned number, const struct device_work *work)
{
    struct device_cuda_state *state = state_of(device);
    CHECK(number < device->lanes);
    CHECK(work->circuit != NULL && work->witness != NULL && work->sums != NULL);
    struct device_cuda_lane *lane = &state->lanes[number];
    CHECK(!lane->busy);
    nvtxRangePushA("uzk submit");
    lane->busy = true;
    lane->work = *work;
    lane->number = ++state->submissions;
    lane->uses++;
    lane->code = cudaSuccess;
    lane->submit_ns = device_now_ns();
    lane->witness_bytes = witness_bytes_of(work->circuit);
    lane->range = nvtxRangeStartA("uzk proof");
    lane->ended_ns = 0;
    struct device_cuda_circuit *attached = find(state, work->circuit);
    CHECK(attached != NULL && lane->witness_bytes <= state->witness_bytes);
    struct device_cuda_ring *ring = ring_of(lane);
    ring->gpu = &attached->gpu;
    atomic_store_explicit(&ring->rung_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->state, RING_PENDING, memory_order_relaxed);
    atomic_store_explicit(&lane->staged, 0, memory_order_relaxed);
    if (state->lost == cudaSuccess) {
        enqueue(lane, &attached->gpu);
    }
    uint64_t again_ns = device_time_add(lane->submit_ns, HEARTBEAT_NS);
    device_timer_set(state->doorbell, state->lost != cudaSuccess ? lane->submit_ns : again_ns);
    nvtxRangePop();
}

/* ---- poll ---- */

/* In nanoseconds, 0 if CUDA does not tell. */
static int64_t elapsed_ns(cudaEvent_t begin, cudaEvent_t end)
{
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, begin, end) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return (int64_t)((double)milliseconds * 1e6);
}

static uint64_t add_signed(uint64_t time_ns, int64_t ns)
{
    return ns < 0 && (uint64_t)-ns > time_ns ? 0 : time_ns + (uint64_t)ns;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    most = most < least ? least : most;
    return value < least ? least : value > most ? most : value;
}

/* The begin from the anchor, within what the host saw; then it is the anchor itself, if it is the newest. */
static uint64_t begin_ns(struct device_cuda_lane *lane, uint64_t now_ns)
{
    struct device_cuda_state *state = lane->state;
    cudaEvent_t *edges = lane->edges;
    uint64_t rung_ns = atomic_load_explicit(&ring_of(lane)->rung_ns, memory_order_relaxed);
    bool newest = lane->number > state->anchor_number;
    int64_t since_ns =
        newest ? elapsed_ns(state->anchor, edges[EDGE_BEGIN]) : -elapsed_ns(edges[EDGE_BEGIN], state->anchor);
    uint64_t latest_ns = add_signed(rung_ns != 0 && rung_ns < now_ns ? rung_ns : now_ns,
                                    -elapsed_ns(edges[EDGE_BEGIN], edges[EDGE_LAST]));
    uint64_t time_ns = clamp(add_signed(state->anchor_ns, since_ns), lane->submit_ns, latest_ns);
    if (newest) {
        cudaEvent_t before = state->anchor;
        state->anchor_number = lane->number;
        state->anchor_ns = time_ns;
        state->anchor = edges[EDGE_BEGIN];
        edges[EDGE_BEGIN] = before;
    }
    return time_ns;
}

static void tell_times(struct device_cuda_lane *lane, struct device_completion *completion)
{
    uint64_t now_ns = device_now_ns();
    int64_t after_ns[DEVICE_STAGES];
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        after_ns[stage] = elapsed_ns(lane->edges[EDGE_BEGIN], lane->edges[EDGE_STAGES + stage]);
    }
    completion->begin_ns = begin_ns(lane, now_ns);
    uint64_t before_ns = completion->begin_ns;
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        before_ns = clamp(add_signed(completion->begin_ns, after_ns[stage]), before_ns, now_ns);
        completion->stage_end_ns[stage] = before_ns;
    }
}

static void tell_failure(struct device_cuda_lane *lane, struct device_completion *completion,
                         cudaError_t code, const char *doing)
{
    completion->code = ERROR_DEVICE;
    completion->begin_ns = lane->submit_ns;
    snprintf(completion->reason, sizeof completion->reason, "%s: %s", doing, cudaGetErrorName(code));
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        completion->stage_end_ns[stage] = lane->submit_ns;
    }
}

/* Whether no host function reads the work's witness, nor will one. */
static bool shut_gate(struct device_cuda_lane *lane)
{
    return (atomic_fetch_or_explicit(&lane->gate, 1, memory_order_acquire) & ~1u) == 0;
}

static void complete(struct device_cuda_lane *lane, struct device_completion *completion)
{
    struct device_cuda_state *state = lane->state;
    memset(completion, 0, sizeof *completion);
    completion->token = lane->work.token;
    completion->lane = (unsigned)(lane - state->lanes);
    size_t staged = atomic_load_explicit(&lane->staged, memory_order_relaxed);
    if (state->lost != cudaSuccess) {
        completion->sticky = true;
        tell_failure(lane, completion, state->lost, state->lost_doing);
    } else if (lane->code != cudaSuccess) {
        tell_failure(lane, completion, lane->code, lane->doing);
    } else if (staged < lane->witness_bytes) {
        tell_failure(lane, completion, cudaErrorUnknown, "a host function was not called");
    } else {
        *lane->work.sums = ring_of(lane)->sums;
        tell_times(lane, completion);
    }
    explicit_bzero(lane->sums, state->sums_bytes);
    explicit_bzero(&ring_of(lane)->sums, sizeof ring_of(lane)->sums);
    nvtxRangeEnd(lane->range);
    lane->busy = false;
}

/* Of a work that the device has finished: whether its sums are there. If a while has passed they are read
 * here. */
static bool has_sums(struct device_cuda_lane *lane)
{
    uint64_t now_ns = device_now_ns();
    lane->ended_ns = lane->ended_ns == 0 ? now_ns : lane->ended_ns;
    if (now_ns - lane->ended_ns >= HEARTBEAT_NS / 2) {
        read_sums(ring_of(lane));
    }
    return atomic_load_explicit(&ring_of(lane)->state, memory_order_acquire) == RING_READ;
}

/* Whether the lane's work has ended; notices that the device is lost. */
static bool has_ended(struct device_cuda_lane *lane)
{
    struct device_cuda_state *state = lane->state;
    if (state->lost == cudaSuccess) {
        cudaError_t code = cudaEventQuery(lane->edges[EDGE_LAST]);
        if (code == cudaErrorNotReady || code == cudaSuccess) {
            return code == cudaSuccess && has_sums(lane);
        }
        lose(state, code, "running what was enqueued");
    }
    return shut_gate(lane);
}

static unsigned device_cuda_poll(struct device *device, struct device_completion *completions, unsigned max)
{
    struct device_cuda_state *state = state_of(device);
    unsigned count = 0, busy = 0;
    device_timer_set(state->doorbell, device_time_add(device_now_ns(), HEARTBEAT_NS)); /* before looking */
    for (unsigned i = 0; i < device->lanes; i++) {
        struct device_cuda_lane *lane = &state->lanes[i];
        bool fine = state->lost == cudaSuccess;
        if (lane->busy && count < max && has_ended(lane)) {
            complete(lane, &completions[count++]);
        }
        if (fine && state->lost != cudaSuccess) {
            i = UINT32_MAX; /* those before it end now, too */
            busy = 0;
            continue;
        }
        busy += lane->busy;
    }
    if (busy == 0) {
        device_timer_set(state->doorbell, UINT64_MAX);
    }
    return count;
}

/* ---- circuits ---- */

/* One piece of a circuit's data through one half of the pinned upload slab. */
static cudaError_t upload_piece(struct device_cuda_state *state, unsigned half, uint8_t *to,
                                const uint8_t *from, size_t bytes)
{
    uint8_t *slab = state->upload_slab + half * UPLOAD_BYTES;
    cudaError_t code = cudaEventSynchronize(state->uploaded[half]); /* its last piece has left */
    if (code == cudaSuccess) {
        memcpy(slab, from, bytes);
        code = cudaMemcpyAsync(to, slab, bytes, cudaMemcpyHostToDevice, state->uploads);
    }
    return code != cudaSuccess ? code : cudaEventRecord(state->uploaded[half], state->uploads);
}

static cudaError_t upload(struct device_cuda_state *state, const struct gpu_circuit *gpu)
{
    cudaError_t code = cudaSuccess;
    unsigned half = 0;
    for (unsigned i = 0; i < gpu->uploads_count && code == cudaSuccess; i++) {
        const struct gpu_upload *one = &gpu->uploads[i];
        for (size_t offset = 0; offset < one->bytes && code == cudaSuccess;
             half = (half + 1) % UPLOAD_HALVES) {
            size_t left = one->bytes - offset, bytes = left < UPLOAD_BYTES ? left : UPLOAD_BYTES;
            code = upload_piece(state, half, (uint8_t *)one->device + offset,
                                (const uint8_t *)one->host + offset, bytes);
            offset += bytes;
        }
    }
    code = code != cudaSuccess ? code : gpu_circuit_prepare(gpu, state->uploads);
    cudaError_t waited = cudaStreamSynchronize(state->uploads); /* in any case: the memory may go next */
    return code != cudaSuccess ? code : waited;
}

static enum error_code check_room(struct device_cuda_state *state, const struct circuit *circuit,
                                  uint64_t bytes, struct error *error)
{
    size_t free_bytes, total_bytes;
    cudaError_t code = cudaSetDevice(state->index);
    code = code != cudaSuccess ? code : cudaMemGetInfo(&free_bytes, &total_bytes);
    if (code != cudaSuccess) {
        return refused(error, (unsigned)state->index, "asking for free memory", code);
    }
    if (align(gpu_lane_bytes(circuit)) > state->lane_bytes ||
        witness_bytes_of(circuit) > state->witness_bytes) {
        return error_set(
            error, ERROR_DEVICE,
            "%s: circuit %s with %u lanes needs %llu MiB of its memory, which has %llu MiB, of which "
            "%llu are free beside the lanes: fewer lanes_per_device need less",
            state->device->name, circuit->key.name, state->lanes_count,
            mib(device_cuda_bytes(circuit, state->lanes_count)), mib(total_bytes), mib(free_bytes));
    }
    if (bytes > free_bytes || free_bytes - bytes < RESERVE_BYTES / 2) {
        return error_set(
            error, ERROR_DEVICE,
            "%s: circuit %s needs %llu MiB of its memory for points, and %llu MiB of %llu are free",
            state->device->name, circuit->key.name, mib(bytes), mib(free_bytes), mib(total_bytes));
    }
    return ERROR_NONE;
}

static enum error_code device_cuda_attach(struct device *device, const struct circuit *circuit,
                                          struct error *error)
{
    struct device_cuda_state *state = state_of(device);
    struct device_cuda_circuit *entry = find(state, NULL);
    uint64_t bytes = align(gpu_circuit_bytes(circuit));
    CHECK(circuit != NULL && entry != NULL && find(state, circuit) == NULL);
    enum error_code room = check_room(state, circuit, bytes, error);
    if (room != ERROR_NONE) {
        return room;
    }
    nvtxRangePushA("uzk attach");
    const char *doing = "memory for a circuit";
    void *memory = NULL;
    cudaError_t code = cudaMalloc(&memory, bytes);
    if (code == cudaSuccess) {
        doing = "uploading a circuit";
        gpu_circuit_layout(&entry->gpu, circuit, memory);
        code = upload(state, &entry->gpu);
    }
    nvtxRangePop();
    if (code != cudaSuccess) {
        (void)cudaFree(memory);
        (void)cudaGetLastError();
        return refused(error, (unsigned)state->index, doing, code);
    }
    entry->memory = memory;
    entry->bytes = bytes;
    atomic_store_explicit(&entry->circuit, circuit, memory_order_release);
    return ERROR_NONE;
}

static void device_cuda_detach(struct device *device, const struct circuit *circuit)
{
    struct device_cuda_state *state = state_of(device);
    struct device_cuda_circuit *entry = find(state, circuit);
    CHECK(circuit != NULL);
    if (entry == NULL) {
        return; /* it was refused */
    }
    (void)cudaSetDevice(state->index);
    (void)cudaFree(entry->memory); /* a lost device says no, and has nothing to lose */
    (void)cudaGetLastError();
    entry->memory = NULL;
    atomic_store_explicit(&entry->circuit, NULL, memory_order_release);
}

/* ---- open and close ---- */

static void close_lane(struct device_cuda_lane *lane)
{
    for (unsigned i = 0; i < EDGES; i++) {
        if (lane->edges[i] != NULL) {
            (void)cudaEventDestroy(lane->edges[i]);
        }
    }
    if (lane->sums != NULL) {
        explicit_bzero(lane->sums, lane->state->sums_bytes);
        (void)cudaFreeHost(lane->sums);
    }
    (void)cudaFree(lane->memory);
    if (lane->stream != NULL) {
        (void)cudaStreamDestroy(lane->stream);
    }
}

/* Everything that open_all has taken so far; nothing is in flight. */
static void release(struct device_cuda_state *state)
{
    (void)cudaSetDevice(state->index);
    for (unsigned i = 0; i < state->lanes_count; i++) {
        close_lane(&state->lanes[i]);
    }
    for (size_t i = 0; i < state->circuits_count; i++) {
        (void)cudaFree(state->circuits[i].memory);
    }
    if (state->slab != NULL) {
        explicit_bzero(state->slab, state->slab_bytes);
        (void)cudaFreeHost(state->slab);
    }
    if (state->upload_slab != NULL) {
        (void)cudaFreeHost(state->upload_slab);
    }
    cudaEvent_t events[] = {state->anchor, state->uploaded[0], state->uploaded[1]};
    for (unsigned i = 0; i < sizeof events / sizeof *events; i++) {
        if (events[i] != NULL) {
            (void)cudaEventDestroy(events[i]);
        }
    }
    cudaStream_t streams[] = {state->copies, state->uploads};
    for (unsigned i = 0; i < sizeof streams / sizeof *streams; i++) {
        if (streams[i] != NULL) {
            (void)cudaStreamDestroy(streams[i]);
        }
    }
    (void)cudaGetLastError();
    if (state->doorbell >= 0) {
        close(state->doorbell);
    }
    free(state->circuits);
    free(state);
}

/* Waits for what is in flight. False if it does not end in time. */
static bool drain(struct device_cuda_state *state)
{
    uint64_t limit_ns = device_time_add(device_now_ns(), state->close_limit_ns);
    for (;;) {
        cudaError_t code = cudaStreamQuery(state->copies);
        bool waits = false;
        for (unsigned i = 0; i < state->lanes_count && (code == cudaSuccess || code == cudaErrorNotReady);
             i++) {
            waits |= code == cudaErrorNotReady;
            code = cudaStreamQuery(state->lanes[i].stream);
        }
        waits |= code == cudaErrorNotReady;
        if (code != cudaSuccess && code != cudaErrorNotReady) {
            lose(state, code, "closing the device");
        }
        bool inside = false;
        for (unsigned i = 0; i < state->lanes_count && state->lost != cudaSuccess; i++) {
            inside |= !shut_gate(&state->lanes[i]);
        }
        if (!inside && (!waits || state->lost != cudaSuccess)) {
            return true;
        }
        if (device_now_ns() >= limit_ns) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

/* What the lanes hold of witnesses, on a device that still works. */
static void wipe_lanes(struct device_cuda_state *state)
{
    (void)cudaSetDevice(state->index);
    for (unsigned i = 0; i < state->lanes_count; i++) {
        struct device_cuda_lane *lane = &state->lanes[i];
        if (lane->memory != NULL && state->submissions > 0) {
            (void)cudaMemsetAsync(lane->memory, 0, state->block_bytes, lane->stream);
            (void)cudaStreamSynchronize(lane->stream);
        }
    }
}

static void device_cuda_close(struct device *device)
{
    struct device_cuda_state *state = state_of(device);
    device->doorbell = -1;
    ((struct device_cuda *)(void *)device)->state = NULL;
    if (!drain(state)) {
        /* Something hangs on the device, and what it may still touch stays for the rest of the process: the
         * witness and the sums are the caller's, so nobody may come back to them. */
        for (unsigned i = 0; i < state->lanes_count; i++) {
            while (!shut_gate(&state->lanes[i])) {
                nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            }
        }
        return;
    }
    if (state->lost == cudaSuccess) {
        wipe_lanes(state);
    }
    release(state);
}

/* Lanes are made for the largest of the circuits that fit with all of them. */
static void size_lanes(struct device_cuda_state *state, const struct device_cuda_settings *settings,
                       uint64_t free_bytes)
{
    uint64_t budget = free_bytes > RESERVE_BYTES ? free_bytes - RESERVE_BYTES : 0;
    for (size_t i = 0; i < settings->circuits_count; i++) {
        const struct circuit *circuit = settings->circuits[i];
        size_t lane_bytes = align(gpu_lane_bytes(circuit)), witness_bytes = witness_bytes_of(circuit);
        if (device_cuda_bytes(circuit, state->lanes_count) > budget) {
            continue;
        }
        state->lane_bytes = lane_bytes > state->lane_bytes ? lane_bytes : state->lane_bytes;
        state->witness_bytes = witness_bytes > state->witness_bytes ? witness_bytes : state->witness_bytes;
    }
    size_t piece = (state->witness_bytes + CHUNKS_MAX - 1) / CHUNKS_MAX;
    piece = piece < CHUNK_BYTES ? CHUNK_BYTES : piece;
    state->slab_bytes = state->witness_bytes < piece ? state->witness_bytes : piece;
    state->block_bytes = state->lane_bytes + align(state->witness_bytes);
}

static cudaError_t open_lane(struct device_cuda_state *state, struct device_cuda_lane *lane,
                             const char **what)
{
    const char *doing = NULL;
    cudaError_t code = cudaSuccess;
    void *memory = NULL;
    lane->state = state;
    lane->rings[0].lane = lane->rings[1].lane = lane;
    bool fine =
        TRY(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking), "a lane's stream") &&
        TRY(cudaHostAlloc(&lane->sums, state->sums_bytes, cudaHostAllocDefault), "pinned memory for sums");
    for (unsigned i = 0; fine && i < EDGES; i++) {
        fine = TRY(cudaEventCreateWithFlags(&lane->edges[i], cudaEventDefault), "a lane's events");
    }
    if (fine && state->block_bytes > 0) {
        fine = TRY(cudaMalloc(&memory, state->block_bytes), "memory for a lane");
        lane->memory = memory;
        lane->witness = fine ? lane->memory + state->lane_bytes : NULL;
    }
    *what = fine ? *what : doing;
    return fine ? cudaSuccess : code;
}

static cudaError_t open_shared(struct device_cuda_state *state, const char **what)
{
    const char *doing = NULL;
    cudaError_t code = cudaSuccess;
    void *slab = NULL, *upload_slab = NULL;
    bool fine =
        TRY(cudaStreamCreateWithFlags(&state->copies, cudaStreamNonBlocking), "the copy stream") &&
        TRY(cudaStreamCreateWithFlags(&state->uploads, cudaStreamNonBlocking), "the upload stream") &&
        TRY(cudaEventCreateWithFlags(&state->anchor, cudaEventDefault), "an event") &&
        TRY(cudaHostAlloc(&upload_slab, UPLOAD_HALVES * UPLOAD_BYTES, cudaHostAllocDefault), "pinned memory");
    state->upload_slab = upload_slab;
    for (unsigned i = 0; fine && i < UPLOAD_HALVES; i++) {
        fine =
            TRY(cudaEventCreateWithFlags(&state->uploaded[i], cudaEventBlockingSync | cudaEventDisableTiming),
                "an event");
    }
    if (fine && state->slab_bytes > 0) {
        fine =
            TRY(cudaHostAlloc(&slab, state->slab_bytes, cudaHostAllocDefault), "pinned memory for a witness");
        state->slab = slab;
    }
    if (state->slab != NULL) {
        memset(state->slab, 0,
               state->slab_bytes); /* what a lost host function leaves there is a witness, too */
    }
    *what = fine ? *what : doing;
    return fine ? cudaSuccess : code;
}

/* The first anchor: waits, once. */
static cudaError_t drop_anchor(struct device_cuda_state *state, const char **what)
{
    const char *doing = NULL;
    cudaError_t code = cudaSuccess;
    bool fine = TRY(cudaEventRecord(state->anchor, state->copies), "the first event") &&
                TRY(cudaStreamSynchronize(state->copies), "the first event");
    state->anchor_ns = device_now_ns();
    *what = fine ? *what : doing;
    return fine ? cudaSuccess : code;
}

static enum error_code open_all(struct device_cuda_state *state, const struct device_cuda_settings *settings,
                                struct error *error)
{
    const char *doing = "asking for free memory";
    size_t free_bytes, total_bytes;
    cudaError_t code = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (code == cudaSuccess) {
        size_lanes(state, settings, free_bytes);
        code = open_shared(state, &doing);
    }
    for (unsigned i = 0; i < settings->lanes && code == cudaSuccess; i++) {
        code = open_lane(state, &state->lanes[i], &doing);
    }
    code = code != cudaSuccess ? code : drop_anchor(state, &doing);
    if (code != cudaSuccess) {
        return refused(error, settings->index, doing, code);
    }
    state->doorbell = device_timer_open();
    if (state->doorbell < 0) {
        return error_set_errno(error, errno, "cannot make a timer for device cuda:%u", settings->index);
    }
    return ERROR_NONE;
}

enum error_code device_cuda_open(struct device_cuda *cuda, const struct device_cuda_settings *settings,
                                 struct error *error)
{
    static const struct device_operations operations = {
        .attach = device_cuda_attach,
        .detach = device_cuda_detach,
        .submit = device_cuda_submit,
        .poll = device_cuda_poll,
        .close = device_cuda_close,
    };
    CHECK(settings->lanes >= 1 && settings->lanes <= DEVICE_LANES_MAX);
    enum error_code code = select_device(settings->index, error);
    if (code != ERROR_NONE) {
        return code;
    }
    struct device_cuda_state *state = calloc(1, sizeof *state);
    struct device_cuda_circuit *circuits = calloc(settings->circuits_count + 1, sizeof *circuits);
    if (state == NULL || circuits == NULL) {
        free(state);
        free(circuits);
        return error_set_errno(error, ENOMEM, "opening device cuda:%u", settings->index);
    }
    state->device = &cuda->device;
    state->index = (int)settings->index;
    state->lanes_count = settings->lanes;
    state->close_limit_ns = settings->close_limit_ns != 0 ? settings->close_limit_ns : CLOSE_LIMIT_NS;
    state->circuits = circuits;
    state->circuits_count = settings->circuits_count + 1;
    state->sums_bytes = GPU_SUMS_BYTES_MAX;
    state->doorbell = -1;
    cuda->state = state;
    cuda->device = (struct device){.operations = &operations, .kind = DEVICE_CUDA, .lanes = settings->lanes};
    snprintf(cuda->device.name, sizeof cuda->device.name, "cuda:%u", settings->index);
    code = open_all(state, settings, error);
    if (code != ERROR_NONE) {
        release(state);
        cuda->state = NULL;
        return code;
    }
    cuda->device.doorbell = state->doorbell;
    return ERROR_NONE;
}
