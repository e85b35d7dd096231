/* Whole files in memory: plain files, pipes, limits. */
#include "coordinator/cli_input.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BIG_BYTES = 300000 };

static uint8_t byte_at(size_t index)
{
    return (uint8_t)(index * 2654435761u >> 13);
}

static void fill(int fd, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    assert_non_null(bytes);
    for (size_t index = 0; index < size; index++) {
        bytes[index] = byte_at(index);
    }
    for (size_t done = 0; done < size;) {
        ssize_t written = write(fd, bytes + done, size - done);
        assert_true(written > 0);
        done += (size_t)written;
    }
    free(bytes);
}

static void is_filled(const struct cli_input *input, size_t size)
{
    assert_int_equal(input->size, size);
    for (size_t index = 0; index < size; index++) {
        assert_int_equal(input->bytes[index], byte_at(index));
    }
}

static void plain_files_of_any_size(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536, BIG_BYTES};
    for (size_t row = 0; row < sizeof sizes / sizeof sizes[0]; row++) {
        int fd = memfd_create("input", MFD_CLOEXEC);
        char path[32];
        struct cli_input input;
        struct error error;
        assert_true(fd >= 0);
        fill(fd, sizes[row]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        assert_int_equal(cli_input_open(&input, path, SIZE_MAX / 4, &error), ERROR_NONE);
        is_filled(&input, sizes[row]);
        cli_input_close(&input);
        assert_null(input.bytes);
        cli_input_close(&input);
        if (sizes[row] > 0) {
            assert_int_equal(cli_input_open(&input, path, sizes[row] - 1, &error), ERROR_INPUT);
            assert_non_null(strstr(error.text, "larger than"));
            assert_null(input.bytes);
        }
        assert_int_equal(cli_input_open(&input, path, sizes[row], &error), ERROR_NONE);
        is_filled(&input, sizes[row]);
        cli_input_close(&input);
        close(fd);
    }
}

static void pipes(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fill(ends[1], BIG_BYTES);
        _exit(0);
    }
    close(ends[1]);
    char path[32];
    struct cli_input input;
    struct error error;
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(cli_input_open(&input, path, SIZE_MAX / 4, &error), ERROR_NONE);
    is_filled(&input, BIG_BYTES);
    cli_input_close(&input);
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_is_no_file(void **state)
{
    (void)state;
    struct cli_input input;
    struct error error;
    assert_int_equal(cli_input_open(&input, "/tmp", 1000, &error), ERROR_INPUT);
    assert_string_equal(error.text, "/tmp: is a folder, not a file");
    assert_int_equal(cli_input_open(&input, "/none/there", 1000, &error), ERROR_INPUT);
    assert_string_equal(error.text, "/none/there: cannot open: No such file or directory");
    assert_int_equal(cli_input_open(&input, "/dev/zero", 100000, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "/dev/zero: is larger than 100000 bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_files_of_any_size),
        cmocka_unit_test(pipes),
        cmocka_unit_test(what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
