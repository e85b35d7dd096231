/* loop.h - the coordinator's ring: one io_uring, through which all of its input, output and waiting goes.
 *
 * A loop owns a ring (SINGLE_ISSUER, DEFER_TASKRUN, COOP_TASKRUN, SUBMIT_ALL: Linux 6.1) and one timer. Each
 * operation carries a token that comes back in its completion, so that the owner finds its state again and
 * can tell a late completion from a current one. Operations are queued and reach the kernel in loop_wait, or
 * earlier if the queue is full. What an operation points to (paths, buffers, statx, vectors) must stay in
 * place until its completion is taken.
 *
 * Only the thread that opened a loop may use it; after loop_open nothing here allocates, and only loop_wait
 * blocks. Nothing else in the coordinator calls liburing, so that a simulated ring can stand in for this
 * file.
 *
 * Sources: io_uring_setup(2), io_uring_enter(2), the liburing 2.3 manual pages. */
#ifndef COORDINATOR_LOOP_H
#define COORDINATOR_LOOP_H

#include "conf/error.h"

#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

#define LOOP_NEVER UINT64_MAX

/* Whose operation it is: the highest byte of a token. */
enum loop_kind {
    LOOP_INTERNAL, /* the loop's own: its timer, cancellations */
    LOOP_DISCARD,  /* nobody waits for the result: closing, removing a temporary file */
    LOOP_DOORBELL, /* a device's doorbell, the workers' or the signals' */
    LOOP_INPUT,    /* a witness file */
    LOOP_OUTPUT,   /* a proof's files */
    LOOP_JOURNAL,
    LOOP_CHILD,   /* a witness command's end */
    LOOP_CAPTURE, /* and its messages */
    LOOP_TRACE,
    LOOP_ADVISE,   /* a slab whose pages are handed back */
    LOOP_PRESSURE, /* the system's word that memory is short */
    LOOP_KINDS
};

/* kind:8 | slot:24 | generation:32, as user_data. */
struct loop_token {
    enum loop_kind kind;
    uint32_t slot;
    uint32_t generation;
};

struct loop_completion {
    struct loop_token token;
    int result; /* as the system call's, negative errno on failure */
    bool more;  /* a multishot operation goes on */
};

struct loop_settings {
    unsigned operations_max; /* in flight at once; the completion queue holds them all */
    unsigned submissions;    /* queue between two waits: a power of two */
};

struct loop {
    struct io_uring ring;
    unsigned operations_max;
    unsigned in_flight;
    struct loop_completion *stash; /* completions taken early to make room in the kernel's queue */
    unsigned stash_first, stash_count, stash_capacity;
    int failed; /* negative errno of a submission that cannot be repeated */
    struct {
        bool armed;
        uint64_t armed_ns;
        uint32_t generation;
        struct __kernel_timespec at;
    } timer;
    uint64_t waits, completions, submissions_early;
};

/* Flag of a write: the next operation starts only if this one wrote everything. Writes only, since a sync or
 * a rename that fails does not break a chain on the kernels that we know. */
enum { LOOP_LINK = 1 };

/* What loop_open takes from the arena. */
size_t loop_arena_bytes(const struct loop_settings *settings);

/* ERROR_SYSTEM where io_uring is refused or too old; the message says what to change. */
enum error_code ERROR_MUST_USE loop_open(struct loop *loop, struct arena *arena,
                                         const struct loop_settings *settings, struct error *error);

/* Operations still in flight are canceled by the kernel: quiesce first (loop_in_flight) if their memory goes
 * away. */
void loop_close(struct loop *loop);

/* As loop_open and loop_close, to tell whether io_uring works here; uses no arena. */
enum error_code ERROR_MUST_USE loop_probe(struct error *error);

/* CLOCK_MONOTONIC. */
uint64_t loop_now_ns(void);

/* Submits what is queued and waits for a completion, but not longer than until wake_ns (absolute; LOOP_NEVER:
 * no limit). May return early. ERROR_SYSTEM if the ring cannot be used any more. */
enum error_code ERROR_MUST_USE loop_wait(struct loop *loop, uint64_t wake_ns, struct error *error);

/* Takes one completion; false if there is none now. */
bool loop_take(struct loop *loop, struct loop_completion *completion);

/* Operations whose last completion has not been taken, the loop's own excepted. */
unsigned loop_in_flight(const struct loop *loop);

/* Makes sure that the next `operations` reach the kernel together: call it before the first of a linked
 * chain. */
void loop_reserve(struct loop *loop, unsigned operations);

void loop_openat(struct loop *loop, struct loop_token token, int folder, const char *path, int flags,
                 unsigned mode);
void loop_statx(struct loop *loop, struct loop_token token, int folder, const char *path, int flags,
                unsigned mask, struct statx *result);
void loop_read(struct loop *loop, struct loop_token token, int file, void *bytes, unsigned size,
               uint64_t offset);
void loop_write(struct loop *loop, struct loop_token token, int file, const void *bytes, unsigned size,
                uint64_t offset, unsigned loop_flags);
void loop_fsync(struct loop *loop, struct loop_token token, int file, bool data_only);
void loop_rename(struct loop *loop, struct loop_token token, int folder, const char *from, const char *to);
void loop_unlink(struct loop *loop, struct loop_token token, int folder, const char *path);
void loop_close_file(struct loop *loop, struct loop_token token, int file);

/* Completes when the file becomes readable: once, or with `multishot` each time until a completion without
 * `more`. */
void loop_poll(struct loop *loop, struct loop_token token, int file, bool multishot);

/* The same for urgent data (POLLPRI), always multishot. */
void loop_poll_urgent(struct loop *loop, struct loop_token token, int file);

/* madvise(2), on a thread of the kernel's. */
void loop_madvise(struct loop *loop, struct loop_token token, void *pages, size_t bytes, int advice);

/* Asks that the operation with this token be given up; it completes with -ECANCELED or as it would have. */
void loop_cancel(struct loop *loop, struct loop_token token);

#endif
