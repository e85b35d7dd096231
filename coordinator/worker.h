/* worker.h - threads that do for the coordinator what takes long or may block.
 *
 * A crew owns one thread for long tasks (loading a circuit takes seconds), some for short ones (checking a
 * witness, assembling a proof, starting a program), and one that only trims, so that the short never wait for
 * the long and neither for a trim. A task is a function and its argument. Handing over an argument hands over
 * what it points to: until the task is taken back with crew_take the coordinator touches none of it.
 *
 * crew_post and crew_take belong to the coordinator's thread; they neither block nor allocate. Each direction
 * of each thread is a ring with one producer and one consumer, so there is no lock. crew.doorbell becomes
 * readable when a task may be done; crew_take makes it unreadable again, before it looks.
 *
 * Tasks of one length run in the order of their posts if there is one thread for them, else in any order. */
#ifndef COORDINATOR_WORKER_H
#define COORDINATOR_WORKER_H

#include "alloc/arena.h"
#include "conf/error.h"
#include "cuda/spsc.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKER_THREADS_MAX = 16 };

enum worker_length { WORKER_SHORT, WORKER_LONG, WORKER_TRIM };

typedef void worker_function(void *argument);

struct worker_task {
    worker_function *function;
    void *argument;
    uint32_t kind;  /* the caller's, to tell tasks apart when they come back */
    uint32_t index; /* likewise */

    uint32_t
        thread; /* which one did it, from 1 on; this and the times are set by the crew, CLOCK_MONOTONIC */
    uint64_t posted_ns, begin_ns, end_ns;
};

struct worker {
    struct crew *crew;
    uint32_t number; /* from 1 on: 0 is the coordinator */
    pthread_t thread;
    int doorbell;
    uint32_t posted; /* not taken back yet; the coordinator's */
    struct spsc todo;
    struct spsc done;
};

struct crew {
    int doorbell;
    unsigned threads; /* worker 0 is the one for long tasks, the last one trims */
    uint32_t tasks_max;
    unsigned next; /* whose done ring crew_take looks at */
    struct worker *workers;
};

struct crew_settings {
    unsigned short_threads; /* at least 1 */
    uint32_t tasks_max;     /* posted and not yet taken back */
};

/* What crew_open takes from the arena. */
size_t crew_arena_bytes(const struct crew_settings *settings);

/* Starts the threads, with all signals blocked. ERROR_SYSTEM if that is refused. The crew must not move
 * afterwards. */
enum error_code ERROR_MUST_USE crew_open(struct crew *crew, struct arena *arena,
                                         const struct crew_settings *settings, struct error *error);

/* Ends the threads after what they were given; every task must have been taken back. */
void crew_close(struct crew *crew);

void crew_post(struct crew *crew, enum worker_length length, const struct worker_task *task);

/* One finished task; false if there is none now. */
bool crew_take(struct crew *crew, struct worker_task *task);

/* Tasks posted and not taken back. */
uint32_t crew_pending(const struct crew *crew);

#endif
