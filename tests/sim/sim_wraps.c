/* The C library's functions that the shell calls, as the linker replaces them (--wrap, see CMakeLists.txt).
 * Outside of a simulated process they are the library's own. */
#include "conf/check.h"
#include "coordinator/pressure.h"
#include "tests/sim/sim_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

/* Nobody includes these: the linker finds them by name. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define FAIL_IF(call)                 \
    do {                              \
        int fails_ = sim_fails(call); \
        if (fails_ != 0) {            \
            errno = fails_;           \
            return -1;                \
        }                             \
    } while (0)

static int result_of(int result)
{
    if (result >= 0) {
        return result;
    }
    errno = -result;
    return -1;
}

static int64_t wall_ns(void)
{
    return (int64_t)sim_system.now_ns + sim_system.wall_ns;
}

static struct sim_file *file_of(int number)
{
    struct sim_file *file = sim_file_at(number);
    if (file == NULL) {
        sim_failed("descriptor %d is used and is not open", number);
    }
    return file;
}

/* ---- memory ---- */

int __real_clock_gettime(clockid_t clock, struct timespec *now);

static void *allocated(void *block, size_t size)
{
    if (sim_system.forbidden && sim_system.thread < 0) {
        sim_failed("the coordinator allocates %zu bytes while its loop runs", size);
    }
    CHECK(block != NULL);
    sim_block_add(block, size, SIM_BLOCK_HEAP);
    return block;
}

static bool no_memory(const char *call)
{
    int code = sim_fails(call);
    errno = code != 0 ? code : errno;
    return code != 0;
}

void *__wrap_malloc(size_t size)
{
    if (!sim_system.running) {
        return __real_malloc(size);
    }
    return no_memory("malloc") ? NULL : allocated(__real_malloc(size), size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (!sim_system.running) {
        return __real_calloc(count, size);
    }
    return no_memory("calloc") ? NULL : allocated(__real_calloc(count, size), count * size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    if (!sim_system.running) {
        return __real_aligned_alloc(alignment, size);
    }
    if (no_memory("aligned_alloc")) {
        return NULL;
    }
    void *block = __real_aligned_alloc(alignment, size); /* buffers = heap: the coordinator may */
    CHECK(block != NULL);
    memset(block, 0xa5, size);
    sim_block_add(block, size, SIM_BLOCK_HEAP);
    return block;
}

void __wrap_free(void *block)
{
    if (sim_system.running && block != NULL) {
        struct sim_block *found = sim_block_find(block);
        if (found == NULL || found->kind != SIM_BLOCK_HEAP) {
            sim_failed("a block is freed that was not allocated");
        }
        found->kind = SIM_BLOCK_FREE;
    }
    __real_free(block);
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (!sim_system.running) {
        return __real_mmap(address, bytes, protection, flags, file, offset);
    }
    if (no_memory("mmap")) {
        return MAP_FAILED;
    }
    if (file < 0) {
        void *mapped = __real_mmap(address, bytes, protection, flags, file, offset);
        CHECK(mapped != MAP_FAILED);
        sim_block_add(mapped, bytes, SIM_BLOCK_MAPPED);
        return mapped;
    }
    size_t size;
    const uint8_t *at = sim_disk_bytes(file_of(file)->node, &size);
    CHECK(size == bytes && offset == 0 && !(protection & PROT_WRITE));
    sim_block_add((void *)(uintptr_t)at, bytes, SIM_BLOCK_SHARED);
    return (void *)(uintptr_t)at;
}

int __wrap_munmap(void *address, size_t bytes)
{
    if (!sim_system.running) {
        return __real_munmap(address, bytes);
    }
    struct sim_block *found = sim_block_find(address);
    CHECK(found != NULL && found->bytes == bytes);
    bool mapped = found->kind == SIM_BLOCK_MAPPED;
    found->kind = SIM_BLOCK_FREE;
    return mapped ? __real_munmap(address, bytes) : 0;
}

int __wrap_madvise(void *address, size_t bytes, int advice)
{
    (void)address;
    (void)bytes;
    (void)advice;
    FAIL_IF("madvise");
    return 0;
}

/* ---- clock, chance, the machine ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (!sim_system.running) {
        return __real_clock_gettime(clock, now);
    }
    sim_step(1);
    int64_t ns = clock == CLOCK_REALTIME ? wall_ns() : (int64_t)sim_system.now_ns;
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
}

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    FAIL_IF("getrandom");
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)sim_random_word(&sim_system.random);
    }
    return (ssize_t)size;
}

int __wrap_sched_yield(void)
{
    sim_step(2);
    return 0;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    FAIL_IF("sched_getaffinity");
    memset(set, 0, size);
    CPU_SET(0, set);
    CPU_SET(1, set);
    return 0;
}

int __wrap_getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    (void)resource;
    FAIL_IF("getrlimit");
    limit->rlim_cur = 100;
    limit->rlim_max = SIM_FILES;
    return 0;
}

int __wrap_setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
    (void)resource;
    CHECK(limit->rlim_cur <= limit->rlim_max);
    FAIL_IF("setrlimit");
    return 0;
}

int __wrap_getrusage(__rusage_who_t who, struct rusage *usage)
{
    (void)who;
    memset(usage, 0, sizeof *usage);
    usage->ru_maxrss = 12345;
    return 0;
}

void __wrap__exit(int code)
{
    sim_mix((uint64_t)code);
    sim_process_exit(SIM_ENDED_EXITED);
}

/* ---- files ---- */

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    FAIL_IF("openat");
    int node = sim_disk_open(sim_file_folder(folder), path, flags, wall_ns());
    return result_of(node < 0 ? node : sim_file_open(SIM_FILE_NODE, node));
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    if (!sim_system.running) {
        return __real_open(path, flags);
    }
    FAIL_IF("open");
    int node = sim_disk_open(SIM_DISK_ROOT, path, flags, wall_ns());
    int file = node < 0 ? node : sim_file_open(SIM_FILE_NODE, node);
    if (file > 0) {
        sim_file_at(file)->urgent = strcmp(path, PRESSURE_PATH) == 0;
    }
    return result_of(file);
}

int __real_close(int file);
int __wrap_close(int file)
{
    if (!sim_system.running) {
        return __real_close(file);
    }
    sim_step(3);
    return result_of(sim_file_close(file));
}

int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status)
{
    if (!sim_system.running) {
        return __real_stat(path, status);
    }
    FAIL_IF("stat");
    int node = sim_disk_find(SIM_DISK_ROOT, path);
    if (node > 0) {
        sim_disk_stat(node, status);
    }
    return result_of(node > 0 ? 0 : node);
}

int __real_fstat(int file, struct stat *status);
int __wrap_fstat(int file, struct stat *status)
{
    if (!sim_system.running) {
        return __real_fstat(file, status);
    }
    FAIL_IF("fstat");
    sim_disk_stat(file_of(file)->node, status);
    return 0;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    (void)mode;
    FAIL_IF("mkdir");
    return result_of(sim_disk_mkdir(SIM_DISK_ROOT, path));
}

int __wrap_mkdirat(int folder, const char *path, mode_t mode)
{
    (void)mode;
    FAIL_IF("mkdirat");
    return result_of(sim_disk_mkdir(sim_file_folder(folder), path));
}

int __wrap_unlinkat(int folder, const char *name, int flags)
{
    FAIL_IF("unlinkat");
    int node = sim_disk_find(sim_file_folder(folder), name);
    if (node > 0 && !(flags & AT_REMOVEDIR)) {
        struct stat status;
        sim_disk_stat(node, &status);
        if (S_ISDIR(status.st_mode)) {
            return result_of(-EISDIR);
        }
    }
    return result_of(sim_disk_unlink(sim_file_folder(folder), name));
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    CHECK(from_folder == to_folder);
    FAIL_IF("renameat");
    int result = sim_disk_rename(sim_file_folder(from_folder), from, to);
    if (result == 0 && sim_system.settings.watch.renamed != NULL) {
        sim_system.settings.watch.renamed(sim_file_folder(to_folder), to,
                                          sim_disk_find(sim_file_folder(to_folder), to));
    }
    return result_of(result);
}

int __wrap_fchmod(int file, mode_t mode)
{
    (void)mode;
    (void)file_of(file);
    FAIL_IF("fchmod");
    return 0;
}

int __wrap_fsync(int file)
{
    int code = sim_fails("fsync");
    if (code != 0) {
        sim_disk_sync_failed(file_of(file)->node);
        return result_of(-code);
    }
    sim_disk_sync(file_of(file)->node);
    return 0;
}

int __wrap_ftruncate(int file, off_t size)
{
    FAIL_IF("ftruncate");
    sim_disk_truncate(file_of(file)->node, (size_t)size, wall_ns());
    return 0;
}

int __wrap_flock(int number, int operation)
{
    struct sim_file *file = file_of(number);
    CHECK(operation == (LOCK_EX | LOCK_NB));
    FAIL_IF("flock");
    for (int i = 0; i < SIM_FILES; i++) {
        const struct sim_file *other = &sim_system.files[i];
        if (other != file && other->kind == SIM_FILE_NODE && other->node == file->node && other->locked) {
            return result_of(-EWOULDBLOCK);
        }
    }
    file->locked = true;
    return 0;
}

ssize_t __wrap_pread(int number, void *bytes, size_t size, off_t offset)
{
    struct sim_file *file = file_of(number);
    FAIL_IF("pread");
    uint64_t before = file->offset;
    file->offset = (uint64_t)offset;
    ssize_t got = sim_file_read(number, bytes, size > 1 && sim_happens(SIM_FAULT_SHORT) ? size / 2 : size);
    file->offset = before;
    return result_of((int)got);
}

ssize_t __wrap_pwrite(int number, const void *bytes, size_t size, off_t offset)
{
    FAIL_IF("pwrite");
    size = size > 1 && sim_happens(SIM_FAULT_SHORT) ? size / 2 : size;
    sim_disk_write(file_of(number)->node, bytes, size, (uint64_t)offset, wall_ns());
    return (ssize_t)size;
}

ssize_t __real_read(int number, void *bytes, size_t size);
ssize_t __wrap_read(int number, void *bytes, size_t size)
{
    if (!sim_system.running) {
        return __real_read(number, bytes, size);
    }
    struct sim_file *file = file_of(number);
    if (file->kind == SIM_FILE_NODE || file->kind == SIM_FILE_PIPE_OUT) {
        FAIL_IF("read");
        return result_of(
            (int)sim_file_read(number, bytes, size > 1 && sim_happens(SIM_FAULT_SHORT) ? size / 2 : size));
    }
    sim_step(4);
    if (file->waits && file->count == 0) {
        CHECK(sim_system.thread >= 0);
        sim_system.threads[sim_system.thread].waits = number;
        sim_thread_leave();
    }
    int got = (int)sim_file_read(number, bytes, size);
    sim_interleave();
    return result_of(got);
}

ssize_t __real_write(int number, const void *bytes, size_t size);
ssize_t __wrap_write(int number, const void *bytes, size_t size)
{
    if (!sim_system.running) {
        return __real_write(number, bytes, size);
    }
    struct sim_file *file = file_of(number);
    if (file->kind == SIM_FILE_NODE) {
        FAIL_IF("write");
        sim_disk_write(file->node, bytes, size, file->offset, wall_ns());
        file->offset += size;
        return (ssize_t)size;
    }
    CHECK(file->kind == SIM_FILE_EVENT && size == sizeof(uint64_t));
    sim_step(5);
    file->count += *(const uint64_t *)bytes;
    sim_file_wake(number);
    if (sim_system.thread >= 0) {
        sim_thread_leave(); /* one task, one step */
    }
    sim_interleave();
    return (ssize_t)size;
}

char *__wrap_realpath(const char *path, char *resolved)
{
    CHECK(resolved == NULL);
    int code = sim_fails("realpath");
    code = code != 0 ? code : sim_disk_find(SIM_DISK_ROOT, path) < 0 ? ENOENT : 0;
    if (code != 0) {
        errno = code;
        return NULL;
    }
    size_t size = strlen(path) + 1;
    char *copy = allocated(__real_malloc(size), size);
    memcpy(copy, path, size);
    return copy;
}

/* ---- folders ---- */

struct sim_folder {
    int file;
    unsigned next, count;
    struct dirent entry;
    char names[256][SIM_DISK_NAME_BYTES]; /* as they were when it was opened */
};

DIR *__wrap_fdopendir(int file)
{
    if (no_memory("fdopendir")) {
        return NULL;
    }
    struct sim_folder *folder = __real_malloc(sizeof *folder);
    const char *name;
    CHECK(folder != NULL);
    sim_block_add(folder, sizeof *folder, SIM_BLOCK_HEAP); /* who leaves at once may, even from the loop */
    *folder = (struct sim_folder){.file = file};
    strcpy(folder->names[folder->count++], ".");
    while (folder->count < 256 && sim_disk_entry(sim_file_folder(file), folder->count - 1, &name) != 0) {
        strcpy(folder->names[folder->count++], name);
    }
    return (DIR *)(void *)folder;
}

struct dirent *__wrap_readdir(DIR *opened)
{
    struct sim_folder *folder = (struct sim_folder *)(void *)opened;
    int code = sim_fails("readdir");
    if (code != 0 || folder->next == folder->count) {
        errno = code != 0 ? code : errno;
        return NULL;
    }
    strcpy(folder->entry.d_name, folder->names[folder->next++]);
    return &folder->entry;
}

int __wrap_closedir(DIR *opened)
{
    struct sim_folder *folder = (struct sim_folder *)(void *)opened;
    int file = folder->file;
    __wrap_free(folder);
    return __wrap_close(file);
}

/* ---- streams ---- */

struct sim_stream {
    int file;
    bool dead;
    FILE *stream;
};
static struct sim_stream streams[8];

static ssize_t stream_write(void *cookie, const char *bytes, size_t size)
{
    const struct sim_stream *stream = cookie;
    if (stream->dead) {
        return (ssize_t)size;
    }
    int code = sim_fails("fflush");
    if (code != 0) {
        errno = code;
        return 0;
    }
    struct sim_file *file = file_of(stream->file);
    sim_disk_write(file->node, bytes, size, file->offset, wall_ns());
    file->offset += size;
    return (ssize_t)size;
}

static int stream_close(void *cookie)
{
    struct sim_stream *stream = cookie;
    if (!stream->dead) {
        sim_block_find(stream)->kind = SIM_BLOCK_FREE;
        sim_file_close(stream->file);
    }
    stream->stream = NULL;
    return 0;
}

FILE *__real_fdopen(int file, const char *mode);
FILE *__wrap_fdopen(int file, const char *mode)
{
    if (!sim_system.running) {
        return __real_fdopen(file, mode);
    }
    if (no_memory("fdopen")) {
        return NULL;
    }
    unsigned i = 0;
    while (streams[i].stream != NULL) {
        CHECK(++i < sizeof streams / sizeof *streams);
    }
    const cookie_io_functions_t functions = {.write = stream_write, .close = stream_close};
    streams[i] = (struct sim_stream){.file = file, .stream = fopencookie(&streams[i], mode, functions)};
    CHECK(streams[i].stream != NULL);
    sim_block_add(&streams[i], sizeof streams[i], SIM_BLOCK_STREAM);
    return streams[i].stream;
}

int __real_fileno(FILE *stream);
int __wrap_fileno(FILE *stream)
{
    for (unsigned i = 0; sim_system.running && i < sizeof streams / sizeof *streams; i++) {
        if (streams[i].stream == stream) {
            return streams[i].file;
        }
    }
    return __real_fileno(stream);
}

void sim_stream_forget(void *cookie)
{
    struct sim_stream *stream = cookie;
    stream->dead = true;
    fclose(stream->stream);
}

/* ---- descriptors that ring ---- */

int __wrap_eventfd(unsigned count, int flags)
{
    FAIL_IF("eventfd");
    int file = sim_file_open(SIM_FILE_EVENT, 0);
    if (file > 0) {
        sim_file_at(file)->count = count;
        sim_file_at(file)->waits = !(flags & O_NONBLOCK);
    }
    return result_of(file);
}

int __wrap_signalfd(int file, const sigset_t *mask, int flags)
{
    (void)mask;
    (void)flags;
    CHECK(file == -1);
    FAIL_IF("signalfd");
    return result_of(sim_file_open(SIM_FILE_SIGNALS, 0));
}

int __wrap_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    CHECK(number == SIGCHLD ? action != NULL : number == SIGHUP && action == NULL);
    if (before != NULL) {
        memset(before, 0, sizeof *before);
    }
    return 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    (void)how;
    (void)set;
    if (before != NULL) {
        sigemptyset(before);
    }
    return 0;
}

int __wrap_timerfd_create(int clock, int flags)
{
    (void)flags;
    CHECK(clock == CLOCK_MONOTONIC);
    FAIL_IF("timerfd_create");
    return result_of(sim_file_open(SIM_FILE_TIMER, 0));
}

int __wrap_timerfd_settime(int number, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    struct sim_file *file = file_of(number);
    CHECK(flags == TFD_TIMER_ABSTIME && before == NULL && file->kind == SIM_FILE_TIMER);
    sim_step(6);
    uint64_t at_ns = (uint64_t)when->it_value.tv_sec * 1000000000u + (uint64_t)when->it_value.tv_nsec;
    file->due_ns = at_ns == 0 ? UINT64_MAX : at_ns;
    file->generation++;
    if (file->due_ns <= sim_system.now_ns) {
        sim_file_wake(number);
    } else if (at_ns != 0) {
        sim_push(at_ns, SIM_EVENT_TIMER, number - SIM_FILE_FIRST, file->generation);
    }
    return 0;
}

int __wrap_epoll_create1(int flags)
{
    (void)flags;
    sim_step(9); /* only device_fault calls it, which is a test itself */
    return result_of(sim_file_open(SIM_FILE_EPOLL, 0));
}

int __wrap_epoll_ctl(int set, int operation, int file, struct epoll_event *event)
{
    (void)event;
    int from = operation == EPOLL_CTL_ADD ? 0 : file;
    for (unsigned i = 0; i < SIM_MEMBERS; i++) {
        int *member = &file_of(set)->members[i];
        if (*member == from) {
            *member = operation == EPOLL_CTL_ADD ? file : 0;
            sim_file_wake(file);
            return 0;
        }
    }
    sim_failed("epoll_ctl: no such member, or no room");
}

/* ---- threads ---- */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                          void *argument)
{
    CHECK(attributes == NULL);
    int code = sim_fails("pthread_create");
    if (code != 0) {
        return code;
    }
    int index = 0;
    while (sim_system.threads[index].used) {
        CHECK(++index < SIM_THREADS);
    }
    sim_system.threads[index] = (struct sim_thread){.used = true,
                                                    .scheduled = true,
                                                    .function = function,
                                                    .argument = argument,
                                                    .generation = sim_system.threads[index].generation + 1};
    sim_push(sim_system.now_ns + sim_between(1000, 100000), SIM_EVENT_THREAD, index,
             sim_system.threads[index].generation);
    *thread = (pthread_t)index;
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    struct sim_thread *joined = &sim_system.threads[thread];
    CHECK(result == NULL && joined->used && sim_system.thread < 0);
    while (!joined->finished) {
        if (joined->waits != 0 && !sim_file_readable(joined->waits)) {
            sim_failed("a thread is joined that waits for ever");
        }
        sim_step(7);
        sim_thread_run((int)thread);
    }
    joined->used = false;
    return 0;
}

/* ---- children ---- */

int __wrap_pipe2(int ends[2], int flags)
{
    (void)flags;
    FAIL_IF("pipe2");
    ends[0] = sim_file_open(SIM_FILE_PIPE_OUT, 0);
    ends[1] = ends[0] < 0 ? ends[0] : sim_file_open(SIM_FILE_PIPE_IN, 0);
    if (ends[1] < 0) {
        if (ends[0] >= 0) {
            sim_file_close(ends[0]);
        }
        return result_of(ends[1]);
    }
    sim_system.last_pipe = ends[0];
    return 0;
}

int __wrap_posix_spawnp(pid_t *pid, const char *program, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const arguments[],
                        char *const environment[])
{
    (void)program;
    (void)actions;
    (void)attributes;
    (void)environment;
    int code = sim_fails("posix_spawnp");
    if (code != 0) {
        return code;
    }
    int index = 0;
    while (sim_system.children[index].used) {
        CHECK(++index < SIM_CHILDREN);
    }
    struct sim_child *child = &sim_system.children[index];
    uint32_t generation = child->generation + 1;
    memset(child, 0, sizeof *child);
    child->used = true;
    child->generation = generation;
    child->pid = *pid = ++sim_system.pids;
    child->behavior = sim_happens(SIM_FAULT_CHILD) ? (unsigned)sim_between(1, 5) : 0;
    CHECK(strlen(arguments[1]) < sizeof child->input && strlen(arguments[2]) < sizeof child->witness);
    strcpy(child->input, arguments[1]);
    strcpy(child->witness, arguments[2]);
    file_of(sim_system.last_pipe)->child = index;
    uint64_t wait_ns = sim_between(100000, 20000000);
    if (sim_random_chance(&sim_system.random, 500)) {
        sim_push(sim_system.now_ns + sim_between(1000, wait_ns), SIM_EVENT_PRINT, index, generation);
    }
    sim_push(sim_system.now_ns + wait_ns, SIM_EVENT_EXIT, index, generation);
    return 0;
}

static int child_of(int pid)
{
    for (int i = 0; i < SIM_CHILDREN; i++) {
        if (sim_system.children[i].used && !sim_system.children[i].reaped &&
            sim_system.children[i].pid == pid) {
            return i;
        }
    }
    return -1;
}

int __wrap_pidfd_open(pid_t pid, unsigned flags)
{
    (void)flags;
    FAIL_IF("pidfd_open");
    int file = sim_file_open(SIM_FILE_CHILD, 0);
    if (file > 0) {
        sim_file_at(file)->child = child_of(pid);
        CHECK(sim_file_at(file)->child >= 0);
    }
    return result_of(file);
}

int __wrap_kill(pid_t pid, int number)
{
    CHECK(pid < 0 && number == SIGKILL);
    sim_step(8);
    int index = child_of(-pid);
    if (index < 0) { /* a process that has been waited for: its number may be somebody else's by now */
        sim_failed("process group %d is killed and is gone", -pid);
    }
    if (!sim_system.children[index].ended) {
        sim_child_exit(index, CLD_KILLED, SIGKILL);
    }
    return 0;
}

static void reap(int index)
{
    sim_system.children[index].reaped = true;
    sim_system.children[index].used = true; /* its pipe may still be read */
}

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    const struct sim_file *file = file_of((int)id);
    CHECK(type == P_PIDFD && options == (WEXITED | WNOHANG) && file->kind == SIM_FILE_CHILD);
    const struct sim_child *child = &sim_system.children[file->child];
    CHECK(child->ended && !child->reaped);
    info->si_pid = child->pid;
    info->si_code = child->code;
    info->si_status = child->status;
    reap(file->child);
    return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    int index = child_of(pid);
    CHECK(index >= 0 && options == 0 && status == NULL && sim_system.children[index].ended);
    reap(index);
    return pid;
}

int __wrap_ioctl(int number, unsigned long request, ...)
{
    const struct sim_file *file = file_of(number);
    va_list arguments;
    (void)request;
    FAIL_IF("ioctl");
    va_start(arguments, request);
    int *ready = va_arg(arguments, int *);
    va_end(arguments);
    *ready = file->child < 0 ? 0 : (int)sim_system.children[file->child].printed_bytes;
    return 0;
}
