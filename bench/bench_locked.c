/* bench_locked - runs a batch through the baseline pipeline (locked.h), over a heap of chosen size
 * (ballast.h).
 *
 * Takes the configuration of `uzk run`. bench_run does the same with uzk's pipeline. */
#include "alloc/allocator.h"
#include "bench/ballast.h"
#include "bench/locked.h"
#include "bench/outcome.h"
#include "conf/check.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTLE_US = 500000 };

struct options {
    struct ballast_settings ballast;
    struct locked_settings locked;
    const char *config, *allocator, *trace;
    bool line;
};

static unsigned number(const char *text, unsigned most, struct argp_state *state)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value == 0 || value > most) {
        argp_error(state, "%s: expected a number from 1 to %u", text, most);
    }
    return (unsigned)value;
}

static uint64_t duration(const char *text, struct argp_state *state)
{
    uint64_t ns = 0;
    if (!config_duration_ns(&ns, text)) {
        argp_error(state, "%s: expected a duration such as 300ms", text);
    }
    return ns;
}

static enum locked_trim trim_named(const char *text, struct argp_state *state)
{
    static const char *const names[] = {"off", "outside", "inside"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], text) == 0) {
            return i;
        }
    }
    argp_error(state, "%s: expected inside, outside or off", text);
    return LOCKED_TRIM_OFF;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    struct locked_settings *locked = &options->locked;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->ballast;
        return 0;
    case 'n':
        locked->partitions = number(text, 1000000, state);
        return 0;
    case 'i':
        locked->in_flight = number(text, LOCKED_IN_FLIGHT_MAX, state);
        return 0;
    case 'w':
        locked->workers = number(text, LOCKED_WORKERS_MAX, state);
        return 0;
    case 's':
        locked->synthesizers = number(text, LOCKED_SYNTHESIZERS_MAX, state);
        return 0;
    case 'F':
        locked->finalizers = number(text, LOCKED_IN_FLIGHT_MAX, state);
        return 0;
    case 'T':
        locked->trim = trim_named(text, state);
        return 0;
    case 'H':
        locked->hold_ns = duration(text, state);
        return 0;
    case 'D':
        locked->handover_ns = duration(text, state);
        return 0;
    case 'A':
        options->allocator = text;
        return 0;
    case 't':
        options->trace = text;
        return 0;
    case 'l':
        options->line = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->config != NULL) {
            argp_usage(state);
        }
        options->config = text;
        return 0;
    case ARGP_KEY_END:
        if (options->config == NULL) {
            argp_usage(state);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"partitions", 'n', "N", 0, "Partitions, inputs in turn (default: one for each input)", 0},
    {"in-flight", 'i', "N", 0, "Partitions from synthesis to recorded (default: 27)", 0},
    {"workers", 'w', "N", 0, "GPU worker threads a device, each with a lane (default: 1)", 0},
    {"synthesizers", 's', "N", 0, "Synthesis threads (default: 2)", 0},
    {"finalizers", 'F', "N", 0, "Finalizer threads (default: as many as in flight)", 0},
    {"trim", 'T', "WHERE", 0, "inside: under the tracker's lock (default); outside: after it; off", 0},
    {"hold", 'H', "TIME", 0, "Hold the lock so much longer for each partition (default: 0ms)", 0},
    {"handover", 'D', "TIME", 0, "Delay before a worker begins (default: 0ms)", 0},
    {"allocator", 'A', "NAME", 0, "Instead of the configuration's", 0},
    {"trace", 't', "FILE", 0, "Instead of the configuration's", 0},
    {"line", 'l', NULL, 0, "Print the outcome as one line for a program", 0},
    {0},
};

static int fail(const struct error *error)
{
    fprintf(stderr, "bench_locked: %s\n", error->text);
    return error->code == ERROR_INPUT ? 2 : 3;
}

static enum error_code run(struct options *options, struct config *config, char **argv,
                           struct locked_result *result, struct outcome *outcome, struct error *error)
{
    static const char *const names[] = {"glibc", "tcmalloc", "jemalloc", "mimalloc"};
    static struct ballast ballast;
    const char *name = options->allocator != NULL ? options->allocator : names[config->allocator];
    const struct allocator *allocator = allocator_by_name(name);
    if (allocator == NULL) {
        return error_set(error, ERROR_INPUT, "%s: not an allocator that uzk knows", name);
    }
    options->locked.config = config;
    options->locked.trace = options->trace != NULL ? options->trace : config->trace;
    options->locked.trim_function = allocator->trim;
    options->locked.allocator = allocator->name;
    if (options->locked.trace == NULL) {
        return error_set(error, ERROR_INPUT, "%s: set trace, or give --trace", config->path);
    }
    enum error_code code = allocator_ensure(allocator, argv, error);
    code = code != ERROR_NONE ? code : ballast_init(&ballast, &options->ballast, error);
    code = code != ERROR_NONE ? code : locked_run(&options->locked, result, error);
    if (code == ERROR_NONE) {
        usleep(SETTLE_US);
        code = outcome_measure(outcome, options->locked.trace, result->done, result->failed, error);
    }
    return code; /* the ballast goes with the process */
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&ballast_argp, 0, "The heap", 1}, {0}};
    static const struct argp argp = {.options = option_table,
                                     .parser = parse_option,
                                     .args_doc = "CONF",
                                     .doc = "Runs a batch through the pipeline that uzk replaces: a tracker "
                                            "behind a fair lock, trims under it.",
                                     .children = children};
    struct options options = {
        .locked = {.in_flight = 27, .workers = 1, .synthesizers = 2, .trim = LOCKED_TRIM_INSIDE}};
    struct config config;
    struct locked_result result;
    struct outcome outcome;
    struct error error;
    ballast_defaults(&options.ballast);
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct locked_settings *locked = &options.locked;
    if (locked->finalizers == 0 || locked->finalizers > locked->in_flight) {
        locked->finalizers = locked->in_flight;
    }
    if (config_read(&config, options.config, &error) != ERROR_NONE ||
        run(&options, &config, argv, &result, &outcome, &error) != ERROR_NONE) {
        return fail(&error);
    }
    if (options.line) {
        outcome_write(stdout, &outcome);
    } else {
        printf("locked baseline, %u in flight, %u worker(s) a device\n", locked->in_flight, locked->workers);
        outcome_print(stdout, &outcome);
    }
    if (result.failed > 0) {
        fprintf(stderr, "bench_locked: %s\n", result.first_failure.text);
    }
    fflush(stdout);
    _exit(result.failed == 0 ? 0 : 1); /* without walking through the ballast */
}
