/* bench_allocators - compares allocators, trim policies and kinds of buffers over the same batches.
 *
 * Reads a plan (allocators.conf), runs every combination in a process of its own, in turn so that what else
 * the machine does falls on all alike, and writes a Markdown table to standard output and an SVG file a
 * batch. */
#include "bench/matrix.h"
#include "bench/matrix_plot.h"
#include "conf/check.h"

#include <argp.h>
#include <errno.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct options {
    const char *plan, *results;
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'r':
        options->results = text;
        return 0;
    case ARGP_KEY_ARG:
        if (options->plan != NULL) {
            argp_usage(state);
        }
        options->plan = text;
        return 0;
    case ARGP_KEY_END:
        if (options->plan == NULL) {
            argp_usage(state);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"results", 'r', "FOLDER", 0, "Where the pictures go (default: here)", 0},
    {0},
};

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_folder(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The driver lies beside this program. */
static void find_driver(char driver[PATH_MAX], const char *name)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = '\0';
    int needed = snprintf(driver, PATH_MAX, "%s/%s", dirname(self), name);
    CHECK(needed > 0 && needed < PATH_MAX);
}

static pid_t start_driver(const struct matrix *matrix, const struct matrix_cell *cell, const char *folder,
                          int output)
{
    const struct matrix_batch *batch = &matrix->batches[cell->batch];
    char driver[PATH_MAX], conf[PATH_MAX], ballast[64], chunks[128];
    const bool baseline = strcmp(cell->policy, MATRIX_UNDER_LOCK) == 0;
    find_driver(driver, baseline ? "bench_locked" : "bench_run");
    snprintf(conf, sizeof conf, "%s/run.conf", folder);
    snprintf(ballast, sizeof ballast, "--ballast=%s", batch->ballast);
    snprintf(chunks, sizeof chunks, "--chunks=%s", batch->chunks);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(output, STDOUT_FILENO);
        execl(driver, driver, "--line", ballast, chunks, conf, (char *)NULL);
        fprintf(stderr, "bench_allocators: %s: %s\n", driver, strerror(errno));
        _exit(127);
    }
    return child;
}

static void run_cell(const struct matrix *matrix, struct matrix_cell *cell, const char *folder)
{
    struct error error;
    struct outcome outcome;
    int ends[2], status;
    if (matrix_prepare(matrix, cell, folder, &error) != ERROR_NONE) {
        fprintf(stderr, "bench_allocators: %s\n", error.text);
        exit(3);
    }
    CHECK(pipe(ends) == 0);
    pid_t child = start_driver(matrix, cell, folder, ends[1]);
    close(ends[1]);
    FILE *stream = fdopen(ends[0], "r");
    CHECK(stream != NULL);
    const bool found = outcome_read(stream, &outcome);
    fclose(stream);
    CHECK(waitpid(child, &status, 0) == child);
    if (found && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        cell->outcomes[cell->count++] = outcome;
    } else {
        cell->failures++;
    }
    remove_folder(folder);
}

static void run_all(struct matrix *matrix)
{
    char place[] = "/tmp/bench_allocators.XXXXXX", folder[sizeof place + 8];
    CHECK(mkdtemp(place) != NULL);
    snprintf(folder, sizeof folder, "%s/run", place);
    for (unsigned repeat = 0; repeat < matrix->repeats; repeat++) {
        for (size_t i = 0; i < matrix->cells_count; i++) {
            struct matrix_cell *cell = &matrix->cells[i];
            run_cell(matrix, cell, folder);
            fprintf(stderr, "%u/%u %zu/%zu %s, %s, %s, %s%s\n", repeat + 1, matrix->repeats, i + 1,
                    matrix->cells_count, matrix->batches[cell->batch].name, cell->allocator, cell->policy,
                    cell->buffers, cell->failures > 0 ? ": failed" : "");
        }
    }
    remove_folder(place);
}

static bool plot_all(const struct matrix *matrix, const char *results)
{
    bool whole = true;
    for (unsigned i = 0; i < matrix->batches_count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/allocators-%s.svg", results, matrix->batches[i].name);
        FILE *file = fopen(path, "w");
        if (file == NULL) {
            fprintf(stderr, "bench_allocators: %s: %s\n", path, strerror(errno));
            return false;
        }
        matrix_plot(file, matrix, i);
        whole = fclose(file) == 0 && whole;
    }
    return whole;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .args_doc = "PLAN",
        .doc = "Compares allocators, trim policies and kinds of buffers over the same batches."};
    struct options options = {.results = "."};
    struct matrix matrix;
    struct error error;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (matrix_read(&matrix, options.plan, &error) != ERROR_NONE) {
        fprintf(stderr, "bench_allocators: %s: %s\n", options.plan, error.text);
        return 2;
    }
    /* Now, since it would be a pity to miss it after the measurements. */
    if (mkdir(options.results, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "bench_allocators: %s: %s\n", options.results, strerror(errno));
        matrix_free(&matrix);
        return 2;
    }
    run_all(&matrix);
    matrix_print(stdout, &matrix);
    bool whole = plot_all(&matrix, options.results);
    for (size_t i = 0; i < matrix.cells_count; i++) {
        whole = whole && matrix.cells[i].failures == 0;
    }
    matrix_free(&matrix);
    return whole ? 0 : 1;
}
