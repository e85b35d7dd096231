/* gpu_test.h - what the tests of the kernels share: cmocka and groth16 for C++, seeded inputs, and a wait for
 * what was launched. */
#ifndef TESTS_GPU_GPU_TEST_H
#define TESTS_GPU_GPU_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <vector>

extern "C" {
#include "groth16/fr.h"
#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/msm.h"
#include <cmocka.h>
}

#include "conf/check.h"

#include <gpu_emulate.h>

/* splitmix64 */
static inline uint64_t gpu_test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline u256 gpu_test_random_below(uint64_t *state, const u256 *modulus)
{
    u256 r;
    do {
        for (int i = 0; i < 4; i++) {
            r.w[i] = gpu_test_random(state);
        }
        r.w[3] >>= 2;
    } while (!u256_less(&r, modulus));
    return r;
}

/* Until all that was launched on the default stream has run. */
static inline void gpu_test_wait(void)
{
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

#endif
