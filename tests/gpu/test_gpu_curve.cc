/* gpu_curve.cuh against groth16's points: sums and doubles of points in every relation that an addition
 * treats apart, each operand scaled at random, with the result apart and in place of either operand. */
#include "gpu_group.h"

enum { ADD, ADD_AFFINE, DOUBLE, TO_AFFINE, OPERATIONS };

template <class F>
__global__ void compute(gpu_xyzz<F> *results, const gpu_xyzz<F> *a, const gpu_xyzz<F> *b,
                        const gpu_affine<F> *affine, size_t count, int operation, int in_place)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    gpu_xyzz<F> left = a[i], right = b[i], apart;
    gpu_xyzz<F> *r = in_place == 0 ? &apart : in_place == 1 || operation != ADD ? &left : &right;
    gpu_affine<F> point;
    switch (operation) {
    case ADD:
        gpu_xyzz_add(r, &left, &right);
        break;
    case ADD_AFFINE:
        gpu_xyzz_add_affine(r, &left, &affine[i]);
        break;
    case DOUBLE:
        gpu_xyzz_dbl(r, &left);
        break;
    default:
        gpu_xyzz_to_affine(&point, &left);
        gpu_xyzz_from_affine(r, &point);
        break;
    }
    results[i] = *r;
}

template <class G> struct operands {
    std::vector<typename G::xyzz> a, b;
    std::vector<typename G::affine> affine; /* the b */
};

/* Pairs of small multiples of the generator, from -4 to 4: infinite, equal, opposite and neither. */
template <class G> static operands<G> make_operands()
{
    operands<G> made;
    uint64_t seed = 7;
    for (int left = -4; left <= 4; left++) {
        for (int right = -4; right <= 4; right++) {
            for (int scaling = 0; scaling < 3; scaling++) {
                const typename G::affine p = gpu_group_multiple<G>(left), q = gpu_group_multiple<G>(right);
                typename G::xyzz a, b;
                G::from_affine(&a, &p);
                G::from_affine(&b, &q);
                if (scaling > 0) {
                    G::scale(&a, &seed);
                    G::scale(&b, &seed);
                }
                made.a.push_back(a);
                made.b.push_back(b);
                made.affine.push_back(q);
            }
        }
    }
    return made;
}

template <class G> static typename G::affine expected(const operands<G> &given, size_t i, int operation)
{
    typename G::xyzz sum = given.a[i];
    if (operation == ADD) {
        G::add(&sum, &sum, &given.b[i]);
    } else if (operation == ADD_AFFINE) {
        G::add_affine(&sum, &sum, &given.affine[i]);
    } else if (operation == DOUBLE) {
        G::dbl(&sum, &sum);
    }
    typename G::affine r;
    G::to_affine(&r, &sum);
    return r;
}

template <class G> static void check()
{
    using F = typename G::field;
    static_assert(sizeof(gpu_xyzz<F>) == sizeof(typename G::xyzz), "the same in memory");
    static_assert(sizeof(gpu_affine<F>) == sizeof(typename G::affine), "the same in memory");
    const operands<G> given = make_operands<G>();
    const size_t count = given.a.size();
    std::vector<gpu_xyzz<F>> a(count), b(count), results(count);
    std::vector<gpu_affine<F>> affine(count);
    memcpy(static_cast<void *>(a.data()), given.a.data(), count * sizeof a[0]);
    memcpy(static_cast<void *>(b.data()), given.b.data(), count * sizeof b[0]);
    memcpy(static_cast<void *>(affine.data()), given.affine.data(), count * sizeof affine[0]);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (int in_place = 0; in_place < 3; in_place++) {
            GPU_LAUNCH(compute<F>, dim3((unsigned)(count / 32 + 1)), dim3(32), 0, nullptr, results.data(),
                       a.data(), b.data(), affine.data(), count, operation, in_place);
            gpu_test_wait();
            for (size_t i = 0; i < count; i++) {
                typename G::xyzz result;
                typename G::affine r;
                memcpy(&result, &results[i], sizeof result);
                G::to_affine(&r, &result);
                const typename G::affine right = expected<G>(given, i, operation);
                assert_memory_equal(&r, &right, sizeof r);
            }
        }
    }
}

static void g1_matches(void **state)
{
    (void)state;
    check<gpu_group_g1>();
}

static void g2_matches(void **state)
{
    (void)state;
    check<gpu_group_g2>();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(g1_matches), cmocka_unit_test(g2_matches)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
