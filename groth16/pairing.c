#include "groth16/pairing.h"

#include "conf/check.h"

/* 6x + 2 = 29793968203157093288 in non-adjacent form, the highest digit first. */
static const int8_t pairing_loop[] = {
    1, 0, -1, 0, 1,  0, 0, 0, -1, 0, -1, 0,  0, 0,  -1, 0, 1, 0, -1, 0, 0, -1,
    0, 0, 0,  0, 0,  1, 0, 0, -1, 0, 1,  0,  0, -1, 0,  0, 0, 0, -1, 0, 1, 0,
    0, 0, -1, 0, -1, 0, 0, 1, 0,  0, 0,  -1, 0, 0,  -1, 0, 1, 0, 1,  0, 0, 0,
};

/* x = 4965661367192848881 in signed digits 0, 1, 3, the highest digit first. */
static const int8_t pairing_x[] = {
    1, 0, 0, 1, 0, 0, -3, 0,  0, 0, 0, -3, 0, 0, 0, 3, 0, 0, 1, 0, 0, 1,  0, 0, 3, 0, 0,  0, -3, 0, 0, 0,
    1, 0, 0, 0, 3, 0, 0,  -3, 0, 0, 0, -3, 0, 0, 1, 0, 0, 0, 1, 0, 0, -3, 0, 0, 0, 0, -1, 0, 0,  0, 1,
};

/* A point of the twist in homogeneous coordinates: (x/z, y/z). */
struct pairing_point {
    fq2 x, y, z;
};

/* point = 2 point, and the tangent at it, still to be divided by divisor. */
static void pairing_double(struct pairing_line *line, fq2 *divisor, struct pairing_point *point)
{
    /* With b = y^2, e = 3 b' z^2 and h = 2yz: slope 3x^2 / h, offset (b - e) / h. The new point is the
     * source's times 4, so that nothing is halved. */
    fq2 a, b, c, e, f, h;
    fq2_mul(&a, &point->x, &point->y);
    fq2_dbl(&a, &a);
    fq2_sqr(&b, &point->y);
    fq2_sqr(&c, &point->z);
    fq2_mul(&e, &c, &g2_b);
    fq2_dbl(&f, &e);
    fq2_add(&e, &e, &f);
    fq2_dbl(&f, &e);
    fq2_add(&f, &f, &e);
    fq2_add(&h, &point->y, &point->z);
    fq2_sqr(&h, &h);
    fq2_sub(&h, &h, &b);
    fq2_sub(&h, &h, &c);

    fq2_sqr(&c, &point->x);
    fq2_dbl(&line->slope, &c);
    fq2_add(&line->slope, &line->slope, &c);
    fq2_neg(&line->slope, &line->slope);
    fq2_sub(&line->offset, &b, &e);
    *divisor = h;

    fq2_sub(&c, &b, &f);
    fq2_mul(&point->x, &a, &c);
    fq2_add(&f, &f, &b);
    fq2_sqr(&f, &f);
    fq2_sqr(&e, &e);
    fq2_dbl(&e, &e);
    fq2_dbl(&e, &e);
    fq2_dbl(&a, &e);
    fq2_add(&e, &e, &a);
    fq2_sub(&point->y, &f, &e);
    fq2_mul(&b, &b, &h);
    fq2_dbl(&b, &b);
    fq2_dbl(&point->z, &b);
}

/* point = point + q, and the line through both, still to be divided by divisor. */
static void pairing_add(struct pairing_line *line, fq2 *divisor, struct pairing_point *point,
                        const g2_affine *q)
{
    fq2 theta, mu, c, d, e, g;
    fq2_mul(&theta, &q->y, &point->z);
    fq2_sub(&theta, &point->y, &theta);
    fq2_mul(&mu, &q->x, &point->z);
    fq2_sub(&mu, &point->x, &mu);

    fq2_neg(&line->slope, &theta);
    fq2_mul(&c, &theta, &q->x);
    fq2_mul(&d, &mu, &q->y);
    fq2_sub(&line->offset, &c, &d);
    *divisor = mu;

    fq2_sqr(&c, &theta);
    fq2_mul(&c, &c, &point->z);
    fq2_sqr(&d, &mu);
    fq2_mul(&e, &d, &mu);
    fq2_mul(&g, &d, &point->x);
    fq2_add(&d, &e, &c);
    fq2_sub(&d, &d, &g);
    fq2_sub(&d, &d, &g);
    fq2_mul(&point->x, &mu, &d);
    fq2_sub(&g, &g, &d);
    fq2_mul(&g, &g, &theta);
    fq2_mul(&d, &e, &point->y);
    fq2_sub(&point->y, &g, &d);
    fq2_mul(&point->z, &point->z, &e);
}

void pairing_prepare(struct pairing_prepared *prepared, const g2_affine *q)
{
    prepared->infinity = g2_affine_is_infinity(q);
    if (prepared->infinity) {
        return;
    }
    struct pairing_line *lines = prepared->lines;
    fq2 divisors[PAIRING_LINES], scratch[PAIRING_LINES];
    struct pairing_point point = {.x = q->x, .y = q->y, .z = fq2_one};
    g2_affine negative, image;
    g2_affine_neg(&negative, q);
    size_t n = 0;
    for (size_t i = 1; i < sizeof pairing_loop; i++) {
        pairing_double(&lines[n], &divisors[n], &point);
        n++;
        if (pairing_loop[i] != 0) {
            pairing_add(&lines[n], &divisors[n], &point, pairing_loop[i] > 0 ? q : &negative);
            n++;
        }
    }
    g2_affine_psi(&image, q);
    pairing_add(&lines[n], &divisors[n], &point, &image);
    n++;
    g2_affine_psi(&image, &image);
    g2_affine_neg(&image, &image);
    pairing_add(&lines[n], &divisors[n], &point, &image);
    n++;
    CHECK(n == PAIRING_LINES);

    fq2_batch_inv(divisors, scratch, PAIRING_LINES);
    for (size_t i = 0; i < PAIRING_LINES; i++) {
        fq2_mul(&lines[i].slope, &lines[i].slope, &divisors[i]);
        fq2_mul(&lines[i].offset, &lines[i].offset, &divisors[i]);
    }
}

/* One pair of a running Miller loop. */
struct pairing_pair {
    const struct pairing_line *line; /* the next one */
    fq x_over_y, y_inverse;
};

static void pairing_lines(fq12 *f, struct pairing_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fq2 b0, b1;
        fq2_mul_fq(&b0, &pairs[i].line->slope, &pairs[i].x_over_y);
        fq2_mul_fq(&b1, &pairs[i].line->offset, &pairs[i].y_inverse);
        fq12_mul_line(f, f, &b0, &b1);
        pairs[i].line++;
    }
}

void pairing_miller(fq12 *f, const g1_affine *p, const struct pairing_prepared *const *q, size_t count)
{
    CHECK(count <= PAIRING_PAIRS_MAX);
    struct pairing_pair pairs[PAIRING_PAIRS_MAX];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (q[i]->infinity || g1_affine_is_infinity(&p[i])) {
            continue;
        }
        struct pairing_pair *pair = &pairs[used++];
        pair->line = q[i]->lines;
        fq_inv(&pair->y_inverse, &p[i].y);
        fq_mul(&pair->x_over_y, &p[i].x, &pair->y_inverse);
    }
    fq12_set_one(f);
    for (size_t i = 1; i < sizeof pairing_loop; i++) {
        fq12_sqr(f, f);
        pairing_lines(f, pairs, used);
        if (pairing_loop[i] != 0) {
            pairing_lines(f, pairs, used);
        }
    }
    pairing_lines(f, pairs, used);
    pairing_lines(f, pairs, used);
}

/* r = a^x in the cyclotomic subgroup, where the inverse is the conjugate. */
static void pairing_pow_x(fq12 *r, const fq12 *a)
{
    fq12 base = *a, cube, power = *a, inverse;
    fq12_cyclotomic_sqr(&cube, a);
    fq12_mul(&cube, &cube, a);
    for (size_t i = 1; i < sizeof pairing_x; i++) {
        fq12_cyclotomic_sqr(&power, &power);
        int digit = pairing_x[i];
        const fq12 *factor = digit == 3 || digit == -3 ? &cube : &base;
        if (digit < 0) {
            fq12_conj(&inverse, factor);
            factor = &inverse;
        }
        if (digit != 0) {
            fq12_mul(&power, &power, factor);
        }
    }
    *r = power;
}

/* r = f^((q^6 - 1)(q^2 + 1)), which is in the cyclotomic subgroup. */
static void pairing_easy_part(fq12 *r, const fq12 *f)
{
    fq12 inverse, image;
    fq12_inv(&inverse, f);
    fq12_conj(r, f);
    fq12_mul(r, r, &inverse);
    fq12_frobenius(&image, r, 2);
    fq12_mul(r, r, &image);
}

void pairing_final_exponentiation(fq12 *r, const fq12 *f)
{
    fq12 g, x2, x6, xx6, a, b, t;
    pairing_easy_part(&g, f);
    /* The exponent in base q has the digits 1 + 6x + 12x^2 + 12x^3, 4x + 6x^2 + 12x^3, 6x + 6x^2 + 12x^3 and
     * 4x + 6x^2 + 12x^3 - 1; a carries the third, b the second. */
    pairing_pow_x(&t, &g);
    fq12_cyclotomic_sqr(&x2, &t);
    fq12_cyclotomic_sqr(&x6, &x2);
    fq12_mul(&x6, &x6, &x2);
    pairing_pow_x(&xx6, &x6);
    fq12_cyclotomic_sqr(&t, &xx6);
    pairing_pow_x(&a, &t);
    fq12_mul(&a, &a, &xx6);
    fq12_mul(&a, &a, &x6);
    fq12_conj(&t, &x2);
    fq12_mul(&b, &a, &t);

    fq12_conj(&t, &g);
    fq12_mul(&t, &t, &b);
    fq12_frobenius(&t, &t, 3);
    fq12_mul(&g, &g, &a);
    fq12_mul(&g, &g, &xx6);
    fq12_mul(&g, &g, &t);
    fq12_frobenius(&t, &b, 1);
    fq12_mul(&g, &g, &t);
    fq12_frobenius(&t, &a, 2);
    fq12_mul(r, &g, &t);
}

void pairing(fq12 *r, const g1_affine *p, const g2_affine *q)
{
    struct pairing_prepared prepared;
    pairing_prepare(&prepared, q);
    pairing_miller(r, p, &(const struct pairing_prepared *){&prepared}, 1);
    pairing_final_exponentiation(r, r);
}
