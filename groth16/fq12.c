#include "groth16/fq12.h"

#include "conf/check.h"

/* 2^256 mod q: one in Montgomery form, written out since a table needs constants. */
#define FQ12_ONE                                                                           \
    {                                                                                      \
        {                                                                                  \
            0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f \
        }                                                                                  \
    }
#define FQ12_ZERO      \
    {                  \
        {              \
            0, 0, 0, 0 \
        }              \
    }

#define FQ12_POWERS 3

/* fq12_factors[k - 1][i] = xi^(i (q^k - 1) / 6): w^(q^k) = w factor[1], since w^6 = xi. Computed with
 * Python's integers from that formula; test_fq12 compares the map with ffjavascript's and with a plain power.
 */
static const fq2 fq12_factors[FQ12_POWERS][6] = {
    {
        {FQ12_ONE, FQ12_ZERO},
        {{{0xaf9ba69633144907, 0xca6b1d7387afb78a, 0x11bded5ef08a2087, 0x02f34d751a1f3a7c}},
         {{0xa222ae234c492d72, 0xd00f02a4565de15b, 0xdc2ff3a253dfc926, 0x10a75716b3899551}}},
        {{{0xb5773b104563ab30, 0x347f91c8a9aa6454, 0x7a007127242e0991, 0x1956bcd8118214ec}},
         {{0x6e849f1ea0aa4757, 0xaa1c7b6d89f89141, 0xb6e713cdfae0ca3a, 0x26694fbb4e82ebc3}}},
        {{{0xe4bbdd0c2936b629, 0xbb30f162e133bacb, 0x31a9d1b6f9645366, 0x253570bea500f8dd}},
         {{0xa1d77ce45ffe77c7, 0x07affd117826d1db, 0x6d16bd27bb7edc6b, 0x2c87200285defecc}}},
        {{{0x7361d77f843abe92, 0xa5bb2bd3273411fb, 0x9c941f314b3e2399, 0x15df9cddbb9fd3ec}},
         {{0x5dddfd154bd8c949, 0x62cb29a5a4445b60, 0x37bc870a0c7dd2b9, 0x24830a9d3171f0fd}}},
        {{{0xc970692f41690fe7, 0xe240342127694b0b, 0x32bee66b83c459e8, 0x12aabced0ab08841}},
         {{0x0d485d2340aebfa9, 0x05193418ab2fcc57, 0xd3b0a40b8a4910f5, 0x2f21ebb535d2925a}}},
    },
    {
        {FQ12_ONE, FQ12_ZERO},
        {{{0xca8d800500fa1bf2, 0xf0c5d61468b39769, 0x0e201271ad0d4418, 0x04290f65bad856e6}}, FQ12_ZERO},
        {{{0x3350c88e13e80b9c, 0x7dce557cdb5e56b9, 0x6001b4b8b615564a, 0x2682e617020217e0}}, FQ12_ZERO},
        {{{0x68c3488912edefaa, 0x8d087f6872aabf4f, 0x51e1a24709081231, 0x2259d6b14729c0fa}}, FQ12_ZERO},
        {{{0x71930c11d782e155, 0xa6bb947cffbe3323, 0xaa303344d4741444, 0x2c3b3f0d26594943}}, FQ12_ZERO},
        {{{0x08cfc388c494f1ab, 0x19b315148d1373d4, 0x584e90fdcb6c0213, 0x09e1685bdf2f8849}}, FQ12_ZERO},
    },
    {
        {FQ12_ONE, FQ12_ZERO},
        {{{0x365316184e46d97d, 0x0af7129ed4c96d9f, 0x659da72fca1009b5, 0x08116d8983a20d23}},
         {{0xb1df4af7c39c1939, 0x3d9f02878a73bf7f, 0x9b2220928caf0ae0, 0x26684515eff054a6}}},
        {{{0xc9af22f716ad6bad, 0xb311782a4aa662b2, 0x19eeaf64e248c7f4, 0x20273e77e3439f82}},
         {{0xacc02860f7ce93ac, 0x3933d5817ba76b4c, 0x69e6188b446c8467, 0x0a46036d4417cc55}}},
        {{{0x5764af0aaf46471e, 0xdc50792e873e0fc1, 0x86a673ff881d04f6, 0x0b2eddb43c30a74c}},
         {{0x9a490f32787e8580, 0x8fd16d7ff04af8b1, 0x4b39888ec6027bf2, 0x03dd2e705b52a15d}}},
        {{{0x448a93a57b6762df, 0xbfd62df528fdeadf, 0xd858f5d00e9bd47a, 0x06b03d4d3476ec58}},
         {{0x2b19daf4bcc936d1, 0xa1a54e7a56f4299f, 0xb533eee05adeaef1, 0x170c812b84dda0b2}}},
        {{{0xe0bc4b2275cf559f, 0xc238b945c154e60f, 0x803982a5929a7d5e, 0x15ce052df7e4a37e}},
         {{0x2d28efbdbf3799a7, 0x9b097e3c1ad60773, 0x982d4113af4a535b, 0x24e18991e3056063}}},
    },
};

void fq12_set_one(fq12 *r)
{
    static const fq12 one = {.c0.c0.c0 = FQ12_ONE};
    *r = one;
}

bool fq12_is_one(const fq12 *a)
{
    fq12 one;
    fq12_set_one(&one);
    return fq12_equal(a, &one);
}

bool fq12_equal(const fq12 *a, const fq12 *b)
{
    return fq6_equal(&a->c0, &b->c0) && fq6_equal(&a->c1, &b->c1);
}

void fq12_mul(fq12 *r, const fq12 *a, const fq12 *b)
{
    fq6 p0, p1, sum_a, sum_b;
    fq6_mul(&p0, &a->c0, &b->c0);
    fq6_mul(&p1, &a->c1, &b->c1);
    fq6_add(&sum_a, &a->c0, &a->c1);
    fq6_add(&sum_b, &b->c0, &b->c1);
    fq6_mul(&r->c1, &sum_a, &sum_b);
    fq6_sub(&r->c1, &r->c1, &p0);
    fq6_sub(&r->c1, &r->c1, &p1);
    fq6_mul_v(&p1, &p1);
    fq6_add(&r->c0, &p0, &p1);
}

void fq12_sqr(fq12 *r, const fq12 *a)
{
    /* c0^2 + v c1^2 = (c0 + c1)(c0 + v c1) - c0 c1 - v c0 c1 */
    fq6 product, sum, shifted;
    fq6_mul(&product, &a->c0, &a->c1);
    fq6_add(&sum, &a->c0, &a->c1);
    fq6_mul_v(&shifted, &a->c1);
    fq6_add(&shifted, &shifted, &a->c0);
    fq6_mul(&sum, &sum, &shifted);
    fq6_sub(&sum, &sum, &product);
    fq6_mul_v(&shifted, &product);
    fq6_sub(&r->c0, &sum, &shifted);
    fq6_dbl(&r->c1, &product);
}

void fq12_inv(fq12 *r, const fq12 *a)
{
    fq6 norm, square;
    fq6_sqr(&norm, &a->c0);
    fq6_sqr(&square, &a->c1);
    fq6_mul_v(&square, &square);
    fq6_sub(&norm, &norm, &square);
    fq6_inv(&norm, &norm);
    fq6_mul(&r->c0, &a->c0, &norm);
    fq6_mul(&r->c1, &a->c1, &norm);
    fq6_neg(&r->c1, &r->c1);
}

void fq12_conj(fq12 *r, const fq12 *a)
{
    r->c0 = a->c0;
    fq6_neg(&r->c1, &a->c1);
}

/* The map on one coefficient: a^(q^power) is a or, for an odd power, its conjugate. */
static void fq12_frobenius_fq2(fq2 *r, const fq2 *a, unsigned power, unsigned i)
{
    fq2 image = *a;
    if (power % 2 == 1) {
        fq2_conj(&image, a);
    }
    fq2_mul(r, &image, &fq12_factors[power - 1][i]);
}

void fq12_frobenius(fq12 *r, const fq12 *a, unsigned power)
{
    CHECK(power >= 1 && power <= FQ12_POWERS);
    fq12_frobenius_fq2(&r->c0.c0, &a->c0.c0, power, 0);
    fq12_frobenius_fq2(&r->c1.c0, &a->c1.c0, power, 1);
    fq12_frobenius_fq2(&r->c0.c1, &a->c0.c1, power, 2);
    fq12_frobenius_fq2(&r->c1.c1, &a->c1.c1, power, 3);
    fq12_frobenius_fq2(&r->c0.c2, &a->c0.c2, power, 4);
    fq12_frobenius_fq2(&r->c1.c2, &a->c1.c2, power, 5);
}

void fq12_mul_line(fq12 *r, const fq12 *a, const fq2 *b0, const fq2 *b1)
{
    /* b0 w + b1 w^3 = (b0 + b1 v) w */
    fq6 low, high;
    fq6_mul_01(&low, &a->c1, b0, b1);
    fq6_mul_v(&low, &low);
    fq6_mul_01(&high, &a->c0, b0, b1);
    fq6_add(&r->c0, &a->c0, &low);
    fq6_add(&r->c1, &a->c1, &high);
}

/* (a + b s)^2 = r0 + r1 s in Fq4 = Fq2[s] / (s^2 - xi). */
static void fq12_sqr_fq4(fq2 *r0, fq2 *r1, const fq2 *a, const fq2 *b)
{
    fq2 a2, b2, sum;
    fq2_sqr(&a2, a);
    fq2_sqr(&b2, b);
    fq2_add(&sum, a, b);
    fq2_sqr(&sum, &sum);
    fq2_sub(&sum, &sum, &a2);
    fq2_sub(r1, &sum, &b2);
    fq2_mul_xi(&b2, &b2);
    fq2_add(r0, &a2, &b2);
}

/* r = 3 t - 2 a and r = 3 t + 2 a */
static void fq12_triple_minus(fq2 *r, const fq2 *t, const fq2 *a)
{
    fq2 difference;
    fq2_sub(&difference, t, a);
    fq2_dbl(&difference, &difference);
    fq2_add(r, &difference, t);
}

static void fq12_triple_plus(fq2 *r, const fq2 *t, const fq2 *a)
{
    fq2 sum;
    fq2_add(&sum, t, a);
    fq2_dbl(&sum, &sum);
    fq2_add(r, &sum, t);
}

void fq12_cyclotomic_sqr(fq12 *r, const fq12 *a)
{
    /* Fq12 seen as a cubic extension of Fq4, s = w^3: three squarings in Fq4 are all it takes. */
    fq2 t00, t01, t10, t11, t20, t21;
    fq12_sqr_fq4(&t00, &t01, &a->c0.c0, &a->c1.c1);
    fq12_sqr_fq4(&t10, &t11, &a->c1.c0, &a->c0.c2);
    fq12_sqr_fq4(&t20, &t21, &a->c0.c1, &a->c1.c2);
    fq2_mul_xi(&t21, &t21);
    fq12_triple_minus(&r->c0.c0, &t00, &a->c0.c0);
    fq12_triple_minus(&r->c0.c1, &t10, &a->c0.c1);
    fq12_triple_minus(&r->c0.c2, &t20, &a->c0.c2);
    fq12_triple_plus(&r->c1.c0, &t21, &a->c1.c0);
    fq12_triple_plus(&r->c1.c1, &t01, &a->c1.c1);
    fq12_triple_plus(&r->c1.c2, &t11, &a->c1.c2);
}
