#include "groth16/circuit.h"

#include "conf/check.h"

#include <string.h>

/* Where the parts lie in the circuit's memory, each aligned to 64 bytes. */
struct layout {
    size_t ntt, dictionary, rows[CIRCUIT_MATRICES], entries, slots, size;
    uint32_t dictionary_values;
    uint32_t slots_count; /* a power of two */
};

static size_t place(size_t *end, size_t bytes)
{
    size_t begin = *end;
    *end = (begin + bytes + 63) & ~(size_t)63;
    return begin;
}

static struct layout layout_of(const struct zkey *key)
{
    size_t rows = ((size_t)1 << key->domain_log2) + 1;
    struct layout layout = {0};
    uint32_t count = key->coefficients_count;
    layout.dictionary_values = count < CIRCUIT_DICTIONARY - 2 ? count + 2 : CIRCUIT_DICTIONARY;
    layout.slots_count = 4;
    while (layout.slots_count < 2 * layout.dictionary_values) {
        layout.slots_count *= 2;
    }
    size_t end = 0;
    layout.ntt = place(&end, ntt_table_size(key->domain_log2));
    layout.dictionary = place(&end, layout.dictionary_values * sizeof(fr));
    for (int m = 0; m < CIRCUIT_MATRICES; m++) {
        layout.rows[m] = place(&end, rows * sizeof(uint32_t));
    }
    layout.entries = place(&end, (size_t)count * sizeof(struct circuit_entry));
    layout.slots = place(&end, layout.slots_count * sizeof(uint16_t));
    layout.size = end;
    return layout;
}

size_t circuit_memory_size(const struct zkey *key)
{
    return layout_of(key).size;
}

/* Coefficient values seen so far, in an open hash table of their numbers (plus one; 0 is empty). */
struct dictionary {
    fr *values;
    uint32_t count, capacity;
    uint16_t *slots;
    uint32_t mask;
};

/* A key made to collide must not make loading slow: after so many steps a value stays out. */
enum { PROBES_MAX = 32 };

static uint32_t dictionary_find(struct dictionary *dictionary, const fr *value, uint32_t otherwise)
{
    uint64_t hash = value->w[0] ^ value->w[1] * 3 ^ value->w[2] * 5 ^ value->w[3] * 7;
    hash *= 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(hash >> 32);
    for (int probe = 0; probe < PROBES_MAX; probe++, slot++) {
        uint16_t *number = &dictionary->slots[slot & dictionary->mask];
        if (*number == 0) {
            if (dictionary->count == dictionary->capacity) {
                break;
            }
            dictionary->values[dictionary->count] = *value;
            *number = (uint16_t)++dictionary->count;
            return dictionary->count - 1;
        }
        if (fr_equal(&dictionary->values[*number - 1], value)) {
            return (uint32_t)*number - 1;
        }
    }
    return otherwise;
}

static struct dictionary dictionary_make(fr *values, uint32_t capacity, uint16_t *slots, uint32_t slots_count)
{
    struct dictionary dictionary = {
        .values = values, .capacity = capacity, .slots = slots, .mask = slots_count - 1};
    memset(slots, 0, slots_count * sizeof *slots);
    fr one = fr_r2, minus_one; /* keys hold coefficients times R^2 */
    fr_neg(&minus_one, &one);
    CHECK(dictionary_find(&dictionary, &one, UINT32_MAX) == CIRCUIT_ONE);
    CHECK(dictionary_find(&dictionary, &minus_one, UINT32_MAX) == CIRCUIT_MINUS_ONE);
    return dictionary;
}

/* A counting sort that keeps the key's order within a row. */
static void sort_entries(const struct zkey *key, uint32_t *rows[CIRCUIT_MATRICES],
                         struct circuit_entry *entries, struct dictionary *dictionary)
{
    size_t domain = (size_t)1 << key->domain_log2;
    for (int m = 0; m < CIRCUIT_MATRICES; m++) {
        memset(rows[m], 0, (domain + 1) * sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < key->coefficients_count; i++) {
        struct zkey_coefficient coefficient = zkey_coefficient_at(key, i);
        rows[coefficient.matrix][coefficient.row]++;
    }
    uint32_t begin = 0;
    for (int m = 0; m < CIRCUIT_MATRICES; m++) {
        for (size_t row = 0; row <= domain; row++) {
            uint32_t length = rows[m][row];
            rows[m][row] = begin;
            begin += length;
        }
    }
    CHECK(begin == key->coefficients_count);
    for (uint32_t i = 0; i < key->coefficients_count; i++) {
        struct zkey_coefficient coefficient = zkey_coefficient_at(key, i);
        uint32_t position = rows[coefficient.matrix][coefficient.row]++;
        entries[position].wire = coefficient.wire;
        entries[position].value = dictionary_find(dictionary, &coefficient.value, CIRCUIT_DICTIONARY + i);
    }
    /* Each rows[m][row] has moved to where the next row begins. */
    for (int m = 0; m < CIRCUIT_MATRICES; m++) {
        memmove(rows[m] + 1, rows[m], domain * sizeof(uint32_t));
        rows[m][0] = m == 0 ? 0 : rows[m - 1][domain];
    }
}

void circuit_init(struct circuit *circuit, const struct zkey *key, void *memory, struct par *par)
{
    CHECK(((uintptr_t)memory & 63) == 0);
    CHECK(key->bytes && key->wires > 0);
    struct layout layout = layout_of(key);
    uint8_t *bytes = memory;
    uint32_t *rows[CIRCUIT_MATRICES];
    for (int m = 0; m < CIRCUIT_MATRICES; m++) {
        rows[m] = (uint32_t *)(bytes + layout.rows[m]);
    }
    struct circuit_entry *entries = (struct circuit_entry *)(bytes + layout.entries);
    struct dictionary dictionary =
        dictionary_make((fr *)(bytes + layout.dictionary), layout.dictionary_values,
                        (uint16_t *)(bytes + layout.slots), layout.slots_count);
    sort_entries(key, rows, entries, &dictionary);
    *circuit = (struct circuit){.key = *key,
                                .entries = entries,
                                .rows = {rows[CIRCUIT_A], rows[CIRCUIT_B]},
                                .dictionary = dictionary.values};
    ntt_init(&circuit->ntt, key->domain_log2, bytes + layout.ntt, par);
}
