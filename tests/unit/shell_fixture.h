/* A folder of one's own and a ring, for tests of what the coordinator does over it. */
#ifndef TESTS_UNIT_SHELL_FIXTURE_H
#define TESTS_UNIT_SHELL_FIXTURE_H

#include "alloc/arena.h"
#include "coordinator/loop.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char shell_folder[PATH_MAX];

/* Path of a name in the folder; eight at a time. */
__attribute__((unused)) static const char *shell_path(const char *name)
{
    static char paths[8][2 * PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", shell_folder, name);
    return path;
}

__attribute__((unused)) static void shell_put(const char *name, const void *bytes, size_t size)
{
    int file = open(shell_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

/* What a file holds, terminated; static memory. */
__attribute__((unused)) static const char *shell_get(const char *name)
{
    static char text[1 << 16];
    int file = open(shell_path(name), O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    ssize_t got = read(file, text, sizeof text - 1);
    assert_true(got >= 0);
    text[got] = 0;
    close(file);
    return text;
}

__attribute__((unused)) static bool shell_exists(const char *name)
{
    struct stat status;
    return lstat(shell_path(name), &status) == 0;
}

__attribute__((unused)) static unsigned shell_entries(const char *folder)
{
    unsigned count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(entries);
    return count;
}

static void shell_remove(const char *path)
{
    DIR *entries = opendir(path);
    if (entries == NULL) {
        unlink(path);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char inner[2 * PATH_MAX];
            struct stat status;
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
            if (lstat(inner, &status) == 0 && S_ISDIR(status.st_mode)) {
                shell_remove(inner);
            } else {
                unlink(inner);
            }
        }
    }
    closedir(entries);
    rmdir(path);
}

__attribute__((unused)) static int shell_setup(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(shell_folder, sizeof shell_folder, "%s/uzk-test-XXXXXX", parent == NULL ? "/tmp" : parent);
    return mkdtemp(shell_folder) == NULL;
}

__attribute__((unused)) static int shell_teardown(void **state)
{
    (void)state;
    shell_remove(shell_folder);
    return 0;
}

struct shell_ring {
    struct arena arena;
    struct loop loop;
};

__attribute__((unused)) static void shell_ring_open(struct shell_ring *ring)
{
    struct error error;
    const struct loop_settings settings = {.operations_max = 256, .submissions = 16};
    assert_int_equal(arena_open(&ring->arena, 1 << 20, &error), ERROR_NONE);
    if (loop_open(&ring->loop, &ring->arena, &settings, &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
}

__attribute__((unused)) static void shell_ring_close(struct shell_ring *ring)
{
    assert_int_equal(loop_in_flight(&ring->loop), 0);
    loop_close(&ring->loop);
    arena_close(&ring->arena);
}

/* Waits for one completion. */
__attribute__((unused)) static struct loop_completion shell_ring_next(struct shell_ring *ring)
{
    struct loop_completion completion;
    struct error error;
    while (!loop_take(&ring->loop, &completion)) {
        assert_int_equal(loop_wait(&ring->loop, LOOP_NEVER, &error), ERROR_NONE);
    }
    return completion;
}

#endif
