#include "groth16/ntt.h"

#include "conf/check.h"
#include "groth16/cpu.h"
#include "groth16/ntt_level.h"

/* A far tile has at most 256 rows of 8 elements: 64 KiB (80 in the limbs of ntt_lanes.h), which the
 * second-level cache of any processor holds beside its twiddles. The near pass takes what is left: up to 2^13
 * elements in place (256 KiB), or eight blocks of 2^9 side by side in scratch (160 KiB). */
enum {
    FAR_STAGES_MAX = 8,
    FAR_COLUMNS = 8,
    NEAR_STAGES_MAX = 13,
    NEAR_STAGES_MAX_WIDE = 9,
    NEAR_ALONE_MAX = 9, /* small domains are one block */
    WIDE_BLOCKS = 8,
    WIDE_BYTES = 320,
    TASK_ELEMENTS = 2048
};

size_t ntt_table_size(unsigned log2)
{
    return 64 +
           2 * sizeof(fr) * ((size_t)1 << log2); /* n/2 + n/2 + n; a domain of one still has one twiddle */
}

size_t ntt_scratch_size(unsigned workers)
{
    size_t narrow = sizeof(fr) * FAR_COLUMNS << FAR_STAGES_MAX;
    size_t wide = (size_t)WIDE_BYTES << NEAR_STAGES_MAX_WIDE;
    return workers * (cpu_level() >= CPU_FMA ? wide : narrow);
}

/* A primitive 2^log2-th root of unity, a power of 5; for log2 beyond the two-adicity, what snarkjs shifts by
 * then. */
static fr root_of_unity(unsigned log2)
{
    fr root;
    u256 plain = {{log2 > NTT_LOG2_MAX ? 25 : 5, 0, 0, 0}};
    CHECK(fr_from_u256(&root, &plain));
    if (log2 > NTT_LOG2_MAX) {
        return root;
    }
    u256 odd; /* (r - 1) / 2^28 */
    for (int i = 0; i < 4; i++) {
        uint64_t above = i < 3 ? fr_modulus.w[i + 1] : 0;
        odd.w[i] = fr_modulus.w[i] >> NTT_LOG2_MAX | above << (64 - NTT_LOG2_MAX);
    }
    fr_pow(&root, &root, &odd);
    for (unsigned i = log2; i < NTT_LOG2_MAX; i++) {
        fr_sqr(&root, &root);
    }
    return root;
}

struct doubling {
    fr *table;
    size_t known;
    fr factor;
};

static void double_task(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    const struct doubling *doubling = argument;
    size_t begin = index * TASK_ELEMENTS;
    size_t left = doubling->known - begin;
    size_t end = begin + (left < TASK_ELEMENTS ? left : TASK_ELEMENTS);
    for (size_t i = begin; i < end; i++) {
        fr_mul(&doubling->table[doubling->known + i], &doubling->table[i], &doubling->factor);
    }
}

/* table[k] = first * base^bitreverse(k) for k < 2^bits, bits of k reversed among `bits`. */
static void fill_reversed(fr *table, unsigned bits, const fr *first, const fr *base, struct par *par)
{
    fr powers[NTT_LOG2_MAX + 1]; /* base^(2^i) */
    powers[0] = *base;
    for (unsigned i = 1; i < bits; i++) {
        fr_sqr(&powers[i], &powers[i - 1]);
    }
    table[0] = *first;
    for (unsigned bit = 0; bit < bits; bit++) {
        struct doubling doubling = {
            .table = table, .known = (size_t)1 << bit, .factor = powers[bits - 1 - bit]};
        par_run(par, (doubling.known + TASK_ELEMENTS - 1) / TASK_ELEMENTS, double_task, &doubling);
    }
}

void ntt_init(struct ntt *ntt, unsigned log2, void *memory, struct par *par)
{
    CHECK(log2 <= NTT_LOG2_MAX && ((uintptr_t)memory & 63) == 0);
    size_t n = (size_t)1 << log2;
    fr *shift = memory;
    fr *inverse = shift + n;
    fr *forward = inverse + (n + 1) / 2;
    unsigned half_bits = log2 > 0 ? log2 - 1 : 0;
    fr root = root_of_unity(log2), root_inverse, generator = root_of_unity(log2 + 1), count_inverse;
    fr_inv(&root_inverse, &root);
    u256 count = {{n, 0, 0, 0}};
    CHECK(fr_from_u256(&count_inverse, &count));
    fr_inv(&count_inverse, &count_inverse);
    bool wide = cpu_level() >= CPU_FMA && log2 > NEAR_ALONE_MAX;
    fr first = fr_one;
    for (int i = 0; i < 4 && wide; i++) {
        fr_dbl(&first, &first);
        fr_dbl(&count_inverse, &count_inverse);
    }
    fill_reversed(shift, log2, &count_inverse, &generator, par);
    fill_reversed(inverse, half_bits, &first, &root_inverse, par);
    fill_reversed(forward, half_bits, &first, &root, par);
    *ntt = (struct ntt){.log2 = log2, .wide = wide, .inverse = inverse, .forward = forward, .shift = shift};
}

/* How the log2 stages are divided: `far` of them, in `groups` passes of nearly equal size, and the near pass.
 */
struct plan {
    unsigned far, groups, near;
};

static struct plan plan_of(unsigned log2, bool wide)
{
    if (log2 <= NEAR_ALONE_MAX) {
        return (struct plan){.near = log2};
    }
    unsigned near = log2 / 2;
    if (log2 - near > FAR_STAGES_MAX) {
        near = log2 - FAR_STAGES_MAX;
    }
    const unsigned near_max = wide ? NEAR_STAGES_MAX_WIDE : NEAR_STAGES_MAX;
    if (near > near_max) {
        near = near_max;
    }
    unsigned far = log2 - near;
    return (struct plan){.far = far, .groups = (far + FAR_STAGES_MAX - 1) / FAR_STAGES_MAX, .near = near};
}

struct pass {
    const struct ntt *ntt;
    fr *values;
    uint8_t *scratch;
    ntt_far *far;
    ntt_near *near;
    size_t near_blocks; /* of one call to near */
    unsigned before;    /* stages of the inverse that lie before this pass */
    unsigned stages;
    bool forward;
    size_t per_task; /* tiles */
};

static void far_task(void *argument, size_t index, unsigned worker)
{
    const struct pass *pass = argument;
    size_t stride = (size_t)1 << (pass->ntt->log2 - pass->before - pass->stages);
    size_t columns = stride < FAR_COLUMNS ? stride : FAR_COLUMNS;
    size_t tiles_per_block = stride / columns;
    void *scratch = pass->scratch + worker * ntt_scratch_size(1);
    for (size_t i = index * pass->per_task; i < (index + 1) * pass->per_task; i++) {
        size_t block = i / tiles_per_block;
        struct ntt_tile tile = {
            .values = pass->values + block * (stride << pass->stages) + i % tiles_per_block * columns,
            .stride = stride,
            .columns = columns,
            .stages = pass->stages,
            .twiddles = pass->forward ? pass->ntt->forward : pass->ntt->inverse,
            .block = block,
            .forward = pass->forward,
        };
        pass->far(&tile, scratch);
    }
}

static void near_task(void *argument, size_t index, unsigned worker)
{
    const struct pass *pass = argument;
    void *scratch = pass->scratch + worker * ntt_scratch_size(1);
    for (size_t i = index * pass->per_task; i < (index + 1) * pass->per_task; i++) {
        size_t block = i * pass->near_blocks;
        pass->near(pass->ntt, pass->values + (block << pass->stages), pass->stages, block, scratch);
    }
}

/* Tiles are powers of two in number and size, so tasks divide them evenly. */
static void run_pass(struct pass *pass, size_t tile_elements, par_task *task, struct par *par)
{
    size_t tiles = ((size_t)1 << pass->ntt->log2) / tile_elements;
    pass->per_task = tile_elements < TASK_ELEMENTS ? TASK_ELEMENTS / tile_elements : 1;
    CHECK(tiles > 0);
    if (pass->per_task > tiles) {
        pass->per_task = tiles;
    }
    par_run(par, tiles / pass->per_task, task, pass);
}

static void run_far(struct pass *pass, const struct plan *plan, unsigned group, struct par *par)
{
    unsigned begin = plan->far * group / plan->groups;
    unsigned end = plan->far * (group + 1) / plan->groups;
    size_t stride = (size_t)1 << (pass->ntt->log2 - end);
    pass->before = begin;
    pass->stages = end - begin;
    CHECK(pass->stages <= FAR_STAGES_MAX);
    run_pass(pass, (stride < FAR_COLUMNS ? stride : FAR_COLUMNS) << pass->stages, far_task, par);
}

void ntt_to_coset(const struct ntt *ntt, fr *values, struct par *par, void *scratch)
{
    CHECK(((uintptr_t)scratch & 63) == 0);
    struct plan plan = plan_of(ntt->log2, ntt->wide);
    const bool adx = cpu_level() >= CPU_ADX;
    struct pass pass = {
        .ntt = ntt,
        .values = values,
        .scratch = scratch,
        .far = adx ? ntt_adx_far : ntt_portable_far,
        .near = adx ? ntt_adx_near : ntt_portable_near,
        .near_blocks = 1,
    };
#if defined(__x86_64__)
    if (ntt->wide) {
        const bool ifma = cpu_level() >= CPU_IFMA;
        pass.far = ifma ? ntt_ifma_far : ntt_fma_far;
        pass.near = ifma ? ntt_ifma_near : ntt_fma_near;
        pass.near_blocks = WIDE_BLOCKS;
    }
#endif
    for (unsigned group = 0; group < plan.groups; group++) {
        run_far(&pass, &plan, group, par);
    }
    pass.before = plan.far;
    pass.stages = plan.near;
    run_pass(&pass, pass.near_blocks << plan.near, near_task, par);
    pass.forward = true;
    for (unsigned group = plan.groups; group-- > 0;) {
        run_far(&pass, &plan, group, par);
    }
}
