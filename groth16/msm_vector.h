/* msm_vector.h - sums of pairs of points, eight pairs at once, written once for both groups; msm_lanes.h
 * includes it for each.
 *
 * It defines VECTOR(name) for the functions made here, VECTOR_FIELD(name) for those on eight elements (fq8 or
 * fq2x8) with type VECTOR_ELEMENT, FIELD(name) for those on one, VECTOR_AFFINE, and VECTOR_REGISTERS, the
 * 64-byte pieces of an affine point.
 *
 * Elements stay as they lie in memory, a*2^256, while a multiplication divides by 2^260. With D the
 * difference of the x, the chain of prefix products P_k = P_(k-1) D_k / 2^260 is inverted with a constant
 * such that u_k = 2^518 / P_k; then u_k P_(k-1) / 2^260 is 2^262 over the true difference, the slope comes
 * out times 2^258, its square times 2^256 as memory wants it, and its product with 4(x1 - x3) too. Bounds
 * stand beside the lines in multiples of p. */

/* Eight pairs on their way: both points, what the slope divides, and which lanes are special. */
struct VECTOR(pairs) {
    VECTOR_ELEMENT x1, y1, x2, y2;
    VECTOR_ELEMENT denominator; /* < 2, normal */
    uint8_t doubles;            /* equal points */
    uint8_t cancels;            /* opposite points */
    uint8_t first_infinite;
    uint8_t second_infinite;
};

/* Chains of prefix products that run side by side, since a multiplication takes long but many overlap. */
enum { VECTOR(CHAINS) = LANES_CHAINS, VECTOR(ENDS) = VECTOR(CHAINS) * LANES };

/* Up to eight points from where they lie; missing ones repeat the last. */
FQ8_INLINE void VECTOR(gather)(VECTOR_ELEMENT *x, VECTOR_ELEMENT *y, const VECTOR_AFFINE *const points[LANES],
                               size_t step)
{
    lanes words[VECTOR_REGISTERS][LANES];
    for (int piece = 0; piece < VECTOR_REGISTERS; piece++) {
        for (int lane = 0; lane < LANES; lane++) {
            const VECTOR_AFFINE *point = points[lane] + step;
            words[piece][lane] = lanes_load((const char *)point + 64 * piece);
        }
        lanes_transpose(words[piece]);
    }
    VECTOR(split)(x, y, words);
}

/* The general case: among the pairs are equal or opposite points or infinity (or, since the caller only
 * looked at some limbs, perhaps none). x and the denominator are already there. */
static __attribute__((noinline)) void VECTOR(prepare_special)(struct VECTOR(pairs) * r,
                                                              const VECTOR_AFFINE *const points[LANES])
{
    VECTOR(gather)(&r->x1, &r->y1, points, 0);
    VECTOR(gather)(&r->x2, &r->y2, points, 1);
    r->first_infinite = VECTOR_FIELD(is_zero)(&r->y1); /* no point has y = 0: the group's order is odd */
    r->second_infinite = VECTOR_FIELD(is_zero)(&r->y2);
    const uint8_t infinite = r->first_infinite | r->second_infinite;
    const uint8_t same_x = VECTOR_FIELD(equal)(&r->x1, &r->x2) & (uint8_t)~infinite;
    VECTOR_ELEMENT twice, one;
    r->doubles = same_x & VECTOR_FIELD(equal)(&r->y1, &r->y2);
    r->cancels = same_x & (uint8_t)~r->doubles;
    VECTOR_FIELD(add_raw)(&twice, &r->y1, &r->y2);
    VECTOR_FIELD(normalize)(&twice);
    VECTOR_FIELD(select)(&r->denominator, r->doubles, &twice);
    VECTOR_FIELD(broadcast)(&one, &FIELD(one));
    VECTOR_FIELD(select)(&r->denominator, infinite | r->cancels, &one);
}

/* The denominators of eight pairs, all that a first pass needs of them; x1 and x2 are there already. */
FQ8_INLINE void VECTOR(divide)(struct VECTOR(pairs) * r, const VECTOR_AFFINE *const points[LANES])
{
    VECTOR_FIELD(sub_raw)(&r->denominator, &r->x2, &r->x1, 1); /* < 2 */
    VECTOR_FIELD(normalize)(&r->denominator);
    r->doubles = r->cancels = r->first_infinite = r->second_infinite = 0;
    if (__builtin_expect(VECTOR(is_special)(&r->x1, &r->x2, &r->denominator) != 0, 0)) {
        VECTOR(prepare_special)(r, points);
    }
}

/* The sums of eight pairs given 2^262 over each denominator. */
FQ8_INLINE void VECTOR(finish)(VECTOR_ELEMENT *x3, VECTOR_ELEMENT *y3, const struct VECTOR(pairs) * pairs,
                               const VECTOR_ELEMENT *inverse)
{
    VECTOR_ELEMENT numerator, slope, turn;
    VECTOR_FIELD(sub_raw)(&numerator, &pairs->y2, &pairs->y1, 1); /* < 2 */
    if (__builtin_expect(pairs->doubles != 0, 0)) {
        VECTOR_ELEMENT square, triple;
        VECTOR_FIELD(shift_raw)(&square, &pairs->x1, 2); /* (4 x)^2 / 2^260 * 2^256-form: x^2 in that form */
        VECTOR_FIELD(normalize)(&square);
        VECTOR_FIELD(sqr)(&square, &square); /* < 2 */
        VECTOR_FIELD(add_raw)(&triple, &square, &square);
        VECTOR_FIELD(add_raw)(&triple, &triple, &square); /* < 6 */
        VECTOR_FIELD(select)(&numerator, pairs->doubles, &triple);
    }
    VECTOR_FIELD(normalize)(&numerator);
    VECTOR_FIELD(mul)(&slope, inverse, &numerator); /* < 1.3 */
    VECTOR_FIELD(sqr)(x3, &slope);                  /* < 1.2 */
    VECTOR_FIELD(sub_raw)(x3, x3, &pairs->x1, 1);
    VECTOR_FIELD(sub_raw)(x3, x3, &pairs->x2, 1); /* < 3.2 */
    VECTOR_FIELD(normalize)(x3);
    VECTOR_FIELD(canonical)(x3);
    VECTOR_FIELD(sub_raw)(&turn, &pairs->x1, x3, 1);
    VECTOR_FIELD(shift_raw)(&turn, &turn, 2); /* < 8 */
    VECTOR_FIELD(normalize)(&turn);
    VECTOR_FIELD(mul)(y3, &slope, &turn); /* < 1.4 */
    VECTOR_FIELD(sub_raw)(y3, y3, &pairs->y1, 1);
    VECTOR_FIELD(normalize)(y3);
    VECTOR_FIELD(canonical)(y3);
    const uint8_t special = pairs->cancels | pairs->first_infinite | pairs->second_infinite;
    if (__builtin_expect(special != 0, 0)) {
        VECTOR_ELEMENT zero;
        memset(&zero, 0, sizeof zero);
        VECTOR_FIELD(select)(x3, pairs->cancels, &zero);
        VECTOR_FIELD(select)(y3, pairs->cancels, &zero);
        VECTOR_FIELD(select)(x3, pairs->second_infinite, &pairs->x1);
        VECTOR_FIELD(select)(y3, pairs->second_infinite, &pairs->y1);
        VECTOR_FIELD(select)(x3, pairs->first_infinite, &pairs->x2);
        VECTOR_FIELD(select)(y3, pairs->first_infinite, &pairs->y2);
    }
}

/* Turns the last prefix products of all chains and lanes, P, into 2^518 / P. */
static void VECTOR(invert)(VECTOR_ELEMENT products[VECTOR(CHAINS)])
{
    FIELD_ELEMENT values[VECTOR(ENDS)], scratch[VECTOR(ENDS)];
    for (int chain = 0; chain < VECTOR(CHAINS); chain++) {
        VECTOR_FIELD(canonical)(&products[chain]);
        VECTOR(unload)(&values[chain * LANES], &products[chain]);
    }
    FIELD(batch_inv)(values, scratch, VECTOR(ENDS)); /* 2^512 / P */
    for (int end = 0; end < VECTOR(ENDS); end++) {
        for (int bit = 0; bit < 6; bit++) {
            FIELD(dbl)(&values[end], &values[end]);
        }
    }
    for (int chain = 0; chain < VECTOR(CHAINS); chain++) {
        VECTOR(reload)(&products[chain], &values[chain * LANES]);
    }
}

FQ8_INLINE void VECTOR(locate)(const VECTOR_AFFINE *points[LANES], const VECTOR_AFFINE *in,
                               const uint16_t *pairs, size_t first, size_t count)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        points[lane] = &in[pairs[first + lane < count ? first + lane : count - 1]];
    }
}

static __attribute__((noinline)) void VECTOR(add_eights)(VECTOR_AFFINE *out, const VECTOR_AFFINE *in,
                                                         const uint16_t *pairs, const uint16_t *outs,
                                                         VECTOR_ELEMENT *prefixes, size_t count)
{
    const VECTOR_AFFINE *points[LANES];
    struct VECTOR(pairs) eight;
    VECTOR_ELEMENT products[VECTOR(CHAINS)];
    const size_t vectors = (count + LANES - 1) / LANES;
    for (int chain = 0; chain < VECTOR(CHAINS); chain++) {
        VECTOR_FIELD(broadcast)(&products[chain], &FIELD(one)); /* any start but zero will do */
    }
    for (size_t v = 0; v < vectors; v++) {
        VECTOR_ELEMENT *product = &products[v % VECTOR(CHAINS)];
        VECTOR(locate)(points, in, pairs, v * LANES, count);
        VECTOR(gather_x)(&eight.x1, points, 0);
        VECTOR(gather_x)(&eight.x2, points, 1);
        VECTOR(divide)(&eight, points);
        prefixes[v] = *product;
        VECTOR_FIELD(mul)(product, product, &eight.denominator); /* < 1.1 */
    }
    VECTOR(invert)(products);
    for (size_t v = vectors; v-- > 0;) {
        VECTOR_ELEMENT *product = &products[v % VECTOR(CHAINS)];
        VECTOR_ELEMENT inverse, x3, y3;
        VECTOR(locate)(points, in, pairs, v * LANES, count);
        VECTOR(gather)(&eight.x1, &eight.y1, points, 0);
        VECTOR(gather)(&eight.x2, &eight.y2, points, 1);
        VECTOR(divide)(&eight, points);
        VECTOR_FIELD(mul)(&inverse, product, &prefixes[v]);      /* < 1.1 */
        VECTOR_FIELD(mul)(product, product, &eight.denominator); /* < 1.1 */
        VECTOR(finish)(&x3, &y3, &eight, &inverse);
        VECTOR(scatter)
        (out, &outs[v * LANES], &x3, &y3, count - v * LANES < LANES ? count - v * LANES : LANES);
    }
}

/* As add_pairs of msm_kernel.h. prefixes: one vector element for every eight pairs, aligned to 64. */
static void VECTOR(add_pairs)(VECTOR_AFFINE *out, const VECTOR_AFFINE *in, const uint16_t *pairs,
                              const uint16_t *outs, VECTOR_ELEMENT *prefixes, size_t count)
{
    const unsigned before = lanes_begin();
    VECTOR(add_eights)(out, in, pairs, outs, prefixes, count);
    lanes_end(before);
}

/* Eight points to be doubled; infinity, whose y is 0, divides by one and stays. */
FQ8_INLINE void VECTOR(prepare_doubling)(struct VECTOR(pairs) * r, const VECTOR_AFFINE *const points[LANES])
{
    VECTOR(gather)(&r->x1, &r->y1, points, 0);
    r->x2 = r->x1;
    r->y2 = r->y1;
    r->doubles = UINT8_MAX;
    r->cancels = r->first_infinite = r->second_infinite = 0;
    VECTOR_FIELD(add_raw)(&r->denominator, &r->y1, &r->y1); /* < 2 */
    VECTOR_FIELD(normalize)(&r->denominator);
    const uint8_t infinite = VECTOR_FIELD(is_zero)(&r->y1);
    if (__builtin_expect(infinite != 0, 0)) {
        VECTOR_ELEMENT one;
        VECTOR_FIELD(broadcast)(&one, &FIELD(one));
        VECTOR_FIELD(select)(&r->denominator, infinite, &one);
    }
}

static __attribute__((noinline)) void VECTOR(double_eights)(VECTOR_AFFINE *values, VECTOR_ELEMENT *prefixes,
                                                            size_t count)
{
    const VECTOR_AFFINE *points[LANES];
    uint16_t numbers[LANES];
    struct VECTOR(pairs) eight;
    VECTOR_ELEMENT products[VECTOR(CHAINS)];
    const size_t vectors = (count + LANES - 1) / LANES;
    for (int chain = 0; chain < VECTOR(CHAINS); chain++) {
        VECTOR_FIELD(broadcast)(&products[chain], &FIELD(one));
    }
    for (size_t step = 0; step < 2 * vectors; step++) {
        const bool back = step >= vectors;
        const size_t v = back ? 2 * vectors - 1 - step : step;
        const size_t lanes_used = count - v * LANES < LANES ? count - v * LANES : LANES;
        VECTOR_ELEMENT *product = &products[v % VECTOR(CHAINS)];
        if (step == vectors) {
            VECTOR(invert)(products);
        }
        for (size_t lane = 0; lane < LANES; lane++) {
            numbers[lane] = (uint16_t)(v * LANES + (lane < lanes_used ? lane : lanes_used - 1));
            points[lane] = &values[numbers[lane]];
        }
        VECTOR(prepare_doubling)(&eight, points);
        if (!back) {
            prefixes[v] = *product;
            VECTOR_FIELD(mul)(product, product, &eight.denominator);
        } else {
            VECTOR_ELEMENT inverse, x3, y3;
            VECTOR_FIELD(mul)(&inverse, product, &prefixes[v]);
            VECTOR_FIELD(mul)(product, product, &eight.denominator);
            VECTOR(finish)(&x3, &y3, &eight, &inverse);
            VECTOR(scatter)(values, numbers, &x3, &y3, lanes_used);
        }
    }
}

static void VECTOR(double_all)(VECTOR_AFFINE *points, VECTOR_ELEMENT *prefixes, size_t count)
{
    const unsigned before = lanes_begin();
    VECTOR(double_eights)(points, prefixes, count);
    lanes_end(before);
}
