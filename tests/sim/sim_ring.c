/* The ring. What is submitted is carried out at a time of its own and completes in that order; completions
 * reach the program's queue only when it enters the kernel for them (IORING_SETUP_DEFER_TASKRUN). An
 * operation that is linked begins when the one before it has done everything it was to do. */
#include "conf/check.h"
#include "tests/sim/sim_system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

enum { RING_SUBMISSIONS = 256, RING_COMPLETIONS = 8192, BUSY_MAX = 40 };

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                                      struct io_uring_params *params);
void __wrap_io_uring_queue_exit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned count);
int __wrap_io_uring_submit_and_get_events(struct io_uring *ring);
int __wrap_io_uring_get_events(struct io_uring *ring);
int __wrap___io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submit,
                              unsigned wait, sigset_t *mask);

static struct {
    bool open, broken;
    unsigned busy; /* refusals in a row */
    unsigned submit_head, submit_tail, complete_head, complete_tail, flags;
    struct io_uring_sqe submissions[RING_SUBMISSIONS];
    struct io_uring_cqe completions[RING_COMPLETIONS];
    unsigned completions_max;
    struct io_uring_cqe backlog[RING_COMPLETIONS]; /* a ring: done, and not told yet */
    unsigned backlog_head, backlog_tail;
    struct sim_operation operations[SIM_OPERATIONS];
    int operations_used;
} ring_state;

void sim_ring_reset(void)
{
    for (int i = 0; i < ring_state.operations_used; i++) {
        ring_state.operations[i].used = false;
    }
    ring_state.operations_used = 0;
    ring_state.open = ring_state.broken = false;
    ring_state.busy = 0;
    ring_state.submit_head = ring_state.submit_tail = 0;
    ring_state.complete_head = ring_state.complete_tail = 0;
    ring_state.backlog_head = ring_state.backlog_tail = 0;
}

bool sim_ring_open(void)
{
    return ring_state.open;
}

uint32_t sim_ring_generation(int index)
{
    return ring_state.operations[index].used ? ring_state.operations[index].generation : 0;
}

/* ---- completions ---- */

static void post(uint64_t user_data, int result, unsigned flags)
{
    CHECK(ring_state.backlog_tail - ring_state.backlog_head < RING_COMPLETIONS);
    ring_state.backlog[ring_state.backlog_tail++ % RING_COMPLETIONS] =
        (struct io_uring_cqe){.user_data = user_data, .res = result, .flags = flags};
    sim_mix(user_data ^ (uint64_t)(unsigned)result << 20 ^ flags);
}

static void flush(void)
{
    while (ring_state.backlog_head != ring_state.backlog_tail &&
           ring_state.complete_tail - ring_state.complete_head < ring_state.completions_max) {
        unsigned place = ring_state.complete_tail & (ring_state.completions_max - 1);
        ring_state.completions[place] = ring_state.backlog[ring_state.backlog_head++ % RING_COMPLETIONS];
        ring_state.complete_tail++;
    }
}

static void begin(int index);

static void end(int index, int result)
{
    struct sim_operation *operation = &ring_state.operations[index];
    int next = operation->next;
    unsigned opcode = operation->sqe.opcode;
    bool partly = (opcode == IORING_OP_READ || opcode == IORING_OP_WRITE) && result >= 0 &&
                  (unsigned)result < operation->sqe.len;
    bool breaks = partly || (result < 0 && opcode != IORING_OP_FSYNC && opcode != IORING_OP_RENAMEAT);
    operation->used = false;
    if (sim_system.settings.verbose) {
        printf("%12" PRIu64 "   operation %u of %016" PRIx64 " ends with %d\n", sim_system.now_ns, opcode,
               (uint64_t)operation->sqe.user_data, result);
    }
    post(operation->sqe.user_data, result, 0);
    if (next >= 0) {
        ring_state.operations[next].linked = false;
        if (breaks) {
            end(next, -ECANCELED);
        } else {
            begin(next);
        }
    }
}

/* ---- operations ---- */

static int64_t wall_ns(void)
{
    return (int64_t)sim_system.now_ns + sim_system.wall_ns;
}

static struct sim_file *node_file(int number)
{
    struct sim_file *file = sim_file_at(number);
    if (file == NULL || file->kind != SIM_FILE_NODE) {
        sim_failed("descriptor %d is used as a file and is none", number);
    }
    return file;
}

static unsigned part(unsigned size)
{
    return size > 1 && sim_happens(SIM_FAULT_SHORT) ? (unsigned)sim_between(1, size - 1) : size;
}

static int do_open(const struct sim_operation *operation)
{
    int node = sim_disk_open(sim_file_folder(operation->sqe.fd), operation->path,
                             (int)operation->sqe.open_flags, wall_ns());
    return node < 0 ? node : sim_file_open(SIM_FILE_NODE, node);
}

static int do_read(const struct sim_operation *operation)
{
    const struct io_uring_sqe *sqe = &operation->sqe;
    struct sim_file *file = sim_file_at(sqe->fd);
    if (file != NULL && file->kind == SIM_FILE_PIPE_OUT) {
        return (int)sim_file_read(sqe->fd, (void *)(uintptr_t)sqe->addr, part(sqe->len));
    }
    node_file(sqe->fd)->offset = sqe->off;
    return (int)sim_file_read(sqe->fd, (void *)(uintptr_t)sqe->addr, part(sqe->len));
}

static int do_write(const struct sim_operation *operation)
{
    const struct io_uring_sqe *sqe = &operation->sqe;
    const struct sim_file *file = node_file(sqe->fd);
    if (sim_happens(SIM_FAULT_SPACE)) {
        return sim_random_chance(&sim_system.random, 500) ? -ENOSPC : 0;
    }
    unsigned size = part(sqe->len);
    sim_disk_write(file->node, (const void *)(uintptr_t)sqe->addr, size, sqe->off, wall_ns());
    if (sim_system.settings.watch.written != NULL) {
        sim_system.settings.watch.written(file->node);
    }
    return (int)size;
}

static int do_rename(const struct sim_operation *operation)
{
    int folder = sim_file_folder(operation->sqe.fd);
    int result = sim_disk_rename(folder, operation->path, operation->path2);
    if (result == 0 && sim_system.settings.watch.renamed != NULL) {
        sim_system.settings.watch.renamed(folder, operation->path2, sim_disk_find(folder, operation->path2));
    }
    return result;
}

static int do_statx(const struct sim_operation *operation)
{
    struct statx *result = (struct statx *)(uintptr_t)operation->sqe.off;
    struct stat status;
    int node = sim_disk_find(sim_file_folder(operation->sqe.fd), operation->path);
    if (node < 0) {
        return node;
    }
    sim_disk_stat(node, &status);
    memset(result, 0, sizeof *result);
    result->stx_mode = (uint16_t)status.st_mode;
    result->stx_size = (uint64_t)status.st_size;
    result->stx_mtime.tv_sec = status.st_mtim.tv_sec;
    result->stx_mtime.tv_nsec = (uint32_t)status.st_mtim.tv_nsec;
    return 0;
}

static int carry_out(const struct sim_operation *operation)
{
    const struct io_uring_sqe *sqe = &operation->sqe;
    switch (sqe->opcode) {
    case IORING_OP_NOP:
    case IORING_OP_MADVISE:
        return 0;
    case IORING_OP_OPENAT:
        return do_open(operation);
    case IORING_OP_CLOSE:
        return sim_file_close(sqe->fd);
    case IORING_OP_READ:
        return do_read(operation);
    case IORING_OP_WRITE:
        return do_write(operation);
    case IORING_OP_FSYNC:
        if (!operation->early) {
            sim_disk_sync(node_file(sqe->fd)->node);
        }
        return 0;
    case IORING_OP_RENAMEAT:
        return do_rename(operation);
    case IORING_OP_UNLINKAT:
        return sim_disk_unlink(sim_file_folder(sqe->fd), operation->path);
    case IORING_OP_STATX:
        return do_statx(operation);
    default:
        sim_failed("the ring is asked for operation %u, which the simulator does not know", sqe->opcode);
    }
}

static const char *call_name(unsigned opcode)
{
    switch (opcode) {
    case IORING_OP_OPENAT:
        return "ring openat";
    case IORING_OP_CLOSE:
        return "ring close";
    case IORING_OP_READ:
        return "ring read";
    case IORING_OP_WRITE:
        return "ring write";
    case IORING_OP_FSYNC:
        return "ring fsync";
    case IORING_OP_RENAMEAT:
        return "ring renameat";
    case IORING_OP_UNLINKAT:
        return "ring unlinkat";
    case IORING_OP_STATX:
        return "ring statx";
    default:
        return "ring madvise";
    }
}

/* 0 or what it fails with, negative. */
static int fails(unsigned opcode)
{
    bool input_output = opcode == IORING_OP_READ || opcode == IORING_OP_WRITE || opcode == IORING_OP_FSYNC;
    int code = sim_fails(call_name(opcode));
    if (code == 0 && opcode != IORING_OP_CLOSE && sim_happens(SIM_FAULT_IO)) {
        code = EIO;
    }
    if (code == 0 && input_output && sim_happens(SIM_FAULT_INTERRUPT)) {
        code = sim_random_chance(&sim_system.random, 500) ? EINTR : EAGAIN;
    }
    return -code;
}

void sim_ring_operation(int index)
{
    struct sim_operation *operation = &ring_state.operations[index];
    unsigned opcode = operation->sqe.opcode;
    int result = fails(opcode);
    if (result == 0) {
        result = carry_out(operation);
    } else if (opcode == IORING_OP_CLOSE) { /* it says so, and the descriptor is gone all the same */
        (void)carry_out(operation);
    } else if (opcode == IORING_OP_FSYNC && result != -EINTR && result != -EAGAIN) {
        sim_disk_sync_failed(node_file(operation->sqe.fd)->node);
    }
    end(index, result);
}

static void begin(int index)
{
    struct sim_operation *operation = &ring_state.operations[index];
    uint64_t wait_ns = sim_between(500, 60000);
    operation->early = false;
    if (operation->sqe.opcode == IORING_OP_FSYNC) {
        wait_ns = sim_between(10000, 4000000);
        operation->early = sim_random_chance(&sim_system.random, 500);
        if (operation->early) { /* what changes while it runs is not part of it; else it is done at its end */
            sim_disk_sync(node_file(operation->sqe.fd)->node);
        }
    }
    wait_ns = sim_happens(SIM_FAULT_SLOW) ? wait_ns * 1000 : wait_ns;
    if (operation->sqe.opcode == IORING_OP_READ && sim_file_at(operation->sqe.fd) != NULL &&
        sim_file_at(operation->sqe.fd)->kind == SIM_FILE_PIPE_OUT && !sim_file_readable(operation->sqe.fd)) {
        operation->waits = true;
        return;
    }
    operation->waits = false;
    sim_push(sim_system.now_ns + wait_ns, SIM_EVENT_OPERATION, index, operation->generation);
}

/* ---- polls and timeouts ---- */

static void schedule_poll(int index)
{
    struct sim_operation *operation = &ring_state.operations[index];
    if (!operation->polling) {
        operation->polling = true;
        sim_push(sim_system.now_ns + sim_between(100, 20000), SIM_EVENT_POLL, index, operation->generation);
    }
}

void sim_ring_woken(int file)
{
    for (int i = 0; i < ring_state.operations_used; i++) {
        struct sim_operation *operation = &ring_state.operations[i];
        if (!operation->used || operation->sqe.fd != file) {
            continue;
        }
        if (operation->sqe.opcode == IORING_OP_POLL_ADD) {
            schedule_poll(i);
        } else if (operation->sqe.opcode == IORING_OP_READ && operation->waits) {
            begin(i);
        }
    }
}

void sim_ring_poll(int index)
{
    struct sim_operation *operation = &ring_state.operations[index];
    bool urgent = operation->sqe.poll32_events & POLLPRI;
    bool again = operation->sqe.len & IORING_POLL_ADD_MULTI;
    int code = sim_fails("ring poll");
    operation->polling = false;
    if (code != 0) {
        end(index, -code);
        return;
    }
    if (!sim_file_readable(operation->sqe.fd)) {
        return;
    }
    if (urgent) {
        sim_file_at(operation->sqe.fd)->count = 0;
    }
    if (again && sim_happens(SIM_FAULT_RING_TWICE)) {
        post(operation->sqe.user_data, urgent ? POLLPRI : POLLIN, IORING_CQE_F_MORE);
    }
    if (!again || sim_happens(SIM_FAULT_POLL_END)) {
        end(index, urgent ? POLLPRI : POLLIN);
    } else {
        post(operation->sqe.user_data, urgent ? POLLPRI : POLLIN, IORING_CQE_F_MORE);
    }
}

void sim_ring_timeout(int index)
{
    if (ring_state.operations[index].due_ns <= sim_system.now_ns) {
        end(index, -ETIME);
    }
}

static uint64_t timespec_ns(uint64_t address)
{
    const struct __kernel_timespec *at = (const struct __kernel_timespec *)(uintptr_t)address;
    return (uint64_t)at->tv_sec * 1000000000u + (uint64_t)at->tv_nsec;
}

static void set_timeout(int index, uint64_t due_ns)
{
    struct sim_operation *operation = &ring_state.operations[index];
    operation->due_ns = due_ns;
    sim_push(due_ns, SIM_EVENT_TIMEOUT, index, operation->generation);
}

static int find_operation(uint64_t user_data)
{
    for (int i = 0; i < ring_state.operations_used; i++) {
        if (ring_state.operations[i].used && ring_state.operations[i].sqe.user_data == user_data) {
            return i;
        }
    }
    return -1;
}

static int cancel(uint64_t user_data)
{
    int found = find_operation(user_data);
    if (found < 0) {
        return -ENOENT;
    }
    struct sim_operation *operation = &ring_state.operations[found];
    if (operation->sqe.opcode != IORING_OP_POLL_ADD && !operation->waits) {
        return -EALREADY;
    }
    end(found, -ECANCELED);
    return 0;
}

/* ---- submission ---- */

static void copy_path(char *to, uint64_t address)
{
    const char *path = (const char *)(uintptr_t)address;
    CHECK(strlen(path) < SIM_DISK_NAME_BYTES * 2);
    strcpy(to, path);
}

static int new_operation(const struct io_uring_sqe *sqe)
{
    int index = 0;
    while (index < ring_state.operations_used && ring_state.operations[index].used) {
        index++;
    }
    CHECK(index < SIM_OPERATIONS);
    ring_state.operations_used += index == ring_state.operations_used;
    struct sim_operation *operation = &ring_state.operations[index];
    operation->used = true;
    operation->linked = operation->waits = operation->polling = false;
    operation->generation++;
    operation->next = -1;
    operation->sqe = *sqe;
    if (sqe->opcode == IORING_OP_OPENAT || sqe->opcode == IORING_OP_STATX ||
        sqe->opcode == IORING_OP_RENAMEAT || sqe->opcode == IORING_OP_UNLINKAT) {
        copy_path(operation->path, sqe->addr);
    }
    if (sqe->opcode == IORING_OP_RENAMEAT) {
        copy_path(operation->path2, sqe->addr2);
    }
    return index;
}

/* before: the operation that this one is linked to, -1 without. Returns its own number. */
static int take(const struct io_uring_sqe *sqe, int before)
{
    int index = new_operation(sqe), found;
    switch (sqe->opcode) {
    case IORING_OP_TIMEOUT:
        CHECK(sqe->timeout_flags == IORING_TIMEOUT_ABS);
        set_timeout(index, timespec_ns(sqe->addr));
        break;
    case IORING_OP_TIMEOUT_REMOVE:
        CHECK(sqe->timeout_flags == (IORING_TIMEOUT_ABS | IORING_TIMEOUT_UPDATE));
        found = find_operation(sqe->addr);
        if (found >= 0) {
            set_timeout(found, timespec_ns(sqe->off));
        }
        end(index, found >= 0 ? 0 : -ENOENT);
        break;
    case IORING_OP_ASYNC_CANCEL:
        end(index, cancel(sqe->addr));
        break;
    case IORING_OP_POLL_ADD:
        if (sim_file_at(sqe->fd) == NULL) {
            sim_failed("descriptor %d is polled and is not open", sqe->fd);
        }
        if (sim_file_readable(sqe->fd)) {
            schedule_poll(index);
        }
        break;
    default:
        if (before >= 0 && ring_state.operations[before].used) {
            ring_state.operations[before].next = index;
            ring_state.operations[index].linked = true;
        } else {
            begin(index);
        }
    }
    return index;
}

static int submit(struct io_uring *ring)
{
    unsigned ready = ring->sq.sqe_tail - ring_state.submit_head;
    sim_step(0x200 + ready);
    if (ring_state.broken || (ready > 0 && sim_happens(SIM_FAULT_RING))) {
        ring_state.broken = true;
        return -EBADF;
    }
    if (ready > 0 && ring_state.busy < BUSY_MAX && sim_happens(SIM_FAULT_BUSY)) {
        ring_state.busy++;
        return sim_random_chance(&sim_system.random, 500) ? -EAGAIN : -EBUSY;
    }
    ring_state.busy = 0;
    unsigned taken = 0;
    unsigned limit = ready > 1 && sim_happens(SIM_FAULT_BUSY) ? (unsigned)sim_between(1, ready) : ready;
    int before = -1;
    while (taken < limit) { /* a chain, too: what is left of it is no part of it any more */
        const struct io_uring_sqe *sqe = &ring_state.submissions[ring_state.submit_head & ring->sq.ring_mask];
        int index = take(sqe, before);
        before = sqe->flags & IOSQE_IO_LINK ? index : -1;
        ring_state.submit_head++;
        taken++;
    }
    ring_state.submit_tail = ring->sq.sqe_tail;
    return (int)taken;
}

/* ---- what liburing has ---- */

static unsigned power(unsigned count)
{
    unsigned power = 1;
    while (power < count) {
        power *= 2;
    }
    return power;
}

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring, struct io_uring_params *params)
{
    int code = sim_fails("io_uring_queue_init_params");
    CHECK(!ring_state.open && (params->flags & IORING_SETUP_CLAMP) && (params->flags & IORING_SETUP_CQSIZE));
    if (code != 0) {
        return -code;
    }
    unsigned most = sim_system.settings.submissions;
    unsigned submissions = power(most != 0 && most < entries ? most : entries);
    most = sim_system.settings.completions;
    unsigned completions = power(most != 0 && most < params->cq_entries ? most : params->cq_entries);
    CHECK(submissions <= RING_SUBMISSIONS && completions <= RING_COMPLETIONS);
    sim_ring_reset();
    memset(ring, 0, sizeof *ring);
    memset(ring_state.submissions, 0, sizeof ring_state.submissions);
    ring->sq.khead = &ring_state.submit_head;
    ring->sq.ktail = &ring_state.submit_tail;
    ring->sq.kflags = &ring_state.flags;
    ring->sq.sqes = ring_state.submissions;
    ring->sq.ring_entries = submissions;
    ring->sq.ring_mask = submissions - 1;
    ring->cq.khead = &ring_state.complete_head;
    ring->cq.ktail = &ring_state.complete_tail;
    ring->cq.cqes = ring_state.completions;
    ring->cq.ring_entries = completions;
    ring->cq.ring_mask = completions - 1;
    ring->flags = params->flags;
    ring->features = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP;
    ring_state.completions_max = completions;
    ring_state.open = true;
    return 0;
}

void __wrap_io_uring_queue_exit(struct io_uring *ring)
{
    (void)ring;
    CHECK(ring_state.open);
    ring_state.open = false;
    for (int i = 0; i < ring_state.operations_used; i++) {
        ring_state.operations[i].used = false;
    }
}

int __wrap_io_uring_submit(struct io_uring *ring)
{
    return submit(ring);
}

int __wrap_io_uring_get_events(struct io_uring *ring)
{
    (void)ring;
    sim_step(0x301);
    while (sim_advance(true)) {
    }
    flush();
    return 0;
}

int __wrap_io_uring_submit_and_get_events(struct io_uring *ring)
{
    int result = submit(ring);
    if (result >= 0) {
        (void)__wrap_io_uring_get_events(ring);
    }
    return result;
}

int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned count)
{
    unsigned ready = ring->sq.sqe_tail - ring_state.submit_head;
    int result = submit(ring);
    CHECK(count == 1 && sim_system.thread < 0);
    if (result < 0 || (unsigned)result < ready) { /* whoever submits a part only is not made to wait */
        return result;
    }
    flush();
    while (ring_state.complete_head == ring_state.complete_tail) {
        if (sim_happens(SIM_FAULT_INTERRUPT)) {
            return result > 0 ? result : -EINTR;
        }
        if (!sim_advance(false)) {
            sim_kernel_explain();
            sim_failed("the run waits, and nothing is left that could happen");
        }
        flush();
    }
    while (sim_random_chance(&sim_system.random, 300) && sim_advance(true)) {
        flush();
    }
    sim_system.waited_step = sim_system.steps;
    return result;
}

int __wrap___io_uring_get_cqe(struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submitted,
                              unsigned wait, sigset_t *mask)
{
    (void)mask;
    CHECK(submitted == 0 && wait == 0);
    if (sim_random_chance(&sim_system.random, 100)) { /* it looks for overflown completions on the way */
        flush();
    }
    *cqe = NULL;
    if (ring_state.complete_head == ring_state.complete_tail) {
        return -EAGAIN;
    }
    *cqe = &ring_state.completions[ring_state.complete_head & ring->cq.ring_mask];
    return 0;
}

/* ---- the end ---- */

void sim_ring_abandon(void)
{
    if (!ring_state.open) {
        return;
    }
    for (int i = 0; i < ring_state.operations_used; i++) {
        struct sim_operation *operation = &ring_state.operations[i];
        unsigned opcode = operation->sqe.opcode;
        bool done = opcode == IORING_OP_WRITE || opcode == IORING_OP_RENAMEAT || opcode == IORING_OP_FSYNC;
        if (operation->used && done && !operation->linked && sim_random_chance(&sim_system.random, 500)) {
            /* a write's buffer is still there: memory goes after the ring */
            (void)carry_out(operation);
        }
        operation->used = false;
    }
    ring_state.open = false;
}

void sim_ring_explain(void)
{
    for (int i = 0; i < ring_state.operations_used; i++) {
        const struct sim_operation *operation = &ring_state.operations[i];
        if (operation->used) {
            printf("in flight: operation %u on descriptor %d, kind %u, slot %u%s%s\n", operation->sqe.opcode,
                   operation->sqe.fd, (unsigned)(operation->sqe.user_data >> 56),
                   (unsigned)(operation->sqe.user_data >> 32 & 0xffffff), operation->linked ? ", linked" : "",
                   operation->waits ? ", waits for a pipe" : "");
        }
    }
}
