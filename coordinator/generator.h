/* generator.h - runs a witness command for one partition, as a child process that can be killed with all it
 * started.
 *
 * The command is executed without a shell, in a process group of its own, with /dev/null as input; what it
 * prints is read through the ring and its end is kept for the error message. Its witness goes to a private
 * folder (.uzk.witnesses, mode 0700) within the output folder.
 *
 * A struct generator belongs to its slot. generator_start posts the spawning, which is slow, to the crew;
 * when that task comes back the coordinator calls generator_spawned; completions of kinds LOOP_CHILD and
 * LOOP_CAPTURE for the slot go to generator_complete. The end of the process is learned from its pidfd. The
 * coordinator's thread only, but for the spawning itself. */
#ifndef COORDINATOR_GENERATOR_H
#define COORDINATOR_GENERATOR_H

#include "conf/error.h"
#include "coordinator/loop.h"
#include "coordinator/worker.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GENERATOR_TAIL_BYTES = 256, GENERATOR_READ_BYTES = 4096 };

enum generator_step { GENERATOR_IDLE, GENERATOR_SPAWNING, GENERATOR_RUNNING, GENERATOR_ENDED };

struct generator_request {
    char *const *command; /* NULL-terminated; {input} and {witness} are replaced wherever they stand */
    const char *input;
    const char *folder; /* of witnesses, absolute */
    const char *stem;
};

struct generator {
    struct generator_request request;
    enum generator_step step;
    uint32_t slot;
    uint32_t sequence;
    char witness[PATH_MAX]; /* path of the witness that the command makes */
    bool kill;              /* asked for */

    /* The spawning thread's while step is GENERATOR_SPAWNING. */
    pid_t pid;
    int pidfd;
    int capture;
    uint64_t input_size;
    int64_t input_mtime_ns;
    enum error_code code;
    struct error error;

    bool reading; /* a read of its messages is in flight */
    int status;   /* as waitid has it */
    int status_code;
    size_t tail_bytes;
    char tail[GENERATOR_TAIL_BYTES]; /* the last bytes it printed */
    char read_buffer[GENERATOR_READ_BYTES];
};

/* Whether the path of a witness in that folder fits. */
bool generator_path_fits(const char *folder, const char *stem);

/* kind: what the task carries through the crew; it comes back with the slot as index. */
void generator_start(struct generator *generator, struct crew *crew, uint32_t kind, uint32_t slot,
                     const struct generator_request *request);

/* The spawning task is back. True if the operation has ended with it: generator->code and generator->error
 * say how. */
bool generator_spawned(struct generator *generator, struct loop *loop);

/* True when the operation has ended, as above. A process that was killed on request counts as failed. */
bool generator_complete(struct generator *generator, struct loop *loop,
                        const struct loop_completion *completion);

/* Kills the process and all it started, now or as soon as it exists; the operation still ends in its own
 * time. */
void generator_kill(struct generator *generator);

/* Makes and empties the folder for witnesses in an open output folder and opens it; -errno if that is
 * refused. Blocks: for the time before and after the loop. */
int generator_folder_open(int output);

/* Removes it with what is in it. */
void generator_folder_remove(int output, int folder);

#endif
