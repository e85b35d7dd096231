#include "curve_load.h"
#include "curve_vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The generator that EIP-197 states (imaginary part second here). */
static void generator_is_that_of_eip_197(void **state)
{
    (void)state;
    const g2_affine expected = curve_load_g2((const char *const[]){
        "10857046999023057135944570762232829481370756359578518086990519993285655852781",
        "11559732032986387107991004021392285783925812861821192530917403151452391805634",
        "8495653923123431417604973247489272438418190587263600148770280649306958101930",
        "4082367875863433681332203403145435568316851327593401208105741076214120093531"});
    assert_true(g2_affine_equal(&g2_generator, &expected));
}

/* A point of the curve with a small x, found by trial; its order isn't r, as r * point shows. */
static void subgroup_is_told_from_the_curve(void **state)
{
    (void)state;
    const g2_affine p = curve_load_g2(&vector_g2[2]);
    const g2_affine outside = curve_load_g2(vector_g2_outside);
    const g2_affine infinity_point = {.x = fq2_zero, .y = fq2_zero};
    g2_xyzz multiple;
    assert_true(g2_affine_in_subgroup(&p));
    assert_true(g2_affine_in_subgroup(&g2_generator));
    assert_true(g2_affine_in_subgroup(&infinity_point));
    assert_true(g2_affine_on_curve(&outside));
    assert_false(g2_affine_in_subgroup(&outside));
    g2_xyzz_from_affine(&multiple, &outside);
    g2_xyzz_mul(&multiple, &multiple, &fr_modulus);
    assert_false(g2_xyzz_is_infinity(&multiple));
}

#define GROUP(name)       g2_##name
#define GROUP_TESTS_LOAD  curve_load_g2
#define GROUP_VECTORS     vector_g2
#define GROUP_COORDINATES 4
#define GROUP_EXTRA \
    cmocka_unit_test(generator_is_that_of_eip_197), cmocka_unit_test(subgroup_is_told_from_the_curve),
#include "group_tests.h"
