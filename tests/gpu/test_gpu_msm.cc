/* gpu_msm against groth16's msm: patterns of scalars and of points, sizes around the edges, plans of every
 * shape, with a guard behind the scratch, the table and the result. */
#include "gpu_group.h"

#include <cstdlib>
#include <memory>

extern "C" {
#include "groth16/par.h"
}

enum {
    SCALARS_RANDOM,
    SCALARS_ZERO,
    SCALARS_ONE,
    SCALARS_MINUS_ONE,
    SCALARS_EQUAL,
    SCALARS_BITS,   /* a hash circuit's witness: almost all 0 or 1 */
    SCALARS_HALVES, /* digits of exactly half a window, where the sign turns */
    SCALARS_BUCKET, /* one bucket of each window gets nearly everything */
    SCALARS
};

enum { POINTS_RANDOM, POINTS_EQUAL, POINTS_OPPOSITE, POINTS_INFINITE, POINTS_SOME_INFINITE, POINTS };

enum { ALIGNMENT = 256, GUARD = 0xa5, MULTIPLES = 100 };

static u256 make_scalar(int pattern, size_t index, uint64_t *seed)
{
    const uint64_t random = gpu_test_random(seed);
    u256 r = {{0, 0, 0, 0}};
    switch (pattern) {
    case SCALARS_ZERO:
        return r;
    case SCALARS_ONE:
        return {{1, 0, 0, 0}};
    case SCALARS_MINUS_ONE:
        r = fr_modulus;
        r.w[0]--;
        return r;
    case SCALARS_EQUAL:
        return {{0x123456789abcdef0, 0x0fedcba987654321, 0x5555aaaa5555aaaa, 0x2222222222222222}};
    case SCALARS_BITS:
        return random % 16 == 0 ? gpu_test_random_below(seed, &fr_modulus) : u256{{random >> 8 & 1, 0, 0, 0}};
    case SCALARS_HALVES:
        r.w[random % 253 / 64] = UINT64_C(1) << random % 253 % 64;
        return r;
    case SCALARS_BUCKET:
        return index % 50 == 49 ? gpu_test_random_below(seed, &fr_modulus) : u256{{77, 77, 77, 0}};
    default:
        return gpu_test_random_below(seed, &fr_modulus);
    }
}

static int make_multiple(int pattern, size_t index, uint64_t *seed)
{
    const int random = (int)(gpu_test_random(seed) % (2 * MULTIPLES + 1)) - MULTIPLES;
    switch (pattern) {
    case POINTS_EQUAL:
        return 5;
    case POINTS_OPPOSITE:
        return index % 2 == 0 ? 7 : -7;
    case POINTS_INFINITE:
        return 0;
    case POINTS_SOME_INFINITE:
        return index % 3 == 0 ? 0 : random;
    default:
        return random == 0 ? 1 : random;
    }
}

/* Memory with a guard behind it. */
struct guarded {
    unsigned char *bytes;
    size_t size;

    explicit guarded(size_t size_) : size(size_)
    {
        const size_t all = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        bytes = static_cast<unsigned char *>(aligned_alloc(ALIGNMENT, all));
        assert_non_null(bytes);
        memset(bytes, GUARD, all);
        size = size_;
    }
    guarded(const guarded &) = delete;
    guarded &operator=(const guarded &) = delete;
    ~guarded()
    {
        free(bytes);
    }
    void check() const
    {
        const size_t all = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        for (size_t i = size; i < all; i++) {
            assert_int_equal(bytes[i], GUARD);
        }
    }
};

template <class G> struct instance {
    std::vector<typename G::affine> points;
    std::vector<u256> scalars;
};

/* All multiples that the points are taken from, made once. */
template <class G> static const typename G::affine &multiple(int k)
{
    static std::vector<typename G::affine> made;
    for (int i = -MULTIPLES; made.size() <= 2 * MULTIPLES; i++) {
        made.push_back(gpu_group_multiple<G>(i));
    }
    return made[(size_t)(k + MULTIPLES)];
}

template <class G> static instance<G> make_instance(size_t n, int scalars, int points)
{
    instance<G> made;
    uint64_t seed = n * 1000 + (uint64_t)scalars * 10 + (uint64_t)points;
    for (size_t i = 0; i < n; i++) {
        made.points.push_back(multiple<G>(make_multiple(points, i, &seed)));
        made.scalars.push_back(make_scalar(scalars, i, &seed));
    }
    return made;
}

template <class G> static typename G::affine expected(const instance<G> &given)
{
    const size_t n = given.points.size();
    guarded scratch(G::msm_scratch_size(n, 1));
    typename G::xyzz sum;
    typename G::affine r;
    G::msm(&sum, reinterpret_cast<const uint8_t *>(given.points.data()),
           reinterpret_cast<const uint8_t *>(given.scalars.data()), n, &par_serial, scratch.bytes);
    G::to_affine(&r, &sum);
    return r;
}

template <class G>
static typename G::affine computed(const instance<G> &given, const struct gpu_msm_plan *plan)
{
    const size_t n = given.points.size();
    guarded table(G::gpu_msm_table_bytes(plan)), scratch(G::gpu_msm_scratch_bytes(plan)),
        result(G::gpu_msm_result_bytes(plan));
    if (n != 0) {
        memcpy(table.bytes, given.points.data(), n * sizeof given.points[0]);
    }
    assert_int_equal(G::gpu_msm_table(table.bytes, plan, nullptr), 0);
    assert_int_equal(
        G::gpu_msm(result.bytes, plan, table.bytes, given.scalars.data(), scratch.bytes, nullptr), 0);
    gpu_test_wait();
    table.check();
    scratch.check();
    result.check();
    typename G::xyzz sum;
    typename G::affine r;
    G::gpu_msm_read(&sum, plan, result.bytes);
    G::to_affine(&r, &sum);
    return r;
}

template <class G> static void check(const instance<G> &given, const struct gpu_msm_plan *plan)
{
    const typename G::affine left = computed<G>(given, plan), right = expected<G>(given);
    assert_memory_equal(&left, &right, sizeof left);
}

template <class G> static void patterns_match(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 157};
    for (size_t n : sizes) {
        for (int scalars = 0; scalars < SCALARS; scalars++) {
            for (int points = 0; points < POINTS; points++) {
                struct gpu_msm_plan plan;
                gpu_msm_plan_init(&plan, n, 1);
                check<G>(make_instance<G>(n, scalars, points), &plan);
            }
        }
    }
}

/* More than one tile of the sort and many levels of partial sums. */
template <class G> static void large_sums_match(void **state)
{
    (void)state;
    for (int scalars = 0; scalars < SCALARS; scalars++) {
        struct gpu_msm_plan plan;
        const size_t n = 4096 + 703 * (size_t)(scalars % 2);
        gpu_msm_plan_init(&plan, n, 1);
        check<G>(make_instance<G>(n, scalars, scalars % POINTS), &plan);
    }
}

static void with_window(struct gpu_msm_plan *plan, size_t n, unsigned levels, unsigned window_bits)
{
    plan->n = n;
    plan->window_bits = window_bits;
    plan->windows = (GPU_MSM_SCALAR_BITS + window_bits) / window_bits;
    plan->sets = (plan->windows + levels - 1) / levels;
    plan->levels = (plan->windows + plan->sets - 1) / plan->sets;
    plan->sets_at_once = plan->sets;
    plan->segment = 8;
}

/* Windows of every width that changes the sort's passes, tables, and sets that don't all fit at once. */
template <class G> static void plans_match(void **state)
{
    (void)state;
    static const struct {
        unsigned levels, window_bits, sets_at_once, segment;
    } shapes[] = {{1, 2, 128, 8},  {1, 9, 3, 1},    {2, 10, 13, 3}, {3, 5, 4, 128},
                  {16, 16, 1, 16}, {15, 18, 1, 64}, {128, 2, 1, 8}};
    for (const auto &shape : shapes) {
        struct gpu_msm_plan plan;
        with_window(&plan, 300, shape.levels, shape.window_bits);
        plan.segment = shape.segment;
        plan.sets_at_once = shape.sets_at_once < plan.sets ? shape.sets_at_once : plan.sets;
        check<G>(make_instance<G>(plan.n, SCALARS_RANDOM, POINTS_SOME_INFINITE), &plan);
        if (shape.window_bits > 2 &&
            shape.window_bits < 16) { /* the others take long: large tables, many buckets */
            check<G>(make_instance<G>(plan.n, SCALARS_MINUS_ONE, POINTS_RANDOM), &plan);
            check<G>(make_instance<G>(plan.n, SCALARS_BITS, POINTS_OPPOSITE), &plan);
        }
    }
}

template <class G> static void tables_match(void **state)
{
    (void)state;
    for (unsigned levels : {2u, 7u, 1000u}) {
        struct gpu_msm_plan plan;
        gpu_msm_plan_init(&plan, 100, levels);
        assert_true(plan.levels <= levels && plan.levels * plan.sets >= plan.windows);
        check<G>(make_instance<G>(100, SCALARS_RANDOM, POINTS_RANDOM), &plan);
        check<G>(make_instance<G>(100, SCALARS_MINUS_ONE, POINTS_EQUAL), &plan);
    }
}

template <class G> static void empty_sum_is_infinity(void **state)
{
    (void)state;
    for (unsigned levels : {1u, 4u}) {
        struct gpu_msm_plan plan;
        gpu_msm_plan_init(&plan, 0, levels);
        const typename G::affine r = computed<G>(instance<G>(), &plan), infinity = {};
        assert_memory_equal(&r, &infinity, sizeof r);
    }
}

/* Any plan has a result that fits the room a caller may reserve for it, and scratch that grows with it. */
static void plans_are_sound(void **state)
{
    (void)state;
    for (unsigned log2 = 0; log2 < 27; log2++) {
        for (unsigned levels : {1u, 2u, 8u, 16u}) {
            struct gpu_msm_plan plan;
            gpu_msm_plan_init(&plan, ((size_t)1 << log2) + log2, levels);
            assert_true(plan.windows * plan.window_bits > GPU_MSM_SCALAR_BITS);
            assert_true((plan.windows - 1) * plan.window_bits <= GPU_MSM_SCALAR_BITS);
            assert_true(gpu_msm_g2_result_bytes(&plan) <= GPU_MSM_RESULT_BYTES_MAX);
            assert_true(gpu_msm_g1_scratch_bytes(&plan) < gpu_msm_g2_scratch_bytes(&plan));
            assert_true(gpu_msm_g1_scratch_bytes(&plan) >= plan.n * plan.levels * plan.sets_at_once * 16);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_sum_is_infinity<gpu_group_g1>),
        cmocka_unit_test(empty_sum_is_infinity<gpu_group_g2>),
        cmocka_unit_test(patterns_match<gpu_group_g1>),
        cmocka_unit_test(patterns_match<gpu_group_g2>),
        cmocka_unit_test(plans_match<gpu_group_g1>),
        cmocka_unit_test(plans_match<gpu_group_g2>),
        cmocka_unit_test(tables_match<gpu_group_g1>),
        cmocka_unit_test(tables_match<gpu_group_g2>),
        cmocka_unit_test(large_sums_match<gpu_group_g1>),
        cmocka_unit_test(large_sums_match<gpu_group_g2>),
        cmocka_unit_test(plans_are_sound),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
