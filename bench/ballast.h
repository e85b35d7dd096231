/* ballast.h - a heap of chosen size and shape, so that trims cost what they cost in a prover's life.
 *
 * What a trim takes depends on how much free memory lies scattered between memory in use. A ballast makes
 * such a heap with the malloc in place: several threads, so that an allocator with arenas uses as many, each
 * allocate chunks of the given sizes in turn and touch every page; then a share of the chunks, evenly spread,
 * is freed. The threads stay parked until ballast_deinit, as a pool's threads would.
 *
 * Tables of pointers lie outside the heap. One thread makes and ends a ballast; cost: some 0.3 s a GiB. */
#ifndef BENCH_BALLAST_H
#define BENCH_BALLAST_H

#include "conf/error.h"

#include <argp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BALLAST_SIZES_MAX = 8, BALLAST_ARENAS_MAX = 64 };

struct ballast_settings {
    uint64_t bytes; /* 0: no ballast */
    uint64_t sizes[BALLAST_SIZES_MAX];
    unsigned sizes_count;
    unsigned free_percent; /* of the chunks */
    unsigned arenas;       /* threads */
};

struct ballast_arena {
    struct ballast *ballast;
    pthread_t thread;
    void **chunks; /* NULL: freed */
    size_t count;
    bool refused; /* malloc or mmap gave nothing */
};

struct ballast {
    struct ballast_settings settings;
    struct ballast_arena arenas[BALLAST_ARENAS_MAX];
    unsigned arenas_count;
    pthread_barrier_t filled, done; /* of all arenas and the owner */
};

/* 8 kb and 32 kb and 100 kb in turn, half of them freed, four arenas; bytes is 0. */
void ballast_defaults(struct ballast_settings *settings);

/* "12gb", "8kb,32kb", "50", "4" as --ballast, --chunks, --free and --arenas; input: the struct
 * ballast_settings. For use as an argp child. */
extern const struct argp ballast_argp;

/* ERROR_SYSTEM: fewer than bytes and 2 GiB more are available now, or malloc failed; then nothing stays. */
enum error_code ERROR_MUST_USE ballast_init(struct ballast *ballast, const struct ballast_settings *settings,
                                            struct error *error);

/* Frees what is left and ends the threads. */
void ballast_deinit(struct ballast *ballast);

/* Whether the chunk-th of a row of chunks is freed again: exactly free_percent of any hundred in a row. */
bool ballast_frees(unsigned free_percent, size_t chunk);

#endif
