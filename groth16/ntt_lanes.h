/* ntt_lanes.h - the NTT's kernels for a level with eight-lane arithmetic (lanes.h): eight elements of Fr at
 * once in five limbs of 52 bits. ntt_ifma.c and ntt_fma.c define NTT(name) and include this inside their
 * target regions. Only called where cpu_level() says that the processor has the instructions.
 *
 * Montgomery multiplication in this radix divides by 2^260 while elements carry 2^256. Butterflies multiply
 * by table entries only, so the tables are made with 2^260 (ntt_init) and elements stay as they are; results
 * are bit-identical to the other levels'. Reductions wait: a multiplication of values below a p and p gives
 * one below (a / 84 + 1) p. On the way to coefficients an element grows by at most 2p a stage, so up to 22p
 * over nine stages, and is brought below 4p only to be stored in 256 bits; on the way back sums double, and
 * are brought below 2p each time. */

#include "groth16/lanes.h"
#include "groth16/ntt_level.h"

typedef struct {
    lanes l[5];
} fr8;

#define FR8_INLINE LANES_INLINE

static const struct lanes_prime fr8_prime = LANES_PRIME(0x1f593f0000001, 0x4879b9709143e, 0x181585d2833e8,
                                                        0xa029b85045b68, 0x30644e72e131, 0x1f593efffffff);

/* r = a + b */
FR8_INLINE void add(fr8 *r, const fr8 *a, const fr8 *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = lanes_add(a->l[i], b->l[i]);
    }
    lanes_normalize(r->l);
}

/* r = a - b + 2p, for b up to 2p */
FR8_INLINE void sub(fr8 *r, const fr8 *a, const fr8 *b)
{
    for (int i = 0; i < 5; i++) {
        r->l[i] = lanes_add(lanes_sub(a->l[i], b->l[i]), lanes_word(2 * fr8_prime.p[i]));
    }
    lanes_normalize(r->l);
}

/* Takes multiple * p from the lanes that hold at least as much. */
FR8_INLINE void reduce_by(fr8 *r, unsigned multiple)
{
    lanes_reduce_by(r->l, multiple, &fr8_prime);
}

/* r = a b / 2^260; r may be a or b */
FR8_INLINE void mul(fr8 *r, const fr8 *a, const fr8 *b)
{
    lanes_mul_sum(r->l, (const lanes *const[]){a->l}, (const lanes *const[]){b->l}, 1, &fr8_prime);
}

/* Lane i is the element at values + i * stride. */
FR8_INLINE void load(fr8 *r, const fr *values, size_t stride)
{
    lanes w[4];
    if (stride == 0) {
        for (int i = 0; i < 4; i++) {
            w[i] = lanes_word(values->w[i]);
        }
    } else {
        lanes_gather(w, values->w, stride * (sizeof(fr) / sizeof(uint64_t)));
    }
    lanes_from_words(r->l, w);
}

/* Values below 2^256. */
FR8_INLINE void store(fr *values, size_t stride, const fr8 *a)
{
    lanes w[4];
    lanes_to_words(w, a->l);
    lanes_scatter(values->w, stride * (sizeof(fr) / sizeof(uint64_t)), w);
}

/* Lane i is the twiddle of block number + (i << stage). In a far tile all lanes are in one block: step is 0.
 */
FR8_INLINE void split(fr8 *low, fr8 *high, const fr8 *twiddle)
{
    fr8 a = *low, b = *high;
    mul(&b, &b, twiddle);
    add(low, &a, &b);
    sub(high, &a, &b);
}

FR8_INLINE void merge(fr8 *low, fr8 *high, const fr8 *twiddle)
{
    fr8 a = *low, b = *high;
    add(low, &a, &b);
    reduce_by(low, 2);
    sub(&b, &a, &b);
    mul(high, &b, twiddle);
}

/* All stages of one direction over 2^stages rows of eight lanes, where lane i belongs to block number
 * block + i * lane_blocks. */
static void run_stages(fr8 *rows, unsigned stages, const fr *twiddles, size_t block, size_t lane_blocks,
                       bool forward)
{
    for (unsigned step = 0; step < stages; step++) {
        unsigned stage = forward ? stages - 1 - step : step;
        size_t half = ((size_t)1 << stages) >> (stage + 1);
        for (size_t i = 0; i < (size_t)1 << stage; i++) {
            fr8 twiddle;
            load(&twiddle, &twiddles[(block << stage) + i], lane_blocks << stage);
            fr8 *low = rows + 2 * i * half, *high = low + half;
            for (size_t j = 0; j < half; j++) {
                if (forward) {
                    merge(&low[j], &high[j], &twiddle);
                } else {
                    split(&low[j], &high[j], &twiddle);
                }
            }
        }
    }
}

static __attribute__((noinline)) void far_tile(const struct ntt_tile *tile, void *scratch)
{
    fr8 *rows = scratch;
    size_t count = (size_t)1 << tile->stages;
    for (size_t i = 0; i < count; i++) {
        load(&rows[i], tile->values + i * tile->stride, 1);
    }
    run_stages(rows, tile->stages, tile->twiddles, tile->block, 0, tile->forward);
    for (size_t i = 0; i < count; i++) {
        if (tile->forward) {
            reduce_by(&rows[i], 1);
        } else {
            reduce_by(&rows[i], 16);
            reduce_by(&rows[i], 8);
            reduce_by(&rows[i], 4);
        }
        store(tile->values + i * tile->stride, 1, &rows[i]);
    }
}

/* Eight blocks side by side, a lane each. */
static __attribute__((noinline)) void near_blocks(const struct ntt *ntt, fr *values, unsigned stages,
                                                  size_t block, void *scratch)
{
    fr8 *rows = scratch;
    size_t count = (size_t)1 << stages;
    const fr *shift = ntt->shift + (block << stages);
    for (size_t i = 0; i < count; i++) {
        load(&rows[i], values + i, count);
    }
    run_stages(rows, stages, ntt->inverse, block, 1, false);
    for (size_t i = 0; i < count; i++) {
        fr8 factor;
        load(&factor, shift + i, count);
        mul(&rows[i], &rows[i], &factor);
    }
    run_stages(rows, stages, ntt->forward, block, 1, true);
    for (size_t i = 0; i < count; i++) {
        store(values + i, count, &rows[i]);
    }
}

void NTT(far)(const struct ntt_tile *tile, void *scratch)
{
    const unsigned before = lanes_begin();
    far_tile(tile, scratch);
    lanes_end(before);
}

void NTT(near)(const struct ntt *ntt, fr *values, unsigned stages, size_t block, void *scratch)
{
    const unsigned before = lanes_begin();
    near_blocks(ntt, values, stages, block, scratch);
    lanes_end(before);
}
