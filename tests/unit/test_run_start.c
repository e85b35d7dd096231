/* Memory that is refused while a run starts: reading the configuration, for each allocation that it makes,
 * libConfuse's and the C library's included. It ends with a message or goes on; it neither crashes nor leaks.
 * (The allocations of the run itself fail in tests/sim: sim_shell --fail-each.) The program's own malloc
 * stands before the library's. */
#include "tests/unit/shell_fixture.h"

#include "conf/config.h"
#include "coordinator/cli.h"

#include <confuse.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <sys/wait.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

static bool counting;
static unsigned asked, fails_at; /* allocations since counting began; which one is refused, 0: none */
static bool within_library;      /* libConfuse, or glob */
static bool refuses_glob, refuses_parser; /* glob, cfg_init has no memory */
static long held;                         /* blocks taken and not given back meanwhile */

#ifndef SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

/* What libConfuse allocates for itself is not refused: version 3.3 frees what it has not set, reads through
 * NULL or calls it a syntax error. Its callbacks, which are ours, are called from within it. */
static bool is_ours(const void *caller)
{
    extern const char __executable_start, etext;
    return !within_library || ((const char *)caller >= &__executable_start && (const char *)caller < &etext);
}

static bool refused(const void *caller)
{
    bool refuses = counting && is_ours(caller) && ++asked == fails_at;
    errno = refuses ? ENOMEM : errno;
    return refuses;
}

static void *taken(void *block)
{
    held += counting && block != NULL;
    return block;
}

void *malloc(size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : taken(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refused(__builtin_return_address(0)) ? NULL : taken(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (refused(__builtin_return_address(0))) {
        return NULL;
    }
    return block == NULL ? taken(__libc_realloc(NULL, size)) : __libc_realloc(block, size);
}

void free(void *block)
{
    held -= counting && block != NULL;
    __libc_free(block);
}
#endif

cfg_t *cfg_init(cfg_opt_t *options, cfg_flag_t flags)
{
    static cfg_t *(*real)(cfg_opt_t *, cfg_flag_t);
    within_library = true;
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "cfg_init");
        memcpy(&real, &found, sizeof real);
    }
    cfg_t *made = refuses_parser ? NULL : real(options, flags);
    within_library = false;
    return made;
}

int cfg_parse_fp(cfg_t *cfg, FILE *stream)
{
    static int (*real)(cfg_t *, FILE *);
    within_library = true;
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "cfg_parse_fp");
        memcpy(&real, &found, sizeof real);
    }
    int result = real(cfg, stream);
    within_library = false;
    return result;
}

/* glibc 2.36 frees twice if the list cannot grow. */
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
    static int (*real)(const char *, int, int (*)(const char *, int), glob_t *);
    if (refuses_glob) {
        return GLOB_NOSPACE;
    }
    within_library = true;
    if (real == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "glob");
        memcpy(&real, &symbol, sizeof real);
    }
    int result = real(pattern, flags, failed, found);
    within_library = false;
    return result;
}

static const char text[] = "circuit c {\n  zkey = \"circuit.zkey\"\n}\n"
                           "job j {\n  circuit = c\n  witnesses = \"w-*.wtns\"\n  output = \"out\"\n"
                           "  deadline = 30s\n  bundle = true\n}\n"
                           "include(\"more.conf\")\n"
                           "devices = { cpu }\nthreads = 2\nmemory { budget = 1gb }\n"
                           "trim { policy = timer\n interval = 500ms }\ntrace = \"run.trace\"\n";
static const char more[] =
    "job k {\n  circuit = c\n  inputs = \"*.json\"\n"
    "  witness_command = { \"./gen\", \"{input}\", \"{witness}\" }\n  output = \"k\"\n}\n";

enum { EXIT_OTHERWISE = 90, EXIT_LEFT };
static char expected[8192]; /* the configuration as it is read when nothing is refused */

/* Reads the configuration and leaves with the exit code that a command would. */
static _Noreturn void read_refused(unsigned nth)
{
    static char found[sizeof expected];
    struct config config;
    struct error error;
    const char *path = shell_path("x.conf");
    asked = 0;
    held = 0;
    fails_at = nth;
    counting = true;
    enum error_code code = config_read(&config, path, &error);
    counting = false;
    if (code != ERROR_NONE) {
        fprintf(stderr, "uzk: %s\n", error.text);
        fflush(stderr);
        _exit(held > 0 ? EXIT_LEFT : cli_exit_code(code));
    }
    FILE *out = fmemopen(found, sizeof found, "w");
    config_print(&config, out);
    fclose(out);
    counting = true;
    config_free(&config);
    counting = false;
    _exit(strcmp(found, expected) != 0 ? EXIT_OTHERWISE : held > 0 ? EXIT_LEFT : CLI_EXIT_DONE);
}

/* The exit code, or 1000 and the signal; what was printed is in the file "messages". */
static int read_in_a_child(unsigned nth)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka's would go on with its test */
        signal(SIGBUS, SIG_DFL);
        int file = open(shell_path("messages"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        dup2(file, STDERR_FILENO);
        read_refused(nth);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void write_files(void)
{
    static const char *const empty[] = {"circuit.zkey", "w-0.wtns", "w-1.wtns", "a.json", "gen"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        shell_put(empty[i], "", 0);
    }
    assert_int_equal(chmod(shell_path("gen"), 0755), 0);
    shell_put("x.conf", text, sizeof text - 1);
    shell_put("more.conf", more, sizeof more - 1);
}

/* What libConfuse needs of the C library first, and what its own allocations are: all of them. */
static unsigned count_allocations(void)
{
    struct config config;
    struct error error;
    for (unsigned round = 0; round < 2; round++) { /* the first fills what the library keeps */
        asked = 0;
        counting = true;
        enum error_code code = config_read(&config, shell_path("x.conf"), &error);
        counting = false;
        if (code != ERROR_NONE) {
            fail_msg("%s", error.text);
        }
        FILE *out = fmemopen(expected, sizeof expected, "w");
        config_print(&config, out);
        fclose(out);
        config_free(&config);
    }
    return asked;
}

static void each_allocation_of_the_configuration_fails(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip(); /* the sanitizers have put their own functions there */
#endif
    write_files();
    unsigned all = count_allocations(), told = 0, wrong = 0;
    assert_true(all > 50);
    for (unsigned nth = 1; nth <= all; nth++) {
        int code = read_in_a_child(nth);
        bool named = strstr(shell_get("messages"), "emory") != NULL;
        if (code != CLI_EXIT_DONE && !(code == CLI_EXIT_SYSTEM && named)) {
            print_error("allocation %u of %u: exit code %d: %s\n", nth, all, code, shell_get("messages"));
            wrong++;
        }
        told += code != CLI_EXIT_DONE;
    }
    assert_int_equal(wrong, 0);
    assert_true(told > all / 2);
    refuses_parser = true;
    assert_int_equal(read_in_a_child(0), CLI_EXIT_SYSTEM);
    assert_non_null(strstr(shell_get("messages"), "out of memory"));
    refuses_parser = false;
    refuses_glob = true;
    assert_int_equal(read_in_a_child(0), CLI_EXIT_SYSTEM);
    assert_non_null(strstr(shell_get("messages"), "out of memory"));
    refuses_glob = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_of_the_configuration_fails),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
