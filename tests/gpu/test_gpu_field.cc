/* gpu_field.cuh against groth16's fields: every function on all pairs of edge values and on random ones, with
 * the result apart and in place. */
#include "gpu_test.h"

#include "cuda/gpu_field.cuh"

enum { ADD, SUB, MUL, NEG, SQR, OPERATIONS };

template <class F>
__global__ void compute(F *results, uint8_t *flags, const F *a, const F *b, size_t count, int operation,
                        bool in_place)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    F left = a[i], right = b[i];
    F *r = in_place ? operation == SUB ? &right : &left : &results[i];
    switch (operation) {
    case ADD:
        gpu_field_add(r, &left, &right);
        break;
    case SUB:
        gpu_field_sub(r, &left, &right);
        break;
    case MUL:
        gpu_field_mul(r, &left, &right);
        break;
    case NEG:
        gpu_field_neg(r, &left);
        break;
    default:
        gpu_field_sqr(r, &left);
        break;
    }
    results[i] = *r;
    flags[i] = (uint8_t)(gpu_field_is_zero(&a[i]) + 2 * gpu_field_equal(&a[i], &b[i]));
}

/* Plain integers below the modulus; they are taken as Montgomery forms. */
static std::vector<u256> edges(const u256 *modulus)
{
    std::vector<u256> values = {{{0, 0, 0, 0}},
                                {{1, 0, 0, 0}},
                                {{0, 0, 0, UINT64_C(1) << 61}},
                                {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_C(0x2fffffffffffffff)}},
                                {{UINT64_C(0xffffffff00000000), UINT64_C(0xffffffff00000000), 0, 0}},
                                {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX >> 3}}};
    u256 below = *modulus;
    below.w[0] -= 1;
    values.push_back(below);
    below.w[0] -= 1;
    values.push_back(below);
    below.w[1] -= 1;
    values.push_back(below);
    return values;
}

template <class F> struct pairs {
    std::vector<F> a, b;
};

template <class F> static pairs<F> make_pairs(const u256 *modulus)
{
    pairs<F> made;
    uint64_t seed = 1;
    std::vector<u256> values = edges(modulus);
    for (int i = 0; i < 40; i++) {
        values.push_back(gpu_test_random_below(&seed, modulus));
    }
    for (const u256 &left : values) {
        for (const u256 &right : values) {
            F value;
            memcpy(&value, &left, sizeof value);
            made.a.push_back(value);
            memcpy(&value, &right, sizeof value);
            made.b.push_back(value);
        }
    }
    return made;
}

#define EXPECTED(type)                                                \
    static type expected(const type *a, const type *b, int operation) \
    {                                                                 \
        type r;                                                       \
        switch (operation) {                                          \
        case ADD:                                                     \
            type##_add(&r, a, b);                                     \
            break;                                                    \
        case SUB:                                                     \
            type##_sub(&r, a, b);                                     \
            break;                                                    \
        case MUL:                                                     \
            type##_mul(&r, a, b);                                     \
            break;                                                    \
        case NEG:                                                     \
            type##_neg(&r, a);                                        \
            break;                                                    \
        default:                                                      \
            type##_sqr(&r, a);                                        \
            break;                                                    \
        }                                                             \
        return r;                                                     \
    }
EXPECTED(fq)
EXPECTED(fr)

template <class F, class Host> static void check(const u256 *modulus)
{
    static_assert(sizeof(F) == sizeof(Host), "the same in memory");
    const pairs<F> given = make_pairs<F>(modulus);
    const size_t count = given.a.size();
    std::vector<F> results(count);
    std::vector<uint8_t> flags(count);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (bool in_place : {false, true}) {
            GPU_LAUNCH(compute<F>, dim3((unsigned)(count / 64 + 1)), dim3(64), 0, nullptr, results.data(),
                       flags.data(), given.a.data(), given.b.data(), count, operation, in_place);
            gpu_test_wait();
            for (size_t i = 0; i < count; i++) {
                Host a, b;
                memcpy(&a, &given.a[i], sizeof a);
                memcpy(&b, &given.b[i], sizeof b);
                const Host r = expected(&a, &b, operation);
                assert_memory_equal(&r, &results[i], sizeof r);
                assert_int_equal(flags[i] & 1, memcmp(&a, &edges(modulus)[0], sizeof a) == 0);
                assert_int_equal(flags[i] >> 1, memcmp(&a, &b, sizeof a) == 0);
            }
        }
    }
}

static void fq_matches(void **state)
{
    (void)state;
    check<gpu_fq, fq>(&fq_modulus);
    gpu_fq one;
    gpu_fq_set_one(&one);
    assert_memory_equal(&one, &fq_one, sizeof one);
}

static void fr_matches(void **state)
{
    (void)state;
    check<gpu_fr, fr>(&fr_modulus);
    gpu_fr one;
    gpu_fr_set_one(&one);
    assert_memory_equal(&one, &fr_one, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fq_matches), cmocka_unit_test(fr_matches)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
