#include "bench/gen_circuit.h"

#include "conf/check.h"
#include "cuda/device_random.h"

enum { PACK_BITS = 32, PACK_PERIOD = PACK_BITS + 1, BIT_REACH = 64, DOMAIN_LOG2_MAX = 27 };

/* What is drawn; secrets of keys use streams of their own (gen_key.c). */
enum { STREAM_CONSTANTS = 1, STREAM_OPERANDS, STREAM_WITNESS };

const char *const gen_circuit_kind_names[GEN_CIRCUIT_KINDS] = {"squaring", "poseidon", "bits"};

void gen_circuit_draw(fr *r, uint64_t seed, uint64_t stream, uint64_t number)
{
    uint64_t state = device_random(seed, stream, number);
    u256 candidate;
    do {
        for (int i = 0; i < 4; i++) {
            state = device_random_mix(state);
            candidate.w[i] = state;
        }
        candidate.w[3] >>= 2;
    } while (!fr_from_u256(r, &candidate));
}

bool gen_circuit_init(struct gen_circuit *circuit, enum gen_circuit_kind kind, uint32_t constraints,
                      uint32_t publics, uint64_t seed)
{
    CHECK(kind < GEN_CIRCUIT_KINDS);
    const bool bits = kind == GEN_CIRCUIT_BITS;
    const uint64_t inputs = bits ? GEN_CIRCUIT_BIT_INPUTS : 1;
    /* In the worst case a public appears in one row of three, behind the rows that check inputs. */
    if ((uint64_t)constraints < inputs + 3 * (uint64_t)publics ||
        (uint64_t)constraints + publics + 1 > UINT64_C(1) << DOMAIN_LOG2_MAX) {
        return false;
    }
    *circuit = (struct gen_circuit){.kind = kind,
                                    .constraints = constraints,
                                    .publics = publics,
                                    .inputs = (uint32_t)inputs,
                                    .wires = 1 + publics + constraints + (bits ? 0 : 1),
                                    .seed = seed};
    while (UINT64_C(1) << circuit->domain_log2 < (uint64_t)constraints + publics + 1) {
        circuit->domain_log2++;
    }
    for (unsigned i = 0; i < GEN_CIRCUIT_CONSTANTS; i++) {
        gen_circuit_draw(&circuit->constants[i], seed, STREAM_CONSTANTS, i);
    }
    fr_neg(&circuit->minus_one, &fr_one);
    fr_dbl(&circuit->minus_two, &circuit->minus_one);
    circuit->powers[0] = fr_one;
    for (unsigned i = 1; i < GEN_CIRCUIT_TERMS_MAX; i++) {
        fr_dbl(&circuit->powers[i], &circuit->powers[i - 1]);
    }
    return true;
}

static void sum_push(struct gen_circuit_sum *sum, uint32_t wire, const fr *factor)
{
    CHECK(sum->count < GEN_CIRCUIT_TERMS_MAX);
    sum->terms[sum->count].wire = wire;
    sum->terms[sum->count++].factor = *factor;
}

static void make_wire(struct gen_circuit_row *row, uint32_t wire)
{
    sum_push(&row->c, wire, &fr_one);
    row->makes_wire = true;
}

static void squaring_row(struct gen_circuit_row *row, const struct gen_circuit *circuit, uint32_t index)
{
    const uint32_t last = circuit->publics + 1 + index;
    sum_push(&row->a, last, &fr_one);
    sum_push(&row->b, last, &fr_one);
    if (index < circuit->publics) {
        sum_push(&row->a, index + 1, &fr_one);
        sum_push(&row->b, index + 1, &fr_one);
    }
    make_wire(row, last + 1);
}

/* L of round number `round`: the results of the two rounds before it (the input, where there is none), a
 * constant and, in the first rounds, a public value. */
static void poseidon_sum(struct gen_circuit_sum *sum, const struct gen_circuit *circuit, uint32_t round)
{
    const uint32_t input = circuit->publics + 1;
    for (uint32_t back = 1; back <= 2 && back <= round + 1; back++) {
        const uint32_t wire = back <= round ? input + 3 * (round - back + 1) : input;
        sum_push(sum, wire, &circuit->constants[(2 * round + back) % GEN_CIRCUIT_CONSTANTS]);
    }
    sum_push(sum, 0, &circuit->constants[(7 * round + 5) % GEN_CIRCUIT_CONSTANTS]);
    if (round < circuit->publics) {
        sum_push(sum, 1 + round, &fr_one);
    }
}

static void poseidon_row(struct gen_circuit_row *row, const struct gen_circuit *circuit, uint32_t index)
{
    const uint32_t round = index / 3, new_wire = circuit->publics + 2 + index;
    switch (index % 3) {
    case 0: /* L^2 */
        poseidon_sum(&row->a, circuit, round);
        row->b = row->a;
        break;
    case 1: /* L^4 */
        sum_push(&row->a, new_wire - 1, &fr_one);
        sum_push(&row->b, new_wire - 1, &fr_one);
        break;
    default: /* L^5 */
        sum_push(&row->a, new_wire - 1, &fr_one);
        poseidon_sum(&row->b, circuit, round);
        break;
    }
    make_wire(row, new_wire);
}

static bool is_word(const struct gen_circuit *circuit, uint32_t wire)
{
    const uint32_t first = circuit->publics + 1 + circuit->inputs;
    return wire >= first && (wire - first) % PACK_PERIOD == PACK_BITS;
}

/* A bit among the last BIT_REACH wires before `wire`. */
static uint32_t recent_bit(const struct gen_circuit *circuit, uint32_t wire, uint64_t chance)
{
    const uint32_t reach = wire - 1 < BIT_REACH ? wire - 1 : BIT_REACH;
    const uint32_t chosen = wire - 1 - (uint32_t)(chance % reach);
    return is_word(circuit, chosen) ? chosen - 1 : chosen; /* a bit lies before each word */
}

static void bits_row(struct gen_circuit_row *row, const struct gen_circuit *circuit, uint32_t index)
{
    const uint32_t wire = circuit->publics + 1 + index;
    if (index < circuit->inputs) { /* b (b - 1) = 0 */
        sum_push(&row->a, wire, &fr_one);
        sum_push(&row->b, wire, &fr_one);
        sum_push(&row->b, 0, &circuit->minus_one);
        return;
    }
    if (is_word(circuit, wire)) {
        for (uint32_t bit = 0; bit < PACK_BITS; bit++) {
            sum_push(&row->a, wire - PACK_BITS + bit, &circuit->powers[bit]);
        }
        sum_push(&row->b, 0, &fr_one);
        make_wire(row, wire);
        return;
    }
    const uint32_t number = index - circuit->inputs, bits_before = number - number / PACK_PERIOD;
    const uint64_t chance = device_random(circuit->seed, STREAM_OPERANDS, index);
    const uint32_t left =
        bits_before < circuit->publics ? bits_before + 1 : recent_bit(circuit, wire, chance >> 32);
    const uint32_t right = recent_bit(circuit, wire, chance >> 8 & 0xffff);
    const bool is_and = chance % 4 == 0;
    sum_push(&row->a, left, is_and ? &fr_one : &circuit->minus_two);
    sum_push(&row->b, right, &fr_one);
    if (!is_and) { /* left + right - 2 left right */
        sum_push(&row->c, left, &circuit->minus_one);
        sum_push(&row->c, right, &circuit->minus_one);
    }
    make_wire(row, wire);
}

void gen_circuit_row(struct gen_circuit_row *row, const struct gen_circuit *circuit, uint32_t index)
{
    CHECK(index < circuit->constraints);
    row->a.count = row->b.count = row->c.count = 0;
    row->makes_wire = false;
    switch (circuit->kind) {
    case GEN_CIRCUIT_SQUARING:
        squaring_row(row, circuit, index);
        break;
    case GEN_CIRCUIT_POSEIDON:
        poseidon_row(row, circuit, index);
        break;
    case GEN_CIRCUIT_BITS:
    case GEN_CIRCUIT_KINDS:
        bits_row(row, circuit, index);
        break;
    }
}

static void sum_evaluate(fr *r, const struct gen_circuit_sum *sum, unsigned count, const fr *values)
{
    *r = fr_zero;
    for (unsigned i = 0; i < count; i++) {
        fr product;
        fr_mul(&product, &sum->terms[i].factor, &values[sum->terms[i].wire]);
        fr_add(r, r, &product);
    }
}

void gen_circuit_witness(fr *values, const struct gen_circuit *circuit, uint32_t number)
{
    const uint32_t given = circuit->publics + circuit->inputs;
    values[0] = fr_one;
    for (uint32_t i = 1; i <= given; i++) {
        gen_circuit_draw(&values[i], circuit->seed, STREAM_WITNESS, (uint64_t)number << 32 | i);
        if (circuit->kind == GEN_CIRCUIT_BITS) {
            values[i] = values[i].w[0] & 1 ? fr_one : fr_zero;
        }
    }
    uint32_t known = given + 1;
    struct gen_circuit_row row;
    for (uint32_t i = 0; i < circuit->constraints; i++) {
        gen_circuit_row(&row, circuit, i);
        fr a, b, c;
        sum_evaluate(&a, &row.a, row.a.count, values);
        sum_evaluate(&b, &row.b, row.b.count, values);
        sum_evaluate(&c, &row.c, row.c.count - (row.makes_wire ? 1 : 0), values);
        fr_mul(&a, &a, &b);
        if (row.makes_wire) {
            CHECK(row.c.terms[row.c.count - 1].wire == known);
            fr_sub(&values[known++], &a, &c);
        } else {
            CHECK(fr_equal(&a, &c));
        }
    }
    CHECK(known == circuit->wires);
}
