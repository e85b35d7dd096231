#include "groth16/modinv.h"

#include "conf/check.h"

typedef __int128 modinv_wide;

enum { MODINV_BITS = 62, MODINV_LIMBS = 5 };

#define MODINV_MASK (UINT64_MAX >> 2)

/* Limbs of 62 bits, the top one signed. */
struct modinv_number {
    int64_t limb[MODINV_LIMBS];
};

/* What a batch of division steps does to (f, g), times 2^62. */
struct modinv_steps {
    int64_t ff, fg; /* f becomes (ff f + fg g) / 2^62 */
    int64_t gf, gg;
};

static struct modinv_number modinv_load(const u256 *a)
{
    struct modinv_number r;
    r.limb[0] = (int64_t)(a->w[0] & MODINV_MASK);
    r.limb[1] = (int64_t)((a->w[0] >> 62 | a->w[1] << 2) & MODINV_MASK);
    r.limb[2] = (int64_t)((a->w[1] >> 60 | a->w[2] << 4) & MODINV_MASK);
    r.limb[3] = (int64_t)((a->w[2] >> 58 | a->w[3] << 6) & MODINV_MASK);
    r.limb[4] = (int64_t)(a->w[3] >> 56);
    return r;
}

static void modinv_store(u256 *r, const struct modinv_number *a)
{
    uint64_t l[MODINV_LIMBS];
    for (int i = 0; i < MODINV_LIMBS; i++) {
        l[i] = (uint64_t)a->limb[i];
    }
    r->w[0] = l[0] | l[1] << 62;
    r->w[1] = l[1] >> 2 | l[2] << 60;
    r->w[2] = l[2] >> 4 | l[3] << 58;
    r->w[3] = l[3] >> 6 | l[4] << 56;
}

/* 1/a mod 2^64 for odd a: a itself is right to 3 bits, each step doubles them. */
static uint64_t modinv_word(uint64_t a)
{
    uint64_t x = a;
    for (int bits = 3; bits < 64; bits *= 2) {
        x *= 2 - a * x;
    }
    return x;
}

/* 62 division steps on the low words; returns the new delta. Arithmetic is modulo 2^64 throughout: entries of
 * the matrix are at most 2^62 in size. */
static int64_t modinv_divide_steps(struct modinv_steps *steps, int64_t delta, uint64_t f, uint64_t g)
{
    uint64_t ff = 1, fg = 0, gf = 0, gg = 1;
    int left = MODINV_BITS;
    for (;;) {
        const int zeros = __builtin_ctzll(g | UINT64_MAX << left);
        g >>= zeros;
        ff <<= zeros;
        fg <<= zeros;
        delta += zeros;
        left -= zeros;
        if (left == 0) {
            break;
        }
        if (delta > 0) { /* g is odd: (f, g) becomes (g, -f), then g + f as below */
            delta = -delta;
            uint64_t t = f;
            f = g;
            g = 0 - t;
            t = ff;
            ff = gf;
            gf = 0 - t;
            t = fg;
            fg = gg;
            gg = 0 - t;
        }
        /* The next 1 - delta steps don't swap: add the multiple of f that clears so many bits of g, up to 6,
         * as f (2 - f^2) is 1/f to 6 bits. */
        int bits = 1 - delta < left ? (int)(1 - delta) : left;
        bits = bits < 6 ? bits : 6;
        const uint64_t multiple = (g * f * (f * f - 2)) & ((UINT64_C(1) << bits) - 1);
        g += f * multiple;
        gf += ff * multiple;
        gg += fg * multiple;
    }
    *steps = (struct modinv_steps){(int64_t)ff, (int64_t)fg, (int64_t)gf, (int64_t)gg};
    return delta;
}

/* (f, g) after the steps; the lowest limbs vanish by construction. */
static void modinv_update_fg(struct modinv_number *f, struct modinv_number *g, const struct modinv_steps *s)
{
    modinv_wide a = 0, b = 0;
    for (int i = 0; i < MODINV_LIMBS; i++) {
        const int64_t fi = f->limb[i], gi = g->limb[i];
        a += (modinv_wide)s->ff * fi + (modinv_wide)s->fg * gi;
        b += (modinv_wide)s->gf * fi + (modinv_wide)s->gg * gi;
        if (i > 0) {
            f->limb[i - 1] = (int64_t)((uint64_t)a & MODINV_MASK);
            g->limb[i - 1] = (int64_t)((uint64_t)b & MODINV_MASK);
        }
        a >>= MODINV_BITS;
        b >>= MODINV_BITS;
    }
    f->limb[MODINV_LIMBS - 1] = (int64_t)a;
    g->limb[MODINV_LIMBS - 1] = (int64_t)b;
}

/* r = (s d + t e + multiple of the modulus) / 2^62, the multiple chosen so that it divides. d and e are in
 * (-2 modulus, modulus), and so will r be: negative ones first count as themselves plus the modulus. */
static void modinv_update_one(struct modinv_number *r, int64_t s, int64_t t, const struct modinv_number *d,
                              const struct modinv_number *e, const struct modinv_number *modulus,
                              uint64_t modulus_inverse)
{
    int64_t multiple = (d->limb[4] < 0 ? s : 0) + (e->limb[4] < 0 ? t : 0);
    modinv_wide a = (modinv_wide)s * d->limb[0] + (modinv_wide)t * e->limb[0];
    multiple -= (int64_t)((modulus_inverse * (uint64_t)a + (uint64_t)multiple) & MODINV_MASK);
    for (int i = 0; i < MODINV_LIMBS; i++) {
        if (i > 0) {
            a += (modinv_wide)s * d->limb[i] + (modinv_wide)t * e->limb[i];
        }
        a += (modinv_wide)modulus->limb[i] * multiple;
        if (i > 0) {
            r->limb[i - 1] = (int64_t)((uint64_t)a & MODINV_MASK);
        }
        a >>= MODINV_BITS;
    }
    r->limb[MODINV_LIMBS - 1] = (int64_t)a;
}

static bool modinv_is_zero(const struct modinv_number *a)
{
    return (a->limb[0] | a->limb[1] | a->limb[2] | a->limb[3] | a->limb[4]) == 0;
}

/* r = sign * a + times * b */
static void modinv_combine(struct modinv_number *r, int64_t sign, const struct modinv_number *a,
                           int64_t times, const struct modinv_number *b)
{
    int64_t carry = 0;
    for (int i = 0; i < MODINV_LIMBS - 1; i++) {
        carry += sign * a->limb[i] + times * b->limb[i];
        r->limb[i] = (int64_t)((uint64_t)carry & MODINV_MASK);
        carry >>= MODINV_BITS;
    }
    r->limb[MODINV_LIMBS - 1] = sign * a->limb[4] + times * b->limb[4] + carry;
}

void modinv(u256 *r, const u256 *a, const u256 *modulus)
{
    const struct modinv_number p = modinv_load(modulus);
    const uint64_t p_inverse = modinv_word(modulus->w[0]);
    struct modinv_number f = p, g = modinv_load(a);
    struct modinv_number d = {{0}}, e = {{1}}; /* d a = f and e a = g, mod p and up to powers of 2 */
    int64_t delta = 1;
    CHECK(u256_less(a, modulus));
    while (!modinv_is_zero(&g)) {
        struct modinv_steps steps;
        struct modinv_number next;
        delta = modinv_divide_steps(&steps, delta, (uint64_t)f.limb[0] | (uint64_t)f.limb[1] << 62,
                                    (uint64_t)g.limb[0] | (uint64_t)g.limb[1] << 62);
        modinv_update_one(&next, steps.ff, steps.fg, &d, &e, &p, p_inverse);
        modinv_update_one(&e, steps.gf, steps.gg, &d, &e, &p, p_inverse);
        d = next;
        modinv_update_fg(&f, &g, &steps);
    }
    /* f is now 1 or -1 (or p, for a = 0, when d is still 0) */
    modinv_combine(&d, f.limb[4] < 0 ? -1 : 1, &d, 0, &p);
    while (d.limb[4] < 0) {
        modinv_combine(&d, 1, &d, 1, &p);
    }
    u256 result;
    modinv_store(&result, &d);
    while (!u256_less(&result, modulus)) {
        modinv_combine(&d, 1, &d, -1, &p);
        modinv_store(&result, &d);
    }
    *r = result;
}
