#include "groth16/points.h"

#include "groth16/cpu.h"
#include "groth16/g1.h"
#include "groth16/g2.h"
#include "groth16/points_level.h"

static bool points_g1_good_one_by_one(const uint8_t *bytes, size_t count)
{
    g1_affine point;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = g1_affine_load(&point, bytes + i * G1_BYTES) && g1_affine_on_curve(&point);
    }
    return good;
}

static bool points_g2_good_one_by_one(const uint8_t *bytes, size_t count)
{
    g2_affine point;
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        good = g2_affine_load(&point, bytes + i * G2_BYTES) && g2_affine_on_curve(&point);
    }
    return good;
}

#if defined(__x86_64__)
static points_kernel *const points_g1[CPU_LEVELS] = {points_g1_good_one_by_one, points_g1_good_one_by_one,
                                                     points_g1_good_fma, points_g1_good_ifma};
static points_kernel *const points_g2[CPU_LEVELS] = {points_g2_good_one_by_one, points_g2_good_one_by_one,
                                                     points_g2_good_fma, points_g2_good_ifma};
#else
static points_kernel *const points_g1[CPU_LEVELS] = {[CPU_PORTABLE] = points_g1_good_one_by_one};
static points_kernel *const points_g2[CPU_LEVELS] = {[CPU_PORTABLE] = points_g2_good_one_by_one};
#endif

bool points_g1_good(const uint8_t *bytes, size_t count)
{
    return points_g1[cpu_level()](bytes, count);
}

bool points_g2_good(const uint8_t *bytes, size_t count)
{
    return points_g2[cpu_level()](bytes, count);
}
