#include "coordinator/worker.h"

#include "conf/check.h"
#include "coordinator/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Beside those for short tasks: one for long ones, one that trims. */
enum { OTHER_THREADS = 2 };

/* A task without a function tells the thread to end. */
static uint64_t ring_capacity(uint32_t tasks_max)
{
    uint64_t capacity = 2;
    while (capacity < (uint64_t)tasks_max + 1) {
        capacity *= 2;
    }
    return capacity;
}

size_t crew_arena_bytes(const struct crew_settings *settings)
{
    size_t threads = settings->short_threads + (size_t)OTHER_THREADS;
    size_t ring = arena_bytes_for(ring_capacity(settings->tasks_max), sizeof(struct worker_task));
    return arena_bytes_for(threads, sizeof(struct worker)) + 2 * threads * ring;
}

static void ring_bell(int doorbell)
{
    uint64_t one = 1;
    ssize_t written = write(doorbell, &one, sizeof one);
    CHECK(written == sizeof one ||
          errno == EAGAIN); /* EAGAIN: it has rung 2^64 - 2 times, so it is readable */
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    for (;;) {
        struct worker_task task;
        if (!spsc_pop(&worker->todo, &task)) {
            uint64_t rung;
            ssize_t got = read(worker->doorbell, &rung, sizeof rung);
            CHECK(got == sizeof rung || errno == EINTR);
            continue;
        }
        if (task.function == NULL) {
            return NULL;
        }
        task.thread = worker->number;
        task.begin_ns = loop_now_ns();
        task.function(task.argument);
        task.end_ns = loop_now_ns();
        bool pushed = spsc_push(&worker->done, &task);
        CHECK(pushed);
        ring_bell(worker->crew->doorbell);
    }
}

/* Room in a todo ring is certain: it holds tasks_max and the one that ends the thread. */
static void hand_over(struct worker *worker, const struct worker_task *task)
{
    bool pushed = spsc_push(&worker->todo, task);
    CHECK(pushed);
    ring_bell(worker->doorbell);
}

static void worker_stop(struct worker *worker)
{
    hand_over(worker, &(struct worker_task){.function = NULL});
    pthread_join(worker->thread, NULL);
    close(worker->doorbell);
}

static enum error_code worker_start(struct worker *worker, struct error *error)
{
    sigset_t all, before;
    worker->doorbell = eventfd(0, EFD_CLOEXEC);
    if (worker->doorbell < 0) {
        return error_set_errno(error, errno, "creating an event descriptor for a worker thread");
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        close(worker->doorbell);
        return error_set_errno(error, result, "starting a worker thread");
    }
    return ERROR_NONE;
}

enum error_code crew_open(struct crew *crew, struct arena *arena, const struct crew_settings *settings,
                          struct error *error)
{
    unsigned threads = settings->short_threads + OTHER_THREADS;
    CHECK(settings->short_threads > 0 && threads <= WORKER_THREADS_MAX && settings->tasks_max > 0);
    memset(crew, 0, sizeof *crew);
    crew->tasks_max = settings->tasks_max;
    crew->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (crew->doorbell < 0) {
        return error_set_errno(error, errno, "creating an event descriptor for worker threads");
    }
    crew->workers = arena_take(arena, threads, sizeof *crew->workers);
    uint64_t capacity = ring_capacity(settings->tasks_max);
    for (; crew->threads < threads; ++crew->threads) {
        struct worker *worker = &crew->workers[crew->threads];
        worker->crew = crew;
        worker->number = crew->threads + 1;
        spsc_init(&worker->todo, arena_take(arena, capacity, sizeof(struct worker_task)), capacity,
                  sizeof(struct worker_task));
        spsc_init(&worker->done, arena_take(arena, capacity, sizeof(struct worker_task)), capacity,
                  sizeof(struct worker_task));
        enum error_code code = worker_start(worker, error);
        if (code != ERROR_NONE) {
            crew_close(crew);
            return code;
        }
    }
    return ERROR_NONE;
}

void crew_close(struct crew *crew)
{
    for (unsigned i = 0; i < crew->threads; ++i) {
        CHECK(crew->workers[i].posted == 0);
        worker_stop(&crew->workers[i]);
    }
    close(crew->doorbell);
}

uint32_t crew_pending(const struct crew *crew)
{
    uint32_t pending = 0;
    for (unsigned i = 0; i < crew->threads; ++i) {
        pending += crew->workers[i].posted;
    }
    return pending;
}

void crew_post(struct crew *crew, enum worker_length length, const struct worker_task *task)
{
    CHECK(task->function != NULL && crew_pending(crew) < crew->tasks_max);
    struct worker *worker = &crew->workers[length == WORKER_TRIM ? crew->threads - 1 : 0];
    if (length == WORKER_SHORT) {
        worker = &crew->workers[1];
        for (unsigned i = 2; i < crew->threads - 1; ++i) {
            worker = crew->workers[i].posted < worker->posted ? &crew->workers[i] : worker;
        }
    }
    struct worker_task posted = *task;
    posted.posted_ns = loop_now_ns();
    ++worker->posted;
    hand_over(worker, &posted);
}

bool crew_take(struct crew *crew, struct worker_task *task)
{
    uint64_t rung;
    ssize_t got = read(crew->doorbell, &rung, sizeof rung);
    CHECK(got == sizeof rung || errno == EAGAIN);
    for (unsigned i = 0; i < crew->threads; ++i) {
        struct worker *worker = &crew->workers[(crew->next + i) % crew->threads];
        if (spsc_pop(&worker->done, task)) {
            CHECK(worker->posted > 0);
            --worker->posted;
            crew->next = (crew->next + i + 1) % crew->threads;
            return true;
        }
    }
    return false;
}
