/* input.h - reads one witness file through the ring into a buffer.
 *
 * A struct input belongs to its slot. input_start begins: statx, then open, then reads until the size that
 * statx told is there. Every completion of kind LOOP_INPUT for the slot goes to input_complete, which says
 * when the operation has ended; until then path and bytes must stay. Only plain files are read, always
 * read-only. A file made for one use (by a witness command) is removed from its folder as soon as it is open.
 * The coordinator's thread only. */
#ifndef COORDINATOR_INPUT_H
#define COORDINATOR_INPUT_H

#include "conf/error.h"
#include "coordinator/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum input_step { INPUT_IDLE, INPUT_STATX, INPUT_OPEN, INPUT_REMOVE, INPUT_READ, INPUT_CLOSE };

struct input_request {
    int folder; /* AT_FDCWD or an open folder that path is relative to */
    const char *path;
    const char *name; /* for messages */
    uint8_t *bytes;
    size_t capacity;
    size_t expected; /* size of a usual file, for messages; at most capacity */
    bool remove;
};

struct input {
    struct input_request request;
    enum input_step step;
    uint32_t slot;
    uint32_t sequence;
    int file;
    struct statx statx;
    size_t size, got;
    int64_t mtime_ns;
    enum error_code code;
};

/* For slot number `slot`, nothing being under way for it. */
void input_start(struct input *input, struct loop *loop, uint32_t slot, const struct input_request *request);

/* True when the operation has ended: with input->code ERROR_NONE size and mtime_ns are the file's and its
 * bytes are there, else *error says why not. */
bool input_complete(struct input *input, struct loop *loop, const struct loop_completion *completion,
                    struct error *error);

#endif
