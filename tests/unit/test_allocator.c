/* Each allocator, in place in a process of its own: this program executes itself again through
 * allocator_ensure, as uzk does, and the child reports. What trim hands back is read from the kernel, not
 * from the allocator. */
#include "alloc/allocator.h"
#include "alloc/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

enum { CHUNK = 100 * 1024, CHUNKS = 2560, CHILD_FAILED = 9 }; /* 250 MiB */

static const char *const names[] = {"glibc", "tcmalloc", "jemalloc", "mimalloc"};
enum { NAMES = sizeof names / sizeof names[0] };

#define EXPECT(condition)                                             \
    do {                                                              \
        if (!(condition)) {                                           \
            fprintf(stderr, "child: %s does not hold\n", #condition); \
            exit(CHILD_FAILED);                                       \
        }                                                             \
    } while (0)

/* Half of the chunks stay, every other one, as after many proofs; each is a few pages, so that the pages of
 * the others can go. mimalloc gives back only segments, of tens of MiB, in which nothing is left: there the
 * first half goes. */
static unsigned run_length(const char *name)
{
    return strcmp(name, "mimalloc") == 0 ? CHUNKS / 2 : 1;
}

static void fill(char **chunks)
{
    for (unsigned i = 0; i < CHUNKS; ++i) {
        chunks[i] = malloc(CHUNK);
        EXPECT(chunks[i] != NULL);
        memset(chunks[i], 1, CHUNK);
    }
}

static void child(const char *name, char **argv)
{
    struct error error;
    struct memory_probe probe;
    char library[256];
    const struct allocator *allocator = allocator_by_name(name);
    if (allocator_ensure(allocator, argv, &error) != ERROR_NONE) {
        fprintf(stderr, "child: %s\n", error.text);
        exit(CHILD_FAILED);
    }
    EXPECT(allocator_in_place(library, sizeof library) == allocator);
    EXPECT(getenv("LD_PRELOAD") == NULL || strcmp(getenv("LD_PRELOAD"), "libm.so.6") == 0);
    EXPECT(memory_probe_open(&probe, &error) == ERROR_NONE);
    static char *chunks[CHUNKS];
    fill(chunks);
    struct allocator_stats stats;
    allocator->stats(&stats);
    uint64_t full = memory_probe_rss_bytes(&probe);
    EXPECT(full >= (uint64_t)CHUNK * CHUNKS);
    EXPECT(stats.heap_bytes == UINT64_MAX || stats.heap_bytes >= (uint64_t)CHUNK * CHUNKS);
    EXPECT(stats.in_use_bytes == UINT64_MAX || stats.in_use_bytes >= (uint64_t)CHUNK * CHUNKS);
    unsigned run = run_length(name);
    for (unsigned i = 0; i < CHUNKS; ++i) {
        if (i / run % 2 == 0) {
            free(chunks[i]);
            chunks[i] = NULL;
        }
    }
    uint64_t before = memory_probe_rss_bytes(&probe);
    allocator->trim();
    uint64_t after = memory_probe_rss_bytes(&probe);
    printf("%s: full %llu MiB, half freed %llu MiB, trimmed %llu MiB\n", name, (unsigned long long)full >> 20,
           (unsigned long long)before >> 20, (unsigned long long)after >> 20);
    /* Of 125 MiB that were freed at least 90 are back with the system; some allocators don't wait for the
     * trim. */
    EXPECT(after + ((uint64_t)90 << 20) <= full);
    for (unsigned i = 0; i < CHUNKS; ++i) { /* and what is in use is untouched */
        EXPECT(chunks[i] == NULL || (chunks[i][0] == 1 && chunks[i][CHUNK - 1] == 1));
    }
    memory_probe_close(&probe);
    exit(0);
}

/* Runs this program for the allocator; its exit code. */
static int run_child(const char *name, const char *preload)
{
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char program[] = "test_allocator", allocator[32];
        snprintf(allocator, sizeof allocator, "%s", name);
        char *argv[] = {program, allocator, NULL};
        if (preload != NULL) {
            setenv("LD_PRELOAD", preload, 1);
        }
        execv("/proc/self/exe", argv);
        _exit(CHILD_FAILED);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void each_one_is_put_in_place_and_hands_memory_back(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip(); /* the sanitizer's malloc stays in place */
#endif
    unsigned tried = 0;
    for (unsigned i = 0; i < NAMES; ++i) {
        struct error error;
        if (allocator_available(allocator_by_name(names[i]), &error) != ERROR_NONE) {
            print_message("skipped: %s\n", error.text);
            continue;
        }
        assert_int_equal(run_child(names[i], NULL), 0);
        ++tried;
    }
    assert_true(tried > 0); /* glibc is always there */
}

static void what_was_preloaded_before_stays(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    struct error error;
    if (allocator_available(&allocator_tcmalloc, &error) != ERROR_NONE) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    assert_int_equal(run_child("tcmalloc", "libm.so.6"), 0);
}

static void a_second_try_that_fails_ends_in_a_message(void **state)
{
    (void)state;
    char program[] = "test_allocator";
    char *argv[] = {program, NULL};
    struct error error;
    setenv("UZK_ALLOCATOR_PRELOADED", "jemalloc", 1); /* as if this were the second execution */
    assert_int_equal(allocator_ensure(&allocator_jemalloc, argv, &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "jemalloc"));
    unsetenv("UZK_ALLOCATOR_PRELOADED");
}

static void a_missing_library_names_its_package(void **state)
{
    (void)state;
    static const char *const libraries[] = {"libno-such-allocator.so.9", NULL};
    const struct allocator missing = {.name = "missing", .libraries = libraries, .package = "libmissing9"};
    struct error error;
    assert_int_equal(allocator_available(&missing, &error), ERROR_SYSTEM);
    assert_non_null(strstr(error.text, "libmissing9"));
    assert_non_null(strstr(error.text, "libno-such-allocator.so.9"));
}

static void names_are_those_of_the_configuration(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NAMES; ++i) {
        const struct allocator *allocator = allocator_by_name(names[i]);
        assert_non_null(allocator);
        assert_string_equal(allocator->name, names[i]);
        assert_true(allocator->trim_does[0] != 0 && allocator->trim_cannot[0] != 0);
    }
    assert_null(allocator_by_name("malloc"));
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        child(argv[1], argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_configuration),
        cmocka_unit_test(a_missing_library_names_its_package),
        cmocka_unit_test(a_second_try_that_fails_ends_in_a_message),
        cmocka_unit_test(what_was_preloaded_before_stays),
        cmocka_unit_test(each_one_is_put_in_place_and_hands_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
