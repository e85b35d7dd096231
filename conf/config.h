/* config.h - the configuration file of `uzk run` and `uzk check`, read and resolved.
 *
 * The file is libConfuse's format (DESIGN section 10): named sections, one setting a line, no semicolons, `#`
 * comments, include("file"). Durations and sizes carry a unit (500ms, 30s, 5m, 2h; 64kb, 64mb, 1gb); a
 * missing or unknown unit is an error. Paths are relative to the folder of the configuration file. Every
 * unknown key, wrong type, duplicate section, bad value and missing file is reported with file and line.
 * include works between sections; a setting is relative to the file it is written in, and each may be given
 * once over all files. In a witness_command the program, if it has a slash in it, and arguments that begin
 * with ./ or ../ are paths too; they come out absolute.
 *
 * Two inputs that would be written to the same output, within a job or across jobs and however the way to its
 * folder is written, are an error, as is an input that one of the outputs would overwrite. Names of jobs and
 * stems of inputs are safe as parts of a file name: no slash, no control character, no dot first, at most 200
 * bytes.
 *
 * config_read allocates with malloc and runs before the coordinator starts; config_free gives everything
 * back. Any one thread. Nothing here opens a circuit or a witness: it names them, expanded and checked to
 * exist. */
#ifndef CONF_CONFIG_H
#define CONF_CONFIG_H

#include "conf/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum config_priority { CONFIG_CRITICAL, CONFIG_HIGH, CONFIG_NORMAL, CONFIG_LOW, CONFIG_PRIORITIES };
enum config_check_points { CONFIG_CHECK_OFF, CONFIG_CHECK_CURVE, CONFIG_CHECK_FULL };
enum config_tables { CONFIG_TABLES_AUTO, CONFIG_TABLES_OFF, CONFIG_TABLES_H, CONFIG_TABLES_ALL };
enum config_trim_policy { CONFIG_TRIM_OFF, CONFIG_TRIM_INLINE, CONFIG_TRIM_TIMER, CONFIG_TRIM_PRESSURE };
enum config_allocator { CONFIG_GLIBC, CONFIG_TCMALLOC, CONFIG_JEMALLOC, CONFIG_MIMALLOC };
enum config_device_kind { CONFIG_DEVICE_CPU, CONFIG_DEVICE_CUDA, CONFIG_DEVICE_SIM };

struct config_circuit {
    char *name;
    char *zkey; /* absolute or relative to the working folder, ready to open */
    enum config_check_points check_points;
    enum config_tables tables; /* of multiples of the key's points */
    int line;                  /* of the zkey setting */
};

/* One input of a job: a witness, or with a witness_command the generator's input. */
struct config_input {
    char *path;
    char *stem; /* "witness-000" of "in/witness-000.wtns": names the outputs; unique in an output folder */
};

struct config_job {
    char *name;
    size_t circuit; /* index into circuits */
    enum config_priority priority;
    uint64_t deadline_ns; /* from the start of the run; 0: none */
    char *output;         /* folder; created by the run */
    bool bundle; /* also OUTPUT/NAME.bundle.json, in partition order, when the last partition is done */
    char **witness_command; /* NULL-terminated argument vector with {input} and {witness}; NULL: inputs are
                               witnesses */
    uint64_t witness_timeout_ns; /* a generator that runs longer is killed and its partition fails */
    struct config_input *inputs; /* sorted by path as strcmp sorts, so that order is the same everywhere */
    size_t inputs_count;
    int line; /* of the witnesses or inputs setting */
};

struct config_device {
    enum config_device_kind kind;
    unsigned index; /* of a cuda device */
};

/* device sim { h2d = 2ms  evaluate = 5ms  ntt = 20ms  msm = 60ms  d2h = 1ms  spread = 10  seed = 1 } */
struct config_sim {
    uint64_t stage_ns[5];
    unsigned spread_percent;
    uint64_t seed;
};

struct config {
    char *path;
    struct config_circuit *circuits;
    size_t circuits_count;
    struct config_job *jobs;
    size_t jobs_count;
    struct config_device *devices; /* empty: auto */
    size_t devices_count;
    struct config_sim sim;
    unsigned lanes_per_device; /* 0: auto (two on a GPU, one per thread and one more on the CPU) */
    unsigned threads;          /* 0: auto (the processors this process may use) */
    unsigned lookahead;        /* partitions prepared ahead of the lanes; 0: auto */
    uint64_t memory_budget;    /* bytes; 0: auto (memory available at start) */
    uint64_t memory_safety_margin;
    enum config_trim_policy trim_policy;
    uint64_t trim_interval_ns;
    uint64_t trim_min_freed;
    bool allocator_set;
    enum config_allocator allocator;
    bool buffers_heap;
    char *trace; /* NULL: none */
    uint64_t timeline_ns;
    bool self_check;
};

/* Reads, expands globs, resolves paths, checks that every named file exists. On failure nothing stays
 * allocated and *error holds the first problem; further ones are appended on lines of their own while they
 * fit. A syntax error or an unknown key ends the reading. ERROR_INPUT: the file is wrong or isn't there;
 * ERROR_SYSTEM: it cannot be opened or read. Cost: linear in the files named. */
enum error_code config_read(struct config *config, const char *path, struct error *error) ERROR_MUST_USE;

void config_free(struct config *config);

/* Prints the resolved configuration in the config file's own syntax, defaults filled in, so that it can be
 * run as it is. */
void config_print(const struct config *config, FILE *out);

/* "500ms" -> 500000000; false on a missing or unknown unit, a fraction, or overflow. Units: ns us ms s m h.
 */
bool config_duration_ns(uint64_t *ns, const char *text);

/* "64mb" -> 67108864; units b kb mb gb tb, powers of 1024, lower or upper case. */
bool config_size_bytes(uint64_t *bytes, const char *text);

#endif
