#include "cuda/spsc.h"

#include "expect_abort.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct record { /* 13 bytes, so that records in the ring aren't aligned */
    unsigned char bytes[13];
};

static struct record record_of(uint64_t number)
{
    struct record record;
    memcpy(record.bytes, &number, 8);
    for (unsigned i = 8; i < 13; i++) {
        record.bytes[i] = (unsigned char)(number * i);
    }
    return record;
}

static void test_keeps_order_and_refuses_at_the_ends(void **state)
{
    (void)state;
    unsigned char memory[4 * sizeof(struct record)];
    struct spsc spsc;
    spsc_init(&spsc, memory, 4, sizeof(struct record));
    struct record popped;
    memset(&popped, 0x55, sizeof popped);
    assert_false(spsc_pop(&spsc, &popped));
    assert_int_equal(popped.bytes[0], 0x55);
    uint64_t pushes = 0, pops = 0;
    for (unsigned round = 0; round < 100; round++) {
        for (uint64_t count = spsc_count(&spsc); count < 4; count++) {
            struct record record = record_of(pushes++);
            assert_true(spsc_push(&spsc, &record));
        }
        struct record refused = record_of(pushes);
        assert_false(spsc_push(&spsc, &refused));
        for (unsigned i = 0; i <= round % 4; i++) {
            assert_true(spsc_pop(&spsc, &popped));
            struct record expected = record_of(pops++);
            assert_memory_equal(&popped, &expected, sizeof popped);
        }
        assert_int_equal(spsc_count(&spsc), pushes - pops);
    }
}

static void test_one_place_is_enough(void **state)
{
    (void)state;
    unsigned char memory[3];
    struct spsc spsc;
    spsc_init(&spsc, memory, 1, 3);
    unsigned char popped[3];
    for (unsigned i = 0; i < 10; i++) {
        unsigned char pushed[3] = {(unsigned char)i, 1, 2};
        assert_true(spsc_push(&spsc, pushed));
        assert_false(spsc_push(&spsc, pushed));
        assert_true(spsc_pop(&spsc, popped));
        assert_memory_equal(popped, pushed, 3);
        assert_false(spsc_pop(&spsc, popped));
    }
}

enum { MESSAGES = 200000 };

/* A message points at a number that is not in the ring: it must be visible all the same. */
struct message {
    const uint64_t *number;
};
static uint64_t numbers[MESSAGES];

static void *push_all(void *argument)
{
    struct spsc *spsc = argument;
    for (uint64_t i = 0; i < MESSAGES; i++) {
        numbers[i] = i * 3;
        struct message message = {&numbers[i]};
        while (!spsc_push(spsc, &message)) {
            sched_yield();
        }
    }
    return NULL;
}

static void test_carries_everything_across_threads(void **state)
{
    (void)state;
    struct message memory[8];
    struct spsc spsc;
    spsc_init(&spsc, memory, 8, sizeof(struct message));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, push_all, &spsc), 0);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < MESSAGES;) {
        struct message message;
        if (!spsc_pop(&spsc, &message)) {
            sched_yield();
            continue;
        }
        wrong += *message.number != i * 3;
        i++;
    }
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(spsc_count(&spsc), 0);
}

static void init_with_odd_capacity(void *argument)
{
    struct spsc spsc;
    spsc_init(&spsc, argument, 3, 1);
}

static void test_capacity_must_be_a_power_of_two(void **state)
{
    (void)state;
    unsigned char memory[4];
    assert_true(expect_abort(init_with_odd_capacity, memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_order_and_refuses_at_the_ends),
        cmocka_unit_test(test_one_place_is_enough),
        cmocka_unit_test(test_capacity_must_be_a_power_of_two),
        cmocka_unit_test(test_carries_everything_across_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
