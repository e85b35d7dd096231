#include "coordinator/loop.h"

#include "alloc/arena.h"
#include "conf/check.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <time.h>

enum { SUBMIT_TRIES = 1000, TIMER_SLOT = 0, UPDATE_SLOT = 1, CANCEL_SLOT = 2, INTERNAL_OPERATIONS = 64 };

static uint64_t pack(struct loop_token token)
{
    CHECK(token.kind < LOOP_KINDS && token.slot < 1u << 24);
    return (uint64_t)token.kind << 56 | (uint64_t)token.slot << 32 | token.generation;
}

static struct loop_token unpack(uint64_t user_data)
{
    struct loop_token token = {.kind = (enum loop_kind)(user_data >> 56),
                               .slot = user_data >> 32 & 0xffffff,
                               .generation = (uint32_t)user_data};
    CHECK(token.kind < LOOP_KINDS);
    return token;
}

uint64_t loop_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned stash_capacity(const struct loop_settings *settings)
{
    return settings->operations_max + INTERNAL_OPERATIONS;
}

size_t loop_arena_bytes(const struct loop_settings *settings)
{
    return arena_bytes_for(stash_capacity(settings), sizeof(struct loop_completion));
}

static enum error_code setup_failed(struct error *error, int code)
{
    switch (code) {
    case EPERM:
    case EACCES:
        return error_set(
            error, ERROR_SYSTEM,
            "the system does not let this process use io_uring: in a container, allow the system calls "
            "io_uring_setup, io_uring_enter and io_uring_register (docker run --security-opt "
            "seccomp=FILE with a profile that has them); on the host, set sysctl "
            "kernel.io_uring_disabled=0");
    case ENOSYS:
        return error_set(
            error, ERROR_SYSTEM,
            "this system has no io_uring: Linux 6.1 or newer, built with CONFIG_IO_URING, is needed (in a "
            "sandbox, the host's system calls must be passed through)");
    case ENOMEM:
        return error_set(error, ERROR_SYSTEM,
                         "no memory for the io_uring queues: raise the limit on locked memory (ulimit -l, or "
                         "LimitMEMLOCK= of the service) or the memory limit of the container");
    case EINVAL:
        return error_set(error, ERROR_SYSTEM,
                         "this kernel's io_uring is too old: Linux 6.1 or newer is needed (uname -r tells)");
    default:
        return error_set_errno(error, code, "setting up io_uring");
    }
}

static enum error_code setup(struct io_uring *ring, unsigned submissions, unsigned completions,
                             struct error *error)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                                              IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL |
                                              IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP,
                                     .cq_entries = completions};
    int result = io_uring_queue_init_params(submissions, ring, &params);
    return result < 0 ? setup_failed(error, -result) : ERROR_NONE;
}

enum error_code loop_open(struct loop *loop, struct arena *arena, const struct loop_settings *settings,
                          struct error *error)
{
    unsigned capacity = stash_capacity(settings);
    CHECK(settings->submissions >= 8);
    memset(loop, 0, sizeof *loop);
    loop->operations_max = settings->operations_max;
    loop->stash_capacity = capacity;
    loop->stash = arena_take(arena, capacity, sizeof *loop->stash);
    unsigned completions = capacity > settings->submissions ? capacity : settings->submissions;
    return setup(&loop->ring, settings->submissions, completions, error);
}

void loop_close(struct loop *loop)
{
    io_uring_queue_exit(&loop->ring);
}

enum error_code loop_probe(struct error *error)
{
    struct io_uring ring;
    enum error_code code = setup(&ring, 8, 16, error);
    if (code == ERROR_NONE) {
        io_uring_queue_exit(&ring);
    }
    return code;
}

/* Moves the kernel's completions to the stash, so that it accepts submissions again. */
static void stash_completions(struct loop *loop)
{
    struct io_uring_cqe *cqe;
    while (loop->stash_count < loop->stash_capacity && io_uring_peek_cqe(&loop->ring, &cqe) == 0) {
        unsigned place = (loop->stash_first + loop->stash_count++) % loop->stash_capacity;
        loop->stash[place] = (struct loop_completion){
            .token = unpack(cqe->user_data), .result = cqe->res, .more = cqe->flags & IORING_CQE_F_MORE};
        io_uring_cqe_seen(&loop->ring, cqe);
    }
}

/* A kernel short of memory takes a part of what is submitted, and a chain ends there: its second operation
 * must not start by itself, beside the first. It is completed here as canceled, and one of ours takes its
 * place. */
static void mend_chain(struct loop *loop)
{
    struct io_uring_sq *queued = &loop->ring.sq;
    struct io_uring_sqe *last = &queued->sqes[(*queued->khead - 1) & queued->ring_mask];
    struct io_uring_sqe *next = &queued->sqes[*queued->khead & queued->ring_mask];
    if (io_uring_sq_ready(&loop->ring) == 0 || !(last->flags & IOSQE_IO_LINK)) {
        return;
    }
    CHECK(!(next->flags & IOSQE_IO_LINK)); /* chains are pairs */
    if (loop->stash_count == loop->stash_capacity) {
        loop->failed = -EOVERFLOW;
        return;
    }
    unsigned place = (loop->stash_first + loop->stash_count++) % loop->stash_capacity;
    loop->stash[place] = (struct loop_completion){.token = unpack(next->user_data), .result = -ECANCELED};
    struct loop_token mine = {LOOP_INTERNAL, CANCEL_SLOT, 0};
    io_uring_prep_nop(next);
    io_uring_sqe_set_data64(next, pack(mine));
    last->flags &= (__u8)~IOSQE_IO_LINK;
}

/* Hands queued operations to the kernel without waiting. */
static void submit(struct loop *loop)
{
    for (unsigned tries = 0; io_uring_sq_ready(&loop->ring) != 0 && loop->failed == 0; ++tries) {
        int result = io_uring_submit(&loop->ring);
        mend_chain(loop);
        if (result >= 0 || result == -EINTR) {
            continue;
        }
        bool again = result == -EBUSY || result == -EAGAIN;
        if (!again || tries >= SUBMIT_TRIES) {
            loop->failed = result;
            return;
        }
        io_uring_get_events(&loop->ring);
        stash_completions(loop);
        sched_yield();
    }
}

void loop_reserve(struct loop *loop, unsigned operations)
{
    CHECK(operations <= loop->ring.sq.ring_entries);
    if (io_uring_sq_space_left(&loop->ring) < operations) {
        ++loop->submissions_early;
        submit(loop);
    }
}

/* NULL only after the ring has failed; loop_wait reports that. */
static struct io_uring_sqe *take_sqe(struct loop *loop)
{
    loop_reserve(loop, 1);
    return loop->failed == 0 ? io_uring_get_sqe(&loop->ring) : NULL;
}

static struct io_uring_sqe *queue(struct loop *loop)
{
    CHECK(loop->in_flight < loop->operations_max);
    ++loop->in_flight;
    return take_sqe(loop);
}

static void finish_sqe(struct io_uring_sqe *sqe, struct loop_token token, unsigned loop_flags)
{
    CHECK(token.kind != LOOP_INTERNAL);
    io_uring_sqe_set_data64(sqe, pack(token));
    if (loop_flags & LOOP_LINK) {
        io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
    }
}

static void set_timer(struct loop *loop, uint64_t wake_ns)
{
    bool earlier = wake_ns != LOOP_NEVER && (!loop->timer.armed || wake_ns < loop->timer.armed_ns);
    if (!earlier) {
        return; /* a timer that is set too early wakes once for nothing, which is cheaper than moving it each
                   time */
    }
    struct io_uring_sqe *sqe = take_sqe(loop);
    if (sqe == NULL) {
        return;
    }
    loop->timer.at.tv_sec = (long long)(wake_ns / 1000000000u);
    loop->timer.at.tv_nsec = (long long)(wake_ns % 1000000000u);
    if (!loop->timer.armed) {
        ++loop->timer.generation;
    }
    struct loop_token timer = {LOOP_INTERNAL, TIMER_SLOT, loop->timer.generation};
    struct loop_token update = {LOOP_INTERNAL, UPDATE_SLOT, loop->timer.generation};
    if (!loop->timer.armed) {
        io_uring_prep_timeout(sqe, &loop->timer.at, 0, IORING_TIMEOUT_ABS);
        io_uring_sqe_set_data64(sqe, pack(timer));
    } else { /* if it has fired meanwhile, its completion is there, and the wait ends at once */
        io_uring_prep_timeout_update(sqe, &loop->timer.at, pack(timer), IORING_TIMEOUT_ABS);
        io_uring_sqe_set_data64(sqe, pack(update));
    }
    loop->timer.armed = true;
    loop->timer.armed_ns = wake_ns;
}

enum error_code loop_wait(struct loop *loop, uint64_t wake_ns, struct error *error)
{
    ++loop->waits;
    set_timer(loop, wake_ns);
    if (loop->failed == 0) {
        bool idle = loop->stash_count == 0;
        int result =
            idle ? io_uring_submit_and_wait(&loop->ring, 1) : io_uring_submit_and_get_events(&loop->ring);
        mend_chain(loop);
        if (result == -EBUSY || result == -EAGAIN) { /* the kernel wants its completions taken first */
            submit(loop);
        } else if (result < 0 && result != -EINTR) {
            loop->failed = result;
        }
    }
    if (loop->failed != 0) {
        return error_set_errno(error, -loop->failed, "waiting on io_uring");
    }
    return ERROR_NONE;
}

static bool next(struct loop *loop, struct loop_completion *completion)
{
    struct io_uring_cqe *cqe;
    if (loop->stash_count != 0) {
        *completion = loop->stash[loop->stash_first];
        loop->stash_first = (loop->stash_first + 1) % loop->stash_capacity;
        --loop->stash_count;
        return true;
    }
    if (io_uring_peek_cqe(&loop->ring, &cqe) != 0) {
        return false;
    }
    *completion = (struct loop_completion){
        .token = unpack(cqe->user_data), .result = cqe->res, .more = cqe->flags & IORING_CQE_F_MORE};
    io_uring_cqe_seen(&loop->ring, cqe);
    return true;
}

static void complete_internal(struct loop *loop, const struct loop_completion *completion)
{
    struct loop_token token = completion->token;
    CHECK(token.slot <= CANCEL_SLOT);
    if (token.slot == TIMER_SLOT) {
        CHECK(token.generation == loop->timer.generation);
        loop->timer.armed = false;
    }
}

bool loop_take(struct loop *loop, struct loop_completion *completion)
{
    while (next(loop, completion)) {
        if (completion->token.kind == LOOP_INTERNAL) {
            complete_internal(loop, completion);
            continue;
        }
        ++loop->completions;
        if (!completion->more) {
            CHECK(loop->in_flight > 0);
            --loop->in_flight;
        }
        return true;
    }
    return false;
}

unsigned loop_in_flight(const struct loop *loop)
{
    return loop->in_flight;
}

void loop_openat(struct loop *loop, struct loop_token token, int folder, const char *path, int flags,
                 unsigned mode)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_openat(sqe, folder, path, flags, mode);
        finish_sqe(sqe, token, 0);
    }
}

void loop_statx(struct loop *loop, struct loop_token token, int folder, const char *path, int flags,
                unsigned mask, struct statx *result)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_statx(sqe, folder, path, flags, mask, result);
        finish_sqe(sqe, token, 0);
    }
}

void loop_read(struct loop *loop, struct loop_token token, int file, void *bytes, unsigned size,
               uint64_t offset)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_read(sqe, file, bytes, size, offset);
        finish_sqe(sqe, token, 0);
    }
}

void loop_write(struct loop *loop, struct loop_token token, int file, const void *bytes, unsigned size,
                uint64_t offset, unsigned loop_flags)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_write(sqe, file, bytes, size, offset);
        finish_sqe(sqe, token, loop_flags);
    }
}

void loop_fsync(struct loop *loop, struct loop_token token, int file, bool data_only)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_fsync(sqe, file, data_only ? IORING_FSYNC_DATASYNC : 0);
        finish_sqe(sqe, token, 0);
    }
}

void loop_rename(struct loop *loop, struct loop_token token, int folder, const char *from, const char *to)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_renameat(sqe, folder, from, folder, to, 0);
        finish_sqe(sqe, token, 0);
    }
}

void loop_unlink(struct loop *loop, struct loop_token token, int folder, const char *path)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_unlinkat(sqe, folder, path, 0);
        finish_sqe(sqe, token, 0);
    }
}

void loop_close_file(struct loop *loop, struct loop_token token, int file)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_close(sqe, file);
        finish_sqe(sqe, token, 0);
    }
}

void loop_poll(struct loop *loop, struct loop_token token, int file, bool multishot)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        if (multishot) {
            io_uring_prep_poll_multishot(sqe, file, POLLIN);
        } else {
            io_uring_prep_poll_add(sqe, file, POLLIN);
        }
        finish_sqe(sqe, token, 0);
    }
}

void loop_poll_urgent(struct loop *loop, struct loop_token token, int file)
{
    struct io_uring_sqe *sqe = queue(loop);
    if (sqe != NULL) {
        io_uring_prep_poll_multishot(sqe, file, POLLPRI);
        finish_sqe(sqe, token, 0);
    }
}

void loop_madvise(struct loop *loop, struct loop_token token, void *pages, size_t bytes, int advice)
{
    struct io_uring_sqe *sqe = queue(loop);
    CHECK(bytes < 1u << 31); /* the request has 32 bits for it */
    if (sqe != NULL) {
        io_uring_prep_madvise(sqe, pages, (off_t)bytes, advice);
        finish_sqe(sqe, token, 0);
    }
}

void loop_cancel(struct loop *loop, struct loop_token token)
{
    struct io_uring_sqe *sqe = take_sqe(loop);
    if (sqe != NULL) {
        struct loop_token mine = {LOOP_INTERNAL, CANCEL_SLOT, token.generation};
        io_uring_prep_cancel64(sqe, pack(token), 0);
        io_uring_sqe_set_data64(sqe, pack(mine));
    }
}
