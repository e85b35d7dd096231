/* journal_file.h - an output folder and the journal in it: what is durably done, and who may write there.
 *
 * A struct journal_file owns one folder (created with its parents if need be), the file .uzk.journal in it,
 * and a lock on that file, so that no two runs write to one folder. Opening replays the journal: a torn tail
 * is cut off, temporary files that a killed run left are removed, and journal_file_is_done then tells of each
 * partition whether an earlier run finished it. These functions block and allocate; they belong to the time
 * before the loop starts.
 *
 * In the loop, journal_file_append takes records one at a time and writes them in batches: while one batch is
 * on its way to the disk the next one gathers. A batch is the folder synced (which makes the renames of
 * output.h durable), the records written, the file synced, in this order. So a record never says more than
 * the disk holds. The entries belong to the caller and must stay until they come back. The coordinator's
 * thread only.
 *
 * Tokens: folder number * JOURNAL_FILE_TOKENS + a number below JOURNAL_FILE_TOKENS, kind LOOP_JOURNAL. */
#ifndef COORDINATOR_JOURNAL_FILE_H
#define COORDINATOR_JOURNAL_FILE_H

#include "alloc/arena.h"
#include "conf/error.h"
#include "coordinator/journal_codec.h"
#include "coordinator/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { JOURNAL_FILE_TOKENS = 4, JOURNAL_FILE_BATCH = 64 };
#define JOURNAL_FILE_NAME ".uzk.journal"

struct journal_file_entry {
    struct journal_file_entry *next;
    uint32_t slot; /* the caller's */
    size_t length;
    uint8_t record[JOURNAL_CODEC_RECORD_MAX];
};

struct journal_file_list {
    struct journal_file_entry *first, *last;
};

struct journal_file {
    const char *name; /* of the folder, as configured */
    uint32_t number;
    int folder; /* open, -1 if it cannot be used */
    int file;
    dev_t device; /* identity of the folder */
    ino_t inode;
    enum error_code code; /* not ERROR_NONE: nothing can be written there, and reason says why */
    struct error reason;
    uint64_t size;      /* of what is valid in the file */
    bool torn;          /* a tail was cut off when it was opened */
    uint32_t leftovers; /* temporary files removed when it was opened */

    uint8_t *replay; /* the file's bytes while it is being replayed, and a hash table of its records */
    size_t *table;
    size_t table_slots;
    uint32_t records;

    uint8_t *batch;
    size_t batch_bytes, batch_written;
    uint32_t sequence;
    unsigned pending;
    bool folder_synced, file_synced;
    struct journal_file_list waiting, writing;
};

/* What an earlier run must have seen for its result to count. */
struct journal_file_identity {
    uint64_t input_size, key_size;
    int64_t input_mtime_ns, key_mtime_ns;
};

/* Takes its batch buffer from the arena. */
size_t journal_file_arena_bytes(void);

/* Opens the folder, or sets journal->code and journal->reason if that is refused. ERROR_SYSTEM only if
 * another run holds it: then nothing may run. The name must outlive the journal. */
enum error_code ERROR_MUST_USE journal_file_open(struct journal_file *journal, const char *name,
                                                 uint32_t number, struct arena *arena, struct error *error);

/* Whether the journal has this partition with the same input and key, and its two files are as recorded.
 * Reads both. */
bool journal_file_is_done(const struct journal_file *journal, const char *job, const char *stem,
                          const struct journal_file_identity *identity);

/* Frees what journal_file_is_done needs. */
void journal_file_replay_end(struct journal_file *journal);

void journal_file_close(struct journal_file *journal);

/* Queues one record for the batch that starts next. */
void journal_file_append(struct journal_file *journal, struct loop *loop, struct journal_file_entry *entry);

/* Every completion of kind LOOP_JOURNAL for the folder. Returns the list of entries that have ended, NULL
 * while they are on their way; *code says how, *error why not. */
struct journal_file_entry *journal_file_complete(struct journal_file *journal, struct loop *loop,
                                                 const struct loop_completion *completion,
                                                 enum error_code *code, struct error *error);

#endif
