#include "tests/sim/sim_kernel.h"

#include "conf/check.h"
#include "tests/sim/sim_system.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

enum { STEPS_MAX = 400000, CALLS = 64 };
static const uint64_t time_max_ns = UINT64_C(7200) * 1000000000; /* no batch here takes two hours */

struct sim_system sim_system;

/* What each call may fail with. Those that cannot fail for reasons outside the program are not here. */
static const struct {
    const char *name;
    int codes[3];
} calls[] = {
    {"aligned_alloc", {ENOMEM}},
    {"calloc", {ENOMEM}},
    {"eventfd", {EMFILE, ENFILE}},
    {"fchmod", {EPERM, EIO}},
    {"fdopen", {ENOMEM}},
    {"fdopendir", {ENOMEM}},
    {"fflush", {EIO, ENOSPC}},
    {"flock", {ENOLCK, EINTR}},
    {"fstat", {EIO}},
    {"fsync", {EIO, ENOSPC}},
    {"ftruncate", {EIO, EFBIG}},
    {"getrandom", {ENOSYS, EINTR}},
    {"getrlimit", {EPERM}},
    {"ioctl", {EIO}},
    {"io_uring_queue_init_params", {ENOMEM, EPERM, ENOSYS}},
    {"madvise", {ENOMEM, EINVAL}},
    {"malloc", {ENOMEM}},
    {"mkdir", {ENOSPC, EACCES, EROFS}},
    {"mkdirat", {ENOSPC, EACCES, EROFS}},
    {"mmap", {ENOMEM, EAGAIN}},
    {"open",
     {EIO, EMFILE, ENFILE}}, /* EACCES stays: that a parent folder cannot be opened is no reason to stop */
    {"openat", {EIO, EMFILE, EACCES}},
    {"pidfd_open", {EMFILE, ENOMEM}},
    {"pipe2", {EMFILE, ENFILE}},
    {"posix_spawnp", {ENOMEM, EAGAIN, ENOENT}},
    {"pread", {EIO, EINTR}},
    {"pthread_create", {EAGAIN}},
    {"pwrite", {EIO, ENOSPC}},
    {"read", {EIO}},
    {"readdir", {EIO}},
    {"realpath", {ENOMEM, EACCES}},
    {"renameat", {EIO, ENOSPC}},
    {"sched_getaffinity", {ENOSYS}},
    {"setrlimit", {EPERM}},
    {"signalfd", {EMFILE, ENOMEM}},
    {"stat", {EIO, EACCES}},
    {"timerfd_create", {EMFILE, ENOMEM}},
    {"unlinkat", {EIO, EROFS}},
    {"write", {EIO, ENOSPC}},
    /* what the ring is asked for */
    {"ring close", {EIO}},
    {"ring fsync", {EIO, ENOSPC, EINTR}},
    {"ring madvise", {EINVAL}},
    {"ring openat", {EIO, EMFILE, EACCES}},
    {"ring poll", {ENOMEM}},
    {"ring read", {EIO, EINTR, EAGAIN}},
    {"ring renameat", {EIO, ENOSPC, EACCES}},
    {"ring statx", {EIO, EACCES}},
    {"ring unlinkat", {EIO, EACCES}},
    {"ring write", {EIO, ENOSPC, EINTR}},
};
static uint64_t struck[SIM_FAULTS];
static uint64_t called[sizeof calls / sizeof *calls];
_Static_assert(sizeof calls / sizeof *calls <= CALLS, "room");

/* ---- chance, time, history ---- */

void sim_mix(uint64_t value)
{
    uint64_t mixed = (sim_system.hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    sim_system.hash = mixed ^ mixed >> 29;
}

uint64_t sim_between(uint64_t low, uint64_t high)
{
    return sim_random_between(&sim_system.random, low, high);
}

bool sim_happens(enum sim_fault fault)
{
    unsigned chance = sim_system.settings.chance[fault];
    bool happens = chance > 0 && sim_system.steps < sim_system.settings.calm_steps &&
                   sim_random_chance(&sim_system.random, chance);
    struck[fault] += happens;
    return happens;
}

uint64_t sim_kernel_struck(enum sim_fault fault, const char **name)
{
    static const char *const names[SIM_FAULTS] = {[SIM_FAULT_CALL] = "calls",
                                                  [SIM_FAULT_MEMORY] = "allocations",
                                                  [SIM_FAULT_IO] = "I/O errors",
                                                  [SIM_FAULT_SPACE] = "full disk",
                                                  [SIM_FAULT_SHORT] = "short",
                                                  [SIM_FAULT_INTERRUPT] = "interrupted",
                                                  [SIM_FAULT_SLOW] = "slow",
                                                  [SIM_FAULT_STALL] = "stalled threads",
                                                  [SIM_FAULT_BUSY] = "full queue",
                                                  [SIM_FAULT_RING] = "broken ring",
                                                  [SIM_FAULT_POLL_END] = "ended polls",
                                                  [SIM_FAULT_RING_TWICE] = "double rings",
                                                  [SIM_FAULT_CLOCK] = "clock jumps",
                                                  [SIM_FAULT_PAUSE] = "pauses",
                                                  [SIM_FAULT_CHILD] = "bad children"};
    *name = names[fault];
    return struck[fault];
}

_Noreturn void sim_process_exit(enum sim_ended how)
{
    CHECK(sim_system.running && how != SIM_ENDED_RETURNED);
    longjmp(sim_system.leave_process, (int)how);
}

void sim_step(uint64_t what)
{
    sim_mix(what << 32 ^ sim_system.now_ns);
    sim_system.now_ns += 20 + (sim_system.hash & 127);
    if (++sim_system.steps > STEPS_MAX) {
        sim_kernel_explain();
        sim_failed("no end after %d steps", STEPS_MAX);
    }
    if (sim_system.steps == sim_system.settings.kill_step) {
        sim_process_exit(SIM_ENDED_KILLED);
    }
    bool pauses = sim_system.steps == sim_system.settings.pause_step;
    if (pauses || sim_happens(SIM_FAULT_PAUSE)) {
        sim_system.paused_step = sim_system.steps;
        sim_system.now_ns += pauses ? 5000000000 : sim_between(1, 5000000000);
    }
    if (sim_happens(SIM_FAULT_CLOCK)) {
        sim_system.wall_ns += (int64_t)sim_between(0, UINT64_C(7200000000000)) - INT64_C(3600000000000);
    }
}

int sim_fails(const char *name)
{
    unsigned i = 0;
    while (strcmp(calls[i].name, name) != 0) {
        i++;
        CHECK(i < sizeof calls / sizeof *calls);
    }
    called[i]++;
    sim_step(0x100 + i);
    const struct sim_settings *settings = &sim_system.settings;
    if (settings->fail_call != NULL) {
        bool fails = strcmp(settings->fail_call, name) == 0 && called[i] == settings->fail_nth;
        return fails ? settings->fail_code : 0;
    }
    bool memory = calls[i].codes[0] == ENOMEM && calls[i].codes[1] == 0;
    if (!sim_happens(memory ? SIM_FAULT_MEMORY : SIM_FAULT_CALL)) {
        return 0;
    }
    int code = calls[i].codes[sim_between(0, 2)];
    return code != 0 ? code : calls[i].codes[0];
}

uint64_t sim_kernel_calls(const char *name)
{
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return called[i];
        }
    }
    return 0;
}

const char *sim_kernel_call_name(unsigned index)
{
    return index < sizeof calls / sizeof *calls ? calls[index].name : NULL;
}

int sim_kernel_call_code(unsigned index, unsigned number)
{
    return number < 3 ? calls[index].codes[number] : 0;
}

/* ---- events ---- */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void sim_push(uint64_t at_ns, enum sim_event_kind kind, int index, uint32_t generation)
{
    struct sim_event *heap = sim_system.events;
    CHECK(sim_system.events_count < SIM_EVENTS);
    unsigned at = sim_system.events_count++;
    heap[at] = (struct sim_event){
        .at_ns = at_ns, .order = ++sim_system.order, .kind = kind, .index = index, .generation = generation};
    for (; at > 0 && before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2) {
        struct sim_event moved = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = moved;
    }
}

static struct sim_event pop(void)
{
    struct sim_event *heap = sim_system.events, first = heap[0];
    heap[0] = heap[--sim_system.events_count];
    for (unsigned at = 0;;) {
        unsigned least = at;
        for (unsigned child = 2 * at + 1; child <= 2 * at + 2 && child < sim_system.events_count; child++) {
            least = before(&heap[child], &heap[least]) ? child : least;
        }
        if (least == at) {
            return first;
        }
        struct sim_event moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

static void thread_event(int index, uint32_t generation)
{
    struct sim_thread *thread = &sim_system.threads[index];
    if (thread->used && thread->generation == generation && !thread->finished) {
        thread->scheduled = false;
        sim_thread_run(index);
    }
}

static void schedule_thread(int index)
{
    struct sim_thread *thread = &sim_system.threads[index];
    if (!thread->scheduled && !thread->finished) {
        uint64_t wait_ns = sim_between(1000, 400000);
        wait_ns = sim_happens(SIM_FAULT_STALL) ? wait_ns * sim_between(10, 20000) : wait_ns;
        thread->scheduled = true;
        sim_push(sim_system.now_ns + wait_ns, SIM_EVENT_THREAD, index, thread->generation);
    }
}

static void signal_event(void)
{
    for (int i = 0; i < SIM_FILES; i++) {
        if (sim_system.files[i].kind == SIM_FILE_SIGNALS) {
            sim_system.files[i].count++;
            sim_file_wake(SIM_FILE_FIRST + i);
        }
    }
}

static void pressure_event(void)
{
    for (int i = 0; i < SIM_FILES; i++) {
        if (sim_system.files[i].kind == SIM_FILE_NODE && sim_system.files[i].urgent) {
            sim_system.files[i].count = 1;
            sim_ring_woken(SIM_FILE_FIRST + i);
        }
    }
    sim_push(sim_system.now_ns + sim_system.settings.pressure_ns, SIM_EVENT_PRESSURE, 0, 0);
}

static void print_event(int index, uint32_t generation)
{
    static const char text[] = "generating\n\x1b[31m";
    struct sim_child *child = &sim_system.children[index];
    if (child->used && child->generation == generation && !child->ended &&
        child->printed_bytes + sizeof text <= sizeof child->printed) {
        memcpy(child->printed + child->printed_bytes, text, sizeof text - 1);
        child->printed_bytes += sizeof text - 1;
        sim_child_exit(index, 0, 0); /* only wakes whoever reads */
    }
}

/* What a witness command leaves, right or wrong. */
static void exit_event(int index, uint32_t generation)
{
    struct sim_child *child = &sim_system.children[index];
    size_t size;
    if (!child->used || child->generation != generation || child->ended) {
        return;
    }
    int input = sim_disk_find(SIM_DISK_ROOT, child->input);
    if (child->behavior <= 1 && input > 0) {
        const uint8_t *bytes = sim_disk_bytes(input, &size);
        int node = sim_disk_open(SIM_DISK_ROOT, child->witness, O_CREAT | O_TRUNC | O_WRONLY,
                                 (int64_t)sim_system.now_ns + sim_system.wall_ns);
        if (node > 0) {
            sim_disk_write(node, bytes, child->behavior == 0 ? size : size / 2, 0,
                           (int64_t)sim_system.now_ns + sim_system.wall_ns);
        }
    }
    switch (child->behavior) {
    case 0: /* well */
    case 1: /* half a witness */
    case 2: /* none */
        sim_child_exit(index, CLD_EXITED, 0);
        break;
    case 3:
        sim_child_exit(index, CLD_EXITED, 7);
        break;
    case 4:
        sim_child_exit(index, CLD_DUMPED, SIGSEGV);
        break;
    default:
        child->hangs = true;
    }
}

static void happen(const struct sim_event *event)
{
    sim_step((uint64_t)event->kind << 16 | (unsigned)event->index);
    switch (event->kind) {
    case SIM_EVENT_OPERATION:
    case SIM_EVENT_POLL:
    case SIM_EVENT_TIMEOUT:
        if (sim_ring_generation(event->index) == event->generation) {
            (event->kind == SIM_EVENT_OPERATION ? sim_ring_operation
             : event->kind == SIM_EVENT_POLL    ? sim_ring_poll
                                                : sim_ring_timeout)(event->index);
        }
        break;
    case SIM_EVENT_TIMER:
        if (sim_system.files[event->index].kind == SIM_FILE_TIMER &&
            sim_system.files[event->index].generation == event->generation) {
            sim_file_wake(SIM_FILE_FIRST + event->index);
        }
        break;
    case SIM_EVENT_THREAD:
        thread_event(event->index, event->generation);
        break;
    case SIM_EVENT_SIGNAL:
        signal_event();
        break;
    case SIM_EVENT_PRESSURE:
        pressure_event();
        break;
    case SIM_EVENT_DISTURB:
        sim_system.settings.watch.disturbed();
        break;
    case SIM_EVENT_PRINT:
        print_event(event->index, event->generation);
        break;
    case SIM_EVENT_EXIT:
        exit_event(event->index, event->generation);
        break;
    }
}

bool sim_advance(bool due_only)
{
    if (sim_system.events_count == 0 || (due_only && sim_system.events[0].at_ns > sim_system.now_ns)) {
        return false;
    }
    struct sim_event event = pop();
    sim_system.now_ns = event.at_ns > sim_system.now_ns ? event.at_ns : sim_system.now_ns;
    if (sim_system.now_ns > time_max_ns * 2) {
        sim_kernel_explain();
        sim_failed("no end after two hours");
    }
    happen(&event);
    return true;
}

void sim_interleave(void)
{
    if (sim_system.thread < 0 && sim_random_chance(&sim_system.random, 250)) {
        while (sim_advance(true)) {
        }
    }
}

/* ---- descriptors ---- */

int sim_file_open(enum sim_file_kind kind, int node)
{
    for (int i = 0; i < SIM_FILES; i++) {
        struct sim_file *file = &sim_system.files[i];
        if (file->kind == SIM_FILE_FREE) {
            *file = (struct sim_file){.kind = kind,
                                      .node = node,
                                      .generation = file->generation + 1,
                                      .due_ns = UINT64_MAX,
                                      .child = -1};
            return SIM_FILE_FIRST + i;
        }
    }
    return -EMFILE;
}

struct sim_file *sim_file_at(int file)
{
    if (file < SIM_FILE_FIRST || file >= SIM_FILE_FIRST + SIM_FILES ||
        sim_system.files[file - SIM_FILE_FIRST].kind == SIM_FILE_FREE) {
        return NULL;
    }
    return &sim_system.files[file - SIM_FILE_FIRST];
}

int sim_file_folder(int number)
{
    if (number == AT_FDCWD) {
        return SIM_DISK_ROOT;
    }
    const struct sim_file *file = sim_file_at(number);
    if (file == NULL || file->kind != SIM_FILE_NODE) {
        sim_failed("descriptor %d is used as a folder and is none", number);
    }
    return file->node;
}

int sim_file_close(int number)
{
    struct sim_file *file = sim_file_at(number);
    if (file == NULL) { /* twice, or something that was never open: it might be somebody else's by now */
        sim_failed("descriptor %d is closed and is not open", number);
    }
    file->kind = SIM_FILE_FREE;
    return 0;
}

bool sim_file_readable(int number)
{
    const struct sim_file *file = sim_file_at(number);
    if (file == NULL) {
        return false;
    }
    switch (file->kind) {
    case SIM_FILE_EVENT:
    case SIM_FILE_SIGNALS:
        return file->count > 0;
    case SIM_FILE_NODE:
        return file->urgent && file->count > 0;
    case SIM_FILE_TIMER:
        return file->due_ns <= sim_system.now_ns;
    case SIM_FILE_EPOLL:
        for (unsigned i = 0; i < SIM_MEMBERS; i++) {
            if (file->members[i] != 0 && sim_file_readable(file->members[i])) {
                return true;
            }
        }
        return false;
    case SIM_FILE_CHILD:
        return sim_system.children[file->child].ended;
    case SIM_FILE_PIPE_OUT:
        return file->child < 0 || sim_system.children[file->child].ended ||
               sim_system.children[file->child].printed_bytes > 0;
    default:
        return false;
    }
}

void sim_file_wake(int number)
{
    if (!sim_file_readable(number)) {
        return;
    }
    sim_ring_woken(number);
    for (int i = 0; i < SIM_FILES; i++) {
        const struct sim_file *set = &sim_system.files[i];
        for (unsigned j = 0; set->kind == SIM_FILE_EPOLL && j < SIM_MEMBERS; j++) {
            if (set->members[j] == number) {
                sim_ring_woken(SIM_FILE_FIRST + i);
            }
        }
    }
    for (int i = 0; i < SIM_THREADS; i++) {
        if (sim_system.threads[i].used && sim_system.threads[i].waits == number) {
            schedule_thread(i);
        }
    }
}

static ssize_t read_pipe(struct sim_file *file, void *bytes, size_t size)
{
    struct sim_child *child = file->child < 0 ? NULL : &sim_system.children[file->child];
    if (child == NULL || child->printed_bytes == 0) {
        return 0;
    }
    size = size < child->printed_bytes ? size : child->printed_bytes;
    memcpy(bytes, child->printed, size);
    memmove(child->printed, child->printed + size, child->printed_bytes - size);
    child->printed_bytes -= size;
    return (ssize_t)size;
}

static ssize_t read_node(struct sim_file *file, void *bytes, size_t size)
{
    size_t length;
    const uint8_t *all = sim_disk_bytes(file->node, &length);
    size_t left = file->offset < length ? length - file->offset : 0;
    size = size < left ? size : left;
    if (size > 0) {
        memcpy(bytes, all + file->offset, size);
    }
    file->offset += size;
    return (ssize_t)size;
}

ssize_t sim_file_read(int number, void *bytes, size_t size)
{
    struct sim_file *file = sim_file_at(number);
    if (file == NULL) {
        return -EBADF;
    }
    switch (file->kind) {
    case SIM_FILE_NODE:
        return read_node(file, bytes, size);
    case SIM_FILE_PIPE_OUT:
        return read_pipe(file, bytes, size);
    case SIM_FILE_EVENT:
        if (file->count == 0) {
            return -EAGAIN;
        }
        memcpy(bytes, &file->count, sizeof file->count);
        file->count = 0;
        return sizeof file->count;
    case SIM_FILE_SIGNALS:
        if (file->count == 0) {
            return -EAGAIN;
        }
        file->count--;
        memset(bytes, 0, size);
        ((struct signalfd_siginfo *)bytes)->ssi_signo = SIGINT;
        return sizeof(struct signalfd_siginfo);
    default:
        return -EINVAL;
    }
}

/* ---- threads ---- */

void sim_thread_leave(void)
{
    CHECK(sim_system.thread >= 0);
    longjmp(sim_system.leave_thread, 1);
}

/* A thread's function is called anew for each of its steps and left where it would block or has handed over
 * a result: worker.c's has nothing on its stack there that it needs later. */
void sim_thread_run(int index)
{
    struct sim_thread *thread = &sim_system.threads[index];
    CHECK(sim_system.thread < 0 && !thread->finished);
    sim_system.thread = index;
    thread->waits = 0;
    if (setjmp(sim_system.leave_thread) == 0) {
        sim_system.threads[sim_system.thread].function(sim_system.threads[sim_system.thread].argument);
        sim_system.threads[sim_system.thread].finished = true;
    }
    index = sim_system.thread;
    sim_system.thread = -1;
    thread = &sim_system.threads[index];
    if (!thread->finished && (thread->waits == 0 || sim_file_readable(thread->waits))) {
        schedule_thread(index);
    }
}

/* ---- children ---- */

/* code 0: it only printed. */
void sim_child_exit(int index, int code, int status)
{
    struct sim_child *child = &sim_system.children[index];
    if (code != 0) {
        child->ended = true;
        child->code = code;
        child->status = status;
    }
    for (int i = 0; i < SIM_FILES; i++) {
        const struct sim_file *file = &sim_system.files[i];
        if ((file->kind == SIM_FILE_CHILD || file->kind == SIM_FILE_PIPE_OUT) && file->child == index) {
            sim_file_wake(SIM_FILE_FIRST + i);
        }
    }
}

/* ---- memory ---- */

void sim_block_add(void *at, size_t bytes, enum sim_block_kind kind)
{
    unsigned i = 0;
    while (i < sim_system.blocks_used && sim_system.blocks[i].kind != SIM_BLOCK_FREE) {
        i++;
    }
    CHECK(i < SIM_BLOCKS);
    sim_system.blocks_used += i == sim_system.blocks_used;
    sim_system.blocks[i] = (struct sim_block){.at = at, .bytes = bytes, .kind = kind};
}

struct sim_block *sim_block_find(const void *at)
{
    for (unsigned i = sim_system.blocks_used; i-- > 0;) {
        if (sim_system.blocks[i].kind != SIM_BLOCK_FREE && sim_system.blocks[i].at == at) {
            return &sim_system.blocks[i];
        }
    }
    return NULL;
}

/* ---- the system as a whole ---- */

void sim_kernel_open(const struct sim_settings *settings)
{
    int64_t wall_ns = sim_system.wall_ns + (int64_t)sim_system.now_ns;
    memset(&sim_system, 0, sizeof sim_system);
    memset(called, 0, sizeof called);
    sim_system.settings = *settings;
    sim_random_init(&sim_system.random, settings->seed);
    sim_system.now_ns = sim_between(1000000000, 2000000000);
    wall_ns = wall_ns > INT64_C(1700000000000000000) ? wall_ns : INT64_C(1700000000000000000);
    sim_system.wall_ns = wall_ns + 1000000000;
    sim_system.thread = -1;
    sim_system.pids = 100;
    sim_ring_reset();
    for (unsigned i = 0; i < 2; i++) {
        if (settings->stop_ns[i] != 0) {
            sim_push(sim_system.now_ns + settings->stop_ns[i], SIM_EVENT_SIGNAL, 0, 0);
        }
    }
    if (settings->disturb_ns != 0) {
        sim_push(sim_system.now_ns + settings->disturb_ns, SIM_EVENT_DISTURB, 0, 0);
    }
    if (settings->pressure_ns != 0) {
        sim_push(sim_system.now_ns + settings->pressure_ns, SIM_EVENT_PRESSURE, 0, 0);
    }
}

enum sim_ended sim_kernel_run(void (*process)(void *context), void *context)
{
    int how = setjmp(sim_system.leave_process);
    if (how == 0) {
        sim_system.running = true;
        process(context);
    }
    sim_system.running = false;
    sim_system.thread = -1;
    return (enum sim_ended)how;
}

void sim_kernel_stop(void)
{
    sim_system.running = false;
}

static void block_release(struct sim_block *block)
{
    switch (block->kind) {
    case SIM_BLOCK_HEAP:
        __real_free(block->at);
        break;
    case SIM_BLOCK_MAPPED:
        __real_munmap(block->at, block->bytes);
        break;
    case SIM_BLOCK_STREAM:
        sim_stream_forget(block->at);
        break;
    default:
        break;
    }
    block->kind = SIM_BLOCK_FREE;
}

void sim_kernel_close(void)
{
    sim_ring_abandon();
    for (unsigned i = 0; i < sim_system.blocks_used; i++) {
        if (sim_system.blocks[i].kind != SIM_BLOCK_FREE) {
            block_release(&sim_system.blocks[i]);
        }
    }
}

unsigned sim_kernel_held(const char **first)
{
    static char text[128];
    unsigned held = 0;
    *first = text;
    text[0] = 0;
    for (int i = 0; i < SIM_FILES; i++) {
        if (sim_system.files[i].kind != SIM_FILE_FREE && held++ == 0) {
            snprintf(text, sizeof text, "descriptor %d of kind %d, node %d", i, (int)sim_system.files[i].kind,
                     sim_system.files[i].node);
        }
    }
    for (unsigned i = 0; i < sim_system.blocks_used; i++) {
        if (sim_system.blocks[i].kind != SIM_BLOCK_FREE && held++ == 0) {
            snprintf(text, sizeof text, "%zu bytes of memory of kind %d", sim_system.blocks[i].bytes,
                     (int)sim_system.blocks[i].kind);
        }
    }
    for (int i = 0; i < SIM_THREADS; i++) {
        if (sim_system.threads[i].used && held++ == 0) {
            snprintf(text, sizeof text, "thread %d", i);
        }
    }
    for (int i = 0; i < SIM_CHILDREN; i++) {
        if (sim_system.children[i].used && !sim_system.children[i].reaped && held++ == 0) {
            snprintf(text, sizeof text, "child %d", i);
        }
    }
    if (sim_ring_open() && held++ == 0) {
        snprintf(text, sizeof text, "the ring");
    }
    return held;
}

void sim_kernel_explain(void)
{
    printf("at %" PRIu64 " ns, step %" PRIu64 ", %u events to come\n", sim_system.now_ns, sim_system.steps,
           sim_system.events_count);
    sim_ring_explain();
    for (int i = 0; i < SIM_THREADS; i++) {
        const struct sim_thread *thread = &sim_system.threads[i];
        if (thread->used && !thread->finished) {
            printf("thread %d: %s\n", i, thread->scheduled ? "will run" : "waits for work");
        }
    }
}

uint64_t sim_kernel_hash(void)
{
    return sim_system.hash;
}

uint64_t sim_kernel_steps(void)
{
    return sim_system.steps;
}

bool sim_kernel_paused(void)
{
    return sim_system.paused_step > sim_system.waited_step;
}

uint64_t sim_kernel_now_ns(void)
{
    return sim_system.now_ns;
}

void sim_kernel_forbid_allocation(bool forbidden)
{
    sim_system.forbidden = forbidden;
}

struct sim_random *sim_kernel_random(void)
{
    return &sim_system.random;
}
