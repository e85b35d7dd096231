/* test_par.h - a struct par with real threads, for tests: par_run starts them and waits for them. */
#ifndef TESTS_TEST_PAR_H
#define TESTS_TEST_PAR_H

#include "conf/check.h"
#include "groth16/par.h"

#include <pthread.h>
#include <stdatomic.h>

enum { TEST_PAR_WORKERS_MAX = 8 };

struct test_par_run {
    par_task *task;
    void *argument;
    size_t tasks;
    atomic_size_t next;
};

struct test_par_worker {
    struct test_par_run *run;
    unsigned worker;
};

static inline void *test_par_thread(void *argument)
{
    struct test_par_worker *self = argument;
    struct test_par_run *run = self->run;
    for (size_t i = atomic_fetch_add(&run->next, 1); i < run->tasks; i = atomic_fetch_add(&run->next, 1)) {
        run->task(run->argument, i, self->worker);
    }
    return NULL;
}

static inline void test_par_run_threads(struct par *par, size_t tasks, par_task *task, void *argument)
{
    struct test_par_run run = {.task = task, .argument = argument, .tasks = tasks};
    struct test_par_worker workers[TEST_PAR_WORKERS_MAX];
    pthread_t threads[TEST_PAR_WORKERS_MAX];
    CHECK(par->workers <= TEST_PAR_WORKERS_MAX);
    for (unsigned i = 0; i < par->workers; i++) {
        workers[i] = (struct test_par_worker){.run = &run, .worker = i};
        CHECK(pthread_create(&threads[i], NULL, test_par_thread, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < par->workers; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

static inline struct par test_par(unsigned workers)
{
    return (struct par){.run = test_par_run_threads, .workers = workers};
}

#endif
