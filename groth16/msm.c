#include "groth16/msm.h"

#include "conf/check.h"
#include "groth16/cpu.h"
#include "groth16/msm_internal.h"

#include <string.h>

/* What differs between the groups, as data. */
struct msm_group {
    size_t affine_bytes;
    size_t xyzz_bytes;
    size_t element_bytes;
    msm_kernel *tasks[CPU_LEVELS];
    msm_kernel *builds[CPU_LEVELS];
};

static const struct msm_group msm_group_g1 = {
    .affine_bytes = sizeof(g1_affine),
    .xyzz_bytes = sizeof(g1_xyzz),
    .element_bytes = sizeof(fq),
    .tasks = {msm_g1_task_portable, msm_g1_task_adx, msm_g1_task_fma, msm_g1_task_ifma},
    .builds = {msm_g1_build_portable, msm_g1_build_adx, msm_g1_build_fma, msm_g1_build_ifma},
};

static const struct msm_group msm_group_g2 = {
    .affine_bytes = sizeof(g2_affine),
    .xyzz_bytes = sizeof(g2_xyzz),
    .element_bytes = sizeof(fq2),
    .tasks = {msm_g2_task_portable, msm_g2_task_adx, msm_g2_task_fma, msm_g2_task_ifma},
    .builds = {msm_g2_build_portable, msm_g2_build_adx, msm_g2_build_fma, msm_g2_build_ifma},
};

static unsigned msm_windows(unsigned window_bits)
{
    return (MSM_SCALAR_BITS + window_bits) / window_bits; /* one bit more than a scalar: the last carry */
}

/* Additions in affine coordinates that it takes to sum one set of buckets: two a bucket, and long ones for
 * the row and column sums. */
static double msm_buckets_cost(unsigned window_bits)
{
    const double buckets = (double)(1u << (window_bits - 1));
    return window_bits - 1 < MSM_MATRIX_LOG2_MIN ? 8 * buckets
                                                 : 2 * buckets + 16 * (double)(1u << window_bits / 2);
}

/* The width that costs least for n scalars of full length: one addition a point and window. Windows have a
 * set of buckets each, or, with a table, one together. */
static unsigned msm_best_bits(size_t n, bool table)
{
    unsigned best = 2;
    double best_cost = 0;
    for (unsigned c = 2; c <= MSM_WINDOW_BITS_MAX; c++) {
        const double sets = table ? 1 : msm_windows(c);
        const double cost = msm_windows(c) * (double)n + sets * msm_buckets_cost(c);
        if (c == 2 || cost < best_cost) {
            best = c;
            best_cost = cost;
        }
    }
    return best;
}

static unsigned msm_window_bits(size_t n)
{
    return msm_best_bits(n, false);
}

enum { MSM_TASKS_A_WORKER = 3, MSM_SLICE_POINTS_MIN = 4096 };

/* Slices of every window, so that even many workers find some tasks each. */
static size_t msm_slices(size_t n, unsigned windows, unsigned workers)
{
    size_t slices = (MSM_TASKS_A_WORKER * (size_t)workers + windows - 1) / windows;
    if (workers <= windows / 4) {
        slices = 1;
    }
    size_t most = n / MSM_SLICE_POINTS_MIN + 1;
    return slices < most ? slices : most;
}

static size_t msm_round(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Mirrors the kernels' carving for any window width up to the one for n. */
static size_t msm_worker_bytes(const struct msm_group *group, size_t slice_points, size_t buckets)
{
    return 2 * msm_round(MSM_CHUNK * group->affine_bytes) +
           2 * msm_round(MSM_CHUNK / 2 * group->element_bytes) + msm_round(buckets * group->affine_bytes) +
           msm_round(MSM_CHUNK * sizeof(struct msm_segment)) +
           2 * msm_round(MSM_CHUNK / 2 * sizeof(uint16_t)) + msm_round((buckets + 1) * sizeof(uint32_t)) +
           2 * msm_round(slice_points * sizeof(uint32_t));
}

static size_t msm_slice_points(size_t n, size_t slices)
{
    const size_t blocks = (n + MSM_BLOCK - 1) / MSM_BLOCK;
    return (blocks + slices - 1) / slices * MSM_BLOCK;
}

/* Fewer long scalars make narrower, so more, windows. Windows with more work than others share at most
 * MSM_TASKS_A_WORKER tasks a worker beyond their own. */
static size_t msm_tasks_max(size_t slices, unsigned workers)
{
    return MSM_WINDOWS_MAX * slices + MSM_TASKS_A_WORKER * (size_t)workers;
}

static size_t msm_scratch_size(const struct msm_group *group, size_t n, unsigned workers)
{
    const unsigned c = msm_window_bits(n);
    const size_t slices = msm_slices(n, msm_windows(c), workers);
    const size_t tasks = msm_tasks_max(slices, workers);
    return msm_round(n / MSM_BLOCK + 1) + msm_round(tasks * sizeof(struct msm_task)) +
           msm_round(tasks * group->xyzz_bytes) +
           workers * msm_worker_bytes(group, msm_slice_points(n, slices), (size_t)1 << (c - 1));
}

static unsigned msm_bit_length(const u256 *a)
{
    for (int i = 3; i >= 0; i--) {
        if (a->w[i] != 0) {
            return (unsigned)(64 * i + 64 - __builtin_clzll(a->w[i]));
        }
    }
    return 0;
}

/* Fills block_bits and counts the scalars of each bit length. */
static void msm_measure(size_t lengths[MSM_SCALAR_BITS + 1], uint8_t *block_bits, const uint8_t *scalars,
                        size_t n)
{
    memset(lengths, 0, (MSM_SCALAR_BITS + 1) * sizeof *lengths);
    for (size_t first = 0; first < n; first += MSM_BLOCK) {
        unsigned longest = 0;
        for (size_t i = first; i < n && i < first + MSM_BLOCK; i++) {
            u256 scalar;
            u256_load_le(&scalar, scalars + i * U256_BYTES);
            const unsigned length = msm_bit_length(&scalar);
            CHECK(length <= MSM_SCALAR_BITS);
            lengths[length]++;
            longest = length > longest ? length : longest;
        }
        /* a digit looks at the bit below its window, too */
        block_bits[first / MSM_BLOCK] = (uint8_t)(longest == 0 ? 0 : longest + 1);
    }
}

/* How many full-length scalars these are worth: a witness is often mostly zeros, ones and short values. */
static size_t msm_worth(const size_t lengths[MSM_SCALAR_BITS + 1])
{
    size_t bits = 0;
    for (unsigned length = 1; length <= MSM_SCALAR_BITS; length++) {
        bits += lengths[length] * length;
    }
    return bits / MSM_SCALAR_BITS + 1;
}

/* Makes the tasks, windows in order. A window's work is the number of scalars that reach it; one that has
 * more than a fair share of all work, as the lowest has for a witness of bits, is cut in more slices. */
static void msm_plan(struct msm_call *call, const size_t lengths[MSM_SCALAR_BITS + 1], size_t slices,
                     unsigned workers)
{
    size_t work[MSM_WINDOWS_MAX], total = 0, reaching = 0;
    unsigned length = MSM_SCALAR_BITS;
    for (unsigned window = call->windows; window-- > 0;) {
        for (; length > 0 && length >= window * call->window_bits; length--) {
            reaching += lengths[length];
        }
        work[window] = reaching;
        total += reaching;
    }
    const size_t share = total / (MSM_TASKS_A_WORKER * (size_t)workers) + MSM_SLICE_POINTS_MIN;
    for (unsigned window = 0; window < call->windows; window++) {
        const size_t more = workers == 1 ? 1 : work[window] / share + 1;
        const uint32_t count = (uint32_t)(more > slices ? more : slices);
        for (uint32_t slice = 0; slice < count; slice++) {
            call->tasks[call->tasks_count++] = (struct msm_task){window, 1, slice, count};
        }
    }
}

/* Tasks of a sum with a table: a range of windows each. */
static unsigned msm_table_tasks(const struct msm_table *table, unsigned workers)
{
    return workers < table->windows ? workers : table->windows;
}

static size_t msm_table_windows_each(const struct msm_table *table, unsigned workers)
{
    const unsigned tasks = msm_table_tasks(table, workers);
    CHECK(tasks > 0);
    return (table->windows + tasks - 1) / tasks;
}

static size_t msm_table_scratch_size(const struct msm_group *group, const struct msm_table *table, size_t n,
                                     unsigned workers)
{
    const size_t plain = msm_scratch_size(group, n, workers);
    if (table->windows == 0) {
        return plain;
    }
    const size_t tasks = msm_table_tasks(table, workers);
    const size_t own = msm_round(n / MSM_BLOCK + 1) + msm_round(tasks * sizeof(struct msm_task)) +
                       msm_round(tasks * group->xyzz_bytes) +
                       workers * msm_worker_bytes(group, n * msm_table_windows_each(table, workers),
                                                  (size_t)1 << (table->window_bits - 1));
    return own > plain ? own : plain;
}

/* Whether the table needs fewer additions than the points alone. Sparse buckets cost more to sum. */
static bool msm_table_pays(const struct msm_table *table, const size_t lengths[MSM_SCALAR_BITS + 1])
{
    const size_t worth = msm_worth(lengths);
    const unsigned bits = msm_window_bits(worth);
    double with = 2 * msm_buckets_cost(table->window_bits),
           without = msm_windows(bits) * msm_buckets_cost(bits);
    for (unsigned length = 1; length <= MSM_SCALAR_BITS; length++) {
        const unsigned digits_with = length / table->window_bits + 1, digits_without = length / bits + 1;
        with += (double)lengths[length] * digits_with;
        without += (double)lengths[length] * digits_without;
    }
    return with < without;
}

static void msm_plan_table(struct msm_call *call, const struct msm_table *table, unsigned workers)
{
    const unsigned tasks = msm_table_tasks(table, workers);
    call->table = true;
    call->points = table->points;
    call->window_bits = table->window_bits;
    call->windows = table->windows;
    for (unsigned task = 0; task < tasks; task++) {
        const unsigned begin = table->windows * task / tasks, end = table->windows * (task + 1) / tasks;
        call->tasks[call->tasks_count++] = (struct msm_task){begin, end - begin, 0, 1};
    }
    call->slice_points = call->n * msm_table_windows_each(table, workers);
}

/* Runs the kernels; afterwards call->sums holds a point for each task. table: NULL or one without windows if
 * there is none. */
static void msm_run(struct msm_call *call, const struct msm_group *group, const struct msm_table *table,
                    const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par, void *scratch)
{
    size_t lengths[MSM_SCALAR_BITS + 1];
    const unsigned bits_max = msm_window_bits(n);
    const size_t slices = msm_slices(n, msm_windows(bits_max), par->workers);
    unsigned char *next = scratch;
    CHECK(n < UINT32_C(1) << 31);
    memset(call, 0, sizeof *call);
    call->points = points;
    call->scalars = scalars;
    call->n = n;
    call->block_bits = next;
    msm_measure(lengths, next, scalars, n);
    const bool with_table = table != NULL && table->windows != 0 && msm_table_pays(table, lengths);
    const size_t tasks_max =
        with_table ? msm_table_tasks(table, par->workers) : msm_tasks_max(slices, par->workers);
    next += msm_round(n / MSM_BLOCK + 1);
    call->tasks = (struct msm_task *)next;
    next += msm_round(tasks_max * sizeof *call->tasks);
    call->sums = next;
    next += msm_round(tasks_max * group->xyzz_bytes);
    call->workers = next;
    if (with_table) {
        CHECK(n * table->windows < UINT32_C(1) << 31);
        msm_plan_table(call, table, par->workers);
    } else {
        call->window_bits = msm_window_bits(msm_worth(lengths));
        call->window_bits = call->window_bits < bits_max ? call->window_bits : bits_max;
        call->windows = msm_windows(call->window_bits);
        msm_plan(call, lengths, slices, par->workers);
        call->slice_points = msm_slice_points(n, slices);
    }
    CHECK(call->tasks_count <= tasks_max);
    call->worker_bytes = msm_worker_bytes(group, call->slice_points, (size_t)1 << (call->window_bits - 1));
    par_run(par, call->tasks_count, group->tasks[cpu_level()], call);
}

struct msm_table msm_table_shape(size_t n)
{
    const unsigned bits = msm_best_bits(n, true);
    const unsigned windows = msm_windows(bits);
    /* a table whose points can't be numbered is none */
    return n == 0 || n >= (UINT32_C(1) << 31) / windows ? (struct msm_table){0}
                                                        : (struct msm_table){NULL, bits, windows};
}

static void msm_table_init(struct msm_table *table, const struct msm_group *group, const uint8_t *points,
                           size_t n, void *memory, struct par *par, void *scratch)
{
    *table = msm_table_shape(n);
    CHECK(((uintptr_t)scratch & 63) == 0);
    if (table->windows == 0) {
        return;
    }
    struct msm_building building = {.points = memory,
                                    .n = n,
                                    .window_bits = table->window_bits,
                                    .windows = table->windows,
                                    .workers = scratch,
                                    .worker_bytes = msm_worker_bytes(group, 1, 1)};
    memcpy(memory, points, n * group->affine_bytes);
    par_run(par, (n + MSM_CHUNK / 2 - 1) / (MSM_CHUNK / 2), group->builds[cpu_level()], &building);
    table->points = memory;
}

/* The two groups' last steps: windows are put together from the highest down, by window_bits doublings each.
 */
#define MSM_COMBINE(group, r, call)                                                    \
    do {                                                                               \
        const group##_xyzz *sums = (call)->sums;                                       \
        unsigned window = (call)->table ? 0 : (call)->windows - 1;                     \
        group##_xyzz_set_infinity(r);                                                  \
        for (size_t task = (call)->tasks_count; task-- > 0;) {                         \
            for (; !(call)->table && window != (call)->tasks[task].window; window--) { \
                for (unsigned bit = 0; bit < (call)->window_bits; bit++) {             \
                    group##_xyzz_dbl(r, r);                                            \
                }                                                                      \
            }                                                                          \
            group##_xyzz_add(r, r, &sums[task]);                                       \
        }                                                                              \
    } while (0)

size_t msm_g1_scratch_size(size_t n, unsigned workers)
{
    return msm_scratch_size(&msm_group_g1, n, workers);
}

size_t msm_g1_table_scratch_size(const struct msm_table *table, size_t n, unsigned workers)
{
    return msm_table_scratch_size(&msm_group_g1, table, n, workers);
}

void msm_g1_table_init(struct msm_table *table, const uint8_t *points, size_t n, void *memory,
                       struct par *par, void *scratch)
{
    msm_table_init(table, &msm_group_g1, points, n, memory, par, scratch);
}

void msm_g1_table(g1_xyzz *r, const struct msm_table *table, const uint8_t *points, const uint8_t *scalars,
                  size_t n, struct par *par, void *scratch)
{
    struct msm_call call;
    msm_run(&call, &msm_group_g1, table, points, scalars, n, par, scratch);
    MSM_COMBINE(g1, r, &call);
}

void msm_g1(g1_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch)
{
    msm_g1_table(r, NULL, points, scalars, n, par, scratch);
}

size_t msm_g2_scratch_size(size_t n, unsigned workers)
{
    return msm_scratch_size(&msm_group_g2, n, workers);
}

size_t msm_g2_table_scratch_size(const struct msm_table *table, size_t n, unsigned workers)
{
    return msm_table_scratch_size(&msm_group_g2, table, n, workers);
}

void msm_g2_table_init(struct msm_table *table, const uint8_t *points, size_t n, void *memory,
                       struct par *par, void *scratch)
{
    msm_table_init(table, &msm_group_g2, points, n, memory, par, scratch);
}

void msm_g2_table(g2_xyzz *r, const struct msm_table *table, const uint8_t *points, const uint8_t *scalars,
                  size_t n, struct par *par, void *scratch)
{
    struct msm_call call;
    msm_run(&call, &msm_group_g2, table, points, scalars, n, par, scratch);
    MSM_COMBINE(g2, r, &call);
}

void msm_g2(g2_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch)
{
    msm_g2_table(r, NULL, points, scalars, n, par, scratch);
}
