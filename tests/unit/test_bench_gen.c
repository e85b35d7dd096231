/* The generator of made-up circuits: multiples from tables against double and add, rows against the witness
 * that they must hold for, and sparsity as the header states it. That keys are sound is for snarkjs to say:
 * tests/e2e/gen.sh. */
#include "bench/gen_circuit.h"
#include "bench/gen_points.h"
#include "test_par.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SCALARS = 300, STREAM = 1000 };

/* Zero, one, r - 1, single bits at the edges of windows, and drawn ones. */
static void make_scalars(fr *scalars)
{
    for (unsigned i = 0; i < SCALARS; i++) {
        gen_circuit_draw(&scalars[i], 5, STREAM, i);
    }
    scalars[0] = fr_zero;
    scalars[1] = fr_one;
    fr_neg(&scalars[2], &fr_one);
    for (unsigned bit = 0; bit < 253; bit++) {
        u256 plain = {{0}};
        plain.w[bit / 64] = UINT64_C(1) << bit % 64;
        assert_true(fr_from_u256(&scalars[3 + bit], &plain));
    }
}

#define CHECK_MULTIPLES(group, bytes_each, tables, scalars, par)                 \
    do {                                                                         \
        uint8_t *bytes = malloc((size_t)SCALARS * (bytes_each));                 \
        assert_non_null(bytes);                                                  \
        gen_points_multiply_##group(bytes, (tables), (scalars), SCALARS, (par)); \
        for (size_t i = 0; i < SCALARS; i++) {                                   \
            group##_xyzz expected_sum;                                           \
            group##_affine expected, got;                                        \
            u256 plain;                                                          \
            fr_to_u256(&plain, &(scalars)[i]);                                   \
            group##_xyzz_from_affine(&expected_sum, &group##_generator);         \
            group##_xyzz_mul(&expected_sum, &expected_sum, &plain);              \
            group##_xyzz_to_affine(&expected, &expected_sum);                    \
            assert_true(group##_affine_load(&got, bytes + i * (bytes_each)));    \
            assert_true(group##_affine_equal(&expected, &got));                  \
        }                                                                        \
        free(bytes);                                                             \
    } while (0)

static void test_multiples(void **state)
{
    (void)state;
    struct par par = {.run = test_par_run_threads, .workers = 4};
    fr scalars[SCALARS];
    make_scalars(scalars);
    const size_t sizes[] = {1, 5000, 40000}; /* narrow tables, wider ones, the widest */
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        struct gen_points_tables tables;
        struct error error;
        assert_int_equal(gen_points_tables_open(&tables, sizes[size], &par, &error), ERROR_NONE);
        CHECK_MULTIPLES(g1, G1_BYTES, &tables, scalars, &par);
        CHECK_MULTIPLES(g2, G2_BYTES, &tables, scalars, &par);
        gen_points_tables_close(&tables);
    }
}

static void evaluate(fr *r, const struct gen_circuit_sum *sum, const fr *values)
{
    *r = fr_zero;
    for (unsigned i = 0; i < sum->count; i++) {
        fr product;
        fr_mul(&product, &sum->terms[i].factor, &values[sum->terms[i].wire]);
        fr_add(r, r, &product);
    }
}

struct census {
    uint32_t bits, publics_used;
    uint64_t entries; /* of A and B */
};

static void take_census(struct census *census, const struct gen_circuit *circuit, const fr *values)
{
    bool *used = calloc(circuit->wires, sizeof *used);
    assert_non_null(used);
    *census = (struct census){0};
    for (uint32_t i = 0; i < circuit->constraints; i++) {
        struct gen_circuit_row row;
        fr a, b, c;
        gen_circuit_row(&row, circuit, i);
        const struct gen_circuit_sum *sums[] = {&row.a, &row.b, &row.c};
        for (int side = 0; side < 3; side++) {
            for (unsigned term = 0; term < sums[side]->count; term++) {
                assert_true(sums[side]->terms[term].wire < circuit->wires);
                used[sums[side]->terms[term].wire] = true;
            }
        }
        evaluate(&a, &row.a, values);
        evaluate(&b, &row.b, values);
        evaluate(&c, &row.c, values);
        fr_mul(&a, &a, &b);
        assert_true(fr_equal(&a, &c));
        census->entries += row.a.count + row.b.count;
    }
    for (uint32_t wire = 0; wire < circuit->wires; wire++) {
        census->bits += fr_is_zero(&values[wire]) || fr_equal(&values[wire], &fr_one);
        assert_true(used[wire] || wire == 0); /* no wire is idle, so no C point is infinity */
    }
    free(used);
}

static void check_circuit(enum gen_circuit_kind kind, double entries_low, double entries_high,
                          double bits_low, double bits_high)
{
    enum { CONSTRAINTS = 6000, PUBLICS = 20 };
    struct gen_circuit circuit;
    assert_true(gen_circuit_init(&circuit, kind, CONSTRAINTS, PUBLICS, 3));
    assert_int_equal(circuit.domain_log2, 13);
    fr *first = malloc(circuit.wires * sizeof *first), *second = malloc(circuit.wires * sizeof *second);
    assert_non_null(first);
    assert_non_null(second);
    gen_circuit_witness(first, &circuit, 0);
    gen_circuit_witness(second, &circuit, 1);
    assert_memory_not_equal(first, second, circuit.wires * sizeof *first);
    struct census census;
    take_census(&census, &circuit, second);
    take_census(&census, &circuit, first);
    const double entries = (double)census.entries / CONSTRAINTS, bits = (double)census.bits / circuit.wires;
    assert_true(entries > entries_low && entries < entries_high);
    assert_true(bits >= bits_low && bits <= bits_high);
    free(first);
    free(second);
}

static void test_squaring(void **state)
{
    (void)state;
    check_circuit(GEN_CIRCUIT_SQUARING, 1.99, 2.02, 0, 0.001);
}

static void test_poseidon(void **state)
{
    (void)state;
    check_circuit(GEN_CIRCUIT_POSEIDON, 3.9, 4.1, 0, 0.001);
}

static void test_bits(void **state)
{
    (void)state;
    check_circuit(GEN_CIRCUIT_BITS, 2.8, 3.0, 0.96, 0.99);
}

static void test_limits(void **state)
{
    (void)state;
    struct gen_circuit circuit;
    assert_true(gen_circuit_init(&circuit, GEN_CIRCUIT_SQUARING, 1, 0, 1));
    assert_int_equal(circuit.domain_log2, 1); /* the row, and wire 0's */
    assert_true(gen_circuit_init(&circuit, GEN_CIRCUIT_SQUARING, 7, 0, 1));
    assert_int_equal(circuit.domain_log2, 3);
    assert_true(gen_circuit_init(&circuit, GEN_CIRCUIT_SQUARING, 8, 0, 1));
    assert_int_equal(circuit.domain_log2, 4);
    assert_false(gen_circuit_init(&circuit, GEN_CIRCUIT_POSEIDON, 6, 2, 1));
    assert_false(gen_circuit_init(&circuit, GEN_CIRCUIT_BITS, 511, 0, 1));
    assert_true(gen_circuit_init(&circuit, GEN_CIRCUIT_POSEIDON, (1u << 27) - 1, 0, 1));
    assert_false(gen_circuit_init(&circuit, GEN_CIRCUIT_POSEIDON, 1u << 27, 0, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multiples), cmocka_unit_test(test_squaring), cmocka_unit_test(test_poseidon),
        cmocka_unit_test(test_bits),      cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
