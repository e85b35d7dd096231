/* sim_system.h - what the parts of the simulated system share: sim_kernel.c (clock, events, descriptors,
 * threads, children, memory), sim_ring.c (the ring) and sim_wraps.c (calls of the C library). */
#ifndef TESTS_SIM_SYSTEM_H
#define TESTS_SIM_SYSTEM_H

#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_kernel.h"
#include "tests/sim/sim_real.h"

#include <liburing.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h>

enum {
    SIM_FILES = 512,
    SIM_FILE_FIRST = 1000, /* the number of the first descriptor */
    SIM_EVENTS = 4096,
    SIM_OPERATIONS = 2048,
    SIM_THREADS = 24,
    SIM_CHILDREN = 64,
    SIM_BLOCKS = 4096,
    SIM_MEMBERS = 4,
    SIM_PIPE_BYTES = 4096
};

enum sim_file_kind {
    SIM_FILE_FREE,
    SIM_FILE_NODE,
    SIM_FILE_EVENT,
    SIM_FILE_TIMER,
    SIM_FILE_EPOLL,
    SIM_FILE_SIGNALS,
    SIM_FILE_PIPE_OUT, /* the end that is read */
    SIM_FILE_PIPE_IN,
    SIM_FILE_CHILD
};

struct sim_file {
    enum sim_file_kind kind;
    uint32_t generation;
    int node;
    uint64_t offset;
    bool appends_nothing, waits, locked, urgent; /* waits: a read without data blocks */
    uint64_t count;                              /* of an event descriptor; signals that wait */
    uint64_t due_ns;                             /* of a timer; UINT64_MAX: never */
    int members[SIM_MEMBERS];                    /* of an epoll set; 0: none */
    int child;                                   /* of a pipe (-1: none yet) or a process */
};

enum sim_event_kind {
    SIM_EVENT_OPERATION, /* an operation of the ring is carried out */
    SIM_EVENT_POLL,      /* a poll looks whether its descriptor is readable */
    SIM_EVENT_TIMEOUT,
    SIM_EVENT_TIMER,
    SIM_EVENT_THREAD,
    SIM_EVENT_SIGNAL,
    SIM_EVENT_PRESSURE,
    SIM_EVENT_DISTURB,
    SIM_EVENT_PRINT, /* a child prints, or */
    SIM_EVENT_EXIT   /* ends */
};

struct sim_event {
    uint64_t at_ns, order;
    enum sim_event_kind kind;
    int index;
    uint32_t generation;
};

struct sim_operation {
    bool used, linked, waits; /* linked: begins after another; waits: for a pipe */
    bool polling;             /* an event for it is under way */
    bool early;               /* a sync whose effect is that of its beginning */
    uint32_t generation;
    int next; /* that begins after it; -1 */
    struct io_uring_sqe sqe;
    char path[SIM_DISK_NAME_BYTES * 2], path2[SIM_DISK_NAME_BYTES * 2];
    uint64_t due_ns;
};

struct sim_thread {
    bool used, finished, scheduled;
    void *(*function)(void *);
    void *argument;
    int waits; /* for this descriptor; 0: runs */
    uint32_t generation;
};

struct sim_child {
    bool used, ended, reaped, hangs;
    int pid;
    int code, status; /* as waitid has them */
    uint32_t generation;
    unsigned behavior;
    char input[SIM_DISK_NAME_BYTES * 2], witness[SIM_DISK_NAME_BYTES * 2];
    char printed[SIM_PIPE_BYTES];
    size_t printed_bytes;
};

enum sim_block_kind { SIM_BLOCK_FREE, SIM_BLOCK_HEAP, SIM_BLOCK_MAPPED, SIM_BLOCK_SHARED, SIM_BLOCK_STREAM };

struct sim_block {
    void *at;
    size_t bytes;
    enum sim_block_kind kind;
};

struct sim_system {
    struct sim_settings settings;
    struct sim_random random;
    bool running; /* a process runs: calls come here */
    int thread;   /* that runs; -1: the first one */
    bool forbidden;
    uint64_t now_ns, steps, paused_step, waited_step, hash, order;
    int64_t wall_ns; /* is ahead of now_ns by so much */
    jmp_buf leave_process, leave_thread;
    struct sim_file files[SIM_FILES];
    struct sim_event events[SIM_EVENTS]; /* a heap */
    unsigned events_count;
    struct sim_thread threads[SIM_THREADS];
    struct sim_child children[SIM_CHILDREN];
    struct sim_block blocks[SIM_BLOCKS];
    unsigned blocks_used;
    int last_pipe; /* whose other end a child gets */
    int pids;
};

extern struct sim_system sim_system;

/* sim_kernel.c */
void sim_mix(uint64_t value);
void sim_step(uint64_t what); /* one thing happened; may end the process */
bool sim_happens(enum sim_fault fault);
uint64_t sim_between(uint64_t low, uint64_t high);
/* Counts the call; an errno if it is to fail. */
int sim_fails(const char *call);
void sim_push(uint64_t at_ns, enum sim_event_kind kind, int index, uint32_t generation);
bool sim_advance(bool due_only);                      /* the next event happens; false: there is none */
void sim_interleave(void);                            /* what is due may happen now */
int sim_file_open(enum sim_file_kind kind, int node); /* a descriptor; -EMFILE */
struct sim_file *sim_file_at(int file);               /* NULL: none */
int sim_file_folder(int file);                        /* its node on the disk; AT_FDCWD: the root's */
int sim_file_close(int file);
bool sim_file_readable(int file);
void sim_file_wake(int file); /* it may have become readable */
ssize_t sim_file_read(int file, void *bytes, size_t size);
_Noreturn void sim_thread_leave(void);
void sim_thread_run(int thread);
void sim_block_add(void *at, size_t bytes, enum sim_block_kind kind);
struct sim_block *sim_block_find(const void *at);
void sim_child_exit(int child, int code, int status);
void sim_stream_forget(void *stream);
_Noreturn void sim_process_exit(enum sim_ended how);

/* sim_ring.c */
void sim_ring_reset(void);
bool sim_ring_open(void);
void sim_ring_operation(int index);
void sim_ring_poll(int index);
void sim_ring_timeout(int index);
void sim_ring_woken(int file);
uint32_t sim_ring_generation(int index);
void sim_ring_abandon(void); /* the process is gone: what is in flight may still be done */
void sim_ring_explain(void);

#endif
