/* The matrices are rebuilt from the key's raw coefficients by a loop as plain as can be and compared. */
#include "groth16/circuit.h"

#include "tests/unit/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const fr *entry_value(const struct circuit *circuit, const struct circuit_entry *entry, fr *buffer)
{
    if (entry->value < CIRCUIT_DICTIONARY) {
        return &circuit->dictionary[entry->value];
    }
    *buffer = zkey_coefficient_at(&circuit->key, entry->value - CIRCUIT_DICTIONARY).value;
    return buffer;
}

/* Each coefficient of the key is in its row, in the key's order within the row, and nothing else is there. */
static void assert_same_matrices(const struct circuit *circuit)
{
    const struct zkey *key = &circuit->key;
    uint32_t seen = 0;
    for (uint32_t matrix = 0; matrix < CIRCUIT_MATRICES; matrix++) {
        for (uint32_t row = 0; row < UINT32_C(1) << key->domain_log2; row++) {
            uint32_t position = circuit->rows[matrix][row];
            assert_int_equal(position, seen);
            for (uint32_t i = 0; i < key->coefficients_count; i++) {
                struct zkey_coefficient coefficient = zkey_coefficient_at(key, i);
                if (coefficient.matrix != matrix || coefficient.row != row) {
                    continue;
                }
                fr buffer;
                const struct circuit_entry *entry = &circuit->entries[position++];
                assert_int_equal(entry->wire, coefficient.wire);
                assert_true(fr_equal(entry_value(circuit, entry, &buffer), &coefficient.value));
                seen++;
            }
            assert_int_equal(position, circuit->rows[matrix][row + 1]);
        }
    }
    assert_int_equal(seen, key->coefficients_count);
}

static void entries_are_the_keys_coefficients(void **state)
{
    (void)state;
    static const char *const names[] = {"circuit-small/circuit.zkey", "circuit-closed/circuit.zkey"};
    for (size_t i = 0; i < 2; i++) {
        struct fixture_file file = fixture_read(names[i]);
        struct zkey key;
        struct error error;
        struct circuit circuit;
        assert_int_equal(zkey_parse(&key, file.bytes, file.size, "k", &error), ERROR_NONE);
        void *memory = fixture_block(circuit_memory_size(&key));
        circuit_init(&circuit, &key, memory, &fixture_threads);
        assert_int_equal(circuit.ntt.log2, key.domain_log2);
        assert_same_matrices(&circuit);
        free(memory);
        free(file.bytes);
    }
}

static void one_and_minus_one_have_their_numbers(void **state)
{
    (void)state;
    struct fixture_file file = fixture_read("circuit-small/circuit.zkey");
    struct zkey key;
    struct error error;
    struct circuit circuit;
    assert_int_equal(zkey_parse(&key, file.bytes, file.size, "k", &error), ERROR_NONE);
    void *memory = fixture_block(circuit_memory_size(&key));
    circuit_init(&circuit, &key, memory, &par_serial);
    fr sum, one; /* R^2 is a stored 1: two reductions lead to the plain number */
    u256 plain;
    fr_to_u256(&plain, &circuit.dictionary[CIRCUIT_ONE]);
    memcpy(one.w, plain.w, sizeof one.w);
    assert_true(fr_equal(&one, &fr_one));
    fr_add(&sum, &circuit.dictionary[CIRCUIT_ONE], &circuit.dictionary[CIRCUIT_MINUS_ONE]);
    assert_true(fr_is_zero(&sum));
    uint32_t ones = 0, minus_ones = 0;
    for (uint32_t i = 0; i < key.coefficients_count; i++) {
        ones += circuit.entries[i].value == CIRCUIT_ONE;
        minus_ones += circuit.entries[i].value == CIRCUIT_MINUS_ONE;
    }
    assert_true(ones > 0 && minus_ones > 0);
    free(memory);
    free(file.bytes);
}

/* More distinct values than the dictionary holds, in scrambled rows: made in memory, without a file. */
static void values_beyond_the_dictionary(void **state)
{
    (void)state;
    enum { COUNT = CIRCUIT_DICTIONARY + 500, LOG2 = 3 };
    uint8_t *bytes = calloc(COUNT, ZKEY_COEFFICIENT_BYTES);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t *at = bytes + (size_t)i * ZKEY_COEFFICIENT_BYTES;
        uint32_t fields[3] = {i * 7 % 2, i * 5 % (1 << LOG2), i};
        uint64_t value = i % 3 == 0 ? 42 : i + 1000;
        memcpy(at, fields, sizeof fields);
        memcpy(at + 12 + 8 * (i % 3), &value, sizeof value);
    }
    struct zkey key = {.name = "k",
                       .wires = COUNT,
                       .domain_log2 = LOG2,
                       .coefficients = bytes,
                       .coefficients_count = COUNT,
                       .bytes = bytes};
    struct circuit circuit;
    void *memory = fixture_block(circuit_memory_size(&key));
    circuit_init(&circuit, &key, memory, &par_serial);
    assert_same_matrices(&circuit);
    free(memory);
    free(bytes);
}

/* Values made to fall into one place of the hash table (all have the same xor of words): loading must stay
 * fast, and right; the dictionary then simply holds few of them. */
static void colliding_values(void **state)
{
    (void)state;
    enum { COUNT = 5000, LOG2 = 2 };
    uint8_t *bytes = calloc(COUNT, ZKEY_COEFFICIENT_BYTES);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t *at = bytes + (size_t)i * ZKEY_COEFFICIENT_BYTES;
        uint32_t fields[3] = {i % 2, i % (1 << LOG2), 0};
        uint64_t words[2] = {UINT64_C(3) * i, i};
        memcpy(at, fields, sizeof fields);
        memcpy(at + 12, words, sizeof words);
    }
    struct zkey key = {.name = "k",
                       .wires = 1,
                       .domain_log2 = LOG2,
                       .coefficients = bytes,
                       .coefficients_count = COUNT,
                       .bytes = bytes};
    struct circuit circuit;
    void *memory = fixture_block(circuit_memory_size(&key));
    circuit_init(&circuit, &key, memory, &par_serial);
    assert_same_matrices(&circuit);
    uint32_t outside = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        outside += circuit.entries[i].value >= CIRCUIT_DICTIONARY;
    }
    assert_true(outside > COUNT / 2);
    free(memory);
    free(bytes);
}

static void memory_is_not_written_beyond(void **state)
{
    (void)state;
    struct fixture_file file = fixture_read("circuit-closed/circuit.zkey");
    struct zkey key;
    struct error error;
    struct circuit circuit;
    assert_int_equal(zkey_parse(&key, file.bytes, file.size, "k", &error), ERROR_NONE);
    size_t size = circuit_memory_size(&key);
    uint8_t *memory = fixture_block(size + 64);
    memset(memory + size, 0xa5, 64);
    circuit_init(&circuit, &key, memory, &par_serial);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(memory[size + i], 0xa5);
    }
    free(memory);
    free(file.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_the_keys_coefficients),
        cmocka_unit_test(one_and_minus_one_have_their_numbers),
        cmocka_unit_test(values_beyond_the_dictionary),
        cmocka_unit_test(colliding_values),
        cmocka_unit_test(memory_is_not_written_beyond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
