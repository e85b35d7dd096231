#include "groth16/prove.h"

#include "conf/check.h"
#include "groth16/msm.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

enum { TASK_ROWS = 1024 };

/* Where vectors and scratch lie: a first, then b and c, over which the MSMs' scratch is laid once h has
 * replaced a. */
struct layout {
    size_t vector, ntt, size;
};

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct layout layout_of(const struct circuit *circuit, unsigned workers)
{
    size_t n = (size_t)1 << circuit->key.domain_log2;
    struct layout layout = {.vector = (n * sizeof(fr) + 63) & ~(size_t)63};
    size_t msm = multiples_scratch_size(&circuit->key, &circuit->multiples, workers);
    layout.ntt = 3 * layout.vector;
    layout.size = max_size(layout.ntt + ntt_scratch_size(workers), layout.vector + msm);
    return layout;
}

size_t prove_scratch_size(const struct circuit *circuit, unsigned workers)
{
    return layout_of(circuit, workers).size;
}

struct work {
    const struct circuit *circuit;
    const uint8_t *witness;
    fr *a, *b, *c;
};

/* One row of a matrix times the witness, in Montgomery form. Stored coefficients carry R^2, the witness is
 * plain, so one multiplication gives the product with its factor R; terms with 1 and -1 are added up plainly
 * and multiplied once. */
static void evaluate_row(fr *r, const struct work *work, int matrix, size_t row)
{
    const struct circuit *circuit = work->circuit;
    const struct circuit_entry *entry = circuit->entries + circuit->rows[matrix][row];
    const struct circuit_entry *end = circuit->entries + circuit->rows[matrix][row + 1];
    fr units = fr_zero, sum = fr_zero;
    for (; entry < end; entry++) {
        fr value, product;
        memcpy(value.w, work->witness + (size_t)entry->wire * U256_BYTES, U256_BYTES);
        if (entry->value == CIRCUIT_ONE) {
            fr_add(&units, &units, &value);
        } else if (entry->value == CIRCUIT_MINUS_ONE) {
            fr_sub(&units, &units, &value);
        } else if (entry->value < CIRCUIT_DICTIONARY) {
            fr_mul(&product, &value, &circuit->dictionary[entry->value]);
            fr_add(&sum, &sum, &product);
        } else {
            struct zkey_coefficient coefficient =
                zkey_coefficient_at(&circuit->key, entry->value - CIRCUIT_DICTIONARY);
            fr_mul(&product, &value, &coefficient.value);
            fr_add(&sum, &sum, &product);
        }
    }
    if (!fr_is_zero(&units)) {
        fr_mul(&units, &units, &fr_r2);
    }
    fr_add(r, &sum, &units);
}

static size_t rows_end(const struct work *work, size_t index)
{
    size_t n = (size_t)1 << work->circuit->key.domain_log2;
    return n - index * TASK_ROWS < TASK_ROWS ? n : (index + 1) * TASK_ROWS;
}

static void evaluate_task(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    const struct work *work = argument;
    for (size_t row = index * TASK_ROWS; row < rows_end(work, index); row++) {
        evaluate_row(&work->a[row], work, CIRCUIT_A, row);
        evaluate_row(&work->b[row], work, CIRCUIT_B, row);
        fr_mul(&work->c[row], &work->a[row], &work->b[row]);
    }
}

/* a = a b - c as plain integers, the form in which the MSM takes scalars. */
static void quotient_task(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    const struct work *work = argument;
    for (size_t row = index * TASK_ROWS; row < rows_end(work, index); row++) {
        fr value;
        u256 plain;
        fr_mul(&value, &work->a[row], &work->b[row]);
        fr_sub(&value, &value, &work->c[row]);
        fr_to_u256(&plain, &value);
        memcpy(work->a[row].w, plain.w, sizeof plain.w);
    }
}

static void multiply_points(struct prove_sums *sums, const struct work *work, struct par *par, void *scratch)
{
    const struct zkey *key = &work->circuit->key;
    const uint8_t *witness = work->witness;
    size_t wires = key->wires, first = (size_t)key->publics + 1;
    const struct multiples *tables = &work->circuit->multiples;
    msm_g2_table(&sums->b2, &tables->b2, key->b2, witness, wires, par, scratch);
    msm_g1_table(&sums->h, &tables->h, key->h, (const uint8_t *)work->a, (size_t)1 << key->domain_log2, par,
                 scratch);
    msm_g1_table(&sums->a, &tables->a, key->a, witness, wires, par, scratch);
    msm_g1_table(&sums->b1, &tables->b1, key->b1, witness, wires, par, scratch);
    msm_g1_table(&sums->c, &tables->c, key->c, witness + first * U256_BYTES, wires - first, par, scratch);
}

void prove_compute(struct prove_sums *sums, const struct circuit *circuit, const uint8_t *witness,
                   struct par *par, void *scratch, void (*stage_done)(void *context, enum prove_stage stage),
                   void *context)
{
    CHECK(((uintptr_t)scratch & 63) == 0);
    CHECK(par->workers >= 1);
    struct layout layout = layout_of(circuit, par->workers);
    uint8_t *bytes = scratch;
    struct work work = {.circuit = circuit,
                        .witness = witness,
                        .a = (fr *)bytes,
                        .b = (fr *)(bytes + layout.vector),
                        .c = (fr *)(bytes + 2 * layout.vector)};
    size_t tasks = (((size_t)1 << circuit->key.domain_log2) + TASK_ROWS - 1) / TASK_ROWS;

    par_run(par, tasks, evaluate_task, &work);
    if (stage_done) {
        stage_done(context, PROVE_EVALUATE);
    }
    ntt_to_coset(&circuit->ntt, work.a, par, bytes + layout.ntt);
    ntt_to_coset(&circuit->ntt, work.b, par, bytes + layout.ntt);
    ntt_to_coset(&circuit->ntt, work.c, par, bytes + layout.ntt);
    par_run(par, tasks, quotient_task, &work);
    if (stage_done) {
        stage_done(context, PROVE_NTT);
    }
    multiply_points(sums, &work, par, bytes + layout.vector);
    if (stage_done) {
        stage_done(context, PROVE_MSM);
    }
}

/* r = sum + constant + k delta, the shape of each blinded element, in G1. */
static void blind_g1(g1_xyzz *r, const g1_xyzz *sum, const g1_affine *constant, const g1_affine *delta,
                     const u256 *k)
{
    g1_xyzz blinding;
    g1_xyzz_from_affine(&blinding, delta);
    g1_xyzz_mul(&blinding, &blinding, k);
    g1_xyzz_add_affine(r, sum, constant);
    g1_xyzz_add(r, r, &blinding);
}

static void blind_g2(g2_xyzz *r, const g2_xyzz *sum, const g2_affine *constant, const g2_affine *delta,
                     const u256 *k)
{
    g2_xyzz blinding;
    g2_xyzz_from_affine(&blinding, delta);
    g2_xyzz_mul(&blinding, &blinding, k);
    g2_xyzz_add_affine(r, sum, constant);
    g2_xyzz_add(r, r, &blinding);
}

void prove_assemble(struct proof *proof, const struct circuit *circuit, const struct prove_sums *sums,
                    const struct prove_blinding *blinding)
{
    const struct zkey *key = &circuit->key;
    struct {
        u256 r, s, rs_negative;
        fr product;
        g1_xyzz a, b1, c, term;
        g2_xyzz b2;
    } secret;
    fr_to_u256(&secret.r, &blinding->r);
    fr_to_u256(&secret.s, &blinding->s);
    fr_mul(&secret.product, &blinding->r, &blinding->s);
    fr_neg(&secret.product, &secret.product);
    fr_to_u256(&secret.rs_negative, &secret.product);

    blind_g1(&secret.a, &sums->a, &key->alpha1, &key->delta1, &secret.r);
    blind_g1(&secret.b1, &sums->b1, &key->beta1, &key->delta1, &secret.s);
    blind_g2(&secret.b2, &sums->b2, &key->beta2, &key->delta2, &secret.s);

    /* c + h + s a + r b1 - r s delta */
    g1_xyzz_add(&secret.c, &sums->c, &sums->h);
    g1_xyzz_mul(&secret.term, &secret.a, &secret.s);
    g1_xyzz_add(&secret.c, &secret.c, &secret.term);
    g1_xyzz_mul(&secret.term, &secret.b1, &secret.r);
    g1_xyzz_add(&secret.c, &secret.c, &secret.term);
    g1_xyzz_from_affine(&secret.term, &key->delta1);
    g1_xyzz_mul(&secret.term, &secret.term, &secret.rs_negative);
    g1_xyzz_add(&secret.c, &secret.c, &secret.term);

    g1_xyzz_to_affine(&proof->a, &secret.a);
    g2_xyzz_to_affine(&proof->b, &secret.b2);
    g1_xyzz_to_affine(&proof->c, &secret.c);
    explicit_bzero(&secret, sizeof secret);
}

/* Uniform below r: 254 random bits, drawn again while they make r or more (about one draw in four does). */
static enum error_code draw(fr *r, struct error *error)
{
    u256 candidate;
    do {
        ssize_t got;
        do {
            got = getrandom(candidate.w, sizeof candidate.w, 0);
        } while (got < 0 && errno == EINTR);
        if (got < 0) {
            return error_set_errno(error, errno, "cannot draw randomness for a proof (getrandom)");
        }
        CHECK((size_t)got == sizeof candidate.w); /* up to 256 bytes come whole */
        candidate.w[3] &= UINT64_MAX >> 2;
    } while (!fr_from_u256(r, &candidate));
    explicit_bzero(&candidate, sizeof candidate);
    return ERROR_NONE;
}

enum error_code prove_blinding_draw(struct prove_blinding *blinding, struct error *error)
{
    enum error_code code = draw(&blinding->r, error);
    return code ? code : draw(&blinding->s, error);
}
