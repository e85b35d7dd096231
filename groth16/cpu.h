/* cpu.h - which of the prepared code paths this processor may take.
 *
 * The hot kernels (MSM, NTT) are written once as X_kernel.h and compiled once a level: X_portable.c includes
 * the kernel as it is; X_adx.c defines MONT_ADX before its first include, which makes fq_mul and fr_mul
 * (mont.h) mulx/adcx/adox assembly; X_fma.c and X_ifma.c include X_lanes.h, which works on eight elements
 * at once (lanes.h); X.c picks by cpu_level(). The levels give bit-identical results.
 *
 * The environment variable UZK_CPU ("portable", "adx", "fma", "ifma") lowers the level, so that every path is
 * tested on one machine; a level that the processor lacks can't be forced. cpu_level is thread-safe and costs
 * a load after its first call; the variable is read once. */
#ifndef GROTH16_CPU_H
#define GROTH16_CPU_H

enum cpu_level {
    CPU_PORTABLE, /* C with 128-bit products; any x86-64 */
    CPU_ADX,      /* BMI2 and ADX: Broadwell, Zen and later, but see the next */
    CPU_FMA,      /* and AVX2 and FMA: Broadwell, Zen and later */
    CPU_IFMA,     /* and AVX-512 F, VL, DQ and IFMA: Ice Lake, Zen 4 and later */
    CPU_LEVELS
};

enum cpu_level cpu_level(void);

const char *cpu_level_name(enum cpu_level level);

#endif
