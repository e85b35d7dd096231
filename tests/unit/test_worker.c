/* The crew: every task comes back once, short ones pass long ones. */
#include "tests/unit/shell_fixture.h"

#include "coordinator/worker.h"

#include <poll.h>
#include <semaphore.h>

enum { TASKS = 64 };

struct item {
    unsigned runs;
    sem_t *wait;
};

static void run_item(void *argument)
{
    struct item *item = argument;
    if (item->wait != NULL) {
        while (sem_wait(item->wait) != 0) {
        }
    }
    ++item->runs;
}

struct shop {
    struct arena arena;
    struct crew crew;
};

static void shop_open(struct shop *shop, unsigned short_threads)
{
    struct error error;
    const struct crew_settings settings = {.short_threads = short_threads, .tasks_max = TASKS};
    assert_int_equal(arena_open(&shop->arena, crew_arena_bytes(&settings), &error), ERROR_NONE);
    assert_int_equal(crew_open(&shop->crew, &shop->arena, &settings, &error), ERROR_NONE);
    arena_freeze(&shop->arena);
}

static void shop_close(struct shop *shop)
{
    crew_close(&shop->crew);
    arena_close(&shop->arena);
}

static struct worker_task next(struct shop *shop)
{
    struct worker_task task;
    while (!crew_take(&shop->crew, &task)) {
        struct pollfd bell = {.fd = shop->crew.doorbell, .events = POLLIN};
        assert_true(poll(&bell, 1, -1) >= 0);
    }
    return task;
}

static void every_task_comes_back(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 3; ++threads) {
        struct shop shop;
        static struct item items[TASKS];
        shop_open(&shop, threads);
        for (unsigned round = 1; round <= 50; ++round) {
            memset(items, 0, sizeof items);
            for (uint32_t i = 0; i < TASKS; ++i) {
                const struct worker_task task = {
                    .function = run_item, .argument = &items[i], .kind = i % 5, .index = i};
                crew_post(&shop.crew, i % 7 == 0 ? WORKER_LONG : WORKER_SHORT, &task);
            }
            assert_int_equal(crew_pending(&shop.crew), TASKS);
            for (uint32_t i = 0; i < TASKS; ++i) {
                struct worker_task task = next(&shop);
                assert_ptr_equal(task.argument, &items[task.index]);
                assert_int_equal(task.kind, task.index % 5);
            }
            for (uint32_t i = 0; i < TASKS; ++i) {
                assert_int_equal(items[i].runs, 1);
            }
            struct worker_task none;
            assert_false(crew_take(&shop.crew, &none));
        }
        shop_close(&shop);
    }
}

static void short_tasks_pass_a_long_one(void **state)
{
    struct shop shop;
    sem_t gate;
    struct item slow = {0, &gate}, quick = {0, NULL};
    (void)state;
    sem_init(&gate, 0, 0);
    shop_open(&shop, 1);
    crew_post(&shop.crew, WORKER_LONG,
              &(struct worker_task){.function = run_item, .argument = &slow, .kind = 0, .index = 0});
    crew_post(&shop.crew, WORKER_SHORT,
              &(struct worker_task){.function = run_item, .argument = &quick, .kind = 0, .index = 1});
    assert_int_equal(next(&shop).index, 1); /* the long one still waits: else this never returns */
    sem_post(&gate);
    assert_int_equal(next(&shop).index, 0);
    shop_close(&shop);
    sem_destroy(&gate);
}

static void a_trim_delays_nobody(void **state)
{
    struct shop shop;
    sem_t gate;
    struct item trim = {0, &gate}, others[2] = {{0, NULL}, {0, NULL}};
    (void)state;
    sem_init(&gate, 0, 0);
    shop_open(&shop, 1);
    crew_post(&shop.crew, WORKER_TRIM,
              &(struct worker_task){.function = run_item, .argument = &trim, .kind = 0, .index = 9});
    crew_post(&shop.crew, WORKER_SHORT,
              &(struct worker_task){.function = run_item, .argument = &others[0], .kind = 0, .index = 0});
    crew_post(&shop.crew, WORKER_LONG,
              &(struct worker_task){.function = run_item, .argument = &others[1], .kind = 0, .index = 1});
    bool seen[2] = {false, false};
    for (unsigned i = 0; i < 2; ++i) {
        struct worker_task task = next(&shop);
        assert_true(task.index < 2 && !seen[task.index]);
        seen[task.index] = true;
        assert_true(task.posted_ns <= task.begin_ns && task.begin_ns <= task.end_ns);
        assert_int_equal(task.thread, task.index == 1 ? 1 : 2);
    }
    sem_post(&gate);
    struct worker_task task = next(&shop);
    assert_int_equal(task.index, 9);
    assert_int_equal(task.thread, 3);
    shop_close(&shop);
    sem_destroy(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_comes_back),
        cmocka_unit_test(short_tasks_pass_a_long_one),
        cmocka_unit_test(a_trim_delays_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
