#include "groth16/g2.h"

const fq2 g2_b = {
    .c0 = {{0x3bf938e377b802a8, 0x020b1b273633535d, 0x26b7edf049755260, 0x2514c6324384a86d}},
    .c1 = {{0x38e7ecccd1dcff67, 0x65f0b37d93ce0d3e, 0xd749d0dd22ac00aa, 0x0141b9ce4a688d4d}},
};

/* xi^((p-1)/3) and xi^((p-1)/2): psi(x, y) = (conj(x)*psi_x, conj(y)*psi_y) */
static const fq2 g2_psi_x = {
    .c0 = {{0xb5773b104563ab30, 0x347f91c8a9aa6454, 0x7a007127242e0991, 0x1956bcd8118214ec}},
    .c1 = {{0x6e849f1ea0aa4757, 0xaa1c7b6d89f89141, 0xb6e713cdfae0ca3a, 0x26694fbb4e82ebc3}},
};
static const fq2 g2_psi_y = {
    .c0 = {{0xe4bbdd0c2936b629, 0xbb30f162e133bacb, 0x31a9d1b6f9645366, 0x253570bea500f8dd}},
    .c1 = {{0xa1d77ce45ffe77c7, 0x07affd117826d1db, 0x6d16bd27bb7edc6b, 0x2c87200285defecc}},
};

const g2_affine g2_generator = {
    .x = {.c0 = {{0x8e83b5d102bc2026, 0xdceb1935497b0172, 0xfbb8264797811adf, 0x19573841af96503b}},
          .c1 = {{0xafb4737da84c6140, 0x6043dd5a5802d8c4, 0x09e950fc52a02f86, 0x14fef0833aea7b6b}}},
    .y = {.c0 = {{0x619dfa9d886be9f6, 0xfe7fd297f59e9b78, 0xff9e1a62231b7dfe, 0x28fd7eebae9e4206}},
          .c1 = {{0x64095b56c71856ee, 0xdc57f922327d3cbb, 0x55f935be33351076, 0x0da4a0e693fd6482}}},
};

bool g2_affine_load(g2_affine *r, const uint8_t bytes[G2_BYTES])
{
    return fq_load(&r->x.c0, bytes) && fq_load(&r->x.c1, bytes + 32) && fq_load(&r->y.c0, bytes + 64) &&
           fq_load(&r->y.c1, bytes + 96);
}

void g2_affine_store(uint8_t bytes[G2_BYTES], const g2_affine *a)
{
    fq_store(bytes, &a->x.c0);
    fq_store(bytes + 32, &a->x.c1);
    fq_store(bytes + 64, &a->y.c0);
    fq_store(bytes + 96, &a->y.c1);
}

#define GROUP(name) g2_##name
#define GROUP_FIELD fq2
#define FIELD(name) fq2_##name
#define GROUP_B     g2_b
#define GROUP_LINKAGE
#include "groth16/group_body.h"

void g2_affine_psi(g2_affine *r, const g2_affine *a)
{
    fq2_conj(&r->x, &a->x);
    fq2_mul(&r->x, &r->x, &g2_psi_x);
    fq2_conj(&r->y, &a->y);
    fq2_mul(&r->y, &r->y, &g2_psi_y);
}

bool g2_affine_in_subgroup(const g2_affine *a)
{
    static const u256 six_z_squared = {{0xf83e9682e87cfd46, 0x6f4d8248eeb859fb, 0, 0}};
    g2_xyzz point, negated_psi;
    g2_affine psi;
    if (g2_affine_is_infinity(a)) {
        return true;
    }
    g2_affine_psi(&psi, a);
    g2_affine_neg(&psi, &psi);
    g2_xyzz_from_affine(&negated_psi, &psi);
    g2_xyzz_from_affine(&point, a);
    g2_xyzz_mul(&point, &point, &six_z_squared);
    g2_xyzz_add(&point, &point, &negated_psi);
    return g2_xyzz_is_infinity(&point);
}
