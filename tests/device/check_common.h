/* check_common - what the parts of check_gpu share: CUDA calls that end the program if they are refused,
 * scalars of every pattern, floors, and the lines that are printed.
 *
 * A line has nine fields with tabs between: what, log2 of its size, its size, the stage, the median and the
 * least of the runs in ms by the device's events, bytes of device memory moved at least, multiplications in
 * the field done at least, and the floor in ms that these imply on an H200. A field that says nothing is "-";
 * times are when this is linked with the stand-in for the CUDA runtime, since they would say nothing about a
 * GPU. */
#ifndef TESTS_DEVICE_CHECK_COMMON_H
#define TESTS_DEVICE_CHECK_COMMON_H

#include "conf/error.h"
#include "groth16/par.h"
#include "groth16/u256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

enum { RUNS_MAX = 101, EXIT_DIFFERS = 1, EXIT_REFUSED = 3 };

struct check_options {
    unsigned runs; /* that are timed, 1 to RUNS_MAX */
    bool compare;  /* with the CPU, which takes its time */
    unsigned levels;
    struct par *par;
};

#define CUDA(call) check_cuda((cudaError_t)(call), #call)
void check_cuda(cudaError_t code, const char *call);
_Noreturn void check_die(const struct error *error);
void *check_block(size_t bytes); /* aligned to 64 */
void *check_device_block(size_t bytes);

/* Scalars as wires have them, and as they hurt. BITS: 15 of 16 are 0 or 1, as those of a circuit that hashes.
 */
enum check_pattern { ZEROS, ONES, EQUAL, LARGEST, BITS, RANDOM, PATTERNS };
extern const char *const check_pattern_names[PATTERNS];
u256 check_scalar(enum check_pattern pattern, uint64_t index);

/* What some work takes at least. ms: the parts' floors, one after the other. */
struct check_floor {
    double bytes, multiplications, ms;
};
void check_floor_add(struct check_floor *floor, double bytes, double multiplications);

struct check_times {
    unsigned runs;
    float ms[RUNS_MAX];
};

/* floor: NULL if there is none. Sorts the times. */
void check_line(const char *what, unsigned log2, size_t size, const char *stage, struct check_times *times,
                const struct check_floor *floor);

#endif
