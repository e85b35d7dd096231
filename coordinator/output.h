/* output.h - puts a proof's files in place, whole or not at all.
 *
 * A struct output belongs to its slot. output_start begins: each file is written under a temporary name
 * (".NAME.tmp" in the same folder) and synced; when all are, they are renamed over their final names in the
 * order given, last the one whose presence means that the partition is done. The folder is not synced here:
 * the journal does that for many at once, before it records them (journal_file.h). Every completion of kind
 * LOOP_OUTPUT for the slot goes to output_complete. On failure the temporary files are removed, and so are
 * files that had their final name already.
 *
 * Tokens: slot * OUTPUT_TOKENS + a number below OUTPUT_TOKENS. The coordinator's thread only. */
#ifndef COORDINATOR_OUTPUT_H
#define COORDINATOR_OUTPUT_H

#include "conf/error.h"
#include "coordinator/loop.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OUTPUT_FILES = 2, OUTPUT_TOKENS = 8, OUTPUT_NAME_BYTES = NAME_MAX + 1 };

enum output_step { OUTPUT_IDLE, OUTPUT_OPEN, OUTPUT_WRITE, OUTPUT_RENAME, OUTPUT_CLEAN };

struct output_file {
    char final[OUTPUT_NAME_BYTES];
    char temporary[OUTPUT_NAME_BYTES];
    const void *text;
    size_t length;
    size_t written;
    int file;
    bool synced, renamed;
};

struct output {
    enum output_step step;
    uint32_t slot;
    uint32_t sequence;
    int folder;
    const char *folder_name;
    unsigned pending; /* operations in flight */
    unsigned files_count;
    struct output_file files[OUTPUT_FILES];
    enum error_code code;
};

/* ".STEM" + suffix + ".tmp" fits into a file name. */
bool output_name_fits(const char *stem, const char *suffix);

/* Names file number `index`: STEM followed by suffix. text must stay until the operation has ended. */
void output_file_set(struct output *output, unsigned index, const char *stem, const char *suffix,
                     const void *text, size_t length);

/* Begins with files_count files, set before; folder is open, its name is for messages. */
void output_start(struct output *output, struct loop *loop, uint32_t slot, int folder,
                  const char *folder_name, unsigned files_count);

/* True when the operation has ended: output->code says how, *error why not. */
bool output_complete(struct output *output, struct loop *loop, const struct loop_completion *completion,
                     struct error *error);

/* Whether a file of that name is a temporary one of ours, left by a run that was killed. */
bool output_is_leftover(const char *name);

#endif
