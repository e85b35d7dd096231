#include "cuda/team.h"

#include "conf/check.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The gate of a region. AWAITED: the owner sleeps until the last helper leaves. */
#define TEAM_OPEN    (UINT32_C(1) << 31)
#define TEAM_AWAITED (UINT32_C(1) << 30)
#define TEAM_INSIDE  (TEAM_AWAITED - 1)

enum { TEAM_EMPTY, TEAM_POSTED, TEAM_CLAIMED, TEAM_STATES_BITS = 2 };
enum { TEAM_ALIGN = 64 };
/* Pauses before sleeping; one is 40 to 140 cycles. Idle workers wait longer than the gap between two regions
 * of one proof, which is some microseconds; an owner waits for tasks that are about to end. */
enum { TEAM_IDLE_SPINS = 1000, TEAM_OWNER_SPINS = 200 };

static void team_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void team_futex_wait(_Atomic uint32_t *word, uint32_t value)
{
    long result = syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    CHECK(result == 0 || errno == EAGAIN || errno == EINTR);
}

static void team_futex_wake(_Atomic uint32_t *word, size_t threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads < INT_MAX ? (int)threads : INT_MAX, NULL, NULL, 0);
}

/* Tells idle workers that there is something new. Either the worker's last look at sequence, made by the
 * kernel after it counted itself as a sleeper, sees the addition, or the load of sleepers sees the worker:
 * all four are sequentially consistent. */
static void team_ring(struct team *team, size_t threads)
{
    atomic_fetch_add(&team->sequence, 1);
    if (atomic_load(&team->sleepers) > 0) {
        team_futex_wake(&team->sequence, threads);
    }
}

static void team_region_work(struct team_region *region, unsigned worker)
{
    size_t tasks = region->tasks;
    for (;;) {
        size_t index = atomic_fetch_add_explicit(&region->next, 1, memory_order_relaxed);
        if (index >= tasks) {
            return;
        }
        region->task(region->argument, index, worker);
    }
}

/* Goes into a region, does what is left to take there, and comes out. False if it was shut. */
static bool team_region_help(struct team_region *region, unsigned worker)
{
    uint32_t gate = atomic_load_explicit(&region->gate, memory_order_relaxed);
    do {
        if ((gate & TEAM_OPEN) == 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&region->gate, &gate, gate + 1, memory_order_acquire,
                                                    memory_order_relaxed));
    CHECK(worker != region->number);
    team_region_work(region, worker);
    gate = atomic_fetch_sub_explicit(&region->gate, 1, memory_order_release);
    if (gate == (TEAM_AWAITED | 1)) {
        /* From here on the owner may use or give up the region: the wake names an address and reads nothing.
         */
        team_futex_wake(&region->gate, 1);
    }
    return true;
}

/* Shuts the gate and waits until every helper is out, so until every task is done. */
static void team_region_finish(struct team_region *region)
{
    uint32_t gate = atomic_fetch_and_explicit(&region->gate, ~TEAM_OPEN, memory_order_acquire) & ~TEAM_OPEN;
    for (unsigned spin = 0; gate != 0 && spin < TEAM_OWNER_SPINS; spin++) {
        team_pause();
        gate = atomic_load_explicit(&region->gate, memory_order_acquire);
    }
    if (gate == 0) {
        return;
    }
    gate = atomic_fetch_or_explicit(&region->gate, TEAM_AWAITED, memory_order_acquire) | TEAM_AWAITED;
    while ((gate & TEAM_INSIDE) != 0) {
        team_futex_wait(&region->gate, gate);
        gate = atomic_load_explicit(&region->gate, memory_order_acquire);
    }
    atomic_store_explicit(&region->gate, 0, memory_order_relaxed);
}

static void team_par_run(struct par *par, size_t tasks, par_task *task, void *argument)
{
    struct team_region *region = (struct team_region *)(void *)par;
    /* Not from within a task of this region, and not from two threads. */
    CHECK(atomic_load_explicit(&region->gate, memory_order_relaxed) == 0);
    region->task = task;
    region->argument = argument;
    region->tasks = tasks;
    atomic_store_explicit(&region->next, 0, memory_order_relaxed);
    if (tasks <= 1 || par->workers == 1) { /* nothing to share: don't wake anybody */
        team_region_work(region, region->number);
        return;
    }
    atomic_store_explicit(&region->gate, TEAM_OPEN, memory_order_release);
    team_ring(region->team, tasks - 1);
    team_region_work(region, region->number);
    team_region_finish(region);
}

/* Takes the oldest posted main task; false if there is none. */
static bool team_claim(struct team *team, team_task **task, void **argument)
{
    for (;;) {
        struct team_slot *oldest = NULL;
        uint64_t oldest_state = UINT64_MAX;
        for (unsigned i = 0; i < team->slots_count; i++) {
            uint64_t state = atomic_load_explicit(&team->slots[i].state, memory_order_relaxed);
            if ((state & 3) == TEAM_POSTED && state < oldest_state) {
                oldest = &team->slots[i];
                oldest_state = state;
            }
        }
        if (oldest == NULL) {
            return false;
        }
        uint64_t claimed = oldest_state - TEAM_POSTED + TEAM_CLAIMED;
        if (atomic_compare_exchange_strong_explicit(&oldest->state, &oldest_state, claimed,
                                                    memory_order_acquire, memory_order_relaxed)) {
            *task = oldest->task;
            *argument = oldest->argument;
            /* Free before the task begins: the poster may post again as soon as it learns that the task is
             * done. */
            atomic_store_explicit(&oldest->state, TEAM_EMPTY, memory_order_release);
            return true;
        }
    }
}

/* One round of looking for something to do. */
static bool team_worker_find(struct team *team, unsigned number)
{
    team_task *task;
    void *argument;
    if (number < team->mains_max && team_claim(team, &task, &argument)) {
        task(argument, &team->regions[number].par, number);
        return true;
    }
    unsigned regions = team->workers + team->guests;
    for (unsigned i = 1; i < regions; i++) { /* begin behind the own one, so that helpers spread */
        unsigned other = number + i < regions ? number + i : number + i - regions;
        if (team_region_help(&team->regions[other], number)) {
            return true;
        }
    }
    return false;
}

static void team_worker_idle(struct team *team, uint32_t seen)
{
    for (unsigned spin = 0; spin < TEAM_IDLE_SPINS; spin++) {
        if (atomic_load_explicit(&team->sequence, memory_order_acquire) != seen) {
            return;
        }
        team_pause();
    }
    atomic_fetch_add(&team->sleepers, 1);
    team_futex_wait(&team->sequence, seen);
    atomic_fetch_sub(&team->sleepers, 1);
}

static void *team_worker_main(void *argument)
{
    struct team_worker *worker = argument;
    struct team *team = worker->team;
    char name[16];
    snprintf(name, sizeof name, "uzk-worker-%u", worker->number % 1000);
    pthread_setname_np(pthread_self(), name);
    for (;;) {
        uint32_t seen =
            atomic_load(&team->sequence); /* before looking, so that nothing new is slept through */
        if (atomic_load(&team->stopping)) {
            return NULL;
        }
        if (!team_worker_find(team, worker->number)) {
            team_worker_idle(team, seen);
        }
    }
}

/* Ends the first `started` threads. */
static void team_stop(struct team *team, unsigned started)
{
    atomic_store(&team->stopping, true);
    team_ring(team, SIZE_MAX);
    for (unsigned i = 0; i < started; i++) {
        CHECK(pthread_join(team->workers_table[i].thread, NULL) == 0);
    }
    CHECK(munmap(team->mapping, team->mapping_bytes) == 0);
    team->mapping = NULL;
}

/* Signals are the coordinator's: a worker starts with all of them blocked. */
static int team_start(struct team *team, unsigned *started)
{
    sigset_t all, before;
    sigfillset(&all);
    int failure = pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(failure == 0);
    for (*started = 0; *started < team->workers && failure == 0;) {
        struct team_worker *worker = &team->workers_table[*started];
        failure = pthread_create(&worker->thread, NULL, team_worker_main, worker);
        *started += failure == 0;
    }
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return failure;
}

static size_t team_round_up(size_t bytes)
{
    return (bytes + TEAM_ALIGN - 1) & ~(size_t)(TEAM_ALIGN - 1);
}

static enum error_code team_map(struct team *team, struct error *error)
{
    size_t regions_bytes = sizeof *team->regions * (team->workers + team->guests);
    size_t slots_bytes = sizeof *team->slots * team->slots_count;
    size_t workers_bytes = team_round_up(sizeof *team->workers_table * team->workers);
    team->mapping_bytes = regions_bytes + slots_bytes + workers_bytes;
    void *mapping =
        mmap(NULL, team->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
        return error_set_errno(error, errno, "cannot map %zu bytes for %u worker threads",
                               team->mapping_bytes, team->workers);
    }
    unsigned char *bytes = mapping;
    team->mapping = mapping;
    team->regions = mapping;
    team->slots = (struct team_slot *)(void *)(bytes + regions_bytes);
    team->workers_table = (struct team_worker *)(void *)(bytes + regions_bytes + slots_bytes);
    return ERROR_NONE;
}

static void team_tables_init(struct team *team)
{
    for (unsigned i = 0; i < team->workers + team->guests; i++) {
        bool guest = i >= team->workers;
        struct team_region *region = &team->regions[i];
        region->par.run = team_par_run;
        region->par.workers = team->workers + guest;
        region->team = team;
        region->number = guest ? team->workers : i;
    }
    for (unsigned i = 0; i < team->workers; i++) {
        team->workers_table[i].team = team;
        team->workers_table[i].number = i;
    }
}

enum error_code team_open(struct team *team, const struct team_settings *settings, struct error *error)
{
    CHECK(settings->workers >= 1 && settings->workers <= TEAM_WORKERS_MAX);
    CHECK(settings->mains_max <= settings->workers);
    CHECK(settings->slots <= TEAM_SLOTS_MAX && settings->guests <= TEAM_GUESTS_MAX);
    memset(team, 0, sizeof *team);
    team->workers = settings->workers;
    team->mains_max = settings->mains_max > 0 ? settings->mains_max : settings->workers;
    team->slots_count = settings->slots;
    team->guests = settings->guests;
    if (team_map(team, error) != ERROR_NONE) {
        return error->code;
    }
    team_tables_init(team);
    unsigned started;
    int failure = team_start(team, &started);
    if (failure != 0) {
        team_stop(team, started);
        return error_set_errno(error, failure, "cannot start worker thread %u of %u; set `threads` lower",
                               started + 1, settings->workers);
    }
    return ERROR_NONE;
}

void team_close(struct team *team)
{
    for (unsigned i = 0; i < team->guests; i++) {
        CHECK(!atomic_load(&team->regions[team->workers + i].taken));
    }
    team_stop(team, team->workers);
}

void team_post(struct team *team, unsigned slot, team_task *task, void *argument)
{
    CHECK(slot < team->slots_count);
    struct team_slot *place = &team->slots[slot];
    CHECK(atomic_load_explicit(&place->state, memory_order_acquire) == TEAM_EMPTY);
    place->task = task;
    place->argument = argument;
    team->posts++;
    atomic_store_explicit(&place->state, team->posts << TEAM_STATES_BITS | TEAM_POSTED, memory_order_release);
    /* Only some workers may take main tasks, and the kernel chooses whom to wake. */
    team_ring(team, team->mains_max == team->workers ? 1 : SIZE_MAX);
}

bool team_withdraw(struct team *team, unsigned slot)
{
    CHECK(slot < team->slots_count);
    struct team_slot *place = &team->slots[slot];
    uint64_t state = atomic_load_explicit(&place->state, memory_order_relaxed);
    return (state & 3) == TEAM_POSTED &&
           atomic_compare_exchange_strong_explicit(&place->state, &state, TEAM_EMPTY, memory_order_acquire,
                                                   memory_order_relaxed);
}

struct par *team_par_open(struct team *team)
{
    for (unsigned i = 0; i < team->guests; i++) {
        struct team_region *region = &team->regions[team->workers + i];
        if (!atomic_exchange_explicit(&region->taken, true, memory_order_acquire)) {
            return &region->par;
        }
    }
    return NULL;
}

void team_par_close(struct par *par)
{
    struct team_region *region = (struct team_region *)(void *)par;
    CHECK(atomic_load_explicit(&region->gate, memory_order_relaxed) == 0);
    CHECK(atomic_load_explicit(&region->taken, memory_order_relaxed));
    atomic_store_explicit(&region->taken, false, memory_order_release);
}
