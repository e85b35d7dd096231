/* gpu.h in kernels: evaluation and transforms here, multi-scalar multiplications in gpu_msm.cu.
 *
 * Evaluation: one thread a row of A or B. Bytes: 8 and a random 32 for each entry, 32 out for each row;
 * multiplications: one for each entry that is neither 1 nor -1, and one for a row that has such ones.
 *
 * Transforms, as groth16/ntt.h: from the domain to natural order at the odd coset, without moving anything to a
 * bit-reversed place. Stages with long strides take three at a time in registers, one pass over memory each;
 * the 2 * NEAR stages around the coset's shift run in shared memory, in one pass. For 2^20 points that is nine
 * passes over each of the three vectors, 18 * 32 bytes and log2(n) + 1 multiplications for each point: on an
 * H200 with 4.3 TB/s a floor of 0.42 ms for the bytes of all three. */
#include "cuda/gpu.h"

#include "conf/check.h"
#include "cuda/gpu_field.cuh"
#include "cuda/gpu_launch.cuh"
#include "cuda/gpu_msm.h"

#include <string.h>

enum { THREADS = 256, NEAR_LOG2 = 10, NEAR = 1 << NEAR_LOG2, FAR_STAGES = 3, VECTORS = 3, ALIGNMENT = 256 };

/* What is uploaded, in this order. */
enum gpu_prove_part {
    PART_A,
    PART_B1,
    PART_B2,
    PART_C,
    PART_H,
    PART_ENTRIES,
    PART_ROWS_A,
    PART_ROWS_B,
    PART_DICTIONARY,
    PART_INVERSE,
    PART_FORWARD,
    PART_SHIFT,
    PART_COEFFICIENTS,
    PARTS,
    SUMS = PART_H + 1
};
static_assert((int)PARTS <= (int)GPU_UPLOADS_MAX, "every part has its upload");

static size_t gpu_prove_align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t gpu_prove_domain(const struct circuit *circuit)
{
    return (size_t)1 << circuit->key.domain_log2;
}

static size_t gpu_prove_points(const struct circuit *circuit, int part)
{
    const struct zkey *key = &circuit->key;
    return part == PART_H   ? gpu_prove_domain(circuit)
           : part == PART_C ? (size_t)key->wires - key->publics - 1
                            : key->wires;
}

static struct gpu_msm_plan gpu_prove_plan(const struct circuit *circuit, int part)
{
    struct gpu_msm_plan plan;
    gpu_msm_plan_init(&plan, gpu_prove_points(circuit, part), 1);
    return plan;
}

/* Values that found no place in the dictionary are read from the key's own coefficients. */
static bool gpu_prove_overflows(const struct circuit *circuit)
{
    return circuit->key.coefficients_count > CIRCUIT_DICTIONARY - 2;
}

static size_t gpu_prove_part_bytes(const struct circuit *circuit, int part)
{
    const size_t n = gpu_prove_domain(circuit), count = circuit->key.coefficients_count;
    switch (part) {
    case PART_B2:
        return gpu_prove_points(circuit, part) * ZKEY_G2_BYTES;
    case PART_ENTRIES:
        return count * sizeof(struct circuit_entry);
    case PART_ROWS_A:
    case PART_ROWS_B:
        return (n + 1) * sizeof(uint32_t);
    case PART_DICTIONARY:
        return (gpu_prove_overflows(circuit) ? (size_t)CIRCUIT_DICTIONARY : count + 2) * sizeof(fr);
    case PART_INVERSE:
    case PART_FORWARD:
        return (n + 1) / 2 * sizeof(fr);
    case PART_SHIFT:
        return n * sizeof(fr);
    case PART_COEFFICIENTS:
        return gpu_prove_overflows(circuit) ? count * ZKEY_COEFFICIENT_BYTES : 0;
    default:
        return gpu_prove_points(circuit, part) * ZKEY_G1_BYTES;
    }
}

size_t gpu_circuit_bytes(const struct circuit *circuit)
{
    size_t bytes = ALIGNMENT;
    for (int part = 0; part < PARTS; part++) {
        bytes += gpu_prove_align(gpu_prove_part_bytes(circuit, part));
    }
    return bytes;
}

void gpu_circuit_layout(struct gpu_circuit *gpu, const struct circuit *circuit, void *memory)
{
    const struct zkey *key = &circuit->key;
    const void *hosts[PARTS] = {key->a,
                                key->b1,
                                key->b2,
                                key->c,
                                key->h,
                                circuit->entries,
                                circuit->rows[CIRCUIT_A],
                                circuit->rows[CIRCUIT_B],
                                circuit->dictionary,
                                circuit->ntt.inverse,
                                circuit->ntt.forward,
                                circuit->ntt.shift,
                                key->coefficients};
    uint8_t *at = (uint8_t *)memory;
    CHECK(((uintptr_t)memory & (ALIGNMENT - 1)) == 0);
    memset(gpu, 0, sizeof *gpu);
    gpu->circuit = circuit;
    gpu->memory = memory;
    gpu->uploads_count = PARTS;
    for (int part = 0; part < PARTS; part++) {
        gpu->uploads[part].host = hosts[part];
        gpu->uploads[part].device = at;
        gpu->uploads[part].bytes = gpu_prove_part_bytes(circuit, part);
        at += gpu_prove_align(gpu->uploads[part].bytes);
    }
}

/* A lane: the vectors a, b and c, and the sums; an MSM's scratch lies over b and c, which are done with. */
struct gpu_prove_layout {
    size_t vector, sums[SUMS], sums_begin, sums_end, scratch, bytes;
};

static struct gpu_prove_layout gpu_prove_layout_of(const struct circuit *circuit)
{
    struct gpu_prove_layout lane = {};
    size_t scratch = 0;
    lane.vector = gpu_prove_align(gpu_prove_domain(circuit) * sizeof(fr));
    lane.sums_begin = lane.sums_end = lane.vector;
    for (int part = 0; part < SUMS; part++) {
        const struct gpu_msm_plan plan = gpu_prove_plan(circuit, part);
        const bool g2 = part == PART_B2;
        const size_t one = g2 ? gpu_msm_g2_scratch_bytes(&plan) : gpu_msm_g1_scratch_bytes(&plan);
        lane.sums[part] = lane.sums_end;
        lane.sums_end += gpu_prove_align(g2 ? gpu_msm_g2_result_bytes(&plan) : gpu_msm_g1_result_bytes(&plan));
        scratch = one > scratch ? one : scratch;
    }
    lane.scratch = lane.sums_end;
    lane.bytes = lane.scratch + (scratch > 2 * lane.vector ? scratch : 2 * lane.vector);
    return lane;
}

size_t gpu_lane_bytes(const struct circuit *circuit)
{
    return gpu_prove_layout_of(circuit).bytes;
}

/* ---- evaluation ---- */

struct gpu_prove_rows {
    const struct circuit_entry *entries;
    const uint32_t *rows[CIRCUIT_MATRICES];
    const gpu_fr *dictionary;
    const uint32_t *coefficients; /* ZKEY_COEFFICIENT_BYTES each, the value behind three words */
    const gpu_fr *witness;
    gpu_fr *results[CIRCUIT_MATRICES];
    gpu_fr r2;
    uint32_t n;
};

GPU_DEVICE void gpu_prove_term(gpu_fr *sum, gpu_fr *units, const struct gpu_prove_rows *work,
                               struct circuit_entry entry)
{
    const gpu_fr value = work->witness[entry.wire];
    gpu_fr product;
    if (entry.value == CIRCUIT_ONE) {
        gpu_fr_add(units, units, &value);
    } else if (entry.value == CIRCUIT_MINUS_ONE) {
        gpu_fr_sub(units, units, &value);
    } else if (entry.value < CIRCUIT_DICTIONARY) {
        gpu_fr_mul(&product, &value, &work->dictionary[entry.value]);
        gpu_fr_add(sum, sum, &product);
    } else {
        const size_t words = ZKEY_COEFFICIENT_BYTES / 4;
        const uint32_t *stored = work->coefficients + words * (entry.value - CIRCUIT_DICTIONARY) + 3;
        gpu_fr factor;
        for (int i = 0; i < GPU_FIELD_WORDS; i++) {
            factor.w[i] = stored[i];
        }
        gpu_fr_mul(&product, &value, &factor);
        gpu_fr_add(sum, sum, &product);
    }
}

/* Stored coefficients carry R^2 and the witness is plain, so that products carry R. */
__global__ void gpu_prove_rows_kernel(struct gpu_prove_rows work)
{
    const uint32_t row = blockIdx.x * blockDim.x + threadIdx.x, matrix = blockIdx.y;
    if (row >= work.n) {
        return;
    }
    gpu_fr sum, units;
    gpu_fr_set_zero(&sum);
    gpu_fr_set_zero(&units);
    for (uint32_t at = work.rows[matrix][row]; at < work.rows[matrix][row + 1]; at++) {
        gpu_prove_term(&sum, &units, &work, work.entries[at]);
    }
    if (!gpu_fr_is_zero(&units)) {
        gpu_fr_mul(&units, &units, &work.r2);
    }
    gpu_fr_add(&sum, &sum, &units);
    work.results[matrix][row] = sum;
}

__global__ void gpu_prove_product_kernel(gpu_fr *c, const gpu_fr *a, const gpu_fr *b, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        gpu_fr_mul(&c[i], &a[i], &b[i]);
    }
}

/* a = a b - c as plain integers, as an MSM takes scalars. */
__global__ void gpu_prove_quotient_kernel(gpu_fr *a, const gpu_fr *b, const gpu_fr *c, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        gpu_fr value, one;
        gpu_fr_set_zero(&one);
        one.w[0] = 1;
        gpu_fr_mul(&value, &a[i], &b[i]);
        gpu_fr_sub(&value, &value, &c[i]);
        gpu_fr_mul(&a[i], &value, &one);
    }
}

__global__ void gpu_prove_scale_kernel(gpu_fr *values, gpu_fr factor, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        gpu_fr_mul(&values[i], &values[i], &factor);
    }
}

/* ---- transforms ---- */

struct gpu_prove_ntt {
    gpu_fr *values; /* VECTORS of them, `vector` elements apart; blockIdx.y says which */
    const gpu_fr *inverse, *forward, *shift;
    size_t vector;
    uint32_t log2;
};

/* One butterfly of the inverse transform, and of the forward one. */
GPU_INLINE void gpu_prove_split(gpu_fr *low, gpu_fr *high, const gpu_fr *twiddle)
{
    gpu_fr product;
    gpu_fr_mul(&product, high, twiddle);
    gpu_fr_sub(high, low, &product);
    gpu_fr_add(low, low, &product);
}

GPU_INLINE void gpu_prove_join(gpu_fr *low, gpu_fr *high, const gpu_fr *twiddle)
{
    gpu_fr difference;
    gpu_fr_sub(&difference, low, high);
    gpu_fr_add(low, low, high);
    gpu_fr_mul(high, &difference, twiddle);
}

/* STAGES stages from `stage` on, each thread 2^STAGES elements that lie n >> (stage + STAGES) apart. Forward runs
 * the same butterflies in the opposite order. */
template <int STAGES, bool FORWARD> GPU_DEVICE void gpu_prove_far(const struct gpu_prove_ntt *ntt, uint32_t stage)
{
    const uint32_t n = 1u << ntt->log2, stride = n >> (stage + STAGES);
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n >> STAGES) {
        return;
    }
    const uint32_t block = thread / stride, within = thread % stride;
    gpu_fr *at = ntt->values + blockIdx.y * ntt->vector + (size_t)block * (n >> stage) + within;
    gpu_fr v[1 << STAGES];
    GPU_UNROLL
    for (int m = 0; m < 1 << STAGES; m++) {
        v[m] = at[(size_t)m * stride];
    }
    GPU_UNROLL
    for (int step = 0; step < STAGES; step++) {
        const int i = FORWARD ? STAGES - 1 - step : step, half = 1 << (STAGES - 1 - i);
        GPU_UNROLL
        for (int m = 0; m < 1 << (STAGES - 1); m++) {
            const int q = m / half, low = q * 2 * half + m % half;
            const uint32_t twiddle = (block << i) + q;
            if (FORWARD) {
                gpu_prove_join(&v[low], &v[low + half], &ntt->forward[twiddle]);
            } else {
                gpu_prove_split(&v[low], &v[low + half], &ntt->inverse[twiddle]);
            }
        }
    }
    GPU_UNROLL
    for (int m = 0; m < 1 << STAGES; m++) {
        at[(size_t)m * stride] = v[m];
    }
}

#define FAR_KERNEL(stages)                                                                        \
    __global__ void gpu_prove_far_inverse_##stages(struct gpu_prove_ntt ntt, uint32_t stage)      \
    {                                                                                             \
        gpu_prove_far<stages, false>(&ntt, stage);                                                \
    }                                                                                             \
    __global__ void gpu_prove_far_forward_##stages(struct gpu_prove_ntt ntt, uint32_t stage)      \
    {                                                                                             \
        gpu_prove_far<stages, true>(&ntt, stage);                                                 \
    }
FAR_KERNEL(1)
FAR_KERNEL(2)
FAR_KERNEL(3)

/* The last stages of the inverse transform, the shift to the coset, the first stages of the forward one: a block of
 * 2^near elements each, n / 2^near of them. */
__global__ void gpu_prove_near_kernel(struct gpu_prove_ntt ntt, uint32_t near)
{
    GPU_SHARED gpu_fr shared[NEAR];
    const uint32_t size = 1u << near, block = blockIdx.x;
    gpu_fr *values = ntt.values + blockIdx.y * ntt.vector + (size_t)block * size;
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        shared[i] = values[i];
    }
    for (uint32_t stage = 0; stage < near; stage++) {
        const uint32_t half = size >> (stage + 1);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < size / 2; i += blockDim.x) {
            const uint32_t q = i / half, low = q * 2 * half + i % half;
            gpu_prove_split(&shared[low], &shared[low + half], &ntt.inverse[(block << stage) + q]);
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        gpu_fr_mul(&shared[i], &shared[i], &ntt.shift[(size_t)block * size + i]);
    }
    for (uint32_t stage = near; stage-- > 0;) {
        const uint32_t half = size >> (stage + 1);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < size / 2; i += blockDim.x) {
            const uint32_t q = i / half, low = q * 2 * half + i % half;
            gpu_prove_join(&shared[low], &shared[low + half], &ntt.forward[(block << stage) + q]);
        }
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
        values[i] = shared[i];
    }
}

/* ---- what device_cuda.c calls ---- */

static gpu_fr gpu_prove_constant(const fr *value)
{
    gpu_fr r;
    static_assert(sizeof r == sizeof *value, "the same bytes");
    memcpy((void *)&r, value, sizeof r);
    return r;
}

static unsigned gpu_prove_blocks(size_t n)
{
    return (unsigned)((n + THREADS - 1) / THREADS);
}

template <class T> static T *gpu_prove_part_at(const struct gpu_circuit *gpu, int part)
{
    return (T *)gpu->uploads[part].device;
}

/* The host's tables may carry a factor of 16, which its own transforms want. */
cudaError_t gpu_circuit_prepare(const struct gpu_circuit *gpu, cudaStream_t stream)
{
    CHECK(gpu->uploads_count == PARTS);
    if (gpu->circuit->ntt.wide) {
        const u256 plain = {{16, 0, 0, 0}};
        fr sixteenth;
        CHECK(fr_from_u256(&sixteenth, &plain));
        fr_inv(&sixteenth, &sixteenth);
        for (int part = PART_INVERSE; part <= PART_SHIFT; part++) {
            const size_t n = gpu->uploads[part].bytes / sizeof(fr);
            GPU_LAUNCH(gpu_prove_scale_kernel, gpu_prove_blocks(n), THREADS, 0, stream,
                       gpu_prove_part_at<gpu_fr>(gpu, part), gpu_prove_constant(&sixteenth), (uint32_t)n);
        }
    }
    return cudaGetLastError();
}

cudaError_t gpu_prove_evaluate(const struct gpu_circuit *gpu, void *lane, const void *witness,
                               cudaStream_t stream)
{
    const struct gpu_prove_layout layout = gpu_prove_layout_of(gpu->circuit);
    const uint32_t n = (uint32_t)gpu_prove_domain(gpu->circuit);
    gpu_fr *a = (gpu_fr *)lane, *b = (gpu_fr *)((uint8_t *)lane + layout.scratch);
    gpu_fr *c = (gpu_fr *)((uint8_t *)b + layout.vector);
    struct gpu_prove_rows work = {};
    work.entries = gpu_prove_part_at<struct circuit_entry>(gpu, PART_ENTRIES);
    work.rows[CIRCUIT_A] = gpu_prove_part_at<uint32_t>(gpu, PART_ROWS_A);
    work.rows[CIRCUIT_B] = gpu_prove_part_at<uint32_t>(gpu, PART_ROWS_B);
    work.dictionary = gpu_prove_part_at<gpu_fr>(gpu, PART_DICTIONARY);
    work.coefficients = gpu_prove_part_at<uint32_t>(gpu, PART_COEFFICIENTS);
    work.witness = (const gpu_fr *)witness;
    work.results[CIRCUIT_A] = a;
    work.results[CIRCUIT_B] = b;
    work.r2 = gpu_prove_constant(&fr_r2);
    work.n = n;
    GPU_LAUNCH(gpu_prove_rows_kernel, dim3(gpu_prove_blocks(n), CIRCUIT_MATRICES), THREADS, 0, stream, work);
    GPU_LAUNCH(gpu_prove_product_kernel, gpu_prove_blocks(n), THREADS, 0, stream, c, a, b, n);
    return cudaGetLastError();
}

/* Vectors a, b, c in turn: a lies apart from the other two. */
static void gpu_prove_transform(const struct gpu_prove_ntt *ntt, unsigned vectors, cudaStream_t stream)
{
    const uint32_t near = ntt->log2 < NEAR_LOG2 ? ntt->log2 : (uint32_t)NEAR_LOG2, far = ntt->log2 - near;
    typedef void far_kernel(struct gpu_prove_ntt, uint32_t);
    far_kernel *const inverse[] = {gpu_prove_far_inverse_1, gpu_prove_far_inverse_2, gpu_prove_far_inverse_3};
    far_kernel *const forward[] = {gpu_prove_far_forward_1, gpu_prove_far_forward_2, gpu_prove_far_forward_3};
    for (uint32_t stage = 0, count; stage < far; stage += count) {
        count = far - stage < FAR_STAGES ? far - stage : (uint32_t)FAR_STAGES;
        const dim3 grid(gpu_prove_blocks(((size_t)1 << ntt->log2) >> count), vectors);
        GPU_LAUNCH(inverse[count - 1], grid, THREADS, 0, stream, *ntt, stage);
    }
    GPU_LAUNCH(gpu_prove_near_kernel, dim3(1u << far, vectors), THREADS, 0, stream, *ntt, near);
    for (uint32_t left = far, count; left > 0; left -= count) {
        count = left % FAR_STAGES != 0 ? left % FAR_STAGES : (uint32_t)FAR_STAGES;
        const dim3 grid(gpu_prove_blocks(((size_t)1 << ntt->log2) >> count), vectors);
        GPU_LAUNCH(forward[count - 1], grid, THREADS, 0, stream, *ntt, left - count);
    }
}

cudaError_t gpu_prove_ntt(const struct gpu_circuit *gpu, void *lane, cudaStream_t stream)
{
    const struct gpu_prove_layout layout = gpu_prove_layout_of(gpu->circuit);
    const uint32_t n = (uint32_t)gpu_prove_domain(gpu->circuit);
    gpu_fr *a = (gpu_fr *)lane, *b = (gpu_fr *)((uint8_t *)lane + layout.scratch);
    gpu_fr *c = (gpu_fr *)((uint8_t *)b + layout.vector);
    struct gpu_prove_ntt ntt = {};
    ntt.inverse = gpu_prove_part_at<gpu_fr>(gpu, PART_INVERSE);
    ntt.forward = gpu_prove_part_at<gpu_fr>(gpu, PART_FORWARD);
    ntt.shift = gpu_prove_part_at<gpu_fr>(gpu, PART_SHIFT);
    ntt.vector = layout.vector / sizeof(gpu_fr);
    ntt.log2 = gpu->circuit->key.domain_log2;
    ntt.values = a;
    gpu_prove_transform(&ntt, 1, stream);
    ntt.values = b;
    gpu_prove_transform(&ntt, VECTORS - 1, stream);
    GPU_LAUNCH(gpu_prove_quotient_kernel, gpu_prove_blocks(n), THREADS, 0, stream, a, b, c, n);
    return cudaGetLastError();
}

cudaError_t gpu_prove_msm(const struct gpu_circuit *gpu, void *lane, const void *witness, cudaStream_t stream)
{
    const struct circuit *circuit = gpu->circuit;
    const struct gpu_prove_layout layout = gpu_prove_layout_of(circuit);
    uint8_t *bytes = (uint8_t *)lane;
    int code = 0;
    for (int part = 0; part < SUMS && code == 0; part++) {
        const struct gpu_msm_plan plan = gpu_prove_plan(circuit, part);
        const uint8_t *scalars = (const uint8_t *)witness;
        scalars += part == PART_C ? ((size_t)circuit->key.publics + 1) * U256_BYTES : 0;
        scalars = part == PART_H ? bytes : scalars;
        code = (part == PART_B2 ? gpu_msm_g2 : gpu_msm_g1)(bytes + layout.sums[part], &plan,
                                                           gpu->uploads[part].device, scalars,
                                                           bytes + layout.scratch, stream);
    }
    return (cudaError_t)code;
}

size_t gpu_sums_bytes(const struct gpu_circuit *gpu)
{
    const struct gpu_prove_layout layout = gpu_prove_layout_of(gpu->circuit);
    CHECK(layout.sums_end - layout.sums_begin <= GPU_SUMS_BYTES_MAX);
    return layout.sums_end - layout.sums_begin;
}

const void *gpu_sums_address(const struct gpu_circuit *gpu, const void *lane)
{
    return (const uint8_t *)lane + gpu_prove_layout_of(gpu->circuit).sums_begin;
}

void gpu_sums_read(struct prove_sums *sums, const struct gpu_circuit *gpu, const void *host_copy)
{
    const struct gpu_prove_layout layout = gpu_prove_layout_of(gpu->circuit);
    g1_xyzz *g1[SUMS] = {&sums->a, &sums->b1, NULL, &sums->c, &sums->h};
    for (int part = 0; part < SUMS; part++) {
        const struct gpu_msm_plan plan = gpu_prove_plan(gpu->circuit, part);
        const uint8_t *result = (const uint8_t *)host_copy + (layout.sums[part] - layout.sums_begin);
        if (part == PART_B2) {
            gpu_msm_g2_read(&sums->b2, &plan, result);
        } else {
            gpu_msm_g1_read(g1[part], &plan, result);
        }
    }
}
