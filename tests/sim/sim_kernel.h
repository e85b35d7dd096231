/* sim_kernel.h - a system that exists in memory only: the shell's calls of the C library and of liburing end
 * here (sim_wraps.c), so that a whole batch runs on one thread, in no time, and the same each time.
 *
 * It has a clock that moves when nothing else can happen, descriptors (files of sim_disk.h, folders, event
 * and timer descriptors, epoll sets, signals, pipes, processes), one ring, threads that run as steps, and
 * memory that it keeps account of. What is asked of the ring is carried out later, in an order that chance
 * decides; a poll completes when its descriptor becomes readable. Chance also decides what fails, with the
 * probabilities that sim_kernel_open is given. Equal seeds give equal histories, told by a hash.
 *
 * A process ends in the middle of what it does (sim_kernel_run returns SIM_ENDED_...) when it calls _exit or
 * when its time has come: what it held is given back, as a system does.
 *
 * Sources: the manual pages of each call; for the ring, io_uring_enter(2) and io_uring_setup(2). */
#ifndef TESTS_SIM_KERNEL_H
#define TESTS_SIM_KERNEL_H

#include "tests/sim/sim_random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_fault {                       /* chance of each, permille; 0: not in this world */
                 SIM_FAULT_CALL,       /* a call of the C library fails */
                 SIM_FAULT_MEMORY,     /* an allocation fails */
                 SIM_FAULT_IO,         /* an operation of the ring fails with EIO */
                 SIM_FAULT_SPACE,      /* a write finds no room */
                 SIM_FAULT_SHORT,      /* a read or write does a part */
                 SIM_FAULT_INTERRUPT,  /* an operation or a wait ends with EINTR or EAGAIN */
                 SIM_FAULT_SLOW,       /* an operation takes a thousand times as long */
                 SIM_FAULT_STALL,      /* a thread does nothing for a while */
                 SIM_FAULT_BUSY,       /* the ring takes a part of what is submitted, or nothing for now */
                 SIM_FAULT_RING,       /* the ring refuses for good */
                 SIM_FAULT_POLL_END,   /* a multishot poll ends */
                 SIM_FAULT_RING_TWICE, /* a poll completes twice */
                 SIM_FAULT_CLOCK,      /* the wall clock jumps */
                 SIM_FAULT_PAUSE,      /* the process is stopped for seconds and goes on */
                 SIM_FAULT_CHILD,      /* a witness command does not do what it should */
                 SIM_FAULTS
};

enum sim_ended { SIM_ENDED_RETURNED, SIM_ENDED_KILLED, SIM_ENDED_EXITED };

/* What the system tells whoever tests it; each before the caller of the operation knows. */
struct sim_watch {
    void (*renamed)(int folder, const char *name, int node);
    void (*written)(int node);
    void (*disturbed)(void); /* settings.disturb_ns have passed */
};

struct sim_settings {
    uint64_t seed;
    unsigned chance[SIM_FAULTS];
    uint64_t calm_steps;               /* no faults from then on */
    uint64_t kill_step;                /* the process is killed at that step; 0: never */
    uint64_t pause_step;               /* it is stopped for seconds at that one */
    uint64_t stop_ns[2];               /* SIGINT after so long; 0: never */
    uint64_t pressure_ns;              /* the file PRESSURE_PATH rings so often; 0: never */
    uint64_t disturb_ns;               /* somebody else meddles after so long; 0: never */
    unsigned submissions, completions; /* how long the ring's queues are at most */
    /* This call fails the fail_nth time with that errno, and nothing else does; NULL: by chance. */
    const char *fail_call;
    uint64_t fail_nth;
    int fail_code;
    struct sim_watch watch;
    bool verbose;
};

/* A fresh system with the disk as it is; monotonic time begins somewhere, wall time goes on. */
void sim_kernel_open(const struct sim_settings *settings);

/* Runs the function as a process on it. */
enum sim_ended sim_kernel_run(void (*process)(void *context), void *context);

/* Nothing is simulated from here on: for whoever ends the program. */
void sim_kernel_stop(void);

/* Gives back what a process that ended has left behind; after SIM_ENDED_RETURNED there must be nothing. */
void sim_kernel_close(void);

/* What is still held: descriptors, blocks and mappings, threads; a text for the first. 0: nothing. */
unsigned sim_kernel_held(const char **first);

/* Whose operations are in flight; for a run that does not end. */
void sim_kernel_explain(void);

/* How often each fault has struck since the program began, and its name. */
uint64_t sim_kernel_struck(enum sim_fault fault, const char **name);

uint64_t sim_kernel_hash(void);
uint64_t sim_kernel_steps(void);
bool sim_kernel_paused(void); /* since the ring was last waited for */
uint64_t sim_kernel_now_ns(void);
uint64_t sim_kernel_calls(const char *name);               /* how often it was called since sim_kernel_open */
const char *sim_kernel_call_name(unsigned index);          /* of those that can fail; NULL behind the last */
int sim_kernel_call_code(unsigned index, unsigned number); /* what it may fail with; 0 behind the last */

/* From here to the end nothing may be allocated by the first thread. */
void sim_kernel_forbid_allocation(bool forbidden);

/* The random numbers of the system, for devices that are part of it. */
struct sim_random *sim_kernel_random(void);

/* Ends the program: a rule was broken. Defined by the program; names the seed. */
_Noreturn void sim_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
