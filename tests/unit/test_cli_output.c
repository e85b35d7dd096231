/* Outputs appear all or none, whatever is in the way. */
#include "coordinator/cli_output.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[PATH_MAX];

static const char *in(const char *name)
{
    static char paths[8][PATH_MAX + 64];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(in(name), "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void holds(const char *name, const char *text)
{
    char found[256] = "";
    FILE *file = fopen(in(name), "re");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

static unsigned entries(void)
{
    unsigned count = 0;
    DIR *open_folder = opendir(folder);
    assert_non_null(open_folder);
    for (struct dirent *entry = readdir(open_folder); entry != NULL; entry = readdir(open_folder)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 ? 1 : 0;
    }
    closedir(open_folder);
    return count;
}

static struct cli_output_file file_of(const char *path, const char *text)
{
    return (struct cli_output_file){.path = path, .text = text, .length = strlen(text)};
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/uzk-test-output-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static void writes_and_replaces(void **state)
{
    (void)state;
    struct error error;
    struct cli_output_file files[] = {file_of(in("a"), "one"), file_of(in("b"), "")};
    assert_int_equal(cli_output_write(files, 2, &error), ERROR_NONE);
    holds("a", "one");
    holds("b", "");
    files[0] = file_of(in("a"), "two");
    assert_int_equal(cli_output_write(files, 2, &error), ERROR_NONE);
    holds("a", "two");
    assert_int_equal(entries(), 2);
    struct stat info;
    assert_int_equal(stat(in("a"), &info), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask);
}

static void all_or_none(void **state)
{
    (void)state;
    struct error error;
    put("a", "old");
    const struct cli_output_file missing[] = {file_of(in("a"), "new"), file_of(in("none/b"), "new")};
    assert_int_equal(cli_output_check(missing, 2, &error), ERROR_INPUT);
    assert_int_equal(cli_output_write(missing, 2, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "none/b"));
    holds("a", "old");
    assert_int_equal(entries(), 1);

    const struct cli_output_file directory[] = {file_of(in("a"), "new"), file_of(folder, "new")};
    assert_int_equal(cli_output_check(directory, 2, &error), ERROR_INPUT);
    assert_int_equal(cli_output_write(directory, 2, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "is a folder"));
    holds("a", "old");
    assert_int_equal(entries(), 1);
}

static void one_file_cannot_be_two_outputs(void **state)
{
    (void)state;
    struct error error;
    put("a", "old");
    assert_int_equal(symlink("a", in("link")), 0);
    const struct cli_output_file files[] = {file_of(in("a"), "new"), file_of(in("link"), "new")};
    assert_int_equal(cli_output_write(files, 2, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "twice"));
    holds("a", "old");
}

static void links_are_followed(void **state)
{
    (void)state;
    struct error error;
    put("a", "old");
    assert_int_equal(symlink("a", in("link")), 0);
    const struct cli_output_file file = file_of(in("link"), "new");
    assert_int_equal(cli_output_write(&file, 1, &error), ERROR_NONE);
    holds("a", "new");
    struct stat info;
    assert_int_equal(lstat(in("link"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
}

static void devices_are_written_directly(void **state)
{
    (void)state;
    struct error error;
    const struct cli_output_file files[] = {file_of("/dev/null", "x"), file_of(in("a"), "kept")};
    assert_int_equal(cli_output_write(files, 2, &error), ERROR_NONE);
    holds("a", "kept");
    const struct cli_output_file full[] = {file_of(in("a"), "new"), file_of("/dev/full", "x")};
    assert_int_equal(cli_output_write(full, 2, &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "/dev/full"));
    holds("a", "kept");
    assert_int_equal(entries(), 1);
}

/* A limit on file size stands for a full disk: the second file doesn't fit. */
static void no_room_leaves_nothing(void **state)
{
    (void)state;
    put("a", "old");
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static char big[8192];
        memset(big, 'x', sizeof big);
        const struct rlimit limit = {4096, 4096};
        struct error error;
        signal(SIGXFSZ, SIG_IGN);
        const struct cli_output_file files[] = {file_of(in("a"), "new"),
                                                {.path = in("b"), .text = big, .length = sizeof big}};
        bool refused = setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                       cli_output_write(files, 2, &error) == ERROR_SYSTEM &&
                       strstr(error.text, "/b: cannot write") != NULL &&
                       strstr(error.text, "raise the limit on the size of files") != NULL;
        _exit(refused ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    holds("a", "old");
    assert_int_equal(entries(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_and_replaces, setup, teardown),
        cmocka_unit_test_setup_teardown(all_or_none, setup, teardown),
        cmocka_unit_test_setup_teardown(one_file_cannot_be_two_outputs, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(devices_are_written_directly, setup, teardown),
        cmocka_unit_test_setup_teardown(no_room_leaves_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
