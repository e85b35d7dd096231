#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/timers.h"
#include "tests/sim/sim_random.h"

#include <stdlib.h>
#include <string.h>

enum { TIMERS = 200 };

static void open_timers(struct timers *timers, uint32_t capacity)
{
    void *memory = calloc(1, heap_bytes(capacity));
    assert_non_null(memory);
    heap_init(&timers->heap, memory, capacity);
}

static void test_nothing_set(void **state)
{
    (void)state;
    struct timers timers;
    uint32_t id;
    open_timers(&timers, 4);
    assert_true(timers_next_ns(&timers) == UINT64_MAX);
    assert_false(timers_take(&timers, UINT64_MAX, &id));
    timers_clear(&timers, 3);
    timers_set(&timers, 2, UINT64_MAX); /* never */
    assert_false(timers_take(&timers, UINT64_MAX, &id));
    free(timers.heap.keys);
}

static void test_equal_deadlines_come_by_id(void **state)
{
    (void)state;
    struct timers timers;
    uint32_t id;
    open_timers(&timers, 8);
    for (uint32_t i = 8; i-- > 0;) {
        timers_set(&timers, i, 50);
    }
    assert_false(timers_take(&timers, 49, &id));
    for (uint32_t i = 0; i < 8; i++) {
        assert_true(timers_take(&timers, 50, &id));
        assert_int_equal(id, i);
    }
    free(timers.heap.keys);
}

static void test_moved_and_cleared(void **state)
{
    (void)state;
    struct timers timers;
    uint32_t id;
    open_timers(&timers, 3);
    timers_set(&timers, 0, 10);
    timers_set(&timers, 1, 20);
    timers_set(&timers, 2, 30);
    timers_set(&timers, 0, 40);
    timers_clear(&timers, 1);
    assert_true(timers_next_ns(&timers) == 30);
    assert_true(timers_take(&timers, 100, &id));
    assert_int_equal(id, 2);
    assert_true(timers_take(&timers, 100, &id));
    assert_int_equal(id, 0);
    assert_false(timers_take(&timers, 100, &id));
    free(timers.heap.keys);
}

/* Against a plain array that is searched from end to end. */
static void test_like_a_linear_search(void **state)
{
    (void)state;
    struct timers timers;
    struct sim_random random;
    uint64_t deadlines[TIMERS];
    sim_random_init(&random, 7);
    memset(deadlines, 0xff, sizeof deadlines);
    open_timers(&timers, TIMERS);
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t id = (uint32_t)sim_random_between(&random, 0, TIMERS - 1);
        uint64_t choice = sim_random_between(&random, 0, 3);
        if (choice < 2) {
            deadlines[id] = sim_random_between(&random, 0, 500);
            timers_set(&timers, id, deadlines[id]);
        } else if (choice == 2) {
            deadlines[id] = UINT64_MAX;
            timers_clear(&timers, id);
        } else {
            uint32_t first = 0;
            for (uint32_t i = 1; i < TIMERS; i++) {
                first = deadlines[i] < deadlines[first] ? i : first;
            }
            assert_true(timers_next_ns(&timers) == deadlines[first]);
            uint64_t now_ns = sim_random_between(&random, 0, 600);
            bool due = deadlines[first] <= now_ns;
            assert_int_equal(timers_take(&timers, now_ns, &id), due);
            if (due) {
                assert_int_equal(id, first);
                deadlines[first] = UINT64_MAX;
            }
        }
        assert_true(heap_valid(&timers.heap));
    }
    free(timers.heap.keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_set),
        cmocka_unit_test(test_equal_deadlines_come_by_id),
        cmocka_unit_test(test_moved_and_cleared),
        cmocka_unit_test(test_like_a_linear_search),
    };
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
