#include "coordinator/generator.h"

#include "conf/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char folder_name[] = ".uzk.witnesses";
static const char witness_suffix[] = ".wtns";
enum { DRAIN_MAX = 1 << 16, FOLDERS_DEEP = 16 };

/* ---- the folder ---- */

struct level {
    int folder;
    DIR *entries;
    const char *name; /* in the folder above */
};

static bool level_open(struct level *level, int above, const char *name)
{
    int folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    if (entries == NULL && folder >= 0) {
        close(folder);
    }
    *level = (struct level){folder, entries, name};
    return entries != NULL;
}

/* True if the entry was removed; false for a folder that has something in it, and if that is refused. */
static bool remove_entry(int folder, const char *name)
{
    return unlinkat(folder, name, 0) == 0 || (errno == EISDIR && unlinkat(folder, name, AT_REMOVEDIR) == 0);
}

static bool is_itself_or_above(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Commands may leave folders, too. Links are removed and never followed. What lies deeper than any of them
 * has reason to go stays. */
static void empty(int folder)
{
    struct level levels[FOLDERS_DEEP];
    unsigned depth = level_open(&levels[0], folder, ".") ? 1 : 0;
    while (depth > 0) {
        const struct level *level = &levels[depth - 1];
        const struct dirent *entry = readdir(level->entries);
        if (entry == NULL) {
            closedir(level->entries);
            if (--depth > 0) {
                (void)unlinkat(levels[depth - 1].folder, level->name, AT_REMOVEDIR);
            }
        } else if (!is_itself_or_above(entry->d_name) && !remove_entry(level->folder, entry->d_name) &&
                   depth < FOLDERS_DEEP && level_open(&levels[depth], level->folder, entry->d_name)) {
            ++depth;
        }
    }
}

int generator_folder_open(int output)
{
    if (mkdirat(output, folder_name, 0700) != 0 && errno != EEXIST) {
        return -errno;
    }
    int folder = openat(output, folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) {
        return -errno;
    }
    if (fchmod(folder, 0700) != 0) {
        int code = errno;
        close(folder);
        return -code;
    }
    empty(folder);
    return folder;
}

void generator_folder_remove(int output, int folder)
{
    empty(folder);
    close(folder);
    (void)unlinkat(output, folder_name, AT_REMOVEDIR);
}

/* ---- spawning, on a worker thread ---- */

static const struct {
    const char *text;
    size_t length;
} marks[] = {{"{input}", 7}, {"{witness}", 9}};

static const char *value_of(const struct generator *generator, size_t mark)
{
    return mark == 0 ? generator->request.input : generator->witness;
}

/* Writes the argument with its marks replaced; with to == NULL it only counts. Returns the bytes, terminator
 * included. */
static size_t substitute(char *to, const char *from, const struct generator *generator)
{
    size_t length = 0;
    while (*from != 0) {
        size_t mark = 0;
        while (mark < sizeof marks / sizeof *marks &&
               strncmp(from, marks[mark].text, marks[mark].length) != 0) {
            ++mark;
        }
        bool found = mark < sizeof marks / sizeof *marks;
        const char *piece = found ? value_of(generator, mark) : from;
        size_t piece_length = found ? strlen(piece) : 1;
        if (to != NULL) {
            memcpy(to + length, piece, piece_length);
        }
        length += piece_length;
        from += found ? marks[mark].length : 1;
    }
    if (to != NULL) {
        to[length] = 0;
    }
    return length + 1;
}

/* One block: the vector, then the texts. NULL if there is no memory. */
static char **make_arguments(const struct generator *generator)
{
    char *const *command = generator->request.command;
    size_t count = 0, bytes = 0;
    for (; command[count] != NULL; ++count) {
        bytes += substitute(NULL, command[count], generator);
    }
    char **arguments = malloc((count + 1) * sizeof *arguments + bytes);
    if (arguments == NULL) {
        return NULL;
    }
    char *text = (char *)(arguments + count + 1);
    for (size_t i = 0; i < count; ++i) {
        arguments[i] = text;
        text += substitute(text, command[i], generator);
    }
    arguments[count] = NULL;
    return arguments;
}

static int spawn(struct generator *generator, char **arguments, int messages)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    CHECK(arguments[0] != NULL);
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    code = code != 0 ? code : posix_spawn_file_actions_adddup2(&actions, messages, STDOUT_FILENO);
    code = code != 0 ? code : posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
    code = code != 0 ? code : posix_spawnattr_setsigmask(&attributes, &none);
    code = code != 0 ? code : posix_spawnattr_setsigdefault(&attributes, &defaults);
    code = code != 0 ? code : posix_spawnattr_setpgroup(&attributes, 0);
    code = code != 0 ? code
                     : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                                 POSIX_SPAWN_SETSIGDEF);
    code = code != 0 ? code
                     : posix_spawnp(&generator->pid, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static enum error_code refuse(struct generator *generator, int code, const char *what)
{
    return error_set_errno(&generator->error, code, "witness command %s: %s", generator->request.command[0],
                           what);
}

static enum error_code start_process(struct generator *generator)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return refuse(generator, errno, "creating a pipe for its messages");
    }
    char **arguments = make_arguments(generator);
    int code = arguments == NULL ? ENOMEM : spawn(generator, arguments, ends[1]);
    free(arguments);
    close(ends[1]);
    if (code != 0) {
        close(ends[0]);
        return refuse(generator, code, "starting it");
    }
    generator->pidfd = pidfd_open(generator->pid, 0);
    if (generator->pidfd < 0) {
        code = errno;
        kill(-generator->pid, SIGKILL);
        waitpid(generator->pid, NULL, 0);
        close(ends[0]);
        return refuse(generator, code, "watching it");
    }
    generator->capture = ends[0];
    return ERROR_NONE;
}

static void spawn_task(void *argument)
{
    struct generator *generator = argument;
    struct stat status;
    if (stat(generator->request.input, &status) != 0) {
        generator->code = error_set_errno(&generator->error, errno, "%s: opening", generator->request.input);
        return;
    }
    generator->input_size = (uint64_t)status.st_size;
    generator->input_mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    generator->code = start_process(generator);
}

/* ---- on the coordinator ---- */

bool generator_path_fits(const char *folder, const char *stem)
{
    return strlen(folder) + strlen(stem) + sizeof folder_name + sizeof witness_suffix + 1 < PATH_MAX;
}

void generator_start(struct generator *generator, struct crew *crew, uint32_t kind, uint32_t slot,
                     const struct generator_request *request)
{
    CHECK(generator->step == GENERATOR_IDLE && generator_path_fits(request->folder, request->stem));
    generator->request = *request;
    generator->slot = slot;
    ++generator->sequence;
    generator->kill = generator->reading = false;
    generator->pidfd = generator->capture = -1;
    generator->tail_bytes = 0;
    snprintf(generator->witness, sizeof generator->witness, "%s/%s/%s%s", request->folder, folder_name,
             request->stem, witness_suffix);
    generator->step = GENERATOR_SPAWNING;
    const struct worker_task task = {
        .function = spawn_task, .argument = generator, .kind = kind, .index = slot};
    crew_post(crew, WORKER_SHORT, &task);
}

static struct loop_token token(const struct generator *generator, enum loop_kind kind)
{
    return (struct loop_token){kind, generator->slot, generator->sequence};
}

static void read_messages(struct generator *generator, struct loop *loop)
{
    generator->reading = true;
    loop_read(loop, token(generator, LOOP_CAPTURE), generator->capture, generator->read_buffer,
              sizeof generator->read_buffer, UINT64_MAX);
}

bool generator_spawned(struct generator *generator, struct loop *loop)
{
    CHECK(generator->step == GENERATOR_SPAWNING);
    if (generator->code != ERROR_NONE) {
        generator->step = GENERATOR_IDLE;
        return true;
    }
    generator->step = GENERATOR_RUNNING;
    if (generator->kill) {
        kill(-generator->pid, SIGKILL);
    }
    loop_poll(loop, token(generator, LOOP_CHILD), generator->pidfd, false);
    read_messages(generator, loop);
    return false;
}

void generator_kill(struct generator *generator)
{
    generator->kill = true;
    if (generator->step ==
        GENERATOR_RUNNING) { /* its leader is not reaped yet, so the group is still its own */
        kill(-generator->pid, SIGKILL);
    }
}

/* Keeps the last bytes, made printable: a terminal must not be at the mercy of what a program prints. */
static void keep_tail(struct generator *generator, const char *bytes, size_t count)
{
    size_t skip = count > GENERATOR_TAIL_BYTES ? count - GENERATOR_TAIL_BYTES : 0;
    count -= skip;
    if (generator->tail_bytes + count > GENERATOR_TAIL_BYTES) {
        size_t drop = generator->tail_bytes + count - GENERATOR_TAIL_BYTES;
        memmove(generator->tail, generator->tail + drop, generator->tail_bytes - drop);
        generator->tail_bytes -= drop;
    }
    for (size_t i = 0; i < count; ++i) {
        unsigned char byte = (unsigned char)bytes[skip + i];
        generator->tail[generator->tail_bytes++] = byte == '\n' || byte == '\t' ? ' '
                                                   : byte < 32 || byte == 127   ? '?'
                                                                                : (char)byte;
    }
}

/* What is left in the pipe: there is no more to come from the processes that were killed, and FIONREAD says
 * how much can be read without waiting. */
static void drain_messages(struct generator *generator)
{
    for (size_t total = 0; total < DRAIN_MAX;) {
        int ready = 0;
        if (ioctl(generator->capture, FIONREAD, &ready) != 0 || ready <= 0) {
            return;
        }
        size_t wanted =
            (size_t)ready < sizeof generator->read_buffer ? (size_t)ready : sizeof generator->read_buffer;
        ssize_t got = read(generator->capture, generator->read_buffer, wanted);
        if (got <= 0) {
            return;
        }
        keep_tail(generator, generator->read_buffer, (size_t)got);
        total += (size_t)got;
    }
}

/* strsignal allocates for signals it doesn't know. */
static const char *signal_text(int number)
{
    const char *text = sigdescr_np(number);
    return text != NULL ? text : "unknown";
}

static void describe(struct generator *generator)
{
    const char *program = generator->request.command[0];
    size_t tail_bytes = generator->tail_bytes;
    while (tail_bytes > 0 && generator->tail[tail_bytes - 1] == ' ') {
        --tail_bytes;
    }
    const char *before = tail_bytes > 0 ? "; it printed: " : ", and printed nothing";
    if (generator->status_code == CLD_EXITED && generator->status == 0) {
        generator->code = ERROR_NONE;
    } else if (generator->status_code == CLD_EXITED) {
        generator->code = error_set(
            &generator->error, ERROR_INPUT, "%s: witness command %s ended with exit code %d%s%.*s",
            generator->request.input, program, generator->status, before, (int)tail_bytes, generator->tail);
    } else if (generator->kill) {
        generator->code =
            error_set(&generator->error, ERROR_CANCELED, "%s: witness command %s was killed%s%.*s",
                      generator->request.input, program, before, (int)tail_bytes, generator->tail);
    } else {
        generator->code = error_set(&generator->error, ERROR_INPUT,
                                    "%s: witness command %s was ended by signal %d (%s)%s%.*s",
                                    generator->request.input, program, generator->status,
                                    signal_text(generator->status), before, (int)tail_bytes, generator->tail);
    }
}

static bool finish(struct generator *generator, struct loop *loop)
{
    drain_messages(generator);
    describe(generator);
    const struct loop_token discard = {LOOP_DISCARD, generator->slot, generator->sequence};
    loop_close_file(loop, discard, generator->capture);
    loop_close_file(loop, discard, generator->pidfd);
    generator->step = GENERATOR_IDLE;
    return true;
}

/* The process has ended: what it left running in its group ends, too. */
static void reap(struct generator *generator)
{
    siginfo_t info = {0};
    kill(-generator->pid, SIGKILL);
    int result = waitid(P_PIDFD, (id_t)generator->pidfd, &info, WEXITED | WNOHANG);
    CHECK(result == 0 && info.si_pid == generator->pid);
    generator->status = info.si_status;
    generator->status_code = info.si_code;
    generator->step = GENERATOR_ENDED;
}

bool generator_complete(struct generator *generator, struct loop *loop,
                        const struct loop_completion *completion)
{
    CHECK(completion->token.generation == generator->sequence && generator->step >= GENERATOR_RUNNING);
    if (completion->token.kind == LOOP_CHILD) {
        CHECK(generator->step == GENERATOR_RUNNING);
        if (completion->result < 0) {
            loop_poll(loop, token(generator, LOOP_CHILD), generator->pidfd, false);
            return false;
        }
        reap(generator);
        if (generator->reading) {
            loop_cancel(loop, token(generator, LOOP_CAPTURE));
            return false;
        }
        return finish(generator, loop);
    }
    CHECK(completion->token.kind == LOOP_CAPTURE && generator->reading);
    generator->reading = false;
    if (completion->result > 0) {
        keep_tail(generator, generator->read_buffer, (size_t)completion->result);
    }
    if (generator->step == GENERATOR_ENDED) {
        return finish(generator, loop);
    }
    if (completion->result > 0 || completion->result == -EINTR || completion->result == -EAGAIN) {
        read_messages(generator, loop);
    }
    return false;
}
