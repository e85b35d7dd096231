/* fixture.h - for tests: files of tests/data in memory, sections of iden3 containers, and threads for struct
 * par. */
#ifndef TESTS_UNIT_FIXTURE_H
#define TESTS_UNIT_FIXTURE_H

#include "groth16/par.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture_file {
    uint8_t *bytes;
    size_t size;
};

/* Reads tests/data/NAME; aborts the test program if it isn't there. The caller frees bytes. */
static inline struct fixture_file fixture_read(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", UZK_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        abort();
    }
    fseek(file, 0, SEEK_END);
    struct fixture_file result = {.size = (size_t)ftell(file)};
    rewind(file);
    result.bytes = malloc(result.size + 1);
    if (!result.bytes || fread(result.bytes, 1, result.size, file) != result.size) {
        perror(path);
        abort();
    }
    result.bytes[result.size] = 0; /* so that texts are strings */
    fclose(file);
    return result;
}

/* A block aligned to 64 bytes; the caller frees it. */
static inline void *fixture_block(size_t size)
{
    void *block = aligned_alloc(64, (size + 64) & ~(size_t)63);
    if (!block) {
        abort();
    }
    return block;
}

/* Offset of the first byte of section `type` in a container, for files known to be well formed. */
static inline size_t fixture_section(const struct fixture_file *file, uint32_t type)
{
    size_t position = 12;
    while (position + 12 <= file->size) {
        uint32_t found;
        uint64_t size;
        memcpy(&found, file->bytes + position, 4);
        memcpy(&size, file->bytes + position + 4, 8);
        position += 12;
        if (found == type) {
            return position;
        }
        position += (size_t)size;
    }
    abort();
}

/* Three workers, fresh threads for each call: slow and simple, and the thread sanitizer sees all of it. */
enum { FIXTURE_WORKERS = 3 };

struct fixture_call {
    par_task *task;
    void *argument;
    size_t tasks;
    atomic_size_t next;
};

struct fixture_thread {
    struct fixture_call *call;
    unsigned worker;
};

static inline void *fixture_thread_main(void *argument)
{
    struct fixture_thread *thread = argument;
    size_t index;
    while ((index = atomic_fetch_add(&thread->call->next, 1)) < thread->call->tasks) {
        thread->call->task(thread->call->argument, index, thread->worker);
    }
    return NULL;
}

static inline void fixture_run(struct par *par, size_t tasks, par_task *task, void *argument)
{
    struct fixture_call call = {.task = task, .argument = argument, .tasks = tasks};
    struct fixture_thread threads[FIXTURE_WORKERS];
    pthread_t handles[FIXTURE_WORKERS];
    (void)par;
    for (unsigned i = 0; i < FIXTURE_WORKERS; i++) {
        threads[i] = (struct fixture_thread){.call = &call, .worker = i};
        if (i > 0 && pthread_create(&handles[i], NULL, fixture_thread_main, &threads[i]) != 0) {
            abort();
        }
    }
    fixture_thread_main(&threads[0]);
    for (unsigned i = 1; i < FIXTURE_WORKERS; i++) {
        pthread_join(handles[i], NULL);
    }
}

static struct par fixture_threads __attribute__((unused)) = {.run = fixture_run, .workers = FIXTURE_WORKERS};

#endif
