#include "coordinator/output.h"

#include "conf/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Which operation of a file completed: the low bits of its token. */
enum { SUB_MAIN, SUB_SYNC, SUB_CLOSE, SUB_CLEAN, SUBS };
_Static_assert(SUBS *OUTPUT_FILES <= OUTPUT_TOKENS, "tokens");

static const char *const suffixes[] = {".proof.json.tmp", ".public.json.tmp", ".simulated.json.tmp",
                                       ".bundle.json.tmp"};

bool output_is_leftover(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; name[0] == '.' && i < sizeof suffixes / sizeof *suffixes; ++i) {
        size_t suffix = strlen(suffixes[i]);
        if (length > suffix + 1 && strcmp(name + length - suffix, suffixes[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool output_name_fits(const char *stem, const char *suffix)
{
    return strlen(stem) + strlen(suffix) + strlen("..tmp") < OUTPUT_NAME_BYTES;
}

static struct loop_token token(const struct output *output, unsigned file, unsigned sub)
{
    return (struct loop_token){LOOP_OUTPUT, output->slot * OUTPUT_TOKENS + file * SUBS + sub,
                               output->sequence};
}

void output_file_set(struct output *output, unsigned index, const char *stem, const char *suffix,
                     const void *text, size_t length)
{
    CHECK(output->step == OUTPUT_IDLE && index < OUTPUT_FILES && output_name_fits(stem, suffix));
    struct output_file *file = &output->files[index];
    int length_final = snprintf(file->final, sizeof file->final, "%s%s", stem, suffix);
    int length_temporary = snprintf(file->temporary, sizeof file->temporary, ".%s%s.tmp", stem, suffix);
    CHECK(length_final > 0 && length_temporary > length_final && length_temporary < OUTPUT_NAME_BYTES);
    file->text = text;
    file->length = length;
}

void output_start(struct output *output, struct loop *loop, uint32_t slot, int folder,
                  const char *folder_name, unsigned files_count)
{
    CHECK(output->step == OUTPUT_IDLE && files_count > 0 && files_count <= OUTPUT_FILES);
    output->slot = slot;
    output->folder = folder;
    output->folder_name = folder_name;
    output->files_count = files_count;
    output->code = ERROR_NONE;
    ++output->sequence;
    output->step = OUTPUT_OPEN;
    output->pending = files_count;
    for (unsigned i = 0; i < files_count; ++i) {
        struct output_file *file = &output->files[i];
        file->written = 0;
        file->file = -1;
        file->synced = file->renamed = false;
        loop_openat(loop, token(output, i, SUB_MAIN), folder, file->temporary,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    }
}

/* Remembers the first failure. */
static void fail(struct output *output, struct error *error, int result, const char *verb, const char *name)
{
    if (output->code == ERROR_NONE) {
        output->code = error_set_errno(error, -result, "%s/%s: %s", output->folder_name, name, verb);
    }
}

static void write_rest(struct output *output, struct loop *loop, unsigned index)
{
    struct output_file *file = &output->files[index];
    CHECK(file->length - file->written <= 1u << 30);
    loop_reserve(loop, 2);
    loop_write(loop, token(output, index, SUB_MAIN), file->file, (const char *)file->text + file->written,
               (unsigned)(file->length - file->written), file->written, LOOP_LINK);
    loop_fsync(loop, token(output, index, SUB_SYNC), file->file, false);
    output->pending += 2;
}

/* One after the other and not linked: a rename that fails does not break a chain. */
static void rename_next(struct output *output, struct loop *loop)
{
    unsigned index = output->files[0].renamed ? 1 : 0;
    struct output_file *file = &output->files[index];
    output->step = OUTPUT_RENAME;
    loop_rename(loop, token(output, index, SUB_MAIN), output->folder, file->temporary, file->final);
    ++output->pending;
}

static void close_all(struct output *output, struct loop *loop)
{
    for (unsigned i = 0; i < output->files_count; ++i) {
        struct output_file *file = &output->files[i];
        if (file->file >= 0) {
            loop_close_file(loop, token(output, i, SUB_CLOSE), file->file);
            file->file = -1;
            ++output->pending;
        }
    }
}

static void clean(struct output *output, struct loop *loop)
{
    output->step = OUTPUT_CLEAN;
    close_all(output, loop);
    for (unsigned i = 0; i < output->files_count; ++i) {
        struct output_file *file = &output->files[i];
        loop_unlink(loop, token(output, i, SUB_CLEAN), output->folder,
                    file->renamed ? file->final : file->temporary);
        ++output->pending;
    }
}

/* How many files, counted from the first, are synced, or renamed. */
static unsigned count_synced(const struct output *output)
{
    unsigned count = 0;
    while (count < output->files_count && output->files[count].synced) {
        ++count;
    }
    return count;
}

static unsigned count_renamed(const struct output *output)
{
    unsigned count = 0;
    while (count < output->files_count && output->files[count].renamed) {
        ++count;
    }
    return count;
}

/* What comes after all operations of a step have completed; true if that is nothing. */
static bool advance(struct output *output, struct loop *loop)
{
    if (output->step == OUTPUT_CLEAN || count_renamed(output) == output->files_count) {
        output->step = OUTPUT_IDLE;
        return true;
    }
    if (output->code != ERROR_NONE) {
        clean(output, loop);
    } else if (count_synced(output) == output->files_count) {
        close_all(output, loop);
        rename_next(output, loop);
    } else {
        output->step = OUTPUT_WRITE;
        for (unsigned i = 0; i < output->files_count; ++i) {
            if (!output->files[i].synced) {
                write_rest(output, loop, i);
            }
        }
    }
    return false;
}

static void after_write(struct output *output, unsigned index, unsigned sub, int result, struct error *error)
{
    struct output_file *file = &output->files[index];
    bool interrupted = result == -ECANCELED || result == -EINTR || result == -EAGAIN;
    if (result < 0) {
        if (!interrupted) {
            fail(output, error, result, sub == SUB_SYNC ? "syncing" : "writing", file->temporary);
        }
        return; /* canceled: the write before it was short, and the rest is written now */
    }
    if (sub == SUB_SYNC) {
        file->synced = file->written == file->length;
        return;
    }
    CHECK((size_t)result <= file->length - file->written);
    if (result == 0 && file->length > file->written) {
        fail(output, error, -ENOSPC, "writing", file->temporary);
    }
    file->written += (size_t)result;
}

static void after_rename(struct output *output, unsigned index, int result, struct error *error)
{
    struct output_file *file = &output->files[index];
    file->renamed = result >= 0;
    if (result < 0) {
        fail(output, error, result, "renaming to its final name", file->temporary);
    }
}

bool output_complete(struct output *output, struct loop *loop, const struct loop_completion *completion,
                     struct error *error)
{
    unsigned index = completion->token.slot % OUTPUT_TOKENS / SUBS;
    unsigned sub = completion->token.slot % SUBS;
    CHECK(completion->token.generation == output->sequence && output->step != OUTPUT_IDLE);
    CHECK(index < output->files_count && output->pending > 0);
    --output->pending;
    struct output_file *file = &output->files[index];
    if (sub == SUB_MAIN || sub == SUB_SYNC) {
        switch (output->step) {
        case OUTPUT_OPEN:
            file->file = completion->result >= 0 ? completion->result : -1;
            if (completion->result < 0) {
                fail(output, error, completion->result, "creating", file->temporary);
            }
            break;
        case OUTPUT_WRITE:
            after_write(output, index, sub, completion->result, error);
            break;
        default:
            CHECK(output->step == OUTPUT_RENAME);
            after_rename(output, index, completion->result, error);
        }
    }
    return output->pending == 0 && advance(output, loop);
}
