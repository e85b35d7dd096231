/* gpu_curve.cuh - points of G1 and G2 on the GPU, written once over the field of their coordinates.
 *
 * In memory they are groth16's g1_affine, g1_xyzz, g2_affine and g2_xyzz: Montgomery form, (0, 0) for
 * infinity in affine coordinates, zz = 0 in XYZZ. Every function is complete, takes any operands, equal,
 * opposite or infinite, and any operand may be the result. The branches for these cases cost a comparison,
 * and time only in a warp in which one occurs. Formulas are those of the Explicit-Formulas Database for XYZZ
 * coordinates: madd-2008-s (8 multiplications and 2 squarings), add-2008-s (12 and 2), dbl-2008-s-1 (6 and
 * 3). In Fq2 a multiplication costs three of Fq, a squaring two. */
#ifndef CUDA_GPU_CURVE_CUH
#define CUDA_GPU_CURVE_CUH

#include "cuda/gpu_field.cuh"

struct gpu_fq2 {
    gpu_fq c0, c1; /* c0 + c1*u, u^2 = -1 */
};

/* One name for both fields, which is what the templates below call. */
#define GPU_CURVE_BINARY(name)                                              \
    GPU_INLINE void gpu_##name(gpu_fq *r, const gpu_fq *a, const gpu_fq *b) \
    {                                                                       \
        gpu_fq_##name(r, a, b);                                             \
    }
GPU_CURVE_BINARY(add)
GPU_CURVE_BINARY(sub)
GPU_CURVE_BINARY(mul)
#undef GPU_CURVE_BINARY

GPU_INLINE void gpu_sqr(gpu_fq *r, const gpu_fq *a)
{
    gpu_fq_sqr(r, a);
}

GPU_INLINE bool gpu_is_zero(const gpu_fq *a)
{
    return gpu_fq_is_zero(a);
}

GPU_INLINE void gpu_set_one(gpu_fq *r)
{
    gpu_fq_set_one(r);
}

GPU_INLINE void gpu_add(gpu_fq2 *r, const gpu_fq2 *a, const gpu_fq2 *b)
{
    gpu_fq_add(&r->c0, &a->c0, &b->c0);
    gpu_fq_add(&r->c1, &a->c1, &b->c1);
}

GPU_INLINE void gpu_sub(gpu_fq2 *r, const gpu_fq2 *a, const gpu_fq2 *b)
{
    gpu_fq_sub(&r->c0, &a->c0, &b->c0);
    gpu_fq_sub(&r->c1, &a->c1, &b->c1);
}

/* Products in Fq2 are calls, with operands in registers: inlined, an addition in G2 is several times as large
 * as a multiprocessor's instruction cache. */
GPU_NOINLINE gpu_fq2 gpu_fq2_product(gpu_fq2 a, gpu_fq2 b)
{
    gpu_fq v0, v1, left, right;
    gpu_fq_add(&left, &a.c0, &a.c1);
    gpu_fq_add(&right, &b.c0, &b.c1);
    gpu_fq_mul(&left, &left, &right);
    gpu_fq_mul(&v0, &a.c0, &b.c0);
    gpu_fq_mul(&v1, &a.c1, &b.c1);
    gpu_fq2 r;
    gpu_fq_sub(&left, &left, &v0);
    gpu_fq_sub(&r.c1, &left, &v1);
    gpu_fq_sub(&r.c0, &v0, &v1);
    return r;
}

GPU_NOINLINE gpu_fq2 gpu_fq2_square(gpu_fq2 a)
{
    gpu_fq sum, difference, product;
    gpu_fq_add(&sum, &a.c0, &a.c1);
    gpu_fq_sub(&difference, &a.c0, &a.c1);
    gpu_fq_mul(&product, &a.c0, &a.c1);
    gpu_fq2 r;
    gpu_fq_mul(&r.c0, &sum, &difference);
    gpu_fq_add(&r.c1, &product, &product);
    return r;
}

GPU_INLINE void gpu_mul(gpu_fq2 *r, const gpu_fq2 *a, const gpu_fq2 *b)
{
    *r = gpu_fq2_product(*a, *b);
}

GPU_INLINE void gpu_sqr(gpu_fq2 *r, const gpu_fq2 *a)
{
    *r = gpu_fq2_square(*a);
}

GPU_INLINE bool gpu_is_zero(const gpu_fq2 *a)
{
    return gpu_fq_is_zero(&a->c0) && gpu_fq_is_zero(&a->c1);
}

GPU_INLINE void gpu_set_one(gpu_fq2 *r)
{
    gpu_fq_set_one(&r->c0);
    gpu_fq_set_zero(&r->c1);
}

GPU_INLINE void gpu_set_zero(gpu_fq *r)
{
    gpu_fq_set_zero(r);
}

GPU_INLINE void gpu_set_zero(gpu_fq2 *r)
{
    gpu_fq_set_zero(&r->c0);
    gpu_fq_set_zero(&r->c1);
}

/* 1/a, and 0 for 0: a^(p - 2), 254 squarings and about half as many multiplications. */
GPU_DEVICE void gpu_inv(gpu_fq *r, const gpu_fq *a)
{
    const uint32_t exponent[8] = {0xd87cfd45, 0x3c208c16, 0x6871ca8d, 0x97816a91,
                                  0x8181585d, 0xb85045b6, 0xe131a029, 0x30644e72};
    const gpu_fq base = *a;
    gpu_fq power;
    gpu_fq_set_one(&power);
    for (int word = 7; word >= 0; word--) {
        for (int bit = 31; bit >= 0; bit--) {
            gpu_fq_sqr(&power, &power);
            if (exponent[word] >> bit & 1) {
                gpu_fq_mul(&power, &power, &base);
            }
        }
    }
    *r = power;
}

/* (c0 - c1 u) / (c0^2 + c1^2) */
GPU_DEVICE void gpu_inv(gpu_fq2 *r, const gpu_fq2 *a)
{
    gpu_fq norm, square, negative;
    gpu_fq_sqr(&norm, &a->c0);
    gpu_fq_sqr(&square, &a->c1);
    gpu_fq_add(&norm, &norm, &square);
    gpu_inv(&norm, &norm);
    gpu_fq_neg(&negative, &a->c1);
    gpu_fq_mul(&r->c0, &a->c0, &norm);
    gpu_fq_mul(&r->c1, &negative, &norm);
}

template <class F> struct gpu_affine {
    F x, y;
};

template <class F> struct gpu_xyzz {
    F x, y, zz, zzz; /* x/zz, y/zzz with zz^3 = zzz^2 */
};

template <class F> GPU_INLINE bool gpu_affine_is_infinity(const gpu_affine<F> *a)
{
    return gpu_is_zero(&a->x) && gpu_is_zero(&a->y);
}

template <class F> GPU_INLINE void gpu_affine_neg(gpu_affine<F> *r, const gpu_affine<F> *a)
{
    F zero;
    gpu_set_zero(&zero);
    r->x = a->x;
    gpu_sub(&r->y, &zero, &a->y);
}

template <class F> GPU_INLINE void gpu_xyzz_set_infinity(gpu_xyzz<F> *r)
{
    gpu_set_zero(&r->x);
    gpu_set_zero(&r->y);
    gpu_set_zero(&r->zz);
    gpu_set_zero(&r->zzz);
}

template <class F> GPU_INLINE bool gpu_xyzz_is_infinity(const gpu_xyzz<F> *a)
{
    return gpu_is_zero(&a->zz);
}

template <class F> GPU_INLINE void gpu_xyzz_from_affine(gpu_xyzz<F> *r, const gpu_affine<F> *a)
{
    r->x = a->x;
    r->y = a->y;
    if (gpu_affine_is_infinity(a)) {
        gpu_set_zero(&r->zz);
        gpu_set_zero(&r->zzz);
    } else {
        gpu_set_one(&r->zz);
        gpu_set_one(&r->zzz);
    }
}

/* One inversion. */
template <class F> GPU_DEVICE void gpu_xyzz_to_affine(gpu_affine<F> *r, const gpu_xyzz<F> *a)
{
    F inverse, scale; /* 1/ZZZ; ZZ/ZZZ = 1/Z, squared = 1/ZZ; all 0 for infinity */
    gpu_inv(&inverse, &a->zzz);
    gpu_mul(&scale, &inverse, &a->zz);
    gpu_sqr(&scale, &scale);
    gpu_mul(&r->x, &a->x, &scale);
    gpu_mul(&r->y, &a->y, &inverse);
}

/* Not inline: an addition rarely needs it, and its registers would count for every addition. */
template <class F> GPU_NOINLINE void gpu_xyzz_dbl(gpu_xyzz<F> *r, const gpu_xyzz<F> *a)
{
    F u, v, w, s, m, t;
    gpu_add(&u, &a->y, &a->y);
    gpu_sqr(&v, &u);
    gpu_mul(&w, &u, &v);
    gpu_mul(&s, &a->x, &v);
    gpu_sqr(&t, &a->x);
    gpu_add(&m, &t, &t);
    gpu_add(&m, &m, &t);
    gpu_mul(&t, &w, &a->y);
    gpu_mul(&r->zz, &v, &a->zz); /* infinity stays infinity: its zz is 0 */
    gpu_mul(&r->zzz, &w, &a->zzz);
    gpu_sqr(&u, &m);
    gpu_sub(&u, &u, &s);
    gpu_sub(&r->x, &u, &s);
    gpu_sub(&s, &s, &r->x);
    gpu_mul(&s, &s, &m);
    gpu_sub(&r->y, &s, &t);
}

/* What both additions share: p = U2 - U1 and d = S2 - S1, not both zero; u1 and s1 of the left operand.
 * Leaves the factors of zz and zzz in pp and ppp. */
template <class F>
GPU_INLINE void gpu_xyzz_finish_add(F *x, F *y, F *pp, F *ppp, const F *p, const F *d, const F *u1,
                                    const F *s1)
{
    F q, t;
    gpu_sqr(pp, p);
    gpu_mul(ppp, p, pp);
    gpu_mul(&q, u1, pp);
    gpu_mul(&t, s1, ppp);
    gpu_sqr(x, d);
    gpu_sub(x, x, ppp);
    gpu_sub(x, x, &q);
    gpu_sub(x, x, &q);
    gpu_sub(&q, &q, x);
    gpu_mul(&q, &q, d);
    gpu_sub(y, &q, &t);
}

template <class F>
GPU_INLINE void gpu_xyzz_add_affine(gpu_xyzz<F> *r, const gpu_xyzz<F> *a, const gpu_affine<F> *b)
{
    if (gpu_affine_is_infinity(b)) {
        *r = *a;
        return;
    }
    if (gpu_xyzz_is_infinity(a)) {
        gpu_xyzz_from_affine(r, b);
        return;
    }
    F p, d, pp, ppp;
    gpu_mul(&p, &b->x, &a->zz);
    gpu_mul(&d, &b->y, &a->zzz);
    gpu_sub(&p, &p, &a->x);
    gpu_sub(&d, &d, &a->y);
    if (gpu_is_zero(&p)) {
        if (gpu_is_zero(&d)) {
            gpu_xyzz<F> copy = *a; /* whose address may be taken without moving the caller's to memory */
            gpu_xyzz_dbl(&copy, &copy);
            *r = copy;
        } else {
            gpu_xyzz_set_infinity(r);
        }
        return;
    }
    F x, y;
    gpu_xyzz_finish_add(&x, &y, &pp, &ppp, &p, &d, &a->x, &a->y);
    gpu_mul(&r->zz, &a->zz, &pp);
    gpu_mul(&r->zzz, &a->zzz, &ppp);
    r->x = x;
    r->y = y;
}

/* A call, with operands in local memory, whose traffic is small beside 14 multiplications: the kernels that
 * use it do so in several places. */
template <class F> GPU_NOINLINE void gpu_xyzz_add(gpu_xyzz<F> *r, const gpu_xyzz<F> *a, const gpu_xyzz<F> *b)
{
    if (gpu_xyzz_is_infinity(b)) {
        *r = *a;
        return;
    }
    if (gpu_xyzz_is_infinity(a)) {
        *r = *b;
        return;
    }
    F u1, s1, p, d, pp, ppp;
    gpu_mul(&u1, &a->x, &b->zz);
    gpu_mul(&s1, &a->y, &b->zzz);
    gpu_mul(&p, &b->x, &a->zz);
    gpu_mul(&d, &b->y, &a->zzz);
    gpu_sub(&p, &p, &u1);
    gpu_sub(&d, &d, &s1);
    if (gpu_is_zero(&p)) {
        if (gpu_is_zero(&d)) {
            gpu_xyzz_dbl(r, a);
        } else {
            gpu_xyzz_set_infinity(r);
        }
        return;
    }
    F x, y;
    gpu_xyzz_finish_add(&x, &y, &pp, &ppp, &p, &d, &u1, &s1);
    gpu_mul(&pp, &pp, &a->zz);
    gpu_mul(&ppp, &ppp, &a->zzz); /* the last time that a is read, which r may be, or b */
    gpu_mul(&r->zz, &pp, &b->zz);
    gpu_mul(&r->zzz, &ppp, &b->zzz);
    r->x = x;
    r->y = y;
}

#endif
