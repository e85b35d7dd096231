#include "bench/matrix.h"

#include "alloc/allocator.h"
#include "bench/fit.h"
#include "conf/check.h"
#include "conf/config.h"

#include <confuse.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const enum outcome_number matrix_shown[MATRIX_SHOWN] = {
    OUTCOME_RATE,          OUTCOME_BUSY_PERCENT, OUTCOME_LATENCY_P99_S,  OUTCOME_TRIM_P50_MS,
    OUTCOME_TRIM_TOTAL_MS, OUTCOME_RSS_PEAK_MIB, OUTCOME_RSS_SETTLED_MIB};

/* ---- the plan ---- */

static enum error_code copy_name(char *to, size_t capacity, const char *from, struct error *error)
{
    if (from == NULL || strlen(from) >= capacity || strpbrk(from, "\"\\\n") != NULL) {
        return error_set(error, ERROR_INPUT,
                         "\"%s\": a name or path is missing, too long, or has a quote or backslash in it",
                         from == NULL ? "" : from);
    }
    strcpy(to, from);
    return ERROR_NONE;
}

static enum error_code read_names(struct matrix_names *names, cfg_t *plan, const char *option,
                                  bool (*known)(const char *), struct error *error)
{
    unsigned count = cfg_size(plan, option);
    if (count == 0 || count > MATRIX_NAMES_MAX) {
        return error_set(error, ERROR_INPUT, "%s: expected 1 to %d names", option, MATRIX_NAMES_MAX);
    }
    enum error_code code = ERROR_NONE;
    for (unsigned i = 0; i < count && code == ERROR_NONE; i++) {
        const char *name = cfg_getnstr(plan, option, i);
        code = copy_name(names->names[i], MATRIX_NAME_BYTES, name, error);
        if (code == ERROR_NONE && !known(name)) {
            code = error_set(error, ERROR_INPUT, "%s: %s is not known", option, name);
        }
        names->count = i + 1;
    }
    return code;
}

static bool known_allocator(const char *name)
{
    return allocator_by_name(name) != NULL;
}

static bool known_policy(const char *name)
{
    return strcmp(name, "off") == 0 || strcmp(name, "inline") == 0 || strcmp(name, "timer") == 0 ||
           strcmp(name, "pressure") == 0;
}

static bool known_buffers(const char *name)
{
    return strcmp(name, "pool") == 0 || strcmp(name, "heap") == 0;
}

/* Writes the absolute form of a path that is relative to the plan's folder. */
static enum error_code resolve(char absolute[MATRIX_PATH_BYTES], const char *folder, const char *path,
                               struct error *error)
{
    int length = path[0] == '/' ? snprintf(absolute, MATRIX_PATH_BYTES, "%s", path)
                                : snprintf(absolute, MATRIX_PATH_BYTES, "%s/%s", folder, path);
    if (length < 0 || length >= MATRIX_PATH_BYTES || strpbrk(absolute, "\"\\\n") != NULL) {
        return error_set(error, ERROR_INPUT, "%s: the path is too long, or has a quote or backslash in it",
                         path);
    }
    return ERROR_NONE;
}

static enum error_code find_witnesses(struct matrix_batch *batch, const char *pattern, struct error *error)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) {
        return error_set(error, ERROR_INPUT, "%s: no such witness", pattern);
    }
    batch->witnesses = calloc(found.gl_pathc, sizeof *batch->witnesses);
    CHECK(batch->witnesses != NULL);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        batch->witnesses[i] = strdup(found.gl_pathv[i]);
        CHECK(batch->witnesses[i] != NULL);
    }
    batch->witnesses_count = found.gl_pathc;
    globfree(&found);
    return ERROR_NONE;
}

static enum error_code read_batch(struct matrix_batch *batch, cfg_t *section, const char *folder,
                                  struct error *error)
{
    char pattern[MATRIX_PATH_BYTES];
    const char *device = cfg_getstr(section, "device");
    const long partitions = cfg_getint(section, "partitions");
    uint64_t bytes;
    batch->simulated = strcmp(device, "sim") == 0;
    if (!batch->simulated && strcmp(device, "cpu") != 0) {
        return error_set(error, ERROR_INPUT, "device: %s: expected cpu or sim", device);
    }
    if (partitions < 1 || partitions > 100000) {
        return error_set(error, ERROR_INPUT, "partitions: expected 1 to 100000");
    }
    batch->partitions = (unsigned)partitions;
    if (!config_duration_ns(&batch->compute_ns, cfg_getstr(section, "compute")) ||
        !config_size_bytes(&bytes, cfg_getstr(section, "ballast"))) {
        return error_set(error, ERROR_INPUT, "compute, ballast: expected such as 50ms and 2gb");
    }
    enum error_code code = copy_name(batch->name, sizeof batch->name, cfg_title(section), error);
    code = code != ERROR_NONE
               ? code
               : copy_name(batch->ballast, sizeof batch->ballast, cfg_getstr(section, "ballast"), error);
    code = code != ERROR_NONE
               ? code
               : copy_name(batch->chunks, sizeof batch->chunks, cfg_getstr(section, "chunks"), error);
    code = code != ERROR_NONE ? code : resolve(batch->zkey, folder, cfg_getstr(section, "zkey"), error);
    code = code != ERROR_NONE ? code : resolve(pattern, folder, cfg_getstr(section, "witnesses"), error);
    return code != ERROR_NONE ? code : find_witnesses(batch, pattern, error);
}

static enum error_code read_plan(struct matrix *matrix, cfg_t *plan, const char *folder, struct error *error)
{
    const long repeats = cfg_getint(plan, "repeats");
    if (repeats < 1 || repeats > MATRIX_REPEATS_MAX) {
        return error_set(error, ERROR_INPUT, "repeats: expected 1 to %d", MATRIX_REPEATS_MAX);
    }
    matrix->repeats = (unsigned)repeats;
    matrix->baseline = cfg_getbool(plan, "baseline");
    if (!config_duration_ns(&matrix->interval_ns, cfg_getstr(plan, "interval")) ||
        !config_size_bytes(&matrix->min_freed_bytes, cfg_getstr(plan, "min_freed"))) {
        return error_set(error, ERROR_INPUT, "interval, min_freed: expected such as 500ms and 1mb");
    }
    enum error_code code = read_names(&matrix->allocators, plan, "allocators", known_allocator, error);
    code = code != ERROR_NONE ? code : read_names(&matrix->policies, plan, "policies", known_policy, error);
    code = code != ERROR_NONE ? code : read_names(&matrix->buffers, plan, "buffers", known_buffers, error);
    const unsigned batches = cfg_size(plan, "batch");
    if (code == ERROR_NONE && (batches == 0 || batches > MATRIX_BATCHES_MAX)) {
        code = error_set(error, ERROR_INPUT, "expected 1 to %d batches", MATRIX_BATCHES_MAX);
    }
    for (unsigned i = 0; i < batches && code == ERROR_NONE; i++) {
        code = read_batch(&matrix->batches[i], cfg_getnsec(plan, "batch", i), folder, error);
        matrix->batches_count = i + 1;
    }
    return code;
}

/* ---- cells ---- */

static void add_cell(struct matrix *matrix, unsigned batch, const char *allocator, const char *policy,
                     const char *buffers)
{
    struct matrix_cell *cell = &matrix->cells[matrix->cells_count++];
    *cell =
        (struct matrix_cell){.batch = batch, .allocator = allocator, .policy = policy, .buffers = buffers};
}

static void make_cells(struct matrix *matrix)
{
    const size_t most = (size_t)matrix->batches_count * matrix->allocators.count *
                        (matrix->policies.count * matrix->buffers.count + 1);
    matrix->cells = calloc(most, sizeof *matrix->cells);
    CHECK(matrix->cells != NULL);
    for (unsigned batch = 0; batch < matrix->batches_count; batch++) {
        for (unsigned i = 0; i < matrix->allocators.count; i++) {
            const char *allocator = matrix->allocators.names[i];
            for (unsigned j = 0; j < matrix->policies.count; j++) {
                for (unsigned k = 0; k < matrix->buffers.count; k++) {
                    add_cell(matrix, batch, allocator, matrix->policies.names[j], matrix->buffers.names[k]);
                }
            }
            if (matrix->baseline && matrix->batches[batch].simulated) {
                add_cell(matrix, batch, allocator, MATRIX_UNDER_LOCK, "heap");
            }
        }
    }
    CHECK(matrix->cells_count <= most);
}

enum error_code matrix_read(struct matrix *matrix, const char *path, struct error *error)
{
    cfg_opt_t batch_options[] = {CFG_STR("zkey", NULL, CFGF_NODEFAULT),
                                 CFG_STR("witnesses", NULL, CFGF_NODEFAULT),
                                 CFG_STR("device", "cpu", CFGF_NONE),
                                 CFG_INT("partitions", 16, CFGF_NONE),
                                 CFG_STR("compute", "50ms", CFGF_NONE),
                                 CFG_STR("ballast", "0b", CFGF_NONE),
                                 CFG_STR("chunks", "8kb,32kb,100kb", CFGF_NONE),
                                 CFG_END()};
    cfg_opt_t options[] = {CFG_STR_LIST("allocators", "{glibc, tcmalloc, jemalloc, mimalloc}", CFGF_NONE),
                           CFG_STR_LIST("policies", "{off, inline, timer}", CFGF_NONE),
                           CFG_STR_LIST("buffers", "{pool, heap}", CFGF_NONE),
                           CFG_BOOL("baseline", cfg_true, CFGF_NONE),
                           CFG_INT("repeats", 3, CFGF_NONE),
                           CFG_STR("interval", "500ms", CFGF_NONE),
                           CFG_STR("min_freed", "1mb", CFGF_NONE),
                           CFG_SEC("batch", batch_options, CFGF_TITLE | CFGF_MULTI | CFGF_NO_TITLE_DUPES),
                           CFG_END()};
    char absolute[PATH_MAX];
    memset(matrix, 0, sizeof *matrix);
    if (realpath(path, absolute) == NULL) {
        return error_set_errno(error, errno, "%s: opening", path);
    }
    cfg_t *plan = cfg_init(options, CFGF_NONE);
    CHECK(plan != NULL);
    enum error_code code = cfg_parse(plan, absolute) == CFG_SUCCESS
                               ? read_plan(matrix, plan, dirname(absolute), error)
                               : error_set(error, ERROR_INPUT, "%s: cannot be read as a plan", path);
    cfg_free(plan);
    if (code == ERROR_NONE) {
        make_cells(matrix);
    } else {
        matrix_free(matrix);
    }
    return code;
}

void matrix_free(struct matrix *matrix)
{
    for (unsigned i = 0; i < matrix->batches_count; i++) {
        for (size_t j = 0; j < matrix->batches[i].witnesses_count; j++) {
            free(matrix->batches[i].witnesses[j]);
        }
        free(matrix->batches[i].witnesses);
    }
    free(matrix->cells);
    memset(matrix, 0, sizeof *matrix);
}

/* ---- one run ---- */

static void write_conf(FILE *file, const struct matrix *matrix, const struct matrix_cell *cell)
{
    const struct matrix_batch *batch = &matrix->batches[cell->batch];
    const bool baseline = strcmp(cell->policy, MATRIX_UNDER_LOCK) == 0;
    fprintf(file, "circuit measured {\n  zkey = \"%s\"\n}\n", batch->zkey);
    fprintf(file,
            "job measured {\n  circuit = measured\n  witnesses = \"w/*.wtns\"\n  output = \"out\"\n}\n");
    fprintf(file, "devices = { %s }\n", batch->simulated ? "sim" : "cpu");
    if (batch->simulated) { /* split as a GPU's time is, roughly */
        uint64_t tenth = batch->compute_ns / 10;
        fprintf(file,
                "lanes_per_device = 2\ndevice sim {\n  h2d = 1ms\n  evaluate = %" PRIu64
                "ns\n  ntt = %" PRIu64 "ns\n  msm = %" PRIu64
                "ns\n  d2h = 1ms\n  spread = 10\n  seed = 1\n}\n",
                tenth, 2 * tenth, batch->compute_ns - 3 * tenth);
    }
    fprintf(file, "allocator = %s\nbuffers = %s\n", cell->allocator, cell->buffers);
    fprintf(file, "trim {\n  policy = %s\n  interval = %" PRIu64 "ns\n  min_freed = %" PRIu64 "b\n}\n",
            baseline ? "off" : cell->policy, matrix->interval_ns, matrix->min_freed_bytes);
    fprintf(file, "trace = \"run.trace\"\n");
}

enum error_code matrix_prepare(const struct matrix *matrix, const struct matrix_cell *cell,
                               const char *folder, struct error *error)
{
    const struct matrix_batch *batch = &matrix->batches[cell->batch];
    char path[2 * MATRIX_PATH_BYTES];
    snprintf(path, sizeof path, "%s/w", folder);
    if (mkdir(folder, 0755) != 0 || mkdir(path, 0755) != 0) {
        return error_set_errno(error, errno, "%s: creating", path);
    }
    for (unsigned i = 0; i < batch->partitions; i++) {
        snprintf(path, sizeof path, "%s/w/p-%05u.wtns", folder, i);
        if (symlink(batch->witnesses[i % batch->witnesses_count], path) != 0) {
            return error_set_errno(error, errno, "%s: creating", path);
        }
    }
    snprintf(path, sizeof path, "%s/run.conf", folder);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return error_set_errno(error, errno, "%s: creating", path);
    }
    write_conf(file, matrix, cell);
    return fclose(file) == 0 ? ERROR_NONE : error_set_errno(error, errno, "%s: writing", path);
}

/* ---- the table ---- */

struct matrix_spread matrix_spread_of(const struct matrix_cell *cell, enum outcome_number number)
{
    double values[MATRIX_REPEATS_MAX];
    CHECK(cell->count > 0 && cell->count <= MATRIX_REPEATS_MAX);
    for (unsigned i = 0; i < cell->count; i++) {
        values[i] = cell->outcomes[i].numbers[number];
    }
    struct matrix_spread spread = {.median = fit_median(values, cell->count)};
    spread.least = values[0]; /* they are sorted now */
    spread.most = values[cell->count - 1];
    return spread;
}

static void print_cell(FILE *out, const struct matrix_cell *cell)
{
    fprintf(out, "| %s | %s | %s |", cell->allocator, cell->policy, cell->buffers);
    for (unsigned i = 0; i < MATRIX_SHOWN; i++) {
        if (cell->count == 0) {
            fprintf(out, " failed |");
            continue;
        }
        struct matrix_spread spread = matrix_spread_of(cell, matrix_shown[i]);
        int digits = spread.most < 10 ? 2 : spread.most < 1000 ? 1 : 0;
        fprintf(out, " %.*f (%.*f-%.*f) |", digits, spread.median, digits, spread.least, digits, spread.most);
    }
    fprintf(out, "\n");
}

void matrix_print(FILE *out, const struct matrix *matrix)
{
    for (unsigned batch = 0; batch < matrix->batches_count; batch++) {
        const struct matrix_batch *measured = &matrix->batches[batch];
        fprintf(out, "Batch %s: %u partitions on %s, ballast %s (%s)\n\n", measured->name,
                measured->partitions, measured->simulated ? "the simulated device" : "the CPU",
                measured->ballast, measured->chunks);
        fprintf(out, "| allocator | trim | buffers |");
        for (unsigned i = 0; i < MATRIX_SHOWN; i++) {
            fprintf(out, " %s |", outcome_label(matrix_shown[i]));
        }
        fprintf(out, "\n|---|---|---|");
        for (unsigned i = 0; i < MATRIX_SHOWN; i++) {
            fprintf(out, "---:|");
        }
        fprintf(out, "\n");
        for (size_t i = 0; i < matrix->cells_count; i++) {
            if (matrix->cells[i].batch == batch) {
                print_cell(out, &matrix->cells[i]);
            }
        }
        fprintf(out, "\n");
    }
}
