#include "coordinator/command_report.h"

#include "coordinator/chrome.h"
#include "coordinator/cli.h"
#include "coordinator/cli_output.h"
#include "coordinator/explain.h"
#include "coordinator/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char description[] = "Draws a trace: one HTML page that needs nothing else, with utilization "
                                  "over time, the reasons for gaps, partitions, "
                                  "latencies, memory and trims.\v"
                                  "Without --html and --chrome the page is written to TRACE.html. The files "
                                  "appear whole or not at all. Open the file of "
                                  "--chrome in Perfetto (ui.perfetto.dev) or chrome://tracing.";

enum { OPTION_HTML = 'o', OPTION_CHROME = 'c' };

static const struct argp_option options[] = {
    {"html", OPTION_HTML, "FILE", 0, "write the page to FILE", 0},
    {"chrome", OPTION_CHROME, "FILE", 0, "write all events as JSON for Perfetto to FILE", 0},
    {0}};

enum { HTML, CHROME, OUTPUTS };

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct cli_arguments *arguments = state->input;
    const char **paths = arguments->options;
    switch (key) {
    case OPTION_HTML:
        paths[HTML] = text;
        return 0;
    case OPTION_CHROME:
        paths[CHROME] = text;
        return 0;
    default:
        return cli_parse_positional(key, text, state);
    }
}

/* Composes one output in memory; free() the text. */
static enum error_code compose(struct cli_output_file *file, char **text, int output,
                               const struct explain *explain, const char *name, struct error *error)
{
    size_t length = 0;
    FILE *stream = open_memstream(text, &length);
    if (stream == NULL) {
        return error_set_errno(error, errno, "%s: no memory for its report", name);
    }
    enum error_code code = ERROR_NONE;
    if (output == HTML) {
        code = report_html(stream, explain, name, error);
    } else {
        chrome_write(stream, &explain->read);
    }
    bool failed = ferror(stream) != 0;
    if ((fclose(stream) != 0 || failed) && code == ERROR_NONE) {
        code = error_set(error, ERROR_SYSTEM, "%s: no memory for its report", name);
    }
    file->text = *text;
    file->length = length;
    return code;
}

static enum error_code report(const char *trace, const char *const paths[OUTPUTS], struct error *error)
{
    struct cli_output_file files[OUTPUTS] = {{.path = NULL}};
    char *texts[OUTPUTS] = {NULL};
    size_t count = 0;
    struct explain explain;
    for (int output = 0; output < OUTPUTS; output++) {
        if (paths[output] != NULL) {
            files[count++].path = paths[output];
        }
    }
    if (cli_output_check(files, count, error) != ERROR_NONE ||
        explain_open(&explain, trace, error) != ERROR_NONE) {
        return error->code;
    }
    enum error_code code = ERROR_NONE;
    size_t index = 0;
    for (int output = 0; output < OUTPUTS && code == ERROR_NONE; output++) {
        if (paths[output] != NULL) {
            code = compose(&files[index++], &texts[output], output, &explain, trace, error);
        }
    }
    explain_close(&explain);
    if (code == ERROR_NONE) {
        code = cli_output_write(files, count, error);
    }
    free(texts[HTML]);
    free(texts[CHROME]);
    return code;
}

int command_report(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "TRACE", .doc = description};
    const char *trace, *paths[OUTPUTS] = {NULL};
    struct cli_arguments arguments = {.arguments = &trace, .min = 1, .max = 1, .options = paths};
    struct error error;
    char *beside = NULL;
    cli_parse(&argp, argc, argv, &arguments);
    if (paths[HTML] == NULL && paths[CHROME] == NULL) {
        if (asprintf(&beside, "%s.html", trace) < 0) {
            cli_message("%s: no memory for its report", trace);
            return CLI_EXIT_SYSTEM;
        }
        paths[HTML] = beside;
    }
    int exit_code = CLI_EXIT_DONE;
    if (report(trace, paths, &error) != ERROR_NONE) {
        exit_code = cli_fail(&error);
    } else {
        for (int output = 0; output < OUTPUTS; output++) {
            if (paths[output] != NULL) {
                cli_print_plain(stdout, paths[output], strlen(paths[output]));
                putchar('\n');
            }
        }
    }
    free(beside);
    return cli_finish(exit_code);
}
