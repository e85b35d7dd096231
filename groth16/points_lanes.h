/* points_lanes.h - the checks of points.h for a level with eight-lane arithmetic (lanes.h). points_ifma.c and
 * points_fma.c define POINTS_LEVEL(name) and include this inside their target regions.
 *
 * A multiplication divides by 2^260 where elements carry 2^256, so squares are taken of 4a, and the cube as
 * x^2 times 16x: then both sides carry 2^256, as the curve's constant does. Coordinates are only compared
 * with p in their highest limb: one that shares it with p, which no honest key has, is not called good here
 * and is looked at alone. */

#include "groth16/fq_lanes.h"
#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/points_level.h"

/* r = 2^bits a, normal, of what stands in four words. */
FQ8_INLINE void points_shifted(fq8 *r, const lanes w[4], unsigned bits)
{
    const lanes mask = lanes_word(LANES_MASK);
    r->l[0] = lanes_and(lanes_left(w[0], bits), mask);
    r->l[1] = lanes_and(lanes_or(lanes_right(w[0], 52 - bits), lanes_left(w[1], 12 + bits)), mask);
    r->l[2] = lanes_and(lanes_or(lanes_right(w[1], 40 - bits), lanes_left(w[2], 24 + bits)), mask);
    r->l[3] = lanes_and(lanes_or(lanes_right(w[2], 28 - bits), lanes_left(w[3], 36 + bits)), mask);
    r->l[4] = lanes_right(w[3], 16 - bits);
}

/* The lanes whose element is below p, or nearly all of them. */
FQ8_INLINE uint8_t points_in_range(const lanes w[4])
{
    const lanes difference = lanes_sub(lanes_right(w[3], 16), lanes_word(fq8_prime.p[4]));
    return (uint8_t)~lanes_zero(lanes_right(difference, 63));
}

FQ8_INLINE uint8_t points_is_zero(const lanes w[4])
{
    return lanes_zero(lanes_or(lanes_or(w[0], w[1]), lanes_or(w[2], w[3])));
}

/* The lanes in which left, below 2p, is congruent to right, below 3p. */
FQ8_INLINE uint8_t points_congruent(const fq8 *left, const fq8 *right)
{
    fq8 difference;
    uint8_t congruent = 0;
    fq8_sub_raw(&difference, right, left, 2);
    fq8_normalize(&difference); /* more than 0, less than 5p */
    for (unsigned multiple = 1; multiple < 5; multiple++) {
        fq8 product;
        for (int i = 0; i < 5; i++) {
            product.l[i] = lanes_word(fq8_prime.p[i] * multiple);
        }
        fq8_normalize(&product);
        congruent |= fq8_equal(&difference, &product);
    }
    return congruent;
}

static void points_locate(const void *at[LANES], const uint8_t *bytes, size_t item, size_t first,
                          size_t count)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        at[lane] = bytes + (first + lane < count ? first + lane : count - 1) * item;
    }
}

/* Bounds, as in fq_lanes.h, hold for elements below p; what comes of others does not matter. */
static uint8_t points_g1_eight(const void *const at[LANES])
{
    lanes x[4], y[4];
    fq8 left, right, multiple, b;
    lanes_gather_at(x, at, 0);
    lanes_gather_at(y, at, 32);
    points_shifted(&left, y, 2);
    fq8_sqr(&left, &left); /* < 1.2 */
    points_shifted(&right, x, 2);
    fq8_sqr(&right, &right); /* < 1.2 */
    points_shifted(&multiple, x, 4);
    fq8_mul(&right, &right, &multiple); /* < 1.3 */
    fq8_broadcast(&b, &g1_b);
    fq8_add_raw(&right, &right, &b);
    uint8_t good = points_congruent(&left, &right);
    if (good != UINT8_MAX) {
        good |= points_is_zero(x) & points_is_zero(y);
    }
    return good & points_in_range(x) & points_in_range(y);
}

static uint8_t points_g2_eight(const void *const at[LANES])
{
    lanes x[2][4], y[2][4];
    fq2x8 left, right, multiple, b;
    for (int i = 0; i < 2; i++) {
        lanes_gather_at(x[i], at, 32 * (size_t)i);
        lanes_gather_at(y[i], at, 64 + 32 * (size_t)i);
    }
    points_shifted(&left.c0, y[0], 2);
    points_shifted(&left.c1, y[1], 2);
    fq2x8_sqr(&left, &left); /* < 1.8 */
    points_shifted(&right.c0, x[0], 2);
    points_shifted(&right.c1, x[1], 2);
    fq2x8_sqr(&right, &right); /* < 1.8 */
    points_shifted(&multiple.c0, x[0], 4);
    points_shifted(&multiple.c1, x[1], 4);
    fq2x8_mul(&right, &right, &multiple); /* < 1.8 */
    fq2x8_broadcast(&b, &g2_b);
    fq2x8_add_raw(&right, &right, &b);
    uint8_t good = points_congruent(&left.c0, &right.c0) & points_congruent(&left.c1, &right.c1);
    if (good != UINT8_MAX) {
        good |= points_is_zero(x[0]) & points_is_zero(x[1]) & points_is_zero(y[0]) & points_is_zero(y[1]);
    }
    return good & points_in_range(x[0]) & points_in_range(x[1]) & points_in_range(y[0]) &
           points_in_range(y[1]);
}

static __attribute__((noinline)) bool points_g1_eights(const uint8_t *bytes, size_t count)
{
    uint8_t good = UINT8_MAX;
    for (size_t i = 0; good == UINT8_MAX && i < count; i += LANES) {
        const void *at[LANES];
        points_locate(at, bytes, G1_BYTES, i, count);
        good = points_g1_eight(at);
    }
    return good == UINT8_MAX;
}

static __attribute__((noinline)) bool points_g2_eights(const uint8_t *bytes, size_t count)
{
    uint8_t good = UINT8_MAX;
    for (size_t i = 0; good == UINT8_MAX && i < count; i += LANES) {
        const void *at[LANES];
        points_locate(at, bytes, G2_BYTES, i, count);
        good = points_g2_eight(at);
    }
    return good == UINT8_MAX;
}

bool POINTS_LEVEL(points_g1_good)(const uint8_t *bytes, size_t count)
{
    const unsigned before = lanes_begin();
    const bool good = points_g1_eights(bytes, count);
    lanes_end(before);
    return good;
}

bool POINTS_LEVEL(points_g2_good)(const uint8_t *bytes, size_t count)
{
    const unsigned before = lanes_begin();
    const bool good = points_g2_eights(bytes, count);
    lanes_end(before);
    return good;
}
