/* matrix.h - the comparison of allocators: what is run, what came out, and the table of it.
 *
 * A plan names batches, allocators, trim policies and kinds of buffers; every combination is a cell, and each
 * cell is run several times. Cells are numbered batch by batch, then by allocator, policy and buffers. The
 * baseline (locked.h) takes part as one more policy, "under lock", with buffers from the heap, in batches on
 * the simulated device. Owned by one thread; memory from malloc, freed by matrix_free. */
#ifndef BENCH_MATRIX_H
#define BENCH_MATRIX_H

#include "bench/outcome.h"
#include "conf/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    MATRIX_BATCHES_MAX = 4,
    MATRIX_NAMES_MAX = 8,
    MATRIX_REPEATS_MAX = 15,
    MATRIX_NAME_BYTES = 24,
    MATRIX_PATH_BYTES = 1024
};
#define MATRIX_UNDER_LOCK "under lock"

struct matrix_names {
    char names[MATRIX_NAMES_MAX][MATRIX_NAME_BYTES];
    unsigned count;
};

struct matrix_batch {
    char name[MATRIX_NAME_BYTES];
    char zkey[MATRIX_PATH_BYTES]; /* absolute */
    char **witnesses;             /* absolute; taken in turn */
    size_t witnesses_count;
    unsigned partitions;
    bool simulated;
    uint64_t compute_ns; /* of a partition on the simulated device; its copies take 1 ms each way */
    char ballast[MATRIX_NAME_BYTES], chunks[4 * MATRIX_NAME_BYTES];
};

struct matrix_cell {
    unsigned batch;
    const char *allocator, *policy, *buffers;
    struct outcome outcomes[MATRIX_REPEATS_MAX];
    unsigned count;    /* of outcomes */
    unsigned failures; /* runs that gave none */
};

struct matrix {
    struct matrix_batch batches[MATRIX_BATCHES_MAX];
    unsigned batches_count;
    struct matrix_names allocators, policies, buffers;
    bool baseline;
    unsigned repeats;
    uint64_t interval_ns, min_freed_bytes; /* of the policy timer */
    struct matrix_cell *cells;
    size_t cells_count;
};

/* Reads the plan (bench/allocators.conf explains it) and makes the empty cells. Paths are relative to the
 * plan. ERROR_INPUT; libConfuse names file and line on standard error where it is its own finding. */
enum error_code ERROR_MUST_USE matrix_read(struct matrix *matrix, const char *path, struct error *error);

void matrix_free(struct matrix *matrix);

/* Makes `folder` (which must be new) the place of one run of a cell: links to its witnesses and run.conf. */
enum error_code ERROR_MUST_USE matrix_prepare(const struct matrix *matrix, const struct matrix_cell *cell,
                                              const char *folder, struct error *error);

/* Median, least and largest value of a number over a cell's runs; the cell must have one. */
struct matrix_spread {
    double median, least, most;
};
struct matrix_spread matrix_spread_of(const struct matrix_cell *cell, enum outcome_number number);

/* The numbers that the table and the plots show. */
enum { MATRIX_SHOWN = 7 };
extern const enum outcome_number matrix_shown[MATRIX_SHOWN];

/* Markdown, one table a batch. */
void matrix_print(FILE *out, const struct matrix *matrix);

#endif
