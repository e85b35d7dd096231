#include "cuda/gpu_msm_layout.h"

#include "conf/check.h"

/* Of points sorted and summed at once, over all sets: enough to fill a large GPU several times, and 16 bytes
 * of scratch each. */
#define GPU_MSM_ENTRIES_AT_ONCE ((size_t)1 << 25)
#define GPU_MSM_THREADS_WANTED  ((size_t)1 << 18)

static size_t gpu_msm_ceil(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

static unsigned gpu_msm_windows(unsigned window_bits)
{
    return (GPU_MSM_SCALAR_BITS + window_bits) / window_bits; /* one bit more than a scalar: the last carry */
}

static unsigned gpu_msm_sets(unsigned window_bits, unsigned levels)
{
    return (unsigned)gpu_msm_ceil(gpu_msm_windows(window_bits), levels);
}

/* Multiplications in the field, roughly: 10 to add a point, 28 and some for the two additions a bucket, and
 * the sort, which takes as long as about one of them a pass. */
static double gpu_msm_cost(size_t n, unsigned levels, unsigned window_bits)
{
    const double buckets = (double)((size_t)1 << (window_bits - 1));
    const double passes = (double)gpu_msm_ceil(window_bits - 1, GPU_MSM_PASS_BITS_MAX);
    return gpu_msm_windows(window_bits) * (double)n * (10 + passes) +
           gpu_msm_sets(window_bits, levels) * buckets * 32;
}

void gpu_msm_plan_init(struct gpu_msm_plan *plan, size_t n, unsigned levels)
{
    CHECK(levels >= 1 && n < ((size_t)1 << 31) / levels);
    unsigned best = GPU_MSM_WINDOW_BITS_MIN;
    for (unsigned c = GPU_MSM_WINDOW_BITS_MIN + 1; c <= GPU_MSM_WINDOW_BITS_MAX; c++) {
        if (gpu_msm_cost(n, levels, c) < gpu_msm_cost(n, levels, best)) {
            best = c;
        }
    }
    plan->n = n;
    plan->window_bits = best;
    plan->windows = gpu_msm_windows(best);
    plan->sets = gpu_msm_sets(best, levels);
    plan->levels = (unsigned)gpu_msm_ceil(plan->windows, plan->sets);
    const size_t entries = n * plan->levels;
    size_t at_once = entries == 0 ? plan->sets : GPU_MSM_ENTRIES_AT_ONCE / entries;
    at_once = at_once < 1 ? 1 : at_once;
    plan->sets_at_once = at_once < plan->sets ? (unsigned)at_once : plan->sets;
    const size_t segment = entries * plan->sets_at_once / GPU_MSM_THREADS_WANTED;
    plan->segment = segment < GPU_MSM_SEGMENT_MIN   ? GPU_MSM_SEGMENT_MIN
                    : segment > GPU_MSM_SEGMENT_MAX ? GPU_MSM_SEGMENT_MAX
                                                    : (unsigned)segment;
}

/* Reserves room for count items in each of the sets computed at once. */
static size_t gpu_msm_carve(struct gpu_msm_layout *layout, const struct gpu_msm_plan *plan, size_t count,
                            size_t bytes)
{
    const size_t offset = layout->bytes;
    const size_t size = plan->sets_at_once * count * bytes;
    layout->bytes += (size + GPU_MSM_ALIGNMENT - 1) & ~(size_t)(GPU_MSM_ALIGNMENT - 1);
    return offset;
}

void gpu_msm_layout_init(struct gpu_msm_layout *layout, const struct gpu_msm_plan *plan, size_t xyzz_bytes)
{
    CHECK(plan->window_bits >= GPU_MSM_WINDOW_BITS_MIN && plan->window_bits <= GPU_MSM_WINDOW_BITS_MAX);
    CHECK(plan->windows * plan->window_bits > GPU_MSM_SCALAR_BITS && plan->sets <= GPU_MSM_SETS_MAX);
    CHECK(plan->levels * plan->sets >= plan->windows && plan->sets_at_once >= 1 && plan->segment >= 1);
    const unsigned key_bits = plan->window_bits - 1;
    layout->entries = plan->n * plan->levels;
    layout->tiles = gpu_msm_ceil(layout->entries, GPU_MSM_SORT_TILE);
    layout->buckets = (size_t)1 << key_bits;
    layout->passes = (unsigned)gpu_msm_ceil(key_bits, GPU_MSM_PASS_BITS_MAX);
    layout->pass_bits = (unsigned)gpu_msm_ceil(key_bits, layout->passes);
    layout->threads = gpu_msm_ceil(layout->entries, plan->segment);
    layout->partials[0] = 2 * layout->threads;
    layout->partials[1] = 2 * gpu_msm_ceil(layout->threads, GPU_MSM_MERGE);
    layout->nodes[0] = gpu_msm_ceil(layout->buckets, GPU_MSM_REDUCE);
    layout->nodes[1] = gpu_msm_ceil(layout->nodes[0], GPU_MSM_REDUCE);
    layout->bytes = 0;
    for (int i = 0; i < 2; i++) {
        layout->keys[i] = gpu_msm_carve(layout, plan, layout->entries, sizeof(uint32_t));
        layout->values[i] = gpu_msm_carve(layout, plan, layout->entries, sizeof(uint32_t));
        layout->partial_keys[i] = gpu_msm_carve(layout, plan, layout->partials[i], sizeof(uint32_t));
        layout->partial_sums[i] = gpu_msm_carve(layout, plan, layout->partials[i], xyzz_bytes);
        layout->node_weighed[i] = gpu_msm_carve(layout, plan, layout->nodes[i], xyzz_bytes);
        layout->node_sums[i] = gpu_msm_carve(layout, plan, layout->nodes[i], xyzz_bytes);
    }
    layout->counts = gpu_msm_carve(layout, plan, layout->tiles << layout->pass_bits, sizeof(uint32_t));
    layout->totals = gpu_msm_carve(layout, plan, (size_t)1 << layout->pass_bits, sizeof(uint32_t));
    layout->lengths = gpu_msm_carve(layout, plan, 1, sizeof(uint32_t));
    layout->bucket_sums = gpu_msm_carve(layout, plan, layout->buckets, xyzz_bytes);
}

size_t gpu_msm_g1_result_bytes(const struct gpu_msm_plan *plan)
{
    return plan->sets * sizeof(g1_xyzz);
}

size_t gpu_msm_g2_result_bytes(const struct gpu_msm_plan *plan)
{
    return plan->sets * sizeof(g2_xyzz);
}

size_t gpu_msm_g1_scratch_bytes(const struct gpu_msm_plan *plan)
{
    struct gpu_msm_layout layout;
    gpu_msm_layout_init(&layout, plan, sizeof(g1_xyzz));
    return layout.bytes;
}

size_t gpu_msm_g2_scratch_bytes(const struct gpu_msm_plan *plan)
{
    struct gpu_msm_layout layout;
    gpu_msm_layout_init(&layout, plan, sizeof(g2_xyzz));
    return layout.bytes;
}

size_t gpu_msm_g1_table_bytes(const struct gpu_msm_plan *plan)
{
    return plan->n * plan->levels * sizeof(g1_affine);
}

size_t gpu_msm_g2_table_bytes(const struct gpu_msm_plan *plan)
{
    return plan->n * plan->levels * sizeof(g2_affine);
}

void gpu_msm_g1_read(g1_xyzz *r, const struct gpu_msm_plan *plan, const void *result)
{
    const g1_xyzz *sums = result;
    CHECK(plan->sets >= 1 && plan->sets <= GPU_MSM_SETS_MAX);
    *r = sums[plan->sets - 1];
    for (unsigned set = plan->sets - 1; set-- > 0;) {
        for (unsigned bit = 0; bit < plan->window_bits; bit++) {
            g1_xyzz_dbl(r, r);
        }
        g1_xyzz_add(r, r, &sums[set]);
    }
}

void gpu_msm_g2_read(g2_xyzz *r, const struct gpu_msm_plan *plan, const void *result)
{
    const g2_xyzz *sums = result;
    CHECK(plan->sets >= 1 && plan->sets <= GPU_MSM_SETS_MAX);
    *r = sums[plan->sets - 1];
    for (unsigned set = plan->sets - 1; set-- > 0;) {
        for (unsigned bit = 0; bit < plan->window_bits; bit++) {
            g2_xyzz_dbl(r, r);
        }
        g2_xyzz_add(r, r, &sums[set]);
    }
}
