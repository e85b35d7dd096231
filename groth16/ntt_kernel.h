/* ntt_kernel.h - the inner loops of the NTT, compiled once for each level of processor (ntt_portable.c,
 * ntt_adx.c).
 *
 * A template: the including file defines NTT(name). Both kernels work on a tile: rows of equal width, between
 * which the butterflies run. The long-stride kernel copies its tile to scratch first, since rows a power of
 * two apart would fight over the same few sets of the caches. */
#include "groth16/ntt_level.h"

/* Splitting step of the inverse: (a, b) -> (a + w b, a - w b), w = 1 where twiddle is NULL. */
static inline void NTT(split)(fr *low, fr *high, size_t count, const fr *twiddle)
{
    for (size_t i = 0; i < count; i++) {
        fr a = low[i], b = high[i];
        if (twiddle) {
            fr_mul(&b, &b, twiddle);
        }
        fr_add(&low[i], &a, &b);
        fr_sub(&high[i], &a, &b);
    }
}

/* Its counterpart: (a, b) -> (a + b, w (a - b)). */
static inline void NTT(merge)(fr *low, fr *high, size_t count, const fr *twiddle)
{
    for (size_t i = 0; i < count; i++) {
        fr a = low[i], b = high[i];
        fr_add(&low[i], &a, &b);
        fr_sub(&a, &a, &b);
        if (twiddle) {
            fr_mul(&high[i], &a, twiddle);
        } else {
            high[i] = a;
        }
    }
}

/* All stages of one direction over a tile of 2^stages rows. `block` is the tile's number among the blocks
 * that earlier stages of the inverse made. */
static void NTT(stages)(fr *tile, size_t columns, unsigned stages, const fr *twiddles, size_t block,
                        bool forward)
{
    for (unsigned step = 0; step < stages; step++) {
        unsigned stage = forward ? stages - 1 - step : step;
        size_t half = (columns << stages) >> (stage + 1);
        for (size_t i = 0; i < (size_t)1 << stage; i++) {
            size_t number = (block << stage) + i;
            const fr *twiddle = number == 0 ? NULL : &twiddles[number];
            fr *low = tile + 2 * i * half;
            if (forward) {
                NTT(merge)(low, low + half, half, twiddle);
            } else {
                NTT(split)(low, low + half, half, twiddle);
            }
        }
    }
}

void NTT(far)(const struct ntt_tile *tile, void *scratch)
{
    fr *copy = scratch;
    size_t rows = (size_t)1 << tile->stages;
    for (size_t row = 0; row < rows; row++) {
        memcpy(copy + row * tile->columns, tile->values + row * tile->stride, tile->columns * sizeof(fr));
    }
    NTT(stages)(copy, tile->columns, tile->stages, tile->twiddles, tile->block, tile->forward);
    for (size_t row = 0; row < rows; row++) {
        memcpy(tile->values + row * tile->stride, copy + row * tile->columns, tile->columns * sizeof(fr));
    }
}

void NTT(near)(const struct ntt *ntt, fr *values, unsigned stages, size_t block, void *scratch)
{
    (void)scratch;
    const fr *shift = ntt->shift + (block << stages);
    NTT(stages)(values, 1, stages, ntt->inverse, block, false);
    for (size_t i = 0; i < (size_t)1 << stages; i++) {
        fr_mul(&values[i], &values[i], &shift[i]);
    }
    NTT(stages)(values, 1, stages, ntt->forward, block, true);
}
