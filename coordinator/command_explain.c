#include "coordinator/command_explain.h"

#include "coordinator/cli.h"
#include "coordinator/explain.h"

#include <stdio.h>

static const char description[] =
    "Tells from a trace how busy each device was while there was work, and what its idle time went to: "
    "suspects ranked, "
    "with the utilization there would have been without each, and the worst gaps.\v"
    "A configuration's setting `trace` makes uzk run write one. The time looked at begins when the first "
    "partition is "
    "queued and ends with the last work of a device. The parts of the idle time add up to it exactly; "
    "utilization "
    "without a suspect is an estimate, since what waited for one reason may meet the next.";

enum { OPTION_JSON = 'j' };

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "print JSON, times in nanoseconds", 0}, {0}};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct cli_arguments *arguments = state->input;
    if (key == OPTION_JSON) {
        *(bool *)arguments->options = true;
        return 0;
    }
    return cli_parse_positional(key, text, state);
}

int command_explain(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "TRACE", .doc = description};
    const char *path;
    bool json = false;
    struct cli_arguments arguments = {.arguments = &path, .min = 1, .max = 1, .options = &json};
    struct explain explain;
    struct error error;
    cli_parse(&argp, argc, argv, &arguments);
    if (explain_open(&explain, path, &error) != ERROR_NONE) {
        return cli_fail(&error);
    }
    int exit_code = CLI_EXIT_DONE;
    if (!json) {
        explain_print(stdout, &explain, path);
    } else if (explain_print_json(stdout, &explain, &error) != ERROR_NONE) {
        exit_code = cli_fail(&error);
    }
    explain_close(&explain);
    return cli_finish(exit_code);
}
