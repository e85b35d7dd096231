#include "groth16/cpu.h"

#include "conf/check.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const cpu_names[CPU_LEVELS] = {"portable", "adx", "fma", "ifma"};

const char *cpu_level_name(enum cpu_level level)
{
    CHECK(level < CPU_LEVELS);
    return cpu_names[level];
}

#if defined(__x86_64__)
#include <cpuid.h>

static enum cpu_level cpu_detect(void)
{
    unsigned a, b, c, d;
    __builtin_cpu_init();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        return CPU_PORTABLE;
    }
    if ((b & bit_BMI2) == 0 || (b & bit_ADX) == 0) {
        return CPU_PORTABLE;
    }
    /* These ask whether the system saves the wide registers, too. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512ifma")) {
        return CPU_IFMA;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? CPU_FMA : CPU_ADX;
}
#else
static enum cpu_level cpu_detect(void)
{
    return CPU_PORTABLE;
}
#endif

enum cpu_level cpu_level(void)
{
    static _Atomic int known = -1;
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (level < 0) {
        level = (int)cpu_detect();
        const char *mask = getenv("UZK_CPU");
        for (int i = 0; mask != NULL && i < level; i++) {
            if (strcmp(mask, cpu_names[i]) == 0) {
                level = i;
            }
        }
        atomic_store_explicit(&known, level, memory_order_relaxed); /* two first callers find the same */
    }
    return (enum cpu_level)level;
}
