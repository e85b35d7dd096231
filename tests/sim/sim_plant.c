#include "tests/sim/sim_plant.h"

#include "coordinator/journal_file.h"
#include "coordinator/loop.h"
#include "coordinator/output.h"
#include "coordinator/slots.h"

#include <string.h>

/* Nobody includes these: the linker finds them by name. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static bool no_output_sync, no_folder_sync, lost_cancel, short_write, proven_again, lost_slab, early_journal,
    lost_close;

static const struct {
    const char *name;
    bool *planted;
} plants[] = {
    {"no-output-sync", &no_output_sync}, /* a proof is renamed before it is synced */
    {"no-folder-sync", &no_folder_sync}, /* the journal does not wait for the names */
    {"lost-cancel", &lost_cancel},       /* polls stay at the end */
    {"short-write", &short_write},       /* a write that did a part counts as whole */
    {"proven-again", &proven_again},     /* the journal is not looked at */
    {"lost-slab", &lost_slab},           /* buffers are not given back */
    {"early-journal", &early_journal},   /* the journal is written beside the folder's sync */
    {"lost-close", &lost_close},         /* a descriptor stays open */
};

bool sim_plant(const char *name)
{
    for (unsigned i = 0; name != NULL && i < sizeof plants / sizeof *plants; i++) {
        if (strcmp(plants[i].name, name) == 0) {
            return *plants[i].planted = true;
        }
    }
    return false;
}

const char *sim_plant_names(void)
{
    return "no-output-sync, no-folder-sync, lost-cancel, short-write, proven-again, lost-slab, "
           "early-journal, "
           "lost-close";
}

void __real_loop_fsync(struct loop *loop, struct loop_token token, int file, bool data_only);
void __wrap_loop_fsync(struct loop *loop, struct loop_token token, int file, bool data_only)
{
    bool folder = token.kind == LOOP_JOURNAL && !data_only;
    bool skipped = (no_output_sync && token.kind == LOOP_OUTPUT) || (no_folder_sync && folder);
    if (skipped) { /* something else that succeeds takes its place */
        loop_madvise(loop, token, NULL, 0, 0);
        return;
    }
    __real_loop_fsync(loop, token, file, data_only);
}

void __real_loop_cancel(struct loop *loop, struct loop_token token);
void __wrap_loop_cancel(struct loop *loop, struct loop_token token)
{
    if (!lost_cancel) {
        __real_loop_cancel(loop, token);
    }
}

void __real_loop_close_file(struct loop *loop, struct loop_token token, int file);
void __wrap_loop_close_file(struct loop *loop, struct loop_token token, int file)
{
    if (lost_close && token.kind == LOOP_OUTPUT) {
        loop_madvise(loop, token, NULL, 0, 0);
        return;
    }
    __real_loop_close_file(loop, token, file);
}

bool __real_output_complete(struct output *output, struct loop *loop,
                            const struct loop_completion *completion, struct error *error);
bool __wrap_output_complete(struct output *output, struct loop *loop,
                            const struct loop_completion *completion, struct error *error)
{
    struct loop_completion told = *completion;
    const struct output_file *file = &output->files[completion->token.slot % OUTPUT_TOKENS / 4];
    if (short_write && output->step == OUTPUT_WRITE && completion->token.slot % 4 == 0 && told.result > 0) {
        told.result = (int)(file->length - file->written);
    }
    return __real_output_complete(output, loop, &told, error);
}

bool __real_journal_file_is_done(const struct journal_file *journal, const char *job, const char *stem,
                                 const struct journal_file_identity *identity);
bool __wrap_journal_file_is_done(const struct journal_file *journal, const char *job, const char *stem,
                                 const struct journal_file_identity *identity)
{
    return !proven_again && __real_journal_file_is_done(journal, job, stem, identity);
}

void __real_slots_release(struct slots *slots, struct slot *slot);
void __wrap_slots_release(struct slots *slots, struct slot *slot)
{
    if (lost_slab && slot->number == 1) {
        slot->slab = POOL_NONE;
        slot->buffers = NULL;
        return;
    }
    __real_slots_release(slots, slot);
}

void __real_journal_file_append(struct journal_file *journal, struct loop *loop,
                                struct journal_file_entry *entry);
void __wrap_journal_file_append(struct journal_file *journal, struct loop *loop,
                                struct journal_file_entry *entry)
{
    static uint8_t record[JOURNAL_CODEC_RECORD_MAX];
    static uint32_t generation;
    if (early_journal) { /* what counts is that the bytes are there before the names are safe */
        memcpy(record, entry->record, entry->length);
        loop_write(loop, (struct loop_token){LOOP_DISCARD, 0, ++generation}, journal->file, record,
                   (unsigned)entry->length, journal->size, 0);
    }
    __real_journal_file_append(journal, loop, entry);
}
