#include "bench/gen_points.h"

#include "conf/check.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_LOG2 = 8, CHUNK = 1 << CHUNK_LOG2, BITS_MIN = 8, BITS_MAX = 13, SCALAR_BITS = 254 };

struct multiply {
    uint8_t *bytes;
    const struct gen_points_tables *tables;
    const fr *scalars;
    size_t n;
};

static unsigned digit_at(const u256 *scalar, unsigned position, unsigned bits)
{
    const unsigned word = position / 64, shift = position % 64;
    uint64_t value = scalar->w[word] >> shift;
    if (shift + bits > 64 && word < 3) {
        value |= scalar->w[word + 1] << (64 - shift);
    }
    return (unsigned)(value & ((UINT64_C(1) << bits) - 1));
}

#define NAME(name)  gen_points_##name##_g1
#define TABLE       g1
#define GROUP(name) g1_##name
#define GROUP_FIELD fq
#define FIELD(name) fq_##name
#define GROUP_BYTES G1_BYTES
#include "bench/gen_points_body.h"
#undef NAME
#undef TABLE
#undef GROUP
#undef GROUP_FIELD
#undef FIELD
#undef GROUP_BYTES

#define NAME(name)  gen_points_##name##_g2
#define TABLE       g2
#define GROUP(name) g2_##name
#define GROUP_FIELD fq2
#define FIELD(name) fq2_##name
#define GROUP_BYTES G2_BYTES
#include "bench/gen_points_body.h"

enum error_code gen_points_tables_open(struct gen_points_tables *tables, size_t points, struct par *par,
                                       struct error *error)
{
    /* A table is worth its making for many times as many points as it has digits. */
    unsigned bits = BITS_MIN;
    while (bits < BITS_MAX && (size_t)4 << bits < points) {
        bits++;
    }
    const unsigned windows = (SCALAR_BITS + bits - 1) / bits;
    *tables = (struct gen_points_tables){.bits = bits, .windows = windows};
    tables->g1 = malloc(sizeof(g1_affine) * windows << bits);
    tables->g2 = malloc(sizeof(g2_affine) * windows << bits);
    if (tables->g1 == NULL || tables->g2 == NULL) {
        gen_points_tables_close(tables);
        return error_set(error, ERROR_SYSTEM, "not enough memory for tables of multiples of %u bits", bits);
    }
    const size_t tasks = (size_t)windows << (bits - CHUNK_LOG2);
    par_run(par, tasks, gen_points_fill_task_g2, tables);
    par_run(par, tasks, gen_points_fill_task_g1, tables);
    return ERROR_NONE;
}

void gen_points_tables_close(struct gen_points_tables *tables)
{
    free(tables->g1);
    free(tables->g2);
    *tables = (struct gen_points_tables){0};
}
