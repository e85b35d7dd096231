/* Evaluation and transforms on the GPU against groth16 on the CPU: circuits with random matrices whose
 * domains take every number of passes, on every kind of coefficient. Whole proofs are tested in tests/device.
 */
#include "gpu_test.h"

#include "cuda/gpu.h"

extern "C" {
#include "groth16/ntt.h"
}

enum { WIRES = 37, PUBLICS = 2, REPEATED = 5 };

struct made {
    struct circuit circuit;
    std::vector<uint8_t> points_g1, points_g2, coefficients;
    std::vector<struct circuit_entry> entries;
    std::vector<uint32_t> rows[CIRCUIT_MATRICES];
    std::vector<fr> dictionary;
    void *tables;
};

static fr random_fr(uint64_t *seed)
{
    fr r;
    const u256 plain = gpu_test_random_below(seed, &fr_modulus);
    CHECK(fr_from_u256(&r, &plain));
    return r;
}

/* overflow: some values are not in the dictionary but among the key's coefficients. */
static void make(struct made *made, unsigned log2, bool overflow, uint64_t *seed)
{
    const uint32_t n = 1u << log2;
    for (int m = 0; m < CIRCUIT_MATRICES; m++) {
        for (uint32_t row = 0; row < n; row++) {
            made->rows[m].push_back((uint32_t)made->entries.size());
            uint32_t count = gpu_test_random(seed) % 4;
            count = row == n / 3 ? 70 : count; /* some rows are long */
            for (uint32_t i = 0; i < count; i++) {
                const uint32_t value = gpu_test_random(seed) % REPEATED;
                made->entries.push_back({(uint32_t)(gpu_test_random(seed) % WIRES), value});
            }
        }
        made->rows[m].push_back((uint32_t)made->entries.size());
    }
    if (overflow) { /* that is only when there are many */
        while (made->entries.size() < CIRCUIT_DICTIONARY) {
            made->entries.push_back({0, 0});
        }
    }
    made->dictionary.resize(CIRCUIT_DICTIONARY);
    for (fr &value : made->dictionary) {
        value = random_fr(seed);
    }
    made->coefficients.resize(made->entries.size() * ZKEY_COEFFICIENT_BYTES);
    for (size_t i = 0; i < made->entries.size(); i++) {
        const fr value = random_fr(seed);
        memcpy(&made->coefficients[i * ZKEY_COEFFICIENT_BYTES + 12], &value, sizeof value);
        if (overflow && i % 7 == 0) {
            made->entries[i].value = (uint32_t)(CIRCUIT_DICTIONARY + i);
        }
    }
    made->points_g1.resize(((size_t)n + WIRES) * ZKEY_G1_BYTES);
    made->points_g2.resize((size_t)WIRES * ZKEY_G2_BYTES);
    struct circuit &circuit = made->circuit;
    circuit = {};
    circuit.key.wires = WIRES;
    circuit.key.publics = PUBLICS;
    circuit.key.domain_log2 = log2;
    circuit.key.a = circuit.key.b1 = circuit.key.c = circuit.key.h = made->points_g1.data();
    circuit.key.b2 = made->points_g2.data();
    circuit.key.coefficients = made->coefficients.data();
    circuit.key.coefficients_count = (uint32_t)made->entries.size();
    circuit.entries = made->entries.data();
    circuit.dictionary = made->dictionary.data();
    for (int m = 0; m < CIRCUIT_MATRICES; m++) {
        circuit.rows[m] = made->rows[m].data();
    }
    made->tables = aligned_alloc(64, ntt_table_size(log2));
    ntt_init(&circuit.ntt, log2, made->tables, &par_serial);
}

/* A row times the witness: coefficients times R^2, values plain, so the products carry R. */
static fr expected_row(const struct circuit *circuit, const std::vector<fr> &witness, int matrix,
                       uint32_t row)
{
    fr sum = fr_zero;
    for (uint32_t at = circuit->rows[matrix][row]; at < circuit->rows[matrix][row + 1]; at++) {
        const struct circuit_entry entry = circuit->entries[at];
        fr product, factor = fr_r2;
        if (entry.value == CIRCUIT_MINUS_ONE) {
            fr_neg(&factor, &factor);
        } else if (entry.value >= CIRCUIT_DICTIONARY) {
            factor = zkey_coefficient_at(&circuit->key, entry.value - CIRCUIT_DICTIONARY).value;
        } else if (entry.value != CIRCUIT_ONE) {
            factor = circuit->dictionary[entry.value];
        }
        fr_mul(&product, &witness[entry.wire], &factor);
        fr_add(&sum, &sum, &product);
    }
    return sum;
}

static std::vector<u256> expected(const struct circuit *circuit, const std::vector<fr> &witness)
{
    const uint32_t n = 1u << circuit->key.domain_log2;
    std::vector<fr> v[3];
    void *scratch = aligned_alloc(64, (ntt_scratch_size(1) + 63) / 64 * 64);
    for (std::vector<fr> &one : v) {
        one.resize(n);
    }
    for (uint32_t row = 0; row < n; row++) {
        v[0][row] = expected_row(circuit, witness, CIRCUIT_A, row);
        v[1][row] = expected_row(circuit, witness, CIRCUIT_B, row);
        fr_mul(&v[2][row], &v[0][row], &v[1][row]);
    }
    for (std::vector<fr> &one : v) {
        void *aligned = aligned_alloc(64, (n * sizeof(fr) + 63) / 64 * 64);
        memcpy(aligned, one.data(), n * sizeof(fr));
        ntt_to_coset(&circuit->ntt, static_cast<fr *>(aligned), &par_serial, scratch);
        memcpy((void *)one.data(), aligned, n * sizeof(fr));
        free(aligned);
    }
    free(scratch);
    std::vector<u256> r(n);
    for (uint32_t i = 0; i < n; i++) {
        fr value;
        fr_mul(&value, &v[0][i], &v[1][i]);
        fr_sub(&value, &value, &v[2][i]);
        fr_to_u256(&r[i], &value);
    }
    return r;
}

static void *device_block(size_t bytes)
{
    void *block = aligned_alloc(256, (bytes + 255) / 256 * 256);
    CHECK(block != nullptr);
    memset(block, 0xa5, bytes);
    return block;
}

static void check(unsigned log2, bool overflow)
{
    uint64_t seed = log2 + 100 * overflow;
    struct made made;
    make(&made, log2, overflow, &seed);
    const struct circuit *circuit = &made.circuit;
    std::vector<fr> witness(WIRES); /* plain values below the modulus */
    for (fr &value : witness) {
        const u256 plain = gpu_test_random_below(&seed, &fr_modulus);
        memcpy(&value, &plain, sizeof value);
    }
    void *memory = device_block(gpu_circuit_bytes(circuit)), *lane = device_block(gpu_lane_bytes(circuit));
    void *device_witness = device_block(WIRES * sizeof(fr));
    memcpy(device_witness, witness.data(), WIRES * sizeof(fr));
    struct gpu_circuit gpu;
    gpu_circuit_layout(&gpu, circuit, memory);
    for (unsigned i = 0; i < gpu.uploads_count; i++) {
        assert_true((uint8_t *)gpu.uploads[i].device + gpu.uploads[i].bytes <=
                    (uint8_t *)memory + gpu_circuit_bytes(circuit));
        if (gpu.uploads[i].bytes > 0) {
            memcpy(gpu.uploads[i].device, gpu.uploads[i].host, gpu.uploads[i].bytes);
        }
    }
    assert_int_equal(gpu_circuit_prepare(&gpu, nullptr), cudaSuccess);
    assert_int_equal(gpu_prove_evaluate(&gpu, lane, device_witness, nullptr), cudaSuccess);
    assert_int_equal(gpu_prove_ntt(&gpu, lane, nullptr), cudaSuccess);
    gpu_test_wait();
    const std::vector<u256> right = expected(circuit, witness);
    assert_memory_equal(lane, right.data(), right.size() * sizeof(u256)); /* the scalars of H come first */
    free(memory);
    free(lane);
    free(device_witness);
    free(made.tables);
}

static void every_domain_matches(void **state)
{
    (void)state;
    for (unsigned log2 = 0; log2 <= 14; log2++) { /* up to two passes of three stages and less */
        check(log2, false);
    }
}

static void values_outside_the_dictionary_match(void **state)
{
    (void)state;
    check(3, true);
    check(12, true);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_domain_matches),
        cmocka_unit_test(values_outside_the_dictionary_match),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
