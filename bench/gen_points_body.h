/* gen_points_body.h - gen_points.c for one group; it defines GROUP(name), GROUP_FIELD, FIELD(name),
 * GROUP_BYTES, NAME(name) and TABLE (the member of struct gen_points_tables) and includes this file once for
 * each group. */

/* To affine coordinates with one inversion for all; infinity becomes (0, 0). With z = zz / zzz being 1 / Z, 1
 * / zz is its square. */
static void NAME(normalize)(GROUP(affine) * r, const GROUP(xyzz) * sums, size_t n)
{
    GROUP_FIELD inverses[CHUNK], scratch[CHUNK];
    CHECK(n <= CHUNK);
    for (size_t i = 0; i < n; i++) {
        inverses[i] = sums[i].zzz;
    }
    FIELD(batch_inv)(inverses, scratch, n);
    for (size_t i = 0; i < n; i++) {
        GROUP_FIELD z;
        FIELD(mul)(&z, &sums[i].zz, &inverses[i]);
        FIELD(sqr)(&z, &z);
        FIELD(mul)(&r[i].x, &sums[i].x, &z);
        FIELD(mul)(&r[i].y, &sums[i].y, &inverses[i]);
        if (GROUP(xyzz_is_infinity)(&sums[i])) {
            memset(&r[i], 0, sizeof r[i]);
        }
    }
}

/* CHUNK entries of the table, which lie in one window. */
static void NAME(fill_task)(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    struct gen_points_tables *tables = argument;
    const size_t chunks = (size_t)1 << tables->bits >> CHUNK_LOG2;
    const unsigned shift = tables->bits * (unsigned)(index / chunks);
    const uint64_t digit = index % chunks * CHUNK;
    const u256 base = {{digit}};
    GROUP(xyzz) step, sums[CHUNK];
    GROUP(xyzz_from_affine)(&step, &GROUP(generator));
    for (unsigned i = 0; i < shift; i++) {
        GROUP(xyzz_dbl)(&step, &step);
    }
    GROUP(xyzz_mul)(&sums[0], &step, &base);
    for (size_t i = 1; i < CHUNK; i++) {
        GROUP(xyzz_add)(&sums[i], &sums[i - 1], &step);
    }
    NAME(normalize)(tables->TABLE + index * CHUNK, sums, CHUNK);
}

static void NAME(multiply_task)(void *argument, size_t index, unsigned worker)
{
    (void)worker;
    const struct multiply *work = argument;
    const struct gen_points_tables *tables = work->tables;
    const size_t begin = index * CHUNK, n = work->n - begin < CHUNK ? work->n - begin : CHUNK;
    CHECK(n > 0);
    u256 scalars[CHUNK];
    GROUP(xyzz) sums[CHUNK];
    GROUP(affine) points[CHUNK];
    for (size_t i = 0; i < n; i++) {
        fr_to_u256(&scalars[i], &work->scalars[begin + i]);
        GROUP(xyzz_set_infinity)(&sums[i]);
    }
    for (unsigned window = 0; window < tables->windows;
         window++) { /* outside: a window's entries stay in the cache */
        const GROUP(affine) *entries = tables->TABLE + ((size_t)window << tables->bits);
        for (size_t i = 0; i < n; i++) {
            const unsigned digit = digit_at(&scalars[i], window * tables->bits, tables->bits);
            if (digit != 0) {
                GROUP(xyzz_add_affine)(&sums[i], &sums[i], &entries[digit]);
            }
        }
    }
    NAME(normalize)(points, sums, n);
    for (size_t i = 0; i < n; i++) {
        GROUP(affine_store)(work->bytes + (begin + i) * GROUP_BYTES, &points[i]);
    }
}

void NAME(multiply)(uint8_t *bytes, const struct gen_points_tables *tables, const fr *scalars, size_t n,
                    struct par *par)
{
    CHECK(tables->TABLE != NULL);
    struct multiply work = {.bytes = bytes, .tables = tables, .scalars = scalars, .n = n};
    par_run(par, (n + CHUNK - 1) / CHUNK, NAME(multiply_task), &work);
}
