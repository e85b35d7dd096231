#include "coordinator/command_run.h"

#include "alloc/allocator.h"
#include "conf/config.h"
#include "conf/config_names.h"
#include "coordinator/cli.h"
#include "coordinator/progress.h"
#include "coordinator/run.h"
#include "coordinator/summary.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char description[] = "Proves the batch that a configuration file describes. Shows progress on a "
                                  "terminal, plain lines elsewhere, and a "
                                  "summary at the end.\v"
                                  "Ctrl-C stops: proofs that a device is working on are finished and kept; a "
                                  "second one leaves at once. The same "
                                  "command later proves what is missing. Exit code: 0 all is proven, 1 some "
                                  "failed or the run was stopped, 2 the "
                                  "configuration or a file is wrong, 3 the system refused something.";

struct run_flags {
    bool verbose, quiet;
};

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct cli_arguments *arguments = state->input;
    struct run_flags *flags = arguments->options;
    switch (key) {
    case 'v':
        flags->verbose = true;
        return 0;
    case 'q':
        flags->quiet = true;
        return 0;
    default:
        return cli_parse_positional(key, text, state);
    }
}

static const struct argp_option option_table[] = {
    {"verbose", 'v', NULL, 0, "Two lines for each proof with the time of each of its stages", 0},
    {"quiet", 'q', NULL, 0, "No progress: only failures and the summary", 0},
    {0},
};

static bool all_proven(const struct run_result *result)
{
    return result->status.done == result->status.partitions && result->bundles_failed == 0 &&
           !result->stopped;
}

/* Executes the program again unless the configuration's allocator is in place. arguments: the command's own,
 * without its name. */
static enum error_code put_allocator(const struct config *config, int count, char **arguments,
                                     struct error *error)
{
    if (!config->allocator_set) {
        return ERROR_NONE;
    }
    char program[] = "uzk", command[] = "run";
    char **argv = calloc((size_t)count + 3, sizeof *argv);
    if (argv == NULL) {
        return error_set_errno(error, ENOMEM, "%s: setting the allocator", config->path);
    }
    argv[0] = program;
    argv[1] = command;
    for (int i = 0; i < count; ++i) {
        argv[2 + i] = arguments[i];
    }
    enum error_code code =
        allocator_ensure(allocator_by_name(config_allocator_names[config->allocator]), argv, error);
    free(argv);
    return code;
}

int command_run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse_option, .args_doc = "CONF", .doc = description};
    static struct run_result result;
    const char *path;
    struct run_flags flags = {.verbose = false};
    struct cli_arguments arguments = {.arguments = &path, .min = 1, .max = 1, .options = &flags};
    struct config config;
    struct progress progress;
    struct error error;
    cli_parse(&argp, argc, argv, &arguments);
    signal(SIGPIPE, SIG_IGN); /* whoever reads the progress may leave; the proofs go on */
    if (config_read(&config, path, &error) != ERROR_NONE) {
        return cli_fail(&error);
    }
    if (put_allocator(&config, argc - 1, argv + 1, &error) != ERROR_NONE) {
        int refused = cli_fail(&error);
        config_free(&config);
        return refused;
    }
    progress_init(&progress, STDERR_FILENO, flags.quiet);
    const struct run_options options = {
        .tick_ns = progress_tick_ns(&progress), .timing = flags.verbose, .sink = progress_sink(&progress)};
    enum error_code code = run_batch(&config, &options, &result, &error);
    progress_clear(&progress);
    int exit_code;
    if (code != ERROR_NONE) {
        exit_code = cli_fail(&error);
    } else {
        summary_print(stdout, &result, path,
                      isatty(STDOUT_FILENO) ? progress_terminal_width(STDOUT_FILENO) : 0);
        exit_code = all_proven(&result) ? CLI_EXIT_DONE : CLI_EXIT_FAILED;
    }
    config_free(&config);
    return cli_finish(exit_code);
}
