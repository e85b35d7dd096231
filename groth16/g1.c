#include "groth16/g1.h"

const fq g1_b = {
    {0x7a17caa950ad28d7, 0x1f6ac17ae15521b9, 0x334bea4e696bd284, 0x2a1f6744ce179d8e}}; /* 3 */

const g1_affine g1_generator = {
    .x = {{0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f}},
    .y = {{0xa6ba871b8b1e1b3a, 0x14f1d651eb8e167b, 0xccdd46def0f28c58, 0x1c14ef83340fbe5e}},
};

bool g1_affine_load(g1_affine *r, const uint8_t bytes[G1_BYTES])
{
    return fq_load(&r->x, bytes) && fq_load(&r->y, bytes + U256_BYTES);
}

void g1_affine_store(uint8_t bytes[G1_BYTES], const g1_affine *a)
{
    fq_store(bytes, &a->x);
    fq_store(bytes + U256_BYTES, &a->y);
}

#define GROUP(name) g1_##name
#define GROUP_FIELD fq
#define FIELD(name) fq_##name
#define GROUP_B     g1_b
#define GROUP_LINKAGE
#include "groth16/group_body.h"
