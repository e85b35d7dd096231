/* bench_trim - how long a trim takes, by allocator and size of the heap.
 *
 * For each allocator and size a process of its own makes a ballast and trims it: once, and then again several
 * times with nothing new to free. Prints the time of the first and the median of the others, what was
 * resident before and after, and the line through the sizes with what it would mean at 400 GiB: an
 * extrapolation. */
#include "alloc/allocator.h"
#include "alloc/memory.h"
#include "bench/ballast.h"
#include "bench/fit.h"
#include "conf/check.h"
#include "conf/config.h"
#include "cuda/device.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZES_MAX = 16, AGAIN = 5, FAR_GIB = 400, ALLOCATORS = 4, EXIT_SKIPPED = 3 };
static const double mib = 1 << 20, gib = 1 << 30;

struct options {
    struct ballast_settings ballast;
    const char *sizes, *allocators;
    const char *one; /* the allocator to measure in this very process */
};

struct row {
    double first_ms, again_ms, before_mib, after_mib;
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->ballast;
        return 0;
    case 's':
        options->sizes = text;
        return 0;
    case 'A':
        options->allocators = text;
        return 0;
    case '1':
        options->one = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"sizes", 's', "SIZES", 0, "Heaps to measure (default: 1gb,2gb,4gb,8gb,12gb)", 0},
    {"allocators", 'A', "NAMES", 0, "Allocators (default: glibc,tcmalloc,jemalloc,mimalloc)", 0},
    {"one", '1', "NAME", OPTION_HIDDEN, NULL, 0},
    {0},
};

/* ---- one measurement, in its own process ---- */

static double trim_ms(const struct allocator *allocator)
{
    uint64_t begin_ns = device_now_ns();
    allocator->trim();
    return (double)(device_now_ns() - begin_ns) / 1e6;
}

static int measure_here(const struct options *options, char **argv)
{
    static struct ballast ballast;
    struct error error;
    struct memory_probe probe;
    const struct allocator *allocator = allocator_by_name(options->one);
    CHECK(allocator != NULL);
    if (allocator_ensure(allocator, argv, &error) != ERROR_NONE ||
        memory_probe_open(&probe, &error) != ERROR_NONE ||
        ballast_init(&ballast, &options->ballast, &error) != ERROR_NONE) {
        fprintf(stderr, "bench_trim: %s\n", error.text);
        return EXIT_SKIPPED;
    }
    struct row row = {.before_mib = (double)memory_probe_rss_bytes(&probe) / mib};
    row.first_ms = trim_ms(allocator);
    row.after_mib = (double)memory_probe_rss_bytes(&probe) / mib;
    double again[AGAIN];
    for (unsigned i = 0; i < AGAIN; i++) {
        again[i] = trim_ms(allocator);
    }
    row.again_ms = fit_median(again, AGAIN);
    printf("%.3f %.3f %.0f %.0f\n", row.first_ms, row.again_ms, row.before_mib, row.after_mib);
    fflush(stdout);
    _exit(0); /* freeing gigabytes chunk by chunk would only cost time */
}

/* ---- all of them ---- */

/* Runs this program again for one allocator and size. False if it could not be measured (it said why). */
static bool measure(struct row *row, const char *allocator, uint64_t bytes, int argc, char **argv)
{
    char size[32], command[4096];
    int ends[2];
    snprintf(size, sizeof size, "--ballast=%" PRIu64 "b", bytes);
    snprintf(command, sizeof command, "--one=%s", allocator);
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    CHECK(arguments != NULL && pipe(ends) == 0);
    memcpy(arguments, argv, (size_t)argc * sizeof *arguments);
    arguments[argc] = command;
    arguments[argc + 1] = size;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    close(ends[1]);
    free(arguments);
    FILE *stream = fdopen(ends[0], "r");
    CHECK(stream != NULL);
    int found =
        fscanf(stream, "%lf %lf %lf %lf", &row->first_ms, &row->again_ms, &row->before_mib, &row->after_mib);
    fclose(stream);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && found == 4;
}

static void print_fit(const char *name, const char *which, const double *sizes, const double *times,
                      size_t count)
{
    struct fit fit;
    fit_line(&fit, sizes, times, count);
    printf("%s, %s: %.1f ms + %.2f ms per GiB (r2 %.3f); extrapolated to %d GiB: %.2f s\n", name, which,
           fit.intercept, fit.slope, fit.r2, FAR_GIB, fit_at(&fit, FAR_GIB) / 1e3);
}

static bool measure_allocator(const char *name, const uint64_t *bytes, size_t count, int argc, char **argv)
{
    double sizes[SIZES_MAX], first[SIZES_MAX], again[SIZES_MAX];
    size_t measured = 0;
    for (size_t i = 0; i < count; i++) {
        struct row row;
        if (!measure(&row, name, bytes[i], argc, argv)) {
            continue;
        }
        sizes[measured] = (double)bytes[i] / gib;
        first[measured] = row.first_ms;
        again[measured] = row.again_ms;
        printf("| %-8s | %5.1f | %9.1f | %9.3f | %8.0f | %8.0f |\n", name, sizes[measured], row.first_ms,
               row.again_ms, row.before_mib, row.after_mib);
        fflush(stdout);
        measured++;
    }
    if (measured >= 2) {
        printf("\n");
        print_fit(name, "first", sizes, first, measured);
        print_fit(name, "again", sizes, again, measured);
        printf("\n");
    }
    return measured == count;
}

static size_t split_sizes(uint64_t *bytes, const char *text)
{
    size_t count = 0;
    char *copy = strdup(text), *rest = NULL;
    CHECK(copy != NULL);
    for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        if (count == SIZES_MAX || !config_size_bytes(&bytes[count], word)) {
            fprintf(stderr, "bench_trim: %s: expected up to %d sizes such as 1gb,2gb\n", text, SIZES_MAX);
            exit(2);
        }
        count++;
    }
    free(copy);
    return count;
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&ballast_argp, 0, "The heap", 1}, {0}};
    static const struct argp argp = {.options = option_table,
                                     .parser = parse_option,
                                     .doc =
                                         "Measures how long a trim takes, by allocator and size of the heap.",
                                     .children = children};
    struct options options = {.sizes = "1gb,2gb,4gb,8gb,12gb",
                              .allocators = "glibc,tcmalloc,jemalloc,mimalloc"};
    ballast_defaults(&options.ballast);
    argp_parse(&argp, argc, argv, ARGP_NO_ARGS, NULL, &options);
    if (options.one != NULL) {
        return measure_here(&options, argv);
    }
    uint64_t bytes[SIZES_MAX];
    const size_t count = split_sizes(bytes, options.sizes);
    char *names = strdup(options.allocators), *rest = NULL;
    CHECK(names != NULL);
    bool all = true;
    for (char *name = strtok_r(names, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        if (allocator_by_name(name) == NULL) {
            fprintf(stderr, "bench_trim: %s is not an allocator\n", name);
            return 2;
        }
        printf("| allocator | GiB | first, ms | again, ms | RSS before, MiB | after, MiB |\n"
               "|---|---:|---:|---:|---:|---:|\n");
        all = measure_allocator(name, bytes, count, argc, argv) && all;
    }
    free(names);
    return all ? 0 : 1;
}
