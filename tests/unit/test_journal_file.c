/* The journal of an output folder: what it holds survives, what is torn is cut, nobody else may write there.
 */
#include "tests/unit/shell_fixture.h"

#include "coordinator/journal_file.h"

static const struct journal_file_identity identity = {1000, 2000, 1700000000123456789, 1600000000987654321};

static void make_entry(struct journal_file_entry *entry, const char *job, const char *stem, const char *proof,
                       const char *public_text)
{
    const struct journal_codec_done done = {.job = job,
                                            .job_length = strlen(job),
                                            .stem = stem,
                                            .stem_length = strlen(stem),
                                            .input_size = identity.input_size,
                                            .input_mtime_ns = identity.input_mtime_ns,
                                            .key_size = identity.key_size,
                                            .key_mtime_ns = identity.key_mtime_ns,
                                            .proof_size = strlen(proof),
                                            .public_size = strlen(public_text),
                                            .proof_crc = journal_codec_crc(0, proof, strlen(proof)),
                                            .public_crc =
                                                journal_codec_crc(0, public_text, strlen(public_text))};
    entry->length = journal_codec_encode(entry->record, &done);
    assert_true(entry->length > 0);
}

struct desk {
    struct arena arena;
    struct journal_file journal;
};

static enum error_code desk_open(struct desk *desk, const char *folder, struct error *error)
{
    assert_int_equal(arena_open(&desk->arena, journal_file_arena_bytes(), error), ERROR_NONE);
    return journal_file_open(&desk->journal, folder, 4, &desk->arena, error);
}

static void desk_close(struct desk *desk)
{
    journal_file_close(&desk->journal);
    arena_close(&desk->arena);
}

static void desk_good(struct desk *desk, const char *folder)
{
    struct error error;
    if (desk_open(desk, folder, &error) != ERROR_NONE || desk->journal.code != ERROR_NONE) {
        fail_msg("%s", desk->journal.reason.text);
    }
}

enum { MANY = 150 }; /* more than two batches */

static const char *name_of(unsigned number)
{
    static char name[32];
    snprintf(name, sizeof name, "w-%03u", number);
    return name;
}

static void put_files(unsigned number)
{
    char name[64], text[64];
    snprintf(name, sizeof name, "new/deep/%s.proof.json", name_of(number));
    snprintf(text, sizeof text, "proof %u", number);
    shell_put(name, text, strlen(text));
    snprintf(name, sizeof name, "new/deep/%s.public.json", name_of(number));
    shell_put(name, "[]", 2);
}

static void append_many(struct desk *desk)
{
    static struct journal_file_entry entries[MANY];
    struct shell_ring ring;
    unsigned ended = 0;
    shell_ring_open(&ring);
    for (unsigned i = 0; i < MANY; ++i) {
        char text[64];
        snprintf(text, sizeof text, "proof %u", i);
        make_entry(&entries[i], "job", name_of(i), text, "[]");
        entries[i].slot = i;
        journal_file_append(&desk->journal, &ring.loop, &entries[i]);
    }
    while (ended < MANY) {
        struct error error;
        enum error_code code = ERROR_INPUT;
        struct loop_completion completion = shell_ring_next(&ring);
        assert_int_equal(completion.token.kind, LOOP_JOURNAL);
        assert_int_equal(completion.token.slot / JOURNAL_FILE_TOKENS, 4);
        struct journal_file_entry *entry =
            journal_file_complete(&desk->journal, &ring.loop, &completion, &code, &error);
        for (; entry != NULL; entry = entry->next) {
            assert_int_equal(code, ERROR_NONE);
            assert_int_equal(entry->slot, ended); /* in the order in which they came */
            ++ended;
        }
    }
    shell_ring_close(&ring);
}

static void records_survive(void **state)
{
    struct desk desk;
    (void)state;
    desk_good(&desk, shell_path("new/deep")); /* created with its parent */
    assert_int_equal(desk.journal.records, 0);
    assert_false(journal_file_is_done(&desk.journal, "job", "w-000", &identity));
    journal_file_replay_end(&desk.journal);
    append_many(&desk);
    desk_close(&desk);
    for (unsigned i = 0; i < MANY; ++i) {
        put_files(i);
    }
    desk_good(&desk, shell_path("new/deep"));
    assert_false(desk.journal.torn);
    assert_int_equal(desk.journal.records, MANY);
    for (unsigned i = 0; i < MANY; ++i) {
        assert_true(journal_file_is_done(&desk.journal, "job", name_of(i), &identity));
    }
    assert_false(journal_file_is_done(&desk.journal, "other", "w-000", &identity));
    assert_false(journal_file_is_done(&desk.journal, "job", "w-150", &identity));
    desk_close(&desk);
}

static void anything_else_than_before_is_not_done(void **state)
{
    struct desk desk;
    struct journal_file_identity changed;
    (void)state;
    desk_good(&desk, shell_path("new/deep"));
    changed = identity;
    ++changed.input_size;
    assert_false(journal_file_is_done(&desk.journal, "job", "w-001", &changed));
    changed = identity;
    --changed.input_mtime_ns;
    assert_false(journal_file_is_done(&desk.journal, "job", "w-001", &changed));
    changed = identity;
    ++changed.key_size;
    assert_false(journal_file_is_done(&desk.journal, "job", "w-001", &changed));
    changed = identity;
    ++changed.key_mtime_ns;
    assert_false(journal_file_is_done(&desk.journal, "job", "w-001", &changed));
    assert_true(journal_file_is_done(&desk.journal, "job", "w-001", &identity));
    shell_put("new/deep/w-001.proof.json", "proof 9", 7); /* the same size, other bytes */
    assert_false(journal_file_is_done(&desk.journal, "job", "w-001", &identity));
    shell_put("new/deep/w-001.proof.json", "proof 1", 7);
    assert_true(journal_file_is_done(&desk.journal, "job", "w-001", &identity));
    shell_put("new/deep/w-001.public.json", "[1]", 3);
    assert_false(journal_file_is_done(&desk.journal, "job", "w-001", &identity));
    unlink(shell_path("new/deep/w-001.public.json"));
    assert_false(journal_file_is_done(&desk.journal, "job", "w-001", &identity));
    put_files(1);
    assert_true(journal_file_is_done(&desk.journal, "job", "w-001", &identity));
    desk_close(&desk);
}

/* Cut at every byte of its last two records and of its header, the journal keeps what is whole. */
static void a_torn_end_is_cut_off(void **state)
{
    static uint8_t bytes[1 << 16];
    struct desk desk;
    (void)state;
    int file = open(shell_path("new/deep/.uzk.journal"), O_RDONLY | O_CLOEXEC);
    ssize_t size = read(file, bytes, sizeof bytes);
    close(file);
    assert_true(size > 0 && (size_t)size < sizeof bytes);
    size_t record = ((size_t)size - JOURNAL_CODEC_HEADER_BYTES) / MANY;
    for (size_t cut = 1; cut < (size_t)size; cut += cut == 2 * record ? (size_t)size - 2 * record - 20 : 1) {
        size_t left = (size_t)size - cut;
        shell_put("new/deep/.uzk.journal", bytes, left);
        desk_good(&desk, shell_path("new/deep"));
        size_t whole = left < JOURNAL_CODEC_HEADER_BYTES ? 0 : (left - JOURNAL_CODEC_HEADER_BYTES) / record;
        size_t valid = JOURNAL_CODEC_HEADER_BYTES + whole * record;
        assert_int_equal(desk.journal.records, whole);
        assert_int_equal(desk.journal.torn, left != valid);
        struct stat status;
        assert_int_equal(stat(shell_path("new/deep/.uzk.journal"), &status), 0);
        assert_int_equal(status.st_size, valid);
        if (whole > 0) {
            assert_true(journal_file_is_done(&desk.journal, "job", name_of((unsigned)whole - 1), &identity));
        }
        desk_close(&desk);
    }
    shell_put("new/deep/.uzk.journal", bytes, (size_t)size);
}

static void leftovers_are_removed(void **state)
{
    struct desk desk;
    (void)state;
    shell_put("new/deep/.w-009.proof.json.tmp", "half", 4);
    shell_put("new/deep/.w-009.public.json.tmp", "half", 4);
    shell_put("new/deep/.mine.tmp", "the user's", 10);
    desk_good(&desk, shell_path("new/deep"));
    assert_int_equal(desk.journal.leftovers, 2);
    assert_false(shell_exists("new/deep/.w-009.proof.json.tmp"));
    assert_false(shell_exists("new/deep/.w-009.public.json.tmp"));
    assert_true(shell_exists("new/deep/.mine.tmp"));
    desk_close(&desk);
}

static void a_second_run_is_refused(void **state)
{
    struct desk desk, second;
    struct error error;
    (void)state;
    desk_good(&desk, shell_path("new/deep"));
    assert_int_equal(desk_open(&second, shell_path("new/deep"), &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "another uzk run"));
    assert_non_null(strstr(error.text, "new/deep"));
    arena_close(&second.arena);
    desk_close(&desk);
    desk_good(&desk, shell_path("new/deep"));
    desk_close(&desk);
}

static void refused(const char *folder, const char *expected)
{
    struct desk desk;
    struct error error;
    assert_int_equal(desk_open(&desk, folder, &error), ERROR_NONE); /* the rest of a batch may run */
    assert_int_not_equal(desk.journal.code, ERROR_NONE);
    if (strstr(desk.journal.reason.text, expected) == NULL ||
        strstr(desk.journal.reason.text, folder) == NULL) {
        fail_msg("'%s' lacks '%s' or '%s'", desk.journal.reason.text, expected, folder);
    }
    assert_false(journal_file_is_done(&desk.journal, "job", "w-000", &identity));
    desk_close(&desk);
}

static void folders_that_cannot_be_used_are_named(void **state)
{
    uint8_t header[JOURNAL_CODEC_HEADER_BYTES];
    (void)state;
    shell_put("plain", "", 0);
    refused(shell_path("plain"), "Not a directory");
    refused(shell_path("plain/folder"), "Not a directory");
    refused("/proc/uzk/none", "creating");
    assert_int_equal(mkdir(shell_path("foreign"), 0777), 0);
    shell_put("foreign/.uzk.journal", "something else, and long enough", 31);
    refused(shell_path("foreign"), "not a journal");
    assert_string_equal(shell_get("foreign/.uzk.journal"), "something else, and long enough");
    journal_codec_header(header);
    header[8] = 99;
    uint32_t crc = journal_codec_crc(0, header, 12);
    for (int i = 0; i < 4; ++i) {
        header[12 + i] = (uint8_t)(crc >> 8 * i);
    }
    shell_put("foreign/.uzk.journal", header, sizeof header);
    refused(shell_path("foreign"), "another version");
    unlink(shell_path("foreign/.uzk.journal"));
    assert_int_equal(mkdir(shell_path("foreign/.uzk.journal"), 0777), 0);
    refused(shell_path("foreign"), "directory");
    rmdir(shell_path("foreign/.uzk.journal"));
    assert_int_equal(mkfifo(shell_path("foreign/.uzk.journal"), 0666), 0);
    refused(shell_path("foreign"), "not a journal");
    unlink(shell_path("foreign/.uzk.journal"));
    assert_int_equal(symlink("elsewhere", shell_path("foreign/.uzk.journal")), 0);
    refused(shell_path("foreign"), "opening");
    assert_false(shell_exists("foreign/elsewhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_survive),         cmocka_unit_test(anything_else_than_before_is_not_done),
        cmocka_unit_test(a_torn_end_is_cut_off),   cmocka_unit_test(leftovers_are_removed),
        cmocka_unit_test(a_second_run_is_refused), cmocka_unit_test(folders_that_cannot_be_used_are_named),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
