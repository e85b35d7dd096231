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
};

static const struct msm_group msm_group_g1 = {
    .affine_bytes = sizeof(g1_affine),
    .xyzz_bytes = sizeof(g1_xyzz),
    .element_bytes = sizeof(fq),
    .tasks = {msm_g1_task_portable, msm_g1_task_adx, msm_g1_task_ifma},
};

static const struct msm_group msm_group_g2 = {
    .affine_bytes = sizeof(g2_affine),
    .xyzz_bytes = sizeof(g2_xyzz),
    .element_bytes = sizeof(fq2),
    .tasks = {msm_g2_task_portable, msm_g2_task_adx, msm_g2_task_ifma},
};

static unsigned msm_windows(unsigned window_bits)
{
    return (MSM_SCALAR_BITS + window_bits) / window_bits; /* one bit more than a scalar: the last carry */
}

/* The width that costs least for n scalars of full length, in additions in affine coordinates: one a point,
 * two a bucket, and long ones for the row and column sums. */
static unsigned msm_window_bits(size_t n)
{
    unsigned best = 2;
    double best_cost = 0;
    for (unsigned c = 2; c <= MSM_WINDOW_BITS_MAX; c++) {
        const double buckets = (double)(1u << (c - 1));
        const double sums =
            c - 1 < MSM_MATRIX_LOG2_MIN ? 8 * buckets : 2 * buckets + 16 * (double)(1u << c / 2);
        const double cost = msm_windows(c) * ((double)n + sums);
        if (c == 2 || cost < best_cost) {
            best = c;
            best_cost = cost;
        }
    }
    return best;
}

/* Slices so that even many workers find some three tasks each. */
static size_t msm_slices(size_t n, unsigned windows, unsigned workers)
{
    size_t slices = (3 * (size_t)workers + windows - 1) / windows;
    if (workers <= windows / 4) {
        slices = 1;
    }
    size_t most = n / 4096 + 1;
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
    const size_t points = (n + slices - 1) / slices;
    return (points + MSM_BLOCK - 1) / MSM_BLOCK * MSM_BLOCK;
}

static size_t msm_scratch_size(const struct msm_group *group, size_t n, unsigned workers)
{
    const unsigned c = msm_window_bits(n);
    const size_t slices = msm_slices(n, msm_windows(c), workers);
    /* Fewer long scalars make narrower, so more, windows; more than this many sums are never needed. */
    const size_t sums = (size_t)MSM_WINDOWS_MAX * (slices + 1);
    return msm_round(n / MSM_BLOCK + 1) + msm_round(sums * group->xyzz_bytes) +
           workers * msm_worker_bytes(group, msm_slice_points(n, slices) + MSM_BLOCK, (size_t)1 << (c - 1));
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

/* Fills block_bits and returns how many full-length scalars the call is worth, which sets the window width: a
 * witness is often mostly zeros, ones and short values. */
static size_t msm_measure(uint8_t *block_bits, const uint8_t *scalars, size_t n)
{
    size_t bits = 0;
    for (size_t first = 0; first < n; first += MSM_BLOCK) {
        u256 any = {{0}};
        for (size_t i = first; i < n && i < first + MSM_BLOCK; i++) {
            u256 scalar;
            u256_load_le(&scalar, scalars + i * U256_BYTES);
            CHECK(scalar.w[3] >> (MSM_SCALAR_BITS - 192) == 0);
            for (int word = 0; word < 4; word++) {
                any.w[word] |= scalar.w[word];
            }
            bits += msm_bit_length(&scalar);
        }
        const unsigned length = msm_bit_length(&any);
        /* A window is empty from two bits above the longest scalar: one bit above, the offset may still
         * carry. No window begins at 255, so that stands for 256, too. */
        block_bits[first / MSM_BLOCK] = (uint8_t)(length == 0 ? 0 : length + 2 < 255 ? length + 2 : 255);
    }
    return bits / MSM_SCALAR_BITS + 1;
}

static void msm_set_offset(struct msm_call *call)
{
    memset(&call->offset, 0, sizeof call->offset);
    for (unsigned window = 0; window + 1 < call->windows; window++) {
        const unsigned bit = window * call->window_bits + call->window_bits - 1;
        call->offset.w[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
}

/* Runs the kernels; afterwards call->sums holds windows x slices points. */
static void msm_run(struct msm_call *call, const struct msm_group *group, const uint8_t *points,
                    const uint8_t *scalars, size_t n, struct par *par, void *scratch)
{
    CHECK(n < UINT32_C(1) << 31);
    unsigned char *next = scratch;
    uint8_t *block_bits = next;
    next += msm_round(n / MSM_BLOCK + 1);
    const size_t worth = msm_measure(block_bits, scalars, n);
    const unsigned most_bits = msm_window_bits(n);
    memset(call, 0, sizeof *call);
    call->points = points;
    call->scalars = scalars;
    call->n = n;
    call->window_bits = msm_window_bits(worth < n ? worth : n);
    CHECK(call->window_bits <= most_bits);
    call->windows = msm_windows(call->window_bits);
    call->slices = msm_slices(n, msm_windows(most_bits), par->workers);
    call->slice_points = msm_slice_points(n, call->slices);
    call->slices =
        n == 0 ? 0 : (n + call->slice_points - 1) / call->slice_points; /* rounding may leave none */
    call->block_bits = block_bits;
    msm_set_offset(call);
    call->sums = next;
    next += msm_round((size_t)MSM_WINDOWS_MAX * (call->slices + 1) * group->xyzz_bytes);
    call->workers = next;
    call->worker_bytes = msm_worker_bytes(group, call->slice_points, (size_t)1 << (call->window_bits - 1));
    par_run(par, call->windows * call->slices, group->tasks[cpu_level()], call);
}

size_t msm_g1_scratch_size(size_t n, unsigned workers)
{
    return msm_scratch_size(&msm_group_g1, n, workers);
}

size_t msm_g2_scratch_size(size_t n, unsigned workers)
{
    return msm_scratch_size(&msm_group_g2, n, workers);
}

/* The two groups' last steps: windows are put together from the highest down, by window_bits doublings each.
 */
#define MSM_COMBINE(group, r, call)                                             \
    do {                                                                        \
        const group##_xyzz *sums = (call)->sums;                                \
        group##_xyzz_set_infinity(r);                                           \
        for (size_t window = (call)->windows; window-- > 0;) {                  \
            for (unsigned bit = 0; bit < (call)->window_bits; bit++) {          \
                group##_xyzz_dbl(r, r);                                         \
            }                                                                   \
            for (size_t slice = 0; slice < (call)->slices; slice++) {           \
                group##_xyzz_add(r, r, &sums[window * (call)->slices + slice]); \
            }                                                                   \
        }                                                                       \
    } while (0)

void msm_g1(g1_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch)
{
    struct msm_call call;
    msm_run(&call, &msm_group_g1, points, scalars, n, par, scratch);
    MSM_COMBINE(g1, r, &call);
}

void msm_g2(g2_xyzz *r, const uint8_t *points, const uint8_t *scalars, size_t n, struct par *par,
            void *scratch)
{
    struct msm_call call;
    msm_run(&call, &msm_group_g2, points, scalars, n, par, scratch);
    MSM_COMBINE(g2, r, &call);
}
