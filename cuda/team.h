/* team.h - worker threads that share their work without a lock.
 *
 * A team owns W threads. There are two kinds of work. A main task is posted to one of a fixed number of slots
 * and runs once, on one worker, oldest post first: a proof. While it runs it may open parallel regions
 * through the struct par it is handed (par_run): the worker works on its own region, and every worker that
 * has nothing else to do joins in. So one proof alone has all workers, and with as many proofs as workers
 * each has its own; nothing has to be decided ahead. `mains_max` limits how many main tasks run at once; the
 * remaining workers only help. Measured: see device_cpu.h.
 *
 * Threads. team_post and team_withdraw belong to one thread, the one that opened the team or another that it
 * hands them to. A thread outside the team may borrow workers for regions of its own with team_par_open, for
 * instance to check a key's points. No call waits for a lock. Workers take no signals, and sleep on a futex
 * when there is nothing to do; for some microseconds before that they spin, since regions follow each other
 * closely.
 *
 * How a region is safe to join. Its gate is one atomic word: an open bit and the number of helpers inside. A
 * helper goes in by a compare-and-swap that adds one to an open gate, and reads the region's fields only
 * after that; the owner clears the bit when no index is left to take and writes the fields again only when
 * the number is zero. A helper that slept between reading the gate and swapping it may join a later region
 * than it saw, and that is right, too.
 *
 * Cost: posting or opening is O(1) and a system call only if a worker sleeps. An idle worker looks through
 * all slots and regions, O(slots + W), each time anything is posted or opened. */
#ifndef CUDA_TEAM_H
#define CUDA_TEAM_H

#include "conf/error.h"
#include "groth16/par.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEAM_WORKERS_MAX = 512, TEAM_SLOTS_MAX = 1024, TEAM_GUESTS_MAX = 16 };

/* A main task. par and worker are good until it returns; worker is below team->mains_max, and no two tasks
 * have the same one at the same time. */
typedef void team_task(void *argument, struct par *par, unsigned worker);

struct team_settings {
    unsigned workers;   /* threads, 1 to TEAM_WORKERS_MAX */
    unsigned mains_max; /* main tasks at once, 1 to workers; 0: workers */
    unsigned slots;     /* main tasks posted and not yet begun, at most TEAM_SLOTS_MAX */
    unsigned guests;    /* outside threads with a par at once, at most TEAM_GUESTS_MAX */
};

struct team_region { /* fields above gate are written by the owner, and only while it is shut and empty */
    struct par par;  /* first, so that a par leads back to its region */
    struct team *team;
    unsigned number; /* the owner's worker number in its region */
    par_task *task;
    void *argument;
    size_t tasks;
    _Atomic bool taken; /* by a guest */
    alignas(64) _Atomic uint32_t gate;
    alignas(64) _Atomic size_t next; /* index to be taken next */
};

struct team_slot {
    alignas(64) _Atomic uint64_t state; /* number of the post, then two bits: empty, posted or claimed */
    team_task *task;
    void *argument;
};

struct team_worker {
    pthread_t thread;
    struct team *team;
    unsigned number;
};

struct team {
    unsigned workers;
    unsigned mains_max;
    unsigned slots_count;
    unsigned guests;
    struct team_worker *workers_table;
    struct team_region *regions; /* by worker, then by guest */
    struct team_slot *slots;
    void *mapping; /* holds the three tables */
    size_t mapping_bytes;
    uint64_t posts;                        /* so far; the posting thread's */
    alignas(64) _Atomic uint32_t sequence; /* of everything posted or opened; workers sleep on it */
    alignas(64) _Atomic uint32_t sleepers;
    _Atomic bool stopping;
};

/* Starts the threads. ERROR_SYSTEM if there is no room for them; then none is left running. The team must
 * stay where it is until team_close. */
enum error_code team_open(struct team *team, const struct team_settings *settings,
                          struct error *error) ERROR_MUST_USE;

/* Waits for main tasks that have begun, drops those that haven't, and ends the threads. No guest may be left.
 */
void team_close(struct team *team);

/* Queues a main task. The slot must be free: it is from the moment that its last task has begun. */
void team_post(struct team *team, unsigned slot, team_task *task, void *argument);

/* Takes back what was posted to the slot. False if it has begun, or nothing was posted. */
bool team_withdraw(struct team *team, unsigned slot);

/* A par for one thread outside the team, with team->workers + 1 workers; NULL if all are lent. Any thread. */
struct par *team_par_open(struct team *team);

/* Gives it back; the thread that took it, outside any par_run. */
void team_par_close(struct par *par);

#endif
