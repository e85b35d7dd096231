#include "curve_load.h"
#include "curve_vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* EIP-197 states the generator (1, 2). */
static void generator_is_one_two(void **state)
{
    (void)state;
    const g1_affine expected = curve_load_g1((const char *const[]){"1", "2"});
    assert_true(g1_affine_equal(&g1_generator, &expected));
}

#define GROUP(name)       g1_##name
#define GROUP_TESTS_LOAD  curve_load_g1
#define GROUP_VECTORS     vector_g1
#define GROUP_COORDINATES 2
#define GROUP_EXTRA       cmocka_unit_test(generator_is_one_two),
#include "group_tests.h"
