/* Reading witness files: plain files only, each refusal named. */
#include "tests/unit/shell_fixture.h"

#include "coordinator/input.h"

enum { CAPACITY = 1 << 20 };
static uint8_t bytes[CAPACITY];

static enum error_code read_file(struct input *input, const char *name, size_t capacity, bool removed,
                                 struct error *error)
{
    struct shell_ring ring;
    shell_ring_open(&ring);
    const struct input_request request = {.folder = AT_FDCWD,
                                          .path = shell_path(name),
                                          .name = name,
                                          .bytes = bytes,
                                          .capacity = capacity,
                                          .expected = capacity,
                                          .remove = removed};
    memset(input, 0, sizeof *input);
    memset(bytes, 0xee, sizeof bytes);
    error->text[0] = 0;
    input_start(input, &ring.loop, 5, &request);
    for (bool ended = false; !ended;) {
        struct loop_completion completion = shell_ring_next(&ring);
        assert_int_equal(completion.token.kind, LOOP_INPUT);
        assert_int_equal(completion.token.slot, 5);
        ended = input_complete(input, &ring.loop, &completion, error);
    }
    shell_ring_close(&ring);
    return input->code;
}

static void a_file_is_read_whole(void **state)
{
    static uint8_t content[CAPACITY];
    struct input input;
    struct error error;
    struct stat status;
    (void)state;
    for (size_t i = 0; i < sizeof content; ++i) {
        content[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    const size_t sizes[] = {1, 4095, 4096, 4097, CAPACITY};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        shell_put("file", content, sizes[i]);
        assert_int_equal(read_file(&input, "file", CAPACITY, false, &error), ERROR_NONE);
        assert_int_equal(input.size, sizes[i]);
        assert_memory_equal(bytes, content, sizes[i]);
        assert_int_equal(stat(shell_path("file"), &status), 0);
        assert_int_equal(input.mtime_ns,
                         (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec);
    }
    assert_int_equal(chmod(shell_path("file"), 0400), 0); /* a read-only file */
    assert_int_equal(read_file(&input, "file", CAPACITY, false, &error), ERROR_NONE);
    assert_true(shell_exists("file"));
    assert_int_equal(read_file(&input, "file", CAPACITY, true, &error), ERROR_NONE);
    assert_false(shell_exists("file"));
}

static void refused(const char *name, const char *expected)
{
    struct input input;
    struct error error;
    assert_int_not_equal(read_file(&input, name, 100, false, &error), ERROR_NONE);
    if (strstr(error.text, expected) == NULL || strstr(error.text, name) == NULL) {
        fail_msg("'%s' lacks '%s' or '%s'", error.text, expected, name);
    }
}

static void refusals_are_named(void **state)
{
    (void)state;
    refused("missing", "No such file");
    assert_int_equal(mkdir(shell_path("folder"), 0777), 0);
    refused("folder", "not a plain file");
    assert_int_equal(mkfifo(shell_path("fifo"), 0666), 0);
    refused("fifo", "not a plain file"); /* nobody ever writes to it: opening it would wait for ever */
    refused("fifo/file", "Not a directory");
    shell_put("empty", "", 0);
    refused("empty", "empty");
    shell_put("long", bytes, 101);
    refused("long", "101 bytes");
    refused("long", "100");
    assert_int_equal(symlink("loop", shell_path("loop")), 0);
    refused("loop", "symbolic links");
}

static void a_missing_generated_file_is_explained(void **state)
{
    struct input input;
    struct error error;
    (void)state;
    assert_int_equal(read_file(&input, "none.wtns", 100, true, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "did not make this file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read_whole),
        cmocka_unit_test(refusals_are_named),
        cmocka_unit_test(a_missing_generated_file_is_explained),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
