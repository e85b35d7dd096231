#include "alloc/pool.h"

#include "expect_abort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLABS = 5 };
static const size_t huge = (size_t)2 << 20;

static void test_hands_out_each_slab_once(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, SLABS, 1000, &error), ERROR_NONE);
    bool seen[SLABS] = {false};
    for (unsigned i = 0; i < SLABS; i++) {
        uint32_t index = pool_take(&pool);
        assert_true(index < SLABS);
        assert_false(seen[index]);
        seen[index] = true;
    }
    assert_int_equal(pool_take(&pool), POOL_NONE);
    assert_int_equal(pool.out, SLABS);
    pool_give(&pool, 3);
    assert_int_equal(pool_take(&pool), 3);
    for (uint32_t index = 0; index < SLABS; index++) {
        pool_give(&pool, index);
    }
    assert_int_equal(pool.out, 0);
    assert_int_equal(pool.out_max, SLABS);
    pool_close(&pool);
}

static void test_slabs_are_zero_aligned_and_apart(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t sizes[] = {1, 64, 1000, 4096, huge - 1, huge, huge + 1};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct pool pool;
        struct error error;
        size_t bytes = sizes[s];
        assert_int_equal(pool_open(&pool, 3, bytes, &error), ERROR_NONE);
        unsigned char *slabs[3];
        for (unsigned i = 0; i < 3; i++) {
            slabs[i] = pool_slab(&pool, pool_take(&pool));
            assert_int_equal((uintptr_t)slabs[i] % (bytes >= huge ? huge : bytes >= page ? page : 64), 0);
            assert_int_equal(slabs[i][0], 0);
            assert_int_equal(slabs[i][bytes - 1], 0);
        }
        for (unsigned i = 0; i < 3; i++) {
            memset(slabs[i], (int)i + 1, bytes);
        }
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(slabs[i][0], i + 1);
            assert_int_equal(slabs[i][bytes - 1], i + 1);
            pool_give(&pool, i);
        }
        pool_close(&pool);
    }
}

static void test_wipes_what_is_asked(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, 1, 100, &error), ERROR_NONE);
    uint32_t index = pool_take(&pool);
    memset(pool_slab(&pool, index), 0xff, 100);
    pool_wipe(&pool, index, 60);
    assert_int_equal(pool_slab(&pool, index)[59], 0);
    assert_int_equal(pool_slab(&pool, index)[60], 0xff);
    pool_give(&pool, index);
    index = pool_take(&pool); /* giving doesn't wipe */
    assert_int_equal(pool_slab(&pool, index)[99], 0xff);
    pool_give(&pool, index);
    pool_close(&pool);
}

/* The mapping's line of flags in /proc/self/smaps: "dd" is what MADV_DONTDUMP leaves. */
static void test_stays_out_of_core_dumps(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, 2, 4096, &error), ERROR_NONE);
    FILE *maps = fopen("/proc/self/smaps", "r");
    if (maps == NULL) {
        pool_close(&pool);
        skip();
    }
    char line[1024];
    bool inside = false, found = false;
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            inside = begin <= (uintptr_t)pool.slabs_base && (uintptr_t)pool.slabs_base < end;
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            found = strstr(line, " dd") != NULL;
        }
    }
    fclose(maps);
    assert_true(found);
    pool_close(&pool);
}

static void test_names_what_cannot_be_mapped(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, UINT32_MAX - 1, SIZE_MAX / 2, &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "4294967294 buffers"));
    assert_int_equal(pool_open(&pool, 1, SIZE_MAX, &error), ERROR_SYSTEM);
    assert_int_equal(pool_open(&pool, 1, SIZE_MAX / 4, &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "cannot map"));
    assert_true(pool_bytes_for(1, SIZE_MAX) == SIZE_MAX);
    assert_true(pool_bytes_for(UINT32_MAX, (size_t)1 << 33) == SIZE_MAX);
    assert_true(pool_bytes_for(4, 4096) >= 4 * 4096);
}

/* What an owner does: one advises the pages of slabs away that were idle through a whole period. */
static void test_releases_what_lies_idle(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes;
    assert_int_equal(pool_open(&pool, 3, 3 * page + 1, &error), ERROR_NONE);
    assert_int_equal(pool_release_take(&pool, true), POOL_NONE); /* none has been used */
    for (unsigned i = 0; i < 3; i++) {
        memset(pool_slab(&pool, pool_take(&pool)), 0xff, 3 * page + 1);
    }
    pool_give(&pool, 1);
    pool_age(&pool);
    pool_give(&pool, 0);
    assert_int_equal(pool_release_take(&pool, false), POOL_NONE);
    pool_age(&pool);
    assert_int_equal(pool_release_take(&pool, false), 1);
    assert_int_equal(pool_release_take(&pool, false), POOL_NONE); /* 0 came back in the last period */
    unsigned char *pages = pool_release_pages(&pool, 1, &bytes);
    assert_int_equal((uintptr_t)pages % page, 0);
    assert_int_equal(bytes, 4 * page);
    assert_int_equal(madvise(pages, bytes, MADV_DONTNEED), 0);
    assert_int_equal(pool_take(&pool), 0);
    assert_int_equal(pool_take(&pool), POOL_NONE); /* 1 isn't there yet, 2 was never given back */
    pool_release_done(&pool, 1);
    assert_int_equal(pool_take(&pool), 1);
    assert_int_equal(pool_slab(&pool, 1)[3 * page], 0);
    assert_int_equal(pool_slab(&pool, 0)[3 * page], 0xff); /* its neighbours kept theirs */
    assert_int_equal(pool_slab(&pool, 2)[0], 0xff);
    for (uint32_t i = 0; i < 3; i++) {
        pool_give(&pool, i);
    }
    assert_int_equal(pool_release_take(&pool, true), 0); /* the longest idle first, whatever its age */
    pool_release_done(&pool, 0);
    assert_int_equal(pool_take(&pool), 2); /* the last one given; the released one comes last */
    assert_int_equal(pool_take(&pool), 1);
    assert_int_equal(pool_take(&pool), 0);
    for (uint32_t i = 0; i < 3; i++) {
        pool_give(&pool, i);
    }
    pool_close(&pool);
}

static void test_slabs_that_share_pages_are_kept(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, 2, 64, &error), ERROR_NONE);
    pool_give(&pool, pool_take(&pool));
    assert_int_equal(pool_release_take(&pool, true), POOL_NONE);
    pool_close(&pool);
}

static void close_while_releasing(void *argument)
{
    pool_give(argument, pool_take(argument));
    pool_release_take(argument, true);
    pool_close(argument);
}

static void release_done_twice(void *argument)
{
    pool_give(argument, pool_take(argument));
    uint32_t index = pool_release_take(argument, true);
    pool_release_done(argument, index);
    pool_release_done(argument, index);
}

static void test_bugs_in_releasing_abort(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, SLABS, huge, &error), ERROR_NONE);
    assert_true(expect_abort(close_while_releasing, &pool));
    assert_true(expect_abort(release_done_twice, &pool));
    pool_close(&pool);
}

static void close_with_one_out(void *argument)
{
    pool_take(argument);
    pool_close(argument);
}

static void give_twice(void *argument)
{
    uint32_t index = pool_take(argument);
    pool_give(argument, index);
    pool_give(argument, index);
}

static void give_beyond(void *argument)
{
    pool_take(argument);
    pool_give(argument, SLABS);
}

static void use_given(void *argument)
{
    pool_slab(argument, 0)[0] = 1;
}

static void test_bugs_abort(void **state)
{
    (void)state;
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, SLABS, 64, &error), ERROR_NONE);
    assert_true(expect_abort(close_with_one_out, &pool));
    assert_true(expect_abort(give_twice, &pool));
    assert_true(expect_abort(give_beyond, &pool));
    assert_true(expect_abort(use_given, &pool));
    pool_close(&pool);
}

/* Against a model: a set of flags. */
static void test_random_orders_agree_with_a_model(void **state)
{
    (void)state;
    enum { COUNT = 37 };
    struct pool pool;
    struct error error;
    assert_int_equal(pool_open(&pool, COUNT, 4096, &error), ERROR_NONE);
    bool out[COUNT] = {false}, releasing[COUNT] = {false};
    unsigned count = 0, away = 0;
    srandom(1);
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t index = (uint32_t)random() % COUNT;
        if (random() % 2 == 0) {
            uint32_t taken = pool_take(&pool);
            assert_int_equal(taken == POOL_NONE, count + away == COUNT);
            if (taken != POOL_NONE) {
                assert_false(out[taken] || releasing[taken]);
                out[taken] = true;
                count++;
            }
        } else if (releasing[index]) {
            pool_release_done(&pool, index);
            releasing[index] = false;
            away--;
        } else if (random() % 8 == 0) {
            pool_age(&pool);
            uint32_t taken = pool_release_take(&pool, random() % 4 == 0);
            if (taken != POOL_NONE) {
                assert_false(out[taken] || releasing[taken]);
                releasing[taken] = true;
                away++;
            }
        } else if (out[index]) {
            pool_give(&pool, index);
            out[index] = false;
            count--;
        }
        assert_int_equal(pool.out, count);
    }
    for (uint32_t index = 0; index < COUNT; index++) {
        if (out[index]) {
            pool_give(&pool, index);
        } else if (releasing[index]) {
            pool_release_done(&pool, index);
        }
    }
    pool_close(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hands_out_each_slab_once),
        cmocka_unit_test(test_slabs_are_zero_aligned_and_apart),
        cmocka_unit_test(test_wipes_what_is_asked),
        cmocka_unit_test(test_stays_out_of_core_dumps),
        cmocka_unit_test(test_names_what_cannot_be_mapped),
        cmocka_unit_test(test_releases_what_lies_idle),
        cmocka_unit_test(test_slabs_that_share_pages_are_kept),
        cmocka_unit_test(test_bugs_in_releasing_abort),
        cmocka_unit_test(test_bugs_abort),
        cmocka_unit_test(test_random_orders_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
