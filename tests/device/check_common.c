#include "check_common.h"

#include "cuda/device_random.h"
#include "groth16/fr.h"

#include <stdio.h>
#include <stdlib.h>

/* Of an H200: a copy's measured rate; cuda/gpu_field.cuh says where the other is from. */
#define BYTES_A_SECOND           4.3e12
#define MULTIPLICATIONS_A_SECOND 6.3e10

const char *const check_pattern_names[PATTERNS] = {"all 0",     "all 1",          "all equal",
                                                   "all r - 1", "mostly 0 and 1", "random"};

void check_cuda(cudaError_t code, const char *call)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "check_gpu: %s: %s (%s)\n", call, cudaGetErrorName(code), cudaGetErrorString(code));
        exit(EXIT_REFUSED);
    }
}

_Noreturn void check_die(const struct error *error)
{
    fprintf(stderr, "check_gpu: %s\n", error->text);
    exit(EXIT_REFUSED);
}

void *check_block(size_t bytes)
{
    void *block = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (block == NULL) {
        fprintf(stderr, "check_gpu: no memory for %zu bytes\n", bytes);
        exit(EXIT_REFUSED);
    }
    return block;
}

void *check_device_block(size_t bytes)
{
    void *block = NULL;
    CUDA(cudaMalloc(&block, bytes));
    return block;
}

static u256 random_scalar(uint64_t index)
{
    u256 value;
    for (uint64_t i = 0; i < 4; i++) {
        value.w[i] = device_random_mix(4 * index + i);
    }
    value.w[3] >>= 2;
    if (!u256_less(&value, &fr_modulus)) {
        u256 less;
        uint64_t borrow = 0;
        for (int i = 0; i < 4; i++) {
            const unsigned __int128 difference = (unsigned __int128)value.w[i] - fr_modulus.w[i] - borrow;
            less.w[i] = (uint64_t)difference;
            borrow = (uint64_t)(difference >> 64) & 1;
        }
        value = less; /* below r, since 2^254 is below 2 r */
    }
    return value;
}

u256 check_scalar(enum check_pattern pattern, uint64_t index)
{
    u256 value = {{0, 0, 0, 0}};
    switch (pattern) {
    case ONES:
        value.w[0] = 1;
        return value;
    case EQUAL:
        return (u256){{0x0123456789abcdef, 0xfedcba9876543210, 0x0f1e2d3c4b5a6978, 0x1badcafe1badcafe}};
    case LARGEST:
        value = fr_modulus;
        value.w[0]--;
        return value;
    case BITS:
        value.w[0] = device_random_mix(~index);
        if (value.w[0] % 16 == 0) {
            return random_scalar(index);
        }
        value.w[0] = value.w[0] >> 8 & 1;
        return value;
    case RANDOM:
        return random_scalar(index);
    default:
        return value;
    }
}

void check_floor_add(struct check_floor *floor, double bytes, double multiplications)
{
    const double by_bytes = bytes / BYTES_A_SECOND, by_mul = multiplications / MULTIPLICATIONS_A_SECOND;
    floor->bytes += bytes;
    floor->multiplications += multiplications;
    floor->ms += 1e3 * (by_bytes > by_mul ? by_bytes : by_mul);
}

static int compare_floats(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

void check_line(const char *what, unsigned log2, size_t size, const char *stage, struct check_times *times,
                const struct check_floor *floor)
{
    qsort(times->ms, times->runs, sizeof *times->ms, compare_floats);
    printf("%s\t%u\t%zu\t%s\t", what, log2, size, stage);
#ifdef UZK_STANDIN
    printf("-\t-\t");
#else
    printf("%.3f\t%.3f\t", (double)times->ms[times->runs / 2], (double)times->ms[0]);
#endif
    if (floor != NULL) {
        printf("%.0f\t%.0f\t%.3f\n", floor->bytes, floor->multiplications, floor->ms);
    } else {
        printf("-\t-\t-\n");
    }
    fflush(stdout);
}
