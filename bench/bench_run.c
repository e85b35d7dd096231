/* bench_run - runs a batch through uzk's pipeline, over a heap of chosen size (ballast.h).
 *
 * The same as `uzk run CONF`, which has no ballast, with the outcome in the numbers of bench_locked. The
 * configuration says everything; it must name a trace. */
#include "alloc/allocator.h"
#include "bench/ballast.h"
#include "bench/outcome.h"
#include "conf/check.h"
#include "coordinator/run.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SETTLE_US = 500000 };

struct options {
    struct ballast_settings ballast;
    const char *config;
    bool line;
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->ballast;
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
    {"line", 'l', NULL, 0, "Print the outcome as one line for a program", 0},
    {0},
};

static void print_note(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "bench_run: %s\n", text);
}

static enum error_code run(const struct options *options, struct config *config, char **argv,
                           struct run_result *result, struct outcome *outcome, struct error *error)
{
    static const char *const names[] = {"glibc", "tcmalloc", "jemalloc", "mimalloc"};
    static struct ballast ballast;
    const struct run_sink sink = {.note = print_note};
    const struct run_options run_options = {.sink = &sink};
    if (config->trace == NULL) {
        return error_set(error, ERROR_INPUT, "%s: set trace: the outcome is measured from it", config->path);
    }
    const struct allocator *allocator = allocator_by_name(names[config->allocator]);
    CHECK(allocator != NULL);
    enum error_code code = allocator_ensure(allocator, argv, error);
    code = code != ERROR_NONE ? code : ballast_init(&ballast, &options->ballast, error);
    code = code != ERROR_NONE ? code : run_batch(config, &run_options, result, error);
    if (code == ERROR_NONE) {
        usleep(SETTLE_US);
        code = outcome_measure(outcome, config->trace, result->status.done, result->status.failed, error);
    }
    return code; /* the ballast goes with the process */
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&ballast_argp, 0, "The heap", 1}, {0}};
    static const struct argp argp = {.options = option_table,
                                     .parser = parse_option,
                                     .args_doc = "CONF",
                                     .doc = "Runs a batch as `uzk run` does, over a heap of chosen size.",
                                     .children = children};
    static struct run_result result;
    struct options options = {.config = NULL};
    struct config config;
    struct outcome outcome;
    struct error error;
    ballast_defaults(&options.ballast);
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (config_read(&config, options.config, &error) != ERROR_NONE ||
        run(&options, &config, argv, &result, &outcome, &error) != ERROR_NONE) {
        fprintf(stderr, "bench_run: %s\n", error.text);
        return error.code == ERROR_INPUT ? 2 : 3;
    }
    if (options.line) {
        outcome_write(stdout, &outcome);
    } else {
        printf("uzk\n");
        outcome_print(stdout, &outcome);
    }
    fflush(stdout);
    /* without walking through the ballast */
    _exit(result.status.done == result.status.partitions && result.bundles_failed == 0 ? 0 : 1);
}
