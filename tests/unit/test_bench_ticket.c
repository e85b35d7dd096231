/* The mutex of the baseline: exclusive, in the order of asking, and it says whom one waited for. */
#include "bench/ticket.h"

#include "conf/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

enum { THREADS = 8, ROUNDS = 2000 };

struct shared {
    struct ticket ticket;
    uint64_t count; /* no atomic: the lock is what keeps it whole, and the thread sanitizer looks */
    unsigned order[THREADS];
    unsigned order_count;
};

struct visitor {
    struct shared *shared;
    unsigned number, holder, doing;
};

static void *count_up(void *argument)
{
    struct visitor *visitor = argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        ticket_lock(&visitor->shared->ticket, visitor->number, 0, &visitor->holder, &visitor->doing);
        visitor->shared->count++;
        ticket_unlock(&visitor->shared->ticket);
    }
    return NULL;
}

static void test_exclusive(void **state)
{
    (void)state;
    static struct shared shared;
    struct visitor visitors[THREADS];
    pthread_t threads[THREADS];
    ticket_init(&shared.ticket);
    for (unsigned i = 0; i < THREADS; i++) {
        visitors[i] = (struct visitor){.shared = &shared, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &visitors[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(shared.count, THREADS * ROUNDS);
}

static void *queue_up(void *argument)
{
    struct visitor *visitor = argument;
    struct shared *shared = visitor->shared;
    ticket_lock(&shared->ticket, visitor->number, visitor->number, &visitor->holder, &visitor->doing);
    shared->order[shared->order_count++] = visitor->number;
    ticket_unlock(&shared->ticket);
    return NULL;
}

/* Started one after the other while the lock is held, they get it in that order, however often it is done. */
static void test_fair(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        struct shared shared = {.order_count = 0};
        struct visitor visitors[THREADS];
        pthread_t threads[THREADS];
        unsigned holder, doing;
        ticket_init(&shared.ticket);
        ticket_lock(&shared.ticket, 100, 7, &holder, &doing);
        assert_int_equal(holder, TICKET_NOBODY);
        for (unsigned i = 0; i < THREADS; i++) {
            visitors[i] = (struct visitor){.shared = &shared, .number = i};
            assert_int_equal(pthread_create(&threads[i], NULL, queue_up, &visitors[i]), 0);
            while (atomic_load(&shared.ticket.next) != i + 2) { /* until it has drawn its ticket */
                sched_yield();
            }
        }
        assert_int_equal(shared.order_count, 0);
        ticket_unlock(&shared.ticket);
        for (unsigned i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            assert_int_equal(shared.order[i], i);
            assert_int_equal(visitors[i].holder, 100);
            assert_int_equal(visitors[i].doing, 7);
        }
    }
}

/* Tickets are 32 bits and come round. */
static void test_wraps(void **state)
{
    (void)state;
    struct ticket ticket;
    unsigned holder, doing;
    ticket_init(&ticket);
    const uint32_t start = UINT32_MAX - 100;
    ticket.serving = start - 1;
    atomic_store(&ticket.next, start);
    for (uint32_t i = 0; i < TICKET_THREADS_MAX; i++) {
        atomic_store(&ticket.turns[(start + i) % TICKET_THREADS_MAX], start + i - TICKET_THREADS_MAX);
    }
    atomic_store(&ticket.turns[start % TICKET_THREADS_MAX], start);
    for (unsigned i = 0; i < 1000; i++) {
        ticket_lock(&ticket, 1, 2, &holder, &doing);
        assert_int_equal(holder, TICKET_NOBODY);
        ticket_unlock(&ticket);
    }
    assert_int_equal(atomic_load(&ticket.next), start + 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exclusive), cmocka_unit_test(test_fair),
                                       cmocka_unit_test(test_wraps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
