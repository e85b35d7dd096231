/* bench_prover - whole proofs, by uzk and, in turn with it, by another prover.
 *
 * bench_prover [OPTION...] FOLDER...: each folder holds one .zkey and witnesses (witness-*.wtns). One proof
 * is a process from its start to its end, with the key in the file cache. Provers take turns (A B A B), so
 * that what else the machine does hits them alike; wall time, processor time and peak memory are medians,
 * their ratios are ratios of medians. With
 * --batch N the same for N proofs of one circuit: uzk as `uzk run`, rapidsnark as a loop and as one loop for
 * each processor, pinned to it. RAPIDSNARK in the environment names its `prover`; without it uzk is measured
 * alone. With --instructions single proofs are also run once under valgrind's callgrind, whose count no other
 * load of the machine changes; since valgrind knows neither AVX-512 nor changed rounding, uzk then computes
 * at level adx (UZK_CPU, unless that is set already), so that this count isn't the timed program's own.
 *
 * Exit codes: 0, 1 if a prover failed, 2 usage, 3 refused by the system. */
#include "bench/fit.h"
#include "conf/check.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_MAX = 1000, BATCH_MAX = 100000, WAYS_MAX = 3 };

struct options {
    const char *uzk, *rival, *json;
    unsigned runs, batch, batch_runs;
    bool instructions;
    char **folders;
    size_t folders_count;
};

/* What is proven, and where results go: a temporary folder of ours. */
struct job {
    const struct options *options;
    const char *folder;
    char key[PATH_MAX];
    glob_t witnesses;
    char work[64];
    unsigned proofs, processors;
    const char *counted; /* the file for valgrind's count of instructions, or NULL: runs without valgrind */
};

struct usage {
    double wall_s, cpu_s, peak_mib;
};

/* One way to do a job: runs in a child process and never returns. */
struct way {
    const char *name;
    void (*run)(const struct job *job);
    struct usage *usages;
};

static _Noreturn void refuse(const char *what)
{
    fprintf(stderr, "bench_prover: %s: %s\n", what, strerror(errno));
    exit(3);
}

static const char *witness_at(const struct job *job, unsigned number)
{
    return job->witnesses.gl_pathv[number % job->witnesses.gl_pathc];
}

/* ---- ways; all of them run in a child ---- */

static _Noreturn void become(const char *program, char *const *arguments)
{
    execv(program, arguments);
    perror(program);
    _exit(127);
}

static _Noreturn void become_counted(const char *log, const char **arguments, int count)
{
    enum { OPTIONS = 4, ARGUMENTS_MAX = 16 };
    char log_option[160];
    const char *all[OPTIONS + ARGUMENTS_MAX + 1] = {"valgrind", "--tool=callgrind",
                                                    "--callgrind-out-file=/dev/null", log_option};
    CHECK(count <= ARGUMENTS_MAX);
    snprintf(log_option, sizeof log_option, "--log-file=%s", log);
    memcpy(all + OPTIONS, arguments, (size_t)count * sizeof *all);
    setenv("UZK_CPU", "adx", 0);
    execvp(all[0], (char *const *)all);
    perror(all[0]);
    _exit(127);
}

static _Noreturn void prove_one(const struct job *job, const char *program, const char *command,
                                unsigned number)
{
    char proof[128], publics[128];
    snprintf(proof, sizeof proof, "%s/proof-%d.json", job->work, (int)getpid());
    snprintf(publics, sizeof publics, "%s/public-%d.json", job->work, (int)getpid());
    const char *arguments[8] = {program};
    int count = 1;
    if (command) {
        arguments[count++] = command;
    }
    if (command && job->counted) {
        arguments[count++] = "--threads=1"; /* valgrind runs threads in turn: waiting ones would be counted */
    }
    arguments[count++] = job->key;
    arguments[count++] = witness_at(job, number);
    arguments[count++] = proof;
    arguments[count++] = publics;
    if (job->counted) {
        become_counted(job->counted, arguments, count);
    }
    become(program, (char *const *)arguments);
}

static void uzk_one(const struct job *job)
{
    prove_one(job, job->options->uzk, "prove", 0);
}

static void rival_one(const struct job *job)
{
    prove_one(job, job->options->rival, NULL, 0);
}

static void uzk_batch(const struct job *job)
{
    char conf[128];
    snprintf(conf, sizeof conf, "%s/batch.conf", job->work);
    char *const arguments[] = {(char *)job->options->uzk, "run", conf, NULL};
    become(job->options->uzk, arguments);
}

/* Waits for the child; exits with its failure. */
static void wait_in_loop(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        _exit(1);
    }
}

static _Noreturn void rival_loop(const struct job *job, unsigned begin, unsigned end)
{
    for (unsigned i = begin; i < end; i++) {
        const pid_t child = fork();
        if (child == 0) {
            prove_one(job, job->options->rival, NULL, i);
        }
        wait_in_loop(child);
    }
    _exit(0);
}

static void rival_batch(const struct job *job)
{
    rival_loop(job, 0, job->proofs);
}

static void rival_pinned(const struct job *job)
{
    pid_t children[CPU_SETSIZE];
    for (unsigned i = 0; i < job->processors; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(i, &set);
            if (sched_setaffinity(0, sizeof set, &set) != 0) {
                _exit(1);
            }
            rival_loop(job, job->proofs * i / job->processors, job->proofs * (i + 1) / job->processors);
        }
    }
    for (unsigned i = 0; i < job->processors; i++) {
        wait_in_loop(children[i]);
    }
    _exit(0);
}

/* ---- measuring ---- */

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static void clean_output(const struct job *job)
{
    char path[128];
    snprintf(path, sizeof path, "%s/out", job->work);
    const pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        refuse(path);
    }
}

/* Runs one way once. False, and said, if it failed. */
static bool measure(struct usage *usage, const struct way *way, const struct job *job)
{
    clean_output(job);
    struct timespec begin, end;
    struct rusage spent;
    int status;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &begin) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(silence, STDOUT_FILENO);
        way->run(job);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &spent) != child) {
        refuse(way->name);
    }
    CHECK(clock_gettime(CLOCK_MONOTONIC, &end) == 0);
    usage->wall_s = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    usage->cpu_s = seconds_of(&spent.ru_utime) + seconds_of(&spent.ru_stime);
    usage->peak_mib = (double)spent.ru_maxrss / 1024;
    if (status != 0) {
        fprintf(stderr, "bench_prover: %s failed on %s (status %d)\n", way->name, job->folder, status);
    }
    return status == 0;
}

/* The instructions of one run, or 0, and said, if it failed. */
static double count_instructions(const struct way *way, struct job *job)
{
    static const char label[] = "Collected :";
    char log[128], line[256];
    double count = 0;
    struct usage usage;
    snprintf(log, sizeof log, "%s/callgrind.log", job->work);
    job->counted = log;
    const bool good = measure(&usage, way, job);
    job->counted = NULL;
    FILE *file = good ? fopen(log, "re") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        const char *at = strstr(line, label);
        if (at) {
            count = strtod(at + strlen(label), NULL);
        }
    }
    if (file) {
        fclose(file);
    }
    if (good && count == 0) {
        fprintf(stderr, "bench_prover: %s: expected a line \"Collected : NUMBER\" from callgrind\n", log);
    }
    return count;
}

static double median_of(const struct usage *usages, unsigned count, size_t member)
{
    double values[RUNS_MAX];
    for (unsigned i = 0; i < count; i++) {
        memcpy(&values[i], (const char *)&usages[i] + member, sizeof values[i]);
    }
    return fit_median(values, count);
}

static json_t *describe(const struct way *way, unsigned runs)
{
    json_t *walls = json_array();
    for (unsigned i = 0; i < runs; i++) {
        json_array_append_new(walls, json_real(way->usages[i].wall_s));
    }
    return json_pack("{s:s, s:f, s:f, s:f, s:o}", "prover", way->name, "wall_s",
                     median_of(way->usages, runs, offsetof(struct usage, wall_s)), "cpu_s",
                     median_of(way->usages, runs, offsetof(struct usage, cpu_s)), "peak_mib",
                     median_of(way->usages, runs, offsetof(struct usage, peak_mib)), "walls_s", walls);
}

/* All ways in turn, `runs` times, after one round that isn't counted (it fills the file cache); prints a line
 * for each and appends them to `results`. */
static bool compare(struct way *ways, unsigned count, unsigned runs, struct job *job, json_t *results)
{
    struct usage warm_up;
    for (unsigned way = 0; way < count; way++) {
        ways[way].usages = calloc(runs, sizeof *ways[way].usages);
        if (ways[way].usages == NULL) {
            refuse("memory");
        }
        if (job->proofs == 1 && !measure(&warm_up, &ways[way], job)) {
            return false;
        }
    }
    for (unsigned run = 0; run < runs; run++) {
        for (unsigned way = 0; way < count; way++) {
            if (!measure(&ways[way].usages[run], &ways[way], job)) {
                return false;
            }
        }
    }
    json_t *measured = json_array();
    double first_wall = 0, first_cpu = 0;
    for (unsigned way = 0; way < count; way++) {
        json_t *line = describe(&ways[way], runs);
        const double wall = json_number_value(json_object_get(line, "wall_s"));
        const double cpu = json_number_value(json_object_get(line, "cpu_s"));
        first_wall = way == 0 ? wall : first_wall;
        first_cpu = way == 0 ? cpu : first_cpu;
        printf("%-28s %6u %-18s %9.3f %9.3f %9.1f %9.2f %7.2f %7.2f", job->folder, job->proofs,
               ways[way].name, wall, cpu, json_number_value(json_object_get(line, "peak_mib")),
               job->proofs / wall, first_wall / wall, first_cpu / cpu);
        if (job->options->instructions && job->proofs == 1) {
            const double instructions = count_instructions(&ways[way], job);
            if (instructions == 0) {
                return false;
            }
            printf(" %8.3f", instructions * 1e-9);
            json_object_set_new(line, "instructions", json_real(instructions));
        }
        printf("\n");
        json_object_set_new(line, "uzk_wall_ratio", json_real(first_wall / wall));
        json_object_set_new(line, "uzk_cpu_ratio", json_real(first_cpu / cpu));
        json_array_append_new(measured, line);
        free(ways[way].usages);
    }
    fflush(stdout);
    json_array_append_new(results, json_pack("{s:s, s:i, s:i, s:o}", "folder", job->folder, "proofs",
                                             (int)job->proofs, "runs", (int)runs, "provers", measured));
    return true;
}

/* ---- jobs ---- */

static void absolute(char path[PATH_MAX], const char *name)
{
    if (realpath(name, path) == NULL) {
        fprintf(stderr, "bench_prover: %s: %s\n", name, strerror(errno));
        exit(2);
    }
}

static void job_open(struct job *job, const struct options *options, const char *folder)
{
    char pattern[PATH_MAX + 32], real[PATH_MAX];
    glob_t keys;
    *job = (struct job){.options = options, .folder = folder, .proofs = 1};
    job->processors = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    absolute(real, folder);
    snprintf(pattern, sizeof pattern, "%s/*.zkey", real);
    if (glob(pattern, 0, NULL, &keys) != 0 || keys.gl_pathc != 1) {
        fprintf(stderr, "bench_prover: %s: expected one .zkey in this folder\n", folder);
        exit(2);
    }
    snprintf(job->key, sizeof job->key, "%s", keys.gl_pathv[0]);
    globfree(&keys);
    snprintf(pattern, sizeof pattern, "%s/witness-*.wtns", real);
    if (glob(pattern, 0, NULL, &job->witnesses) != 0) {
        fprintf(stderr, "bench_prover: %s: expected witness-*.wtns in this folder\n", folder);
        exit(2);
    }
    strcpy(job->work, "/tmp/bench_prover-XXXXXX");
    if (mkdtemp(job->work) == NULL) {
        refuse("a temporary folder");
    }
}

/* Witnesses as links with a name for each proof, and the configuration that proves them. */
static void job_make_batch(struct job *job, unsigned proofs)
{
    char path[128];
    job->proofs = proofs;
    for (unsigned i = 0; i < proofs; i++) {
        snprintf(path, sizeof path, "%s/w-%06u.wtns", job->work, i);
        if (symlink(witness_at(job, i), path) != 0) {
            refuse(path);
        }
    }
    snprintf(path, sizeof path, "%s/batch.conf", job->work);
    FILE *conf = fopen(path, "we");
    if (conf == NULL) {
        refuse(path);
    }
    fprintf(
        conf,
        "circuit measured {\n zkey = \"%s\"\n}\njob all {\n circuit = measured\n witnesses = \"w-*.wtns\"\n"
        " output = \"out\"\n}\ndevices = { cpu }\n",
        job->key);
    if (fclose(conf) != 0) {
        refuse(path);
    }
}

static void job_close(struct job *job)
{
    globfree(&job->witnesses);
    const pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", "--", job->work, (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

static bool measure_folder(const struct options *options, const char *folder, json_t *results)
{
    struct job job;
    job_open(&job, options, folder);
    const bool rival = options->rival != NULL;
    bool good = true;
    if (options->runs > 0) {
        struct way single[WAYS_MAX] = {{.name = "uzk", .run = uzk_one},
                                       {.name = "rapidsnark", .run = rival_one}};
        good = compare(single, rival ? 2 : 1, options->runs, &job, results);
    }
    if (good && options->batch > 0) {
        struct way batch[WAYS_MAX] = {{.name = "uzk run", .run = uzk_batch},
                                      {.name = "rapidsnark loop", .run = rival_batch},
                                      {.name = "rapidsnark pinned", .run = rival_pinned}};
        job_make_batch(&job, options->batch);
        good = compare(batch, rival ? WAYS_MAX : 1, options->batch_runs, &job, results);
    }
    job_close(&job);
    return good;
}

/* ---- command line ---- */

static unsigned number_at_most(const char *text, unsigned least, unsigned most, struct argp_state *state)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < least || value > most) {
        argp_error(state, "%s: expected a number from %u to %u", text, least, most);
    }
    return (unsigned)value;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'u':
        options->uzk = text;
        return 0;
    case 'j':
        options->json = text;
        return 0;
    case 'r':
        options->runs = number_at_most(text, 0, RUNS_MAX, state);
        return 0;
    case 'i':
        options->instructions = true;
        return 0;
    case 'b':
        options->batch = number_at_most(text, 0, BATCH_MAX, state);
        return 0;
    case 'B':
        options->batch_runs = number_at_most(text, 1, RUNS_MAX, state);
        return 0;
    case ARGP_KEY_ARGS:
        options->folders = state->argv + state->next;
        options->folders_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a folder with a key and witnesses is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"uzk", 'u', "PROGRAM", 0, "uzk; ./uzk unless given", 0},
    {"runs", 'r', "N", 0, "single proofs of each prover, 5 unless given", 0},
    {"batch", 'b', "N", 0, "also measure N proofs of one circuit", 0},
    {"batch-runs", 'B', "N", 0, "batches of each prover, 1 unless given", 0},
    {"instructions", 'i', NULL, 0, "also count a single proof's instructions, by valgrind", 0},
    {"json", 'j', "FILE", 0, "write the figures there, too", 0},
    {0},
};

static const struct argp argp = {.options = option_table,
                                 .parser = parse_option,
                                 .args_doc = "FOLDER...",
                                 .doc =
                                     "Measures whole proofs; RAPIDSNARK=PROGRAM in turn with another prover"};

int main(int argc, char **argv)
{
    struct options options = {.uzk = "./uzk", .rival = getenv("RAPIDSNARK"), .runs = 5, .batch_runs = 1};
    char uzk[PATH_MAX], rival[PATH_MAX];
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    absolute(uzk, options.uzk);
    options.uzk = uzk;
    if (options.rival) {
        absolute(rival, options.rival);
        options.rival = rival;
    }
    double load[1] = {0};
    getloadavg(load, 1);
    printf("%ld processors, load %.1f at the start; ratios are uzk's median through the prover's\n",
           sysconf(_SC_NPROCESSORS_ONLN), load[0]);
    printf("%-28s %6s %-18s %9s %9s %9s %9s %7s %7s%s\n", "folder", "proofs", "prover", "wall s", "cpu s",
           "peak MiB", "proofs/s", "wall", "cpu", options.instructions ? "  G instr" : "");
    json_t *results = json_array();
    bool good = true;
    for (size_t i = 0; i < options.folders_count && good; i++) {
        good = measure_folder(&options, options.folders[i], results);
    }
    json_t *root = json_pack("{s:i, s:f, s:o}", "processors", (int)sysconf(_SC_NPROCESSORS_ONLN),
                             "load_at_start", load[0], "measurements", results);
    if (options.json && json_dump_file(root, options.json, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0) {
        refuse(options.json);
    }
    json_decref(root);
    return good ? 0 : 1;
}
