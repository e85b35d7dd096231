/* The kernels of an MSM; gpu_msm.h says what they compute together.
 *
 * For `sets_at_once` sets of buckets at a time:
 *   digits      scalars -> keys: bucket and sign of each digit, none for digit 0
 *   sort        1 to 3 passes of a stable radix sort of (bucket, point), each: histogram of each tile, scan,
 *               scatter; the first drops digits 0
 *   accumulate  each thread adds up an equal share of the sorted list, bucket by bucket
 *   merge       the buckets that lie in more than one thread's share, in levels
 *   reduce      the sum of bucket b times b + 1, in levels
 * The list is shared out by length and not by bucket, so a witness of zeros and ones, whose points all lie in
 * one bucket, takes no longer than any other: the merge halves it level by level.
 *
 * Figures in comments: E = n * windows digits in all; B = buckets in all. Floors are computed, not measured,
 * for an H200 of 132 multiprocessors at 1.755 GHz: 4.3 TB/s of memory (a copy's measured rate), and 64 32-bit
 * multiply-adds per clock and multiprocessor, 14.8e12 a second. A multiplication in Fq takes 264 of these
 * (8 x 8 products, low and high half, twice, and 8 for the quotients), so 5.6e10 a second at the very most.
 */
#include "cuda/gpu_msm_layout.h"

#include "cuda/gpu_curve.cuh"
#include "cuda/gpu_launch.cuh"

#define GPU_MSM_NONE UINT32_MAX
#define GPU_MSM_SIGN ((uint32_t)1 << 31)

enum {
    GPU_MSM_THREADS = 128,  /* a block of point additions */
    GPU_MSM_BINS_LOG2 = 4,  /* bits that a tile is sorted by in one round */
    GPU_MSM_TILES_SHORT = 8 /* tiles that one thread alone goes through */
};

template <class T> static T *gpu_msm_at(void *scratch, size_t offset)
{
    return reinterpret_cast<T *>(static_cast<unsigned char *>(scratch) + offset);
}

/* Booth's digit of the window of c bits that begins at `bit`, -2^(c-1) to 2^(c-1), as bucket |digit| - 1 and
 * sign. */
GPU_DEVICE uint32_t gpu_msm_key(const uint32_t *scalar, uint32_t bit, uint32_t c)
{
    const uint32_t below = bit == 0 ? 0 : bit - 1;
    const uint32_t word = below / 32;
    uint64_t bits = scalar[word];
    if (word < 7) {
        bits |= (uint64_t)scalar[word + 1] << 32;
    }
    bits = bit == 0 ? bits << 1 : bits >> (below % 32);
    const uint32_t window = (uint32_t)bits & (((uint32_t)2 << c) - 1);
    const int32_t digit = (int32_t)((window + 1) >> 1) - (int32_t)(window >> c << c);
    if (digit == 0) {
        return GPU_MSM_NONE;
    }
    return digit < 0 ? (uint32_t)(-digit - 1) | GPU_MSM_SIGN : (uint32_t)(digit - 1);
}

/* One thread a scalar: all of its digits in the sets computed now. Bytes: 32 a scalar, 4 a digit. Floor:
 * (32 n + 4 E) / 4.3e12 s. */
__global__ void gpu_msm_digits(uint32_t *keys, const uint32_t *scalars, struct gpu_msm_plan plan,
                               uint32_t first_set, uint32_t sets)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= plan.n) {
        return;
    }
    for (uint32_t s = 0; s < sets; s++) {
        for (uint32_t level = 0; level < plan.levels; level++) {
            const uint32_t window = level * plan.sets + first_set + s;
            keys[(s * (size_t)plan.levels + level) * plan.n + i] =
                window < plan.windows
                    ? gpu_msm_key(scalars + 8 * i, window * plan.window_bits, plan.window_bits)
                    : GPU_MSM_NONE;
        }
    }
}

/* Places in shared memory such that threads that each go through 16 items in a row don't meet in one bank. */
GPU_DEVICE uint32_t gpu_msm_pad(uint32_t i)
{
    return i + i / GPU_MSM_SORT_ITEMS;
}

enum {
    GPU_MSM_SCAN_GROUP = GPU_MSM_SORT_ITEMS,
    GPU_MSM_SCAN_GROUPS = GPU_MSM_SORT_THREADS / GPU_MSM_SCAN_GROUP
};

struct gpu_msm_scan_memory {
    uint32_t values[GPU_MSM_SORT_THREADS + GPU_MSM_SCAN_GROUPS];
    uint32_t groups[GPU_MSM_SCAN_GROUPS];
};

/* Exclusive prefix sum over a block of GPU_MSM_SORT_THREADS threads; all of them call it. One thread of 16
 * adds up 16 values, then each thread the sums before its own: three barriers, where halving steps need eight
 * and more. */
GPU_DEVICE uint32_t gpu_msm_block_scan(uint32_t *total, uint32_t value, struct gpu_msm_scan_memory *shared)
{
    const uint32_t t = threadIdx.x;
    shared->values[gpu_msm_pad(t)] = value;
    __syncthreads();
    if (t < GPU_MSM_SCAN_GROUPS) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < GPU_MSM_SCAN_GROUP; k++) {
            uint32_t *at = &shared->values[gpu_msm_pad(t * GPU_MSM_SCAN_GROUP + k)];
            const uint32_t here = *at;
            *at = sum;
            sum += here;
        }
        shared->groups[t] = sum;
    }
    __syncthreads();
    uint32_t before = shared->values[gpu_msm_pad(t)], all = 0;
    for (uint32_t group = 0; group < GPU_MSM_SCAN_GROUPS; group++) {
        before += group < t / GPU_MSM_SCAN_GROUP ? shared->groups[group] : 0;
        all += shared->groups[group];
    }
    *total = all;
    __syncthreads();
    return before;
}

/* What all kernels of one pass of the sort are given. */
struct gpu_msm_pass {
    uint32_t entries, tiles;
    uint32_t shift, bits;
    uint32_t first;          /* whether keys are signed, with digits 0 among them, and values are positions */
    uint32_t *counts;        /* [set][bin][tile] */
    uint32_t *totals;        /* [set][bin] */
    uint32_t *lengths;       /* [set] entries after the first pass */
    const uint32_t *keys_in; /* [set][entry] */
    const uint32_t *values_in;
    uint32_t *keys_out, *values_out;
};

/* One block a tile and set: how many of its keys have each digit. Bytes: 4 E read, E / 4 written (256 counts
 * a tile of 4096). Where all keys are equal, atomics on one word of shared memory, one a clock and
 * multiprocessor: E / 2.3e11 s. */
__global__ void gpu_msm_histogram(struct gpu_msm_pass pass)
{
    GPU_SHARED uint32_t counts[GPU_MSM_SORT_THREADS];
    const uint32_t t = threadIdx.x, set = blockIdx.y, tile = blockIdx.x;
    const uint32_t bins = (uint32_t)1 << pass.bits;
    const uint32_t *keys = pass.keys_in + (size_t)set * pass.entries;
    const uint32_t length = pass.first ? pass.entries : pass.lengths[set];
    counts[t] = 0;
    __syncthreads();
    for (uint32_t item = 0; item < GPU_MSM_SORT_ITEMS; item++) {
        const uint32_t i = tile * GPU_MSM_SORT_TILE + item * GPU_MSM_SORT_THREADS + t;
        if (i < length && keys[i] != GPU_MSM_NONE) {
            atomicAdd(&counts[(keys[i] & ~GPU_MSM_SIGN) >> pass.shift & (bins - 1)], 1u);
        }
    }
    __syncthreads();
    if (t < bins) {
        pass.counts[((size_t)set * bins + t) * pass.tiles + tile] = counts[t];
    }
}

/* One block a bin and set: where in the bin each tile's keys go. Bytes: E / 4 read and written. */
__global__ void gpu_msm_scan(struct gpu_msm_pass pass)
{
    GPU_SHARED struct gpu_msm_scan_memory shared;
    const size_t row = (size_t)blockIdx.y << pass.bits | blockIdx.x;
    uint32_t *counts = pass.counts + row * pass.tiles;
    uint32_t before = 0;
    for (uint32_t first = 0; first < pass.tiles; first += GPU_MSM_SORT_THREADS) {
        const uint32_t i = first + threadIdx.x;
        uint32_t total;
        const uint32_t offset = gpu_msm_block_scan(&total, i < pass.tiles ? counts[i] : 0, &shared);
        if (i < pass.tiles) {
            counts[i] = before + offset;
        }
        before += total;
    }
    if (threadIdx.x == 0) {
        pass.totals[row] = before;
    }
}

/* The same with one thread a bin, for few tiles. */
__global__ void gpu_msm_scan_short(struct gpu_msm_pass pass)
{
    if (threadIdx.x >> pass.bits != 0) {
        return;
    }
    const size_t row = (size_t)blockIdx.y << pass.bits | threadIdx.x;
    uint32_t *counts = pass.counts + row * pass.tiles;
    uint32_t before = 0;
    for (uint32_t tile = 0; tile < pass.tiles; tile++) {
        const uint32_t count = counts[tile];
        counts[tile] = before;
        before += count;
    }
    pass.totals[row] = before;
}

/* A tile in shared memory. */
struct gpu_msm_tile {
    uint32_t keys[GPU_MSM_SORT_TILE + GPU_MSM_SORT_THREADS];
    uint32_t values[GPU_MSM_SORT_TILE + GPU_MSM_SORT_THREADS];
    uint16_t counts[GPU_MSM_SORT_THREADS << GPU_MSM_BINS_LOG2]; /* [bin][thread] */
    struct gpu_msm_scan_memory scan;
    uint32_t starts[GPU_MSM_SORT_THREADS];
};

/* Reads the tile; returns how many keys it has, those of digits 0 dropped. */
GPU_DEVICE uint32_t gpu_msm_load_tile(struct gpu_msm_tile *shared, const struct gpu_msm_pass *pass,
                                      uint32_t start, uint32_t length)
{
    const uint32_t *keys_in = pass->keys_in + (size_t)blockIdx.y * pass->entries;
    const uint32_t *values_in = pass->values_in + (size_t)blockIdx.y * pass->entries;
    for (uint32_t i = threadIdx.x; i < GPU_MSM_SORT_TILE; i += GPU_MSM_SORT_THREADS) {
        const uint32_t key = start + i < length ? keys_in[start + i] : GPU_MSM_NONE;
        const bool real = key != GPU_MSM_NONE;
        shared->keys[gpu_msm_pad(i)] = real ? key & ~GPU_MSM_SIGN : key;
        shared->values[gpu_msm_pad(i)] = !real         ? 0
                                         : pass->first ? (start + i) | (key & GPU_MSM_SIGN)
                                                       : values_in[start + i];
    }
    __syncthreads();
    uint32_t keys[GPU_MSM_SORT_ITEMS], values[GPU_MSM_SORT_ITEMS], count = 0, total;
    GPU_UNROLL
    for (uint32_t item = 0; item < GPU_MSM_SORT_ITEMS; item++) {
        keys[item] = shared->keys[gpu_msm_pad(threadIdx.x * GPU_MSM_SORT_ITEMS + item)];
        values[item] = shared->values[gpu_msm_pad(threadIdx.x * GPU_MSM_SORT_ITEMS + item)];
        count += keys[item] != GPU_MSM_NONE;
    }
    uint32_t to = gpu_msm_block_scan(&total, count, &shared->scan);
    GPU_UNROLL
    for (uint32_t item = 0; item < GPU_MSM_SORT_ITEMS; item++) {
        if (keys[item] != GPU_MSM_NONE) {
            shared->keys[gpu_msm_pad(to)] = keys[item];
            shared->values[gpu_msm_pad(to)] = values[item];
            to++;
        }
    }
    __syncthreads();
    return total;
}

/* Sorts the tile's first `count` keys by at most GPU_MSM_BINS_LOG2 bits, stably: each thread counts its 16,
 * the counts are scanned by digit and then thread, each thread puts its own where they belong. */
GPU_DEVICE void gpu_msm_sort_tile(struct gpu_msm_tile *shared, uint32_t count, uint32_t shift, uint32_t bits)
{
    const uint32_t t = threadIdx.x, bins = (uint32_t)1 << bits, first = t * GPU_MSM_SORT_ITEMS;
    uint32_t keys[GPU_MSM_SORT_ITEMS], values[GPU_MSM_SORT_ITEMS], sum = 0, total;
    for (uint32_t bin = 0; bin < bins; bin++) {
        shared->counts[bin * GPU_MSM_SORT_THREADS + t] = 0;
    }
    GPU_UNROLL
    for (uint32_t item = 0; item < GPU_MSM_SORT_ITEMS; item++) {
        keys[item] = shared->keys[gpu_msm_pad(first + item)];
        values[item] = shared->values[gpu_msm_pad(first + item)];
        if (first + item < count) {
            shared->counts[(keys[item] >> shift & (bins - 1)) * GPU_MSM_SORT_THREADS + t]++;
        }
    }
    __syncthreads();
    for (uint32_t k = 0; k < bins; k++) {
        sum += shared->counts[t * bins + k];
    }
    uint32_t before = gpu_msm_block_scan(&total, sum, &shared->scan);
    for (uint32_t k = 0; k < bins; k++) {
        const uint32_t here = shared->counts[t * bins + k];
        shared->counts[t * bins + k] = (uint16_t)before;
        before += here;
    }
    __syncthreads();
    GPU_UNROLL
    for (uint32_t item = 0; item < GPU_MSM_SORT_ITEMS; item++) {
        if (first + item < count) {
            const uint32_t to =
                shared->counts[(keys[item] >> shift & (bins - 1)) * GPU_MSM_SORT_THREADS + t]++;
            shared->keys[gpu_msm_pad(to)] = keys[item];
            shared->values[gpu_msm_pad(to)] = values[item];
        }
    }
    __syncthreads();
}

/* One block a tile and set: sorts it in shared memory and writes it to its places, in runs of one digit.
 * Bytes: 4 E read (8 E after the first pass) and 8 E written. With the histogram and the scan a pass moves
 * about 20 E bytes: floor E / 2.1e11 s, a twelfth of what the additions take. */
__global__ void gpu_msm_scatter(struct gpu_msm_pass pass)
{
    GPU_SHARED struct gpu_msm_tile shared;
    const uint32_t t = threadIdx.x, set = blockIdx.y, start = blockIdx.x * GPU_MSM_SORT_TILE;
    const uint32_t bins = (uint32_t)1 << pass.bits;
    const uint32_t length = pass.first ? pass.entries : pass.lengths[set];
    if (start >= length) {
        return; /* the whole block */
    }
    const uint32_t count = gpu_msm_load_tile(&shared, &pass, start, length);
    const uint32_t low = pass.bits < GPU_MSM_BINS_LOG2 ? pass.bits : (uint32_t)GPU_MSM_BINS_LOG2;
    gpu_msm_sort_tile(&shared, count, pass.shift, low);
    if (pass.bits > low) {
        gpu_msm_sort_tile(&shared, count, pass.shift + low, pass.bits - low);
    }
    uint32_t total;
    const uint32_t base =
        gpu_msm_block_scan(&total, t < bins ? pass.totals[(size_t)set * bins + t] : 0, &shared.scan);
    if (pass.first && blockIdx.x == 0 && t == 0) {
        pass.lengths[set] = total;
    }
    for (uint32_t i = t; i < count; i += GPU_MSM_SORT_THREADS) {
        const uint32_t digit = shared.keys[gpu_msm_pad(i)] >> pass.shift & (bins - 1);
        if (i == 0 || digit != (shared.keys[gpu_msm_pad(i - 1)] >> pass.shift & (bins - 1))) {
            shared.starts[digit] = i;
        }
    }
    __syncthreads();
    if (t < bins) { /* from a place in the tile to the place in the set; bins not in the tile go unused */
        shared.starts[t] =
            base + pass.counts[((size_t)set * bins + t) * pass.tiles + blockIdx.x] - shared.starts[t];
    }
    __syncthreads();
    for (uint32_t i = t; i < count; i += GPU_MSM_SORT_THREADS) {
        const uint32_t key = shared.keys[gpu_msm_pad(i)];
        const size_t to = (size_t)set * pass.entries + shared.starts[key >> pass.shift & (bins - 1)] + i;
        pass.keys_out[to] = key;
        pass.values_out[to] = shared.values[gpu_msm_pad(i)];
    }
}

template <class F> __global__ void gpu_msm_clear(gpu_xyzz<F> *sums, size_t count)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        gpu_xyzz_set_infinity(&sums[i]);
    }
}

/* Where sums of runs go. A thread's share of a list is made of runs of one bucket; the first may have begun
 * in an earlier thread's share, the last may go on in a later one's. Such parts, at most two a thread, `head`
 * and `tail`, go into the next level's list, two places a thread, so that these stay in order. All other runs
 * are whole buckets. */
template <class F> struct gpu_msm_runs {
    gpu_xyzz<F> *buckets;
    uint32_t *keys; /* of the next list; two of this thread */
    gpu_xyzz<F> *sums;
};

template <class F>
GPU_DEVICE void gpu_msm_put_run(const struct gpu_msm_runs<F> *runs, uint32_t key, const gpu_xyzz<F> *sum,
                                bool is_head, bool is_tail)
{
    gpu_xyzz<F> *to = is_head ? &runs->sums[0] : is_tail ? &runs->sums[1] : &runs->buckets[key];
    *to = *sum;
    if (is_head || is_tail) {
        runs->keys[is_head ? 0 : 1] = key;
    }
}

/* The sorted lists and what becomes of them. */
template <class F> struct gpu_msm_sums {
    uint32_t entries, threads;
    size_t buckets_count;
    gpu_xyzz<F> *buckets;    /* [set][bucket] */
    const uint32_t *lengths; /* [set] */
    const uint32_t *keys_in; /* [set][entry] */
    const uint32_t *values;  /* accumulate: [set][entry] */
    const gpu_affine<F> *points;
    const gpu_xyzz<F> *sums_in; /* merge: [set][entry] */
    uint32_t *keys_out;         /* [set][thread][2] */
    gpu_xyzz<F> *sums_out;
};

template <class F>
GPU_DEVICE void gpu_msm_runs_init(struct gpu_msm_runs<F> *runs, const struct gpu_msm_sums<F> *sums,
                                  uint32_t set, uint32_t thread)
{
    const size_t first = 2 * ((size_t)set * sums->threads + thread);
    runs->buckets = sums->buckets + set * sums->buckets_count;
    runs->keys = sums->keys_out + first;
    runs->sums = sums->sums_out + first;
    runs->keys[0] = GPU_MSM_NONE;
    runs->keys[1] = GPU_MSM_NONE;
}

/* One thread an equal share of a set's points. Multiplications in Fq: 10 E in G1, 28 E in G2. Bytes: 8 E of
 * lists, 64 E (G2: 128 E) of points, gathered in whole sectors, and 128 B (256 B) of buckets. Floors: G1
 * E / 5.6e9 s by multiplications, E / 6.0e10 s by bytes; G2 E / 2.0e9 s and E / 3.2e10 s. So 2^24 points in
 * windows of 17 bits, E = 15 * 2^24: 45 ms in G1, 126 ms in G2. */
template <class F> __global__ void gpu_msm_accumulate(struct gpu_msm_sums<F> sums)
{
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, set = blockIdx.y;
    if (thread >= sums.threads) {
        return;
    }
    struct gpu_msm_runs<F> runs;
    gpu_msm_runs_init(&runs, &sums, set, thread);
    const uint32_t length = sums.lengths[set];
    uint32_t share = (length + sums.threads - 1) / sums.threads;
    share = share < GPU_MSM_SEGMENT_MIN ? (uint32_t)GPU_MSM_SEGMENT_MIN : share;
    const size_t start = (size_t)thread * share;
    if (start >= length) {
        return;
    }
    const uint32_t *keys = sums.keys_in + (size_t)set * sums.entries;
    const uint32_t *values = sums.values + (size_t)set * sums.entries;
    const uint32_t end = start + share < length ? (uint32_t)start + share : length;
    const uint32_t before = start == 0 ? GPU_MSM_NONE : keys[start - 1];
    uint32_t key = keys[start];
    bool is_head = key == before;
    gpu_xyzz<F> sum;
    gpu_xyzz_set_infinity(&sum);
    for (uint32_t i = (uint32_t)start; i < end; i++) {
        const uint32_t value = values[i];
        gpu_affine<F> point = sums.points[value & ~GPU_MSM_SIGN];
        if (value & GPU_MSM_SIGN) {
            gpu_affine_neg(&point, &point);
        }
        gpu_xyzz_add_affine(&sum, &sum, &point);
        const uint32_t next = i + 1 < length ? keys[i + 1] : GPU_MSM_NONE;
        if (next != key || i + 1 == end) {
            gpu_msm_put_run(&runs, key, &sum, is_head, next == key);
            gpu_xyzz_set_infinity(&sum);
            key = next;
            is_head = false;
        }
    }
}

/* One thread the parts that GPU_MSM_MERGE threads of the level before left. The parts of a bucket follow each
 * other: a tail, then a head in each of the next threads. Multiplications in Fq: 14 (G2: 40) an addition;
 * each thread of gpu_msm_accumulate leaves two parts at most, each further level has a quarter as many: so up
 * to 37 (107) for each share of 128 points, 3 % of what these take. Bytes: 128 (256) a part, written and read
 * once. */
template <class F> __global__ void gpu_msm_merge(struct gpu_msm_sums<F> sums)
{
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, set = blockIdx.y;
    if (thread >= sums.threads) {
        return;
    }
    struct gpu_msm_runs<F> runs;
    gpu_msm_runs_init(&runs, &sums, set, thread);
    const uint32_t *keys = sums.keys_in + (size_t)set * sums.entries;
    const gpu_xyzz<F> *parts = sums.sums_in + (size_t)set * sums.entries;
    const uint32_t start = thread * 2 * GPU_MSM_MERGE;
    const uint32_t end = start + 2 * GPU_MSM_MERGE < sums.entries ? start + 2 * GPU_MSM_MERGE : sums.entries;
    uint32_t key = GPU_MSM_NONE; /* of the run being added up */
    bool is_head = false;
    if (start != 0) { /* an earlier thread's last run */
        key = keys[start - 1] != GPU_MSM_NONE ? keys[start - 1] : keys[start - 2];
    }
    const uint32_t after = end < sums.entries ? keys[end] : GPU_MSM_NONE;
    const uint32_t before = key;
    key = GPU_MSM_NONE;
    gpu_xyzz<F> sum;
    gpu_xyzz_set_infinity(&sum);
    for (uint32_t i = start; i < end; i++) {
        if (keys[i] == GPU_MSM_NONE) {
            continue;
        }
        if (keys[i] != key) {
            if (key != GPU_MSM_NONE) {
                gpu_msm_put_run(&runs, key, &sum, is_head, false);
            }
            is_head = key == GPU_MSM_NONE && keys[i] == before;
            key = keys[i];
            gpu_xyzz_set_infinity(&sum);
        }
        const gpu_xyzz<F> part = parts[i];
        gpu_xyzz_add(&sum, &sum, &part);
    }
    if (key != GPU_MSM_NONE) {
        gpu_msm_put_run(&runs, key, &sum, is_head, key == after);
    }
}

/* Chunks of a set's buckets: of chunk i, which has 2^log2 of them, sums[i] is their sum and weighed[i] the
 * sum of the j-th one times j + 1. One thread makes one chunk of GPU_MSM_REDUCE of those before. Buckets are
 * chunks of one, with both sums equal; weighed_in is then null. Multiplications in Fq: 2 B additions of 14
 * (G2: 40) in the first level, and 3/8, 3/64 of that number in the next. Bytes: 128 B (256 B) a bucket.
 * Floor: for 15 windows of 17 bits, 2^20 buckets, 0.6 ms in G1, 1.8 ms in G2. */
template <class F> struct gpu_msm_chunks {
    uint32_t count_in, count_out; /* a set */
    uint32_t log2;                /* of those before */
    const gpu_xyzz<F> *sums_in, *weighed_in;
    gpu_xyzz<F> *sums_out, *weighed_out;
};

template <class F> __global__ void gpu_msm_reduce(struct gpu_msm_chunks<F> chunks)
{
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, set = blockIdx.y;
    if (thread >= chunks.count_out) {
        return;
    }
    const uint32_t start = thread * GPU_MSM_REDUCE;
    const uint32_t end = start + GPU_MSM_REDUCE < chunks.count_in ? start + GPU_MSM_REDUCE : chunks.count_in;
    const size_t in = (size_t)set * chunks.count_in, out = (size_t)set * chunks.count_out + thread;
    const bool buckets = chunks.weighed_in == nullptr;
    gpu_xyzz<F> sum, weighed, other;
    gpu_xyzz_set_infinity(&sum);
    gpu_xyzz_set_infinity(&weighed);
    for (uint32_t i = end; i-- > start;) { /* the k-th of them is added k times, buckets k + 1 times */
        other = chunks.sums_in[in + i];
        gpu_xyzz_add(&sum, &sum, &other);
        if (buckets || i != start) {
            gpu_xyzz_add(&weighed, &weighed, &sum);
        }
    }
    chunks.sums_out[out] = sum;
    if (!buckets) {
        for (uint32_t bit = 0; bit < chunks.log2; bit++) {
            gpu_xyzz_dbl(&weighed, &weighed);
        }
        for (uint32_t i = start; i < end; i++) {
            other = chunks.weighed_in[in + i];
            gpu_xyzz_add(&weighed, &weighed, &other);
        }
    }
    chunks.weighed_out[out] = weighed;
}

/* One thread a point: 2^doublings times it. 9 (G2: 24) multiplications in Fq a doubling and, for the way back
 * to affine coordinates, about 390. All levels of a table together: 254 doublings and levels - 1 times 390.
 */
template <class F>
__global__ void gpu_msm_table(gpu_affine<F> *to, const gpu_affine<F> *from, size_t n, uint32_t doublings)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const gpu_affine<F> point = from[i];
    gpu_affine<F> multiple;
    gpu_xyzz<F> sum;
    gpu_xyzz_from_affine(&sum, &point);
    for (uint32_t bit = 0; bit < doublings; bit++) {
        gpu_xyzz_dbl(&sum, &sum);
    }
    gpu_xyzz_to_affine(&multiple, &sum);
    to[i] = multiple;
}

/* From here on: the host, enqueueing. */

static unsigned gpu_msm_blocks(size_t threads, unsigned a_block)
{
    return (unsigned)((threads + a_block - 1) / a_block);
}

/* Returns which of the two lists holds the result. */
static int gpu_msm_sort(const struct gpu_msm_layout *layout, void *scratch, unsigned sets,
                        cudaStream_t stream)
{
    struct gpu_msm_pass pass = {};
    pass.entries = (uint32_t)layout->entries;
    pass.tiles = (uint32_t)layout->tiles;
    pass.bits = layout->pass_bits;
    pass.counts = gpu_msm_at<uint32_t>(scratch, layout->counts);
    pass.totals = gpu_msm_at<uint32_t>(scratch, layout->totals);
    pass.lengths = gpu_msm_at<uint32_t>(scratch, layout->lengths);
    int from = 0;
    const dim3 tiles(pass.tiles, sets), rows(1u << pass.bits, sets), block(GPU_MSM_SORT_THREADS);
    for (unsigned i = 0; i < layout->passes; i++) {
        pass.first = i == 0;
        pass.shift = i * pass.bits;
        pass.keys_in = gpu_msm_at<uint32_t>(scratch, layout->keys[from]);
        pass.values_in = gpu_msm_at<uint32_t>(scratch, layout->values[from]);
        pass.keys_out = gpu_msm_at<uint32_t>(scratch, layout->keys[1 - from]);
        pass.values_out = gpu_msm_at<uint32_t>(scratch, layout->values[1 - from]);
        GPU_LAUNCH(gpu_msm_histogram, tiles, block, 0, stream, pass);
        if (pass.tiles <= GPU_MSM_TILES_SHORT) {
            GPU_LAUNCH(gpu_msm_scan_short, dim3(1, sets), block, 0, stream, pass);
        } else {
            GPU_LAUNCH(gpu_msm_scan, rows, block, 0, stream, pass);
        }
        GPU_LAUNCH(gpu_msm_scatter, tiles, block, 0, stream, pass);
        from = 1 - from;
    }
    return from;
}

/* Fills the buckets from the sorted lists. */
template <class F>
static void gpu_msm_sum(const struct gpu_msm_layout *layout, void *scratch, const void *points, int sorted,
                        unsigned sets, cudaStream_t stream)
{
    struct gpu_msm_sums<F> sums = {
    };
    sums.buckets_count = layout->buckets;
    sums.buckets = gpu_msm_at<gpu_xyzz<F>>(scratch, layout->bucket_sums);
    GPU_LAUNCH(gpu_msm_clear<F>, gpu_msm_blocks(sets * layout->buckets, GPU_MSM_THREADS), GPU_MSM_THREADS, 0,
               stream, sums.buckets, sets * layout->buckets);
    sums.lengths = gpu_msm_at<uint32_t>(scratch, layout->lengths);
    sums.values = gpu_msm_at<uint32_t>(scratch, layout->values[sorted]);
    sums.points = static_cast<const gpu_affine<F> *>(points);
    sums.entries = (uint32_t)layout->entries;
    sums.threads = (uint32_t)layout->threads;
    sums.keys_in = gpu_msm_at<uint32_t>(scratch, layout->keys[sorted]);
    sums.keys_out = gpu_msm_at<uint32_t>(scratch, layout->partial_keys[0]);
    sums.sums_out = gpu_msm_at<gpu_xyzz<F>>(scratch, layout->partial_sums[0]);
    GPU_LAUNCH(gpu_msm_accumulate<F>, dim3(gpu_msm_blocks(sums.threads, GPU_MSM_THREADS), sets),
               dim3(GPU_MSM_THREADS), 0, stream, sums);
    for (int from = 0; sums.threads > 1; from = 1 - from) {
        sums.entries = 2 * sums.threads;
        sums.threads = (sums.threads + GPU_MSM_MERGE - 1) / GPU_MSM_MERGE;
        sums.keys_in = gpu_msm_at<uint32_t>(scratch, layout->partial_keys[from]);
        sums.sums_in = gpu_msm_at<gpu_xyzz<F>>(scratch, layout->partial_sums[from]);
        sums.keys_out = gpu_msm_at<uint32_t>(scratch, layout->partial_keys[1 - from]);
        sums.sums_out = gpu_msm_at<gpu_xyzz<F>>(scratch, layout->partial_sums[1 - from]);
        GPU_LAUNCH(gpu_msm_merge<F>, dim3(gpu_msm_blocks(sums.threads, GPU_MSM_THREADS), sets),
                   dim3(GPU_MSM_THREADS), 0, stream, sums);
    }
}

/* From buckets to one sum a set. */
template <class F>
static void gpu_msm_weigh(gpu_xyzz<F> *result, const struct gpu_msm_layout *layout, void *scratch,
                          unsigned sets, cudaStream_t stream)
{
    struct gpu_msm_chunks<F> chunks = {
    };
    chunks.count_in = (uint32_t)layout->buckets;
    chunks.sums_in = gpu_msm_at<gpu_xyzz<F>>(scratch, layout->bucket_sums);
    for (int to = 0; chunks.count_in > 1; to = 1 - to) {
        chunks.count_out = (chunks.count_in + GPU_MSM_REDUCE - 1) / GPU_MSM_REDUCE;
        chunks.sums_out = gpu_msm_at<gpu_xyzz<F>>(scratch, layout->node_sums[to]);
        chunks.weighed_out =
            chunks.count_out == 1 ? result : gpu_msm_at<gpu_xyzz<F>>(scratch, layout->node_weighed[to]);
        GPU_LAUNCH(gpu_msm_reduce<F>, dim3(gpu_msm_blocks(chunks.count_out, GPU_MSM_THREADS), sets),
                   dim3(GPU_MSM_THREADS), 0, stream, chunks);
        chunks.count_in = chunks.count_out;
        chunks.sums_in = chunks.sums_out;
        chunks.weighed_in = chunks.weighed_out;
        chunks.log2 += GPU_MSM_REDUCE_LOG2;
    }
}

template <class F>
static int gpu_msm(void *result, const struct gpu_msm_plan *plan, const void *points, const void *scalars,
                   void *scratch, cudaStream_t stream)
{
    gpu_xyzz<F> *sums = static_cast<gpu_xyzz<F> *>(result);
    struct gpu_msm_layout layout;
    gpu_msm_layout_init(&layout, plan, sizeof(gpu_xyzz<F>));
    if (plan->n == 0) {
        GPU_LAUNCH(gpu_msm_clear<F>, gpu_msm_blocks(plan->sets, GPU_MSM_THREADS), GPU_MSM_THREADS, 0, stream,
                   sums, plan->sets);
        return (int)cudaGetLastError();
    }
    for (unsigned first = 0; first < plan->sets; first += plan->sets_at_once) {
        const unsigned left = plan->sets - first;
        const unsigned sets = left < plan->sets_at_once ? left : plan->sets_at_once;
        GPU_LAUNCH(gpu_msm_digits, gpu_msm_blocks(plan->n, GPU_MSM_SORT_THREADS), GPU_MSM_SORT_THREADS, 0,
                   stream, gpu_msm_at<uint32_t>(scratch, layout.keys[0]),
                   static_cast<const uint32_t *>(scalars), *plan, first, sets);
        const int sorted = gpu_msm_sort(&layout, scratch, sets, stream);
        gpu_msm_sum<F>(&layout, scratch, points, sorted, sets, stream);
        gpu_msm_weigh<F>(sums + first, &layout, scratch, sets, stream);
    }
    return (int)cudaGetLastError();
}

template <class F>
static int gpu_msm_fill_table(void *table, const struct gpu_msm_plan *plan, cudaStream_t stream)
{
    gpu_affine<F> *points = static_cast<gpu_affine<F> *>(table);
    for (unsigned level = 1; level < plan->levels && plan->n != 0; level++) {
        GPU_LAUNCH(gpu_msm_table<F>, gpu_msm_blocks(plan->n, GPU_MSM_THREADS), GPU_MSM_THREADS, 0, stream,
                   points + level * plan->n, points + (level - 1) * plan->n, plan->n,
                   plan->window_bits * plan->sets);
    }
    return (int)cudaGetLastError();
}

extern "C" int gpu_msm_g1_table(void *table, const struct gpu_msm_plan *plan, cudaStream_t stream)
{
    return gpu_msm_fill_table<gpu_fq>(table, plan, stream);
}

extern "C" int gpu_msm_g2_table(void *table, const struct gpu_msm_plan *plan, cudaStream_t stream)
{
    return gpu_msm_fill_table<gpu_fq2>(table, plan, stream);
}

extern "C" int gpu_msm_g1(void *result, const struct gpu_msm_plan *plan, const void *points,
                          const void *scalars, void *scratch, cudaStream_t stream)
{
    return gpu_msm<gpu_fq>(result, plan, points, scalars, scratch, stream);
}

extern "C" int gpu_msm_g2(void *result, const struct gpu_msm_plan *plan, const void *points,
                          const void *scalars, void *scratch, cudaStream_t stream)
{
    return gpu_msm<gpu_fq2>(result, plan, points, scalars, scratch, stream);
}
