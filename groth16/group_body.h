/* group_body.h - the group law on y^2 = x^3 + b, written once for G1 (over fq) and G2 (over fq2).
 *
 * A template: g1.c, g2.c and the MSM kernels define GROUP(name), GROUP_FIELD, FIELD(name), GROUP_B and
 * GROUP_LINKAGE (nothing, or static) and include this file. Formulas are those of the Explicit-Formulas
 * Database for XYZZ coordinates (x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2): add-2008-s, madd-2008-s, dbl-2008-s-1,
 * mdbl-2008-s-1, made complete by branches for infinity, equal and opposite points. */

GROUP_LINKAGE bool GROUP(affine_is_infinity)(const GROUP(affine) * a)
{
    return FIELD(is_zero)(&a->x) && FIELD(is_zero)(&a->y);
}

GROUP_LINKAGE bool GROUP(affine_equal)(const GROUP(affine) * a, const GROUP(affine) * b)
{
    return FIELD(equal)(&a->x, &b->x) && FIELD(equal)(&a->y, &b->y);
}

GROUP_LINKAGE void GROUP(affine_neg)(GROUP(affine) * r, const GROUP(affine) * a)
{
    r->x = a->x;
    FIELD(neg)(&r->y, &a->y);
}

GROUP_LINKAGE bool GROUP(affine_on_curve)(const GROUP(affine) * a)
{
    if (GROUP(affine_is_infinity)(a)) {
        return true;
    }
    GROUP_FIELD left, right;
    FIELD(sqr)(&left, &a->y);
    FIELD(sqr)(&right, &a->x);
    FIELD(mul)(&right, &right, &a->x);
    FIELD(add)(&right, &right, &GROUP_B);
    return FIELD(equal)(&left, &right);
}

GROUP_LINKAGE void GROUP(xyzz_set_infinity)(GROUP(xyzz) * r)
{
    memset(r, 0, sizeof *r);
}

GROUP_LINKAGE bool GROUP(xyzz_is_infinity)(const GROUP(xyzz) * a)
{
    return FIELD(is_zero)(&a->zz);
}

GROUP_LINKAGE void GROUP(xyzz_from_affine)(GROUP(xyzz) * r, const GROUP(affine) * a)
{
    if (GROUP(affine_is_infinity)(a)) {
        GROUP(xyzz_set_infinity)(r);
        return;
    }
    r->x = a->x;
    r->y = a->y;
    r->zz = FIELD(one);
    r->zzz = FIELD(one);
}

GROUP_LINKAGE void GROUP(xyzz_neg)(GROUP(xyzz) * r, const GROUP(xyzz) * a)
{
    *r = *a;
    FIELD(neg)(&r->y, &a->y);
}

GROUP_LINKAGE void GROUP(xyzz_to_affine)(GROUP(affine) * r, const GROUP(xyzz) * a)
{
    if (GROUP(xyzz_is_infinity)(a)) {
        memset(r, 0, sizeof *r);
        return;
    }
    GROUP_FIELD inverse, scale; /* 1/ZZZ; ZZ/ZZZ = 1/Z, squared = 1/ZZ */
    FIELD(inv)(&inverse, &a->zzz);
    FIELD(mul)(&scale, &inverse, &a->zz);
    FIELD(sqr)(&scale, &scale);
    FIELD(mul)(&r->x, &a->x, &scale);
    FIELD(mul)(&r->y, &a->y, &inverse);
}

GROUP_LINKAGE void GROUP(xyzz_dbl)(GROUP(xyzz) * r, const GROUP(xyzz) * a)
{
    GROUP_FIELD u, v, w, s, m, t, x;
    FIELD(dbl)(&u, &a->y);
    FIELD(sqr)(&v, &u);
    FIELD(mul)(&w, &u, &v);
    FIELD(mul)(&s, &a->x, &v);
    FIELD(sqr)(&t, &a->x);
    FIELD(dbl)(&m, &t);
    FIELD(add)(&m, &m, &t);
    FIELD(sqr)(&x, &m);
    FIELD(sub)(&x, &x, &s);
    FIELD(sub)(&x, &x, &s);
    FIELD(sub)(&s, &s, &x);
    FIELD(mul)(&s, &s, &m);
    FIELD(mul)(&t, &w, &a->y);
    FIELD(sub)(&r->y, &s, &t);
    FIELD(mul)(&r->zz, &v, &a->zz); /* infinity stays infinity: its zz is 0 */
    FIELD(mul)(&r->zzz, &w, &a->zzz);
    r->x = x;
}

/* What both additions share once U2 and S2 are known: P = U2 - U1, R = S2 - S1, with U1 and S1 of the left
 * operand. */
static inline void GROUP(finish_add)(GROUP_FIELD *x, GROUP_FIELD *y, GROUP_FIELD *pp, GROUP_FIELD *ppp,
                                     const GROUP_FIELD *p, const GROUP_FIELD *r, const GROUP_FIELD *u1,
                                     const GROUP_FIELD *s1)
{
    GROUP_FIELD q, t;
    FIELD(sqr)(pp, p);
    FIELD(mul)(ppp, p, pp);
    FIELD(mul)(&q, u1, pp);
    FIELD(mul)(&t, s1, ppp);
    FIELD(sqr)(x, r);
    FIELD(sub)(x, x, ppp);
    FIELD(sub)(x, x, &q);
    FIELD(sub)(x, x, &q);
    FIELD(sub)(&q, &q, x);
    FIELD(mul)(&q, &q, r);
    FIELD(sub)(y, &q, &t);
}

GROUP_LINKAGE void GROUP(xyzz_add_affine)(GROUP(xyzz) * r, const GROUP(xyzz) * a, const GROUP(affine) * b)
{
    if (GROUP(affine_is_infinity)(b)) {
        *r = *a;
        return;
    }
    if (GROUP(xyzz_is_infinity)(a)) {
        GROUP(xyzz_from_affine)(r, b);
        return;
    }
    GROUP_FIELD p, s, pp, ppp, x, y;
    FIELD(mul)(&p, &b->x, &a->zz);
    FIELD(mul)(&s, &b->y, &a->zzz);
    FIELD(sub)(&p, &p, &a->x);
    FIELD(sub)(&s, &s, &a->y);
    if (FIELD(is_zero)(&p)) {
        if (FIELD(is_zero)(&s)) {
            GROUP(xyzz_dbl)(r, a);
        } else {
            GROUP(xyzz_set_infinity)(r);
        }
        return;
    }
    GROUP(finish_add)(&x, &y, &pp, &ppp, &p, &s, &a->x, &a->y);
    FIELD(mul)(&r->zz, &a->zz, &pp);
    FIELD(mul)(&r->zzz, &a->zzz, &ppp);
    r->x = x;
    r->y = y;
}

GROUP_LINKAGE void GROUP(xyzz_add)(GROUP(xyzz) * r, const GROUP(xyzz) * a, const GROUP(xyzz) * b)
{
    if (GROUP(xyzz_is_infinity)(b)) {
        *r = *a;
        return;
    }
    if (GROUP(xyzz_is_infinity)(a)) {
        *r = *b;
        return;
    }
    GROUP_FIELD u1, s1, p, s, pp, ppp, x, y;
    FIELD(mul)(&u1, &a->x, &b->zz);
    FIELD(mul)(&s1, &a->y, &b->zzz);
    FIELD(mul)(&p, &b->x, &a->zz);
    FIELD(mul)(&s, &b->y, &a->zzz);
    FIELD(sub)(&p, &p, &u1);
    FIELD(sub)(&s, &s, &s1);
    if (FIELD(is_zero)(&p)) {
        if (FIELD(is_zero)(&s)) {
            GROUP(xyzz_dbl)(r, a);
        } else {
            GROUP(xyzz_set_infinity)(r);
        }
        return;
    }
    GROUP(finish_add)(&x, &y, &pp, &ppp, &p, &s, &u1, &s1);
    FIELD(mul)(&pp, &pp, &a->zz);
    FIELD(mul)(&r->zz, &pp, &b->zz);
    FIELD(mul)(&ppp, &ppp, &a->zzz);
    FIELD(mul)(&r->zzz, &ppp, &b->zzz);
    r->x = x;
    r->y = y;
}

GROUP_LINKAGE void GROUP(xyzz_mul)(GROUP(xyzz) * r, const GROUP(xyzz) * a, const u256 *scalar)
{
    GROUP(xyzz) base = *a;
    GROUP(xyzz) result;
    GROUP(xyzz_set_infinity)(&result);
    for (int bit = 255; bit >= 0; bit--) {
        GROUP(xyzz_dbl)(&result, &result);
        if (scalar->w[bit / 64] >> (bit % 64) & 1) {
            GROUP(xyzz_add)(&result, &result, &base);
        }
    }
    *r = result;
}
