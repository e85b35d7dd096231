#include "cuda/team.h"

#include "expect_abort.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORKERS_MOST = 8, ITEMS = 1000 };

static void team_with(struct team *team, unsigned workers, unsigned mains_max, unsigned slots,
                      unsigned guests)
{
    struct team_settings settings = {workers, mains_max, slots, guests};
    struct error error;
    assert_int_equal(team_open(team, &settings, &error), ERROR_NONE);
}

/* One region's worth of work that notices everything that can go wrong: an item done twice or not at all, two
 * tasks with one worker number at the same time, a number out of range, indices out of order. */
struct count {
    unsigned workers;
    _Atomic uint32_t done[ITEMS];
    _Atomic bool busy[WORKERS_MOST + 1];
    uint64_t plain[WORKERS_MOST + 1]; /* not atomic: the thread sanitizer watches */
    _Atomic uint32_t wrong;
};

static void count_one(void *argument, size_t index, unsigned worker)
{
    struct count *count = argument;
    if (worker >= count->workers || index >= ITEMS) {
        count->wrong++;
        return;
    }
    if (atomic_exchange(&count->busy[worker], true)) {
        count->wrong++;
    }
    count->done[index]++;
    count->plain[worker]++;
    atomic_store(&count->busy[worker], false);
}

static uint32_t count_errors(struct count *count, size_t items)
{
    uint32_t wrong = count->wrong;
    uint64_t sum = 0;
    for (size_t i = 0; i < ITEMS; i++) {
        wrong += count->done[i] != (i < items);
    }
    for (unsigned i = 0; i <= WORKERS_MOST; i++) {
        sum += count->plain[i];
    }
    return wrong + (sum != items);
}

struct proof { /* a main task that opens many regions */
    unsigned rounds;
    uint32_t wrong;
    unsigned worker;
    _Atomic bool done;
};

static void prove(void *argument, struct par *par, unsigned worker)
{
    struct proof *proof = argument;
    proof->worker = worker;
    for (unsigned round = 0; round < proof->rounds; round++) {
        struct count count;
        memset(&count, 0, sizeof count);
        count.workers = par->workers;
        size_t items = (round * 7) % ITEMS;
        par_run(par, items, count_one, &count);
        proof->wrong += count_errors(&count, items);
    }
    atomic_store_explicit(&proof->done, true, memory_order_release);
}

static void await(struct proof *proof)
{
    while (!atomic_load_explicit(&proof->done, memory_order_acquire)) {
        sched_yield();
    }
}

static void test_main_tasks_share_their_regions(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= WORKERS_MOST; workers = workers * 2 + (workers == 4)) {
        struct team team;
        team_with(&team, workers, 0, 6, 0);
        for (unsigned round = 0; round < 3; round++) {
            struct proof proofs[6];
            memset(proofs, 0, sizeof proofs);
            for (unsigned i = 0; i < 6; i++) {
                proofs[i].rounds = 40;
                team_post(&team, i, prove, &proofs[i]);
            }
            for (unsigned i = 0; i < 6; i++) {
                await(&proofs[i]);
                assert_int_equal(proofs[i].wrong, 0);
                assert_true(proofs[i].worker < workers);
            }
        }
        team_close(&team);
    }
}

static void test_one_slot_again_and_again(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 4, 0, 1, 0);
    for (unsigned i = 0; i < 500; i++) {
        struct proof proof = {.rounds = 3};
        team_post(&team, 0, prove, &proof);
        await(&proof);
        assert_int_equal(proof.wrong, 0);
        if (i % 100 == 0) { /* long enough for everybody to fall asleep */
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
    }
    team_close(&team);
}

/* Tasks wait for each other, so this ends only if they truly run at once. */
struct meeting {
    unsigned expected;
    _Atomic unsigned arrived;
};

static void meet(void *argument, size_t index, unsigned worker)
{
    (void)index;
    (void)worker;
    struct meeting *meeting = argument;
    meeting->arrived++;
    while (meeting->arrived < meeting->expected) {
        sched_yield();
    }
}

struct meeting_proof {
    struct meeting *meeting;
    _Atomic bool done;
};

static void prove_meeting(void *argument, struct par *par, unsigned worker)
{
    (void)worker;
    struct meeting_proof *proof = argument;
    par_run(par, proof->meeting->expected, meet, proof->meeting);
    atomic_store_explicit(&proof->done, true, memory_order_release);
}

static void test_one_proof_gets_every_worker(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 5, 0, 1, 0);
    for (unsigned round = 0; round < 50; round++) {
        struct meeting meeting = {.expected = 5};
        struct meeting_proof proof = {.meeting = &meeting};
        team_post(&team, 0, prove_meeting, &proof);
        while (!atomic_load_explicit(&proof.done, memory_order_acquire)) {
            sched_yield();
        }
        assert_int_equal(meeting.arrived, 5);
    }
    team_close(&team);
}

static void meet_alone(void *argument, struct par *par, unsigned worker)
{
    (void)par;
    struct meeting_proof *proof = argument;
    meet(proof->meeting, 0, worker);
    atomic_store_explicit(&proof->done, true, memory_order_release);
}

static void test_many_proofs_run_at_once(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 4, 0, 4, 0);
    struct meeting meeting = {.expected = 4};
    struct meeting_proof proofs[4];
    for (unsigned i = 0; i < 4; i++) {
        proofs[i] = (struct meeting_proof){.meeting = &meeting};
        team_post(&team, i, meet_alone, &proofs[i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        while (!atomic_load_explicit(&proofs[i].done, memory_order_acquire)) {
            sched_yield();
        }
    }
    team_close(&team);
}

/* A gate that main tasks wait at, and a record of the order in which they came. */
struct order {
    _Atomic bool open;
    _Atomic unsigned running, running_max, begun;
    unsigned places[16];
    _Atomic unsigned ended;
};
struct ordered {
    struct order *order;
    unsigned name;
};

static void run_ordered(void *argument, struct par *par, unsigned worker)
{
    (void)par;
    (void)worker;
    struct ordered *ordered = argument;
    struct order *order = ordered->order;
    unsigned running = ++order->running;
    unsigned most = order->running_max;
    while (running > most && !atomic_compare_exchange_weak(&order->running_max, &most, running)) {
    }
    order->places[order->begun++] = ordered->name;
    while (!order->open) {
        sched_yield();
    }
    order->running--;
    order->ended++;
}

static void test_oldest_post_first_and_one_at_a_time(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 3, 1, 8, 0);
    struct order order = {.running = 0};
    struct ordered ordered[8];
    const unsigned slots[8] = {3, 7, 0, 5, 1, 6, 2, 4};
    for (unsigned i = 0; i < 8; i++) {
        ordered[i] = (struct ordered){&order, i};
        team_post(&team, slots[i], run_ordered, &ordered[i]);
    }
    order.open = true;
    while (order.ended < 8) {
        sched_yield();
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(order.places[i], i);
    }
    assert_int_equal(order.running_max, 1);
    team_close(&team);
}

static void test_withdraws_what_has_not_begun(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 1, 0, 3, 0);
    struct order order = {.running = 0};
    struct ordered ordered[2] = {{&order, 0}, {&order, 1}};
    team_post(&team, 0, run_ordered, &ordered[0]);
    while (order.begun < 1) {
        sched_yield();
    }
    team_post(&team, 1, run_ordered, &ordered[1]);
    assert_false(team_withdraw(&team, 0)); /* begun */
    assert_false(team_withdraw(&team, 2)); /* never posted */
    assert_true(team_withdraw(&team, 1));
    assert_false(team_withdraw(&team, 1));
    team_post(&team, 1, run_ordered, &ordered[1]); /* the slot is free again */
    assert_true(team_withdraw(&team, 1));
    order.open = true;
    while (order.ended < 1) {
        sched_yield();
    }
    team_close(&team);
    assert_int_equal(order.begun, 1);
}

static void test_close_drops_what_has_not_begun(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 1, 0, 2, 0);
    struct order order = {.running = 0};
    struct ordered ordered[2] = {{&order, 0}, {&order, 1}};
    team_post(&team, 0, run_ordered, &ordered[0]);
    while (order.begun < 1) {
        sched_yield();
    }
    team_post(&team, 1, run_ordered, &ordered[1]);
    order.open = true; /* the worker may still take the second one before it sees that it must stop */
    team_close(&team);
    assert_int_equal(order.ended, order.begun);
    assert_true(order.begun >= 1);
}

struct guest {
    struct team *team;
    uint32_t wrong;
};

static void *guest_main(void *argument)
{
    struct guest *guest = argument;
    struct par *par = team_par_open(guest->team);
    if (par == NULL) {
        guest->wrong = 1;
        return NULL;
    }
    struct proof proof = {.rounds = 60};
    prove(&proof, par, 0);
    guest->wrong = proof.wrong;
    team_par_close(par);
    return NULL;
}

static void test_guests_borrow_workers_beside_proofs(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 3, 0, 2, 2);
    struct guest guests[2] = {{.team = &team}, {.team = &team}};
    struct proof proofs[2];
    memset(proofs, 0, sizeof proofs);
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, guest_main, &guests[i]), 0);
        proofs[i].rounds = 60;
        team_post(&team, i, prove, &proofs[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        await(&proofs[i]);
        assert_int_equal(guests[i].wrong, 0);
        assert_int_equal(proofs[i].wrong, 0);
    }
    struct par *first = team_par_open(&team);
    struct par *second = team_par_open(&team);
    assert_non_null(first);
    assert_non_null(second);
    assert_null(team_par_open(&team));
    assert_int_equal(first->workers, 4);
    team_par_close(second);
    assert_ptr_equal(team_par_open(&team), second);
    team_par_close(second);
    team_par_close(first);
    team_close(&team);
}

/* All guests, all proofs, all regions of one and two items: joins and shuts collide as often as they can. */
static void test_small_regions_collide(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 4, 0, 0, 1);
    struct par *par = team_par_open(&team);
    struct count *count = &(struct count){.workers = 5};
    uint32_t wrong = 0;
    for (unsigned round = 0; round < 20000; round++) {
        size_t items = 1 + round % 3;
        par_run(par, items, count_one, count);
        for (size_t i = 0; i < 3; i++) {
            wrong += count->done[i] != (i < items);
            count->done[i] = 0;
        }
    }
    assert_int_equal(wrong + count->wrong, 0);
    team_par_close(par);
    team_close(&team);
}

static uint64_t process_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void test_idle_workers_sleep(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 4, 0, 1, 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    uint64_t before = process_cpu_ns();
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    assert_true(process_cpu_ns() - before <
                50000000); /* four spinning workers would have used 200 ms or more */
    team_close(&team);
}

/* A process-wide signal must reach the thread that has it unblocked, here none: it stays pending. */
static void test_workers_take_no_signals(void **state)
{
    (void)state;
    struct team team;
    team_with(&team, 2, 0, 0, 0);
    sigset_t set, before, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    assert_false(sigismember(&before, SIGUSR1)); /* team_open has put the caller's mask back */
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    int taken;
    assert_int_equal(sigwait(&set, &taken), 0);
    assert_int_equal(taken, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    team_close(&team);
}

static void nested_task(void *argument, size_t index, unsigned worker)
{
    (void)index;
    (void)worker;
    par_run(argument, 2, nested_task, argument);
}

static void open_nested(void *argument)
{
    (void)argument;
    struct team team;
    struct team_settings settings = {.workers = 1, .guests = 1};
    struct error error;
    if (team_open(&team, &settings, &error) == ERROR_NONE) {
        struct par *par = team_par_open(&team);
        par_run(par, 2, nested_task, par);
    }
}

static void close_with_guest(void *argument)
{
    (void)argument;
    struct team team;
    struct team_settings settings = {.workers = 1, .guests = 1};
    struct error error;
    if (team_open(&team, &settings, &error) == ERROR_NONE && team_par_open(&team) != NULL) {
        team_close(&team);
    }
}

static void test_bugs_abort(void **state)
{
    (void)state;
    assert_true(expect_abort(open_nested, NULL));
    assert_true(expect_abort(close_with_guest, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bugs_abort), /* first, while there is one thread */
        cmocka_unit_test(test_main_tasks_share_their_regions),
        cmocka_unit_test(test_one_slot_again_and_again),
        cmocka_unit_test(test_one_proof_gets_every_worker),
        cmocka_unit_test(test_many_proofs_run_at_once),
        cmocka_unit_test(test_oldest_post_first_and_one_at_a_time),
        cmocka_unit_test(test_withdraws_what_has_not_begun),
        cmocka_unit_test(test_close_drops_what_has_not_begun),
        cmocka_unit_test(test_guests_borrow_workers_beside_proofs),
        cmocka_unit_test(test_small_regions_collide),
        cmocka_unit_test(test_idle_workers_sleep),
        cmocka_unit_test(test_workers_take_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
