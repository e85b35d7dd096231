#include "coordinator/journal_file.h"

#include "conf/check.h"
#include "coordinator/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { SUB_FOLDER, SUB_WRITE, SUB_SYNC };
enum { JOURNAL_BYTES_MAX = INT_MAX };

size_t journal_file_arena_bytes(void)
{
    return arena_bytes_for(JOURNAL_FILE_BATCH, JOURNAL_CODEC_RECORD_MAX);
}

/* ---- opening ---- */

static bool is_forbidden(int result)
{
    return result == -EACCES || result == -EROFS;
}

/* Makes the names in a folder durable. Some file systems refuse to, and some folders cannot be opened that
 * another program has made. */
static int sync_names(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = folder < 0 || fsync(folder) != 0 ? -errno : 0;
    if (folder >= 0) {
        close(folder);
    }
    return result == -EINVAL || is_forbidden(result) ? 0 : result;
}

/* Creates one folder if it is missing. Its name is made durable in any case, also where it may not be created
 * but is there: a run that was killed, or failed, may have created it and not come to that. */
static int make_folder(const char *path)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    int made = mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : -errno;
    memcpy(parent, path, length);
    parent[length] = 0;
    int synced = made == 0 || is_forbidden(made) ? sync_names(length == 0 ? "." : parent) : 0;
    return synced != 0 ? synced : made;
}

static int make_folders(const char *name)
{
    char path[PATH_MAX];
    size_t length = strlen(name);
    if (length == 0 || length >= sizeof path) {
        return -ENAMETOOLONG;
    }
    memcpy(path, name, length + 1);
    int result = 0;
    for (size_t i = 1; i < length; ++i) {
        if (path[i] == '/' && path[i - 1] != '/') {
            path[i] = 0;
            result = make_folder(path);
            path[i] = '/';
            if (result != 0 && !is_forbidden(result)) { /* else it may be there all the same */
                return result;
            }
        }
    }
    return make_folder(path);
}

static void refuse(struct journal_file *journal, int code, const char *what)
{
    journal->code = error_set_errno(&journal->reason, code, "%s%s", journal->name, what);
}

/* Reads the whole journal. Sizes are small: some 150 bytes a partition. */
static bool read_all(struct journal_file *journal, size_t size)
{
    journal->replay = malloc(size + 1);
    size_t got = 0;
    while (journal->replay != NULL && got < size) {
        ssize_t bytes = pread(journal->file, journal->replay + got, size - got, (off_t)got);
        if (bytes < 0 && errno != EINTR) {
            refuse(journal, errno, "/" JOURNAL_FILE_NAME ": reading");
            return false;
        }
        if (bytes == 0) {
            break;
        }
        got += bytes > 0 ? (size_t)bytes : 0;
    }
    if (journal->replay == NULL || got < size) {
        refuse(journal, journal->replay == NULL ? ENOMEM : EIO, "/" JOURNAL_FILE_NAME ": reading");
        return false;
    }
    return true;
}

static uint64_t name_hash(const char *job, size_t job_length, const char *stem, size_t stem_length)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < job_length; ++i) {
        hash = (hash ^ (unsigned char)job[i]) * 1099511628211u;
    }
    hash = (hash ^ '/') * 1099511628211u;
    for (size_t i = 0; i < stem_length; ++i) {
        hash = (hash ^ (unsigned char)stem[i]) * 1099511628211u;
    }
    return hash;
}

/* Reads the record at an offset that the replay has seen to be good. */
static void record_at(const struct journal_file *journal, size_t offset, struct journal_codec_done *done)
{
    struct journal_codec_reader reader = {.bytes = journal->replay, .size = journal->size, .valid = offset};
    enum journal_codec_status status = journal_codec_next(&reader, done);
    CHECK(status == JOURNAL_CODEC_RECORD);
}

static bool same_name(const struct journal_codec_done *done, const char *job, size_t job_length,
                      const char *stem, size_t stem_length)
{
    return done->job_length == job_length && done->stem_length == stem_length &&
           memcmp(done->job, job, job_length) == 0 && memcmp(done->stem, stem, stem_length) == 0;
}

/* The place in the table for a name: that of its record, or an empty one. Offsets are never 0: the header is
 * there. */
static size_t *find_place(const struct journal_file *journal, const char *job, size_t job_length,
                          const char *stem, size_t stem_length)
{
    size_t at = name_hash(job, job_length, stem, stem_length) & (journal->table_slots - 1);
    while (journal->table[at] != 0) {
        struct journal_codec_done done;
        record_at(journal, journal->table[at], &done);
        if (same_name(&done, job, job_length, stem, stem_length)) {
            break;
        }
        at = (at + 1) & (journal->table_slots - 1);
    }
    return &journal->table[at];
}

/* Counts the records and finds the end of what is good; then enters each under its name, the last of a name
 * winning. */
static bool replay(struct journal_file *journal, size_t size)
{
    struct journal_codec_reader reader;
    struct journal_codec_done done;
    enum journal_codec_status status = journal_codec_open(&reader, journal->replay, size);
    if (status == JOURNAL_CODEC_FOREIGN || status == JOURNAL_CODEC_VERSIONED) {
        journal->code =
            error_set(&journal->reason, ERROR_INPUT,
                      status == JOURNAL_CODEC_FOREIGN
                          ? "%s/" JOURNAL_FILE_NAME ": not a journal of uzk; move it away to start afresh"
                          : "%s/" JOURNAL_FILE_NAME
                            ": a journal of another version of uzk; move it away to start afresh",
                      journal->name);
        return false;
    }
    size_t start = reader.valid;
    while (status == JOURNAL_CODEC_RECORD &&
           (status = journal_codec_next(&reader, &done)) == JOURNAL_CODEC_RECORD) {
        ++journal->records;
    }
    journal->torn = status == JOURNAL_CODEC_TORN;
    journal->size = reader.valid;
    journal->table_slots = 16;
    while (journal->table_slots < 2 * (size_t)journal->records) {
        journal->table_slots *= 2;
    }
    journal->table = calloc(journal->table_slots, sizeof *journal->table);
    if (journal->table == NULL) {
        refuse(journal, ENOMEM, "/" JOURNAL_FILE_NAME ": replaying");
        return false;
    }
    reader.valid = start;
    for (uint32_t i = 0; i < journal->records; ++i) {
        size_t offset = reader.valid;
        status = journal_codec_next(&reader, &done);
        CHECK(status == JOURNAL_CODEC_RECORD);
        *find_place(journal, done.job, done.job_length, done.stem, done.stem_length) = offset;
    }
    return true;
}

/* Cuts off what is torn; a new journal gets its header. */
static bool make_valid(struct journal_file *journal, size_t size)
{
    uint8_t header[JOURNAL_CODEC_HEADER_BYTES];
    if (journal->size < size && ftruncate(journal->file, (off_t)journal->size) != 0) {
        refuse(journal, errno, "/" JOURNAL_FILE_NAME ": cutting off its torn end");
        return false;
    }
    if (journal->size == 0) {
        journal_codec_header(header);
        ssize_t written = pwrite(journal->file, header, sizeof header, 0);
        if (written != sizeof header) {
            refuse(journal, written < 0 ? errno : ENOSPC, "/" JOURNAL_FILE_NAME ": writing");
            return false;
        }
        journal->size = sizeof header;
    }
    if (fsync(journal->file) != 0 || (fsync(journal->folder) != 0 && errno != EINVAL)) {
        refuse(journal, errno, "/" JOURNAL_FILE_NAME ": syncing");
        return false;
    }
    return true;
}

static void remove_leftovers(struct journal_file *journal)
{
    int copy = openat(journal->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    if (folder == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return; /* what is left is overwritten or stays: never taken for a result */
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (output_is_leftover(entry->d_name) && unlinkat(journal->folder, entry->d_name, 0) == 0) {
            ++journal->leftovers;
        }
    }
    closedir(folder);
}

static enum error_code open_locked(struct journal_file *journal, struct error *error)
{
    struct stat status;
    journal->file = openat(journal->folder, JOURNAL_FILE_NAME,
                           O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (journal->file < 0 || fstat(journal->file, &status) != 0) {
        refuse(journal, errno, "/" JOURNAL_FILE_NAME ": opening");
        return ERROR_NONE;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > JOURNAL_BYTES_MAX) {
        journal->code = error_set(&journal->reason, ERROR_INPUT,
                                  "%s/" JOURNAL_FILE_NAME ": not a journal of uzk", journal->name);
        return ERROR_NONE;
    }
    if (flock(journal->file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return error_set(error, ERROR_SYSTEM,
                             "%s: another uzk run is writing to this folder (it holds " JOURNAL_FILE_NAME
                             " locked); wait for it or choose another output",
                             journal->name);
        }
        refuse(journal, errno, "/" JOURNAL_FILE_NAME ": locking");
        return ERROR_NONE;
    }
    if (fstat(journal->file, &status) != 0) { /* again: the size as it is under the lock */
        refuse(journal, errno, "/" JOURNAL_FILE_NAME ": opening");
        return ERROR_NONE;
    }
    size_t size = (size_t)status.st_size;
    if (read_all(journal, size) && replay(journal, size) && make_valid(journal, size)) {
        remove_leftovers(journal);
    }
    return ERROR_NONE;
}

enum error_code journal_file_open(struct journal_file *journal, const char *name, uint32_t number,
                                  struct arena *arena, struct error *error)
{
    struct stat status;
    memset(journal, 0, sizeof *journal);
    journal->name = name;
    journal->number = number;
    journal->folder = journal->file = -1;
    journal->batch = arena_take(arena, JOURNAL_FILE_BATCH, JOURNAL_CODEC_RECORD_MAX);
    int made = make_folders(name);
    if (made != 0) {
        refuse(journal, -made, ": creating the output folder");
        return ERROR_NONE;
    }
    journal->folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (journal->folder < 0 || fstat(journal->folder, &status) != 0) {
        refuse(journal, errno, ": opening the output folder");
        return ERROR_NONE;
    }
    journal->device = status.st_dev;
    journal->inode = status.st_ino;
    enum error_code code = open_locked(journal, error);
    if (code != ERROR_NONE) {
        journal_file_close(journal);
    }
    return code;
}

void journal_file_replay_end(struct journal_file *journal)
{
    free(journal->replay);
    free(journal->table);
    journal->replay = NULL;
    journal->table = NULL;
}

void journal_file_close(struct journal_file *journal)
{
    CHECK(journal->pending == 0 && journal->waiting.first == NULL);
    journal_file_replay_end(journal);
    if (journal->file >= 0) {
        close(journal->file); /* and with it the lock goes */
    }
    if (journal->folder >= 0) {
        close(journal->folder);
    }
    journal->file = journal->folder = -1;
}

/* ---- resuming ---- */

static bool file_is(const struct journal_file *journal, const char *stem, const char *suffix, uint64_t size,
                    uint32_t crc)
{
    char name[OUTPUT_NAME_BYTES];
    unsigned char bytes[4096];
    struct stat status;
    if (!output_name_fits(stem, suffix)) {
        return false;
    }
    snprintf(name, sizeof name, "%s%s", stem, suffix);
    int file = openat(journal->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    bool same = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size == size;
    uint32_t found = 0;
    for (uint64_t got = 0; same && got < size;) {
        ssize_t part = read(file, bytes, sizeof bytes);
        same = part > 0;
        found = same ? journal_codec_crc(found, bytes, (size_t)part) : 0;
        got += same ? (uint64_t)part : 0;
    }
    close(file);
    return same && found == crc;
}

bool journal_file_is_done(const struct journal_file *journal, const char *job, const char *stem,
                          const struct journal_file_identity *identity)
{
    struct journal_codec_done done;
    if (journal->code != ERROR_NONE || journal->table == NULL) {
        return false;
    }
    size_t offset = *find_place(journal, job, strlen(job), stem, strlen(stem));
    if (offset == 0) {
        return false;
    }
    record_at(journal, offset, &done);
    return done.input_size == identity->input_size && done.input_mtime_ns == identity->input_mtime_ns &&
           done.key_size == identity->key_size && done.key_mtime_ns == identity->key_mtime_ns &&
           file_is(journal, stem, ".proof.json", done.proof_size, done.proof_crc) &&
           file_is(journal, stem, ".public.json", done.public_size, done.public_crc);
}

/* ---- appending ---- */

static struct loop_token token(const struct journal_file *journal, unsigned sub)
{
    return (struct loop_token){LOOP_JOURNAL, journal->number * JOURNAL_FILE_TOKENS + sub, journal->sequence};
}

static void list_push(struct journal_file_list *list, struct journal_file_entry *entry)
{
    entry->next = NULL;
    if (list->last != NULL) {
        list->last->next = entry;
    } else {
        list->first = entry;
    }
    list->last = entry;
}

static struct journal_file_entry *list_pop(struct journal_file_list *list)
{
    struct journal_file_entry *entry = list->first;
    list->first = entry->next;
    list->last = list->first == NULL ? NULL : list->last;
    return entry;
}

/* The next part of a batch. The folder comes by itself: a sync that fails does not break a chain, a write
 * does. */
static void submit(struct journal_file *journal, struct loop *loop)
{
    if (!journal->folder_synced) {
        loop_fsync(loop, token(journal, SUB_FOLDER), journal->folder, false);
        journal->pending = 1;
        return;
    }
    journal->pending = 1;
    if (journal->batch_written < journal->batch_bytes) { /* else only the sync was interrupted */
        loop_reserve(loop, 2);
        loop_write(loop, token(journal, SUB_WRITE), journal->file, journal->batch + journal->batch_written,
                   (unsigned)(journal->batch_bytes - journal->batch_written),
                   journal->size + journal->batch_written, LOOP_LINK);
        journal->pending = 2;
    }
    loop_fsync(loop, token(journal, SUB_SYNC), journal->file, true);
}

static void start_batch(struct journal_file *journal, struct loop *loop)
{
    CHECK(journal->pending == 0 && journal->writing.first == NULL);
    journal->batch_bytes = journal->batch_written = 0;
    journal->folder_synced = journal->file_synced = false;
    ++journal->sequence;
    for (unsigned i = 0; i < JOURNAL_FILE_BATCH && journal->waiting.first != NULL; ++i) {
        struct journal_file_entry *entry = list_pop(&journal->waiting);
        memcpy(journal->batch + journal->batch_bytes, entry->record, entry->length);
        journal->batch_bytes += entry->length;
        list_push(&journal->writing, entry);
    }
    submit(journal, loop);
}

void journal_file_append(struct journal_file *journal, struct loop *loop, struct journal_file_entry *entry)
{
    CHECK(journal->code == ERROR_NONE && entry->length > 0 && entry->length <= sizeof entry->record);
    list_push(&journal->waiting, entry);
    if (journal->writing.first == NULL) {
        start_batch(journal, loop);
    }
}

static void fail(struct journal_file *journal, int result, const char *what)
{
    if (journal->reason.code == ERROR_NONE) {
        error_set_errno(&journal->reason, -result, "%s%s", journal->name, what);
    }
}

static void after(struct journal_file *journal, unsigned sub, int result)
{
    bool repeat = result == -ECANCELED || result == -EINTR || result == -EAGAIN;
    if (sub == SUB_FOLDER) {
        journal->folder_synced =
            result >= 0 || result == -EINVAL; /* a file system that cannot sync folders */
        if (!journal->folder_synced && !repeat) {
            fail(journal, result, ": syncing the output folder");
        }
    } else if (sub == SUB_WRITE) {
        CHECK(result <= (int)(journal->batch_bytes - journal->batch_written));
        journal->batch_written += result > 0 ? (size_t)result : 0;
        if ((result < 0 && !repeat) || result == 0) {
            fail(journal, result == 0 ? -ENOSPC : result, "/" JOURNAL_FILE_NAME ": writing");
        }
    } else {
        journal->file_synced = result >= 0;
        if (result < 0 && !repeat) { /* what the disk holds is unknown from now on */
            fail(journal, result, "/" JOURNAL_FILE_NAME ": syncing");
            journal->code = ERROR_SYSTEM;
        }
    }
}

struct journal_file_entry *journal_file_complete(struct journal_file *journal, struct loop *loop,
                                                 const struct loop_completion *completion,
                                                 enum error_code *code, struct error *error)
{
    CHECK(completion->token.generation == journal->sequence && journal->pending > 0);
    CHECK(completion->token.slot / JOURNAL_FILE_TOKENS == journal->number);
    after(journal, completion->token.slot % JOURNAL_FILE_TOKENS, completion->result);
    if (--journal->pending > 0) {
        return NULL;
    }
    bool failed = journal->reason.code != ERROR_NONE;
    if (!failed &&
        !(journal->folder_synced && journal->file_synced && journal->batch_written == journal->batch_bytes)) {
        journal->file_synced = false;
        submit(journal, loop);
        return NULL;
    }
    *code = failed ? ERROR_SYSTEM : ERROR_NONE;
    if (failed) {
        *error = journal->reason;
        if (journal->code == ERROR_NONE) {
            journal->reason.code = ERROR_NONE; /* a full disk may have room again for the next batch */
        }
    } else {
        journal->size += journal->batch_bytes;
    }
    struct journal_file_entry *ended = journal->writing.first;
    if (journal->code != ERROR_NONE &&
        journal->waiting.first != NULL) { /* those that wait have failed as well */
        journal->writing.last->next = journal->waiting.first;
        journal->waiting = (struct journal_file_list){NULL, NULL};
    }
    journal->writing = (struct journal_file_list){NULL, NULL};
    if (journal->waiting.first != NULL) {
        start_batch(journal, loop);
    }
    return ended;
}
