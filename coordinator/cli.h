/* cli.h - what every command of the program shares: exit codes, messages, options, numbers as text.
 *
 * Messages go to stderr, begin with "uzk: " and are written with one call each, so that lines of several
 * processes don't mix; data goes to stdout. Nothing here is for threads: the main thread runs a command. */
#ifndef COORDINATOR_CLI_H
#define COORDINATOR_CLI_H

#include "conf/error.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cli_exit {
    CLI_EXIT_DONE = 0,
    CLI_EXIT_FAILED = 1, /* some work failed, each piece named */
    CLI_EXIT_USAGE = 2,  /* wrong arguments or bad input */
    CLI_EXIT_SYSTEM = 3, /* the system refused something */
};

struct cli_command {
    const char *name;
    const char *arguments;             /* for the overview */
    const char *summary;               /* one clause */
    int (*run)(int argc, char **argv); /* argv[0] is "uzk NAME"; returns the exit code */
};

/* One line to stderr: "uzk: " and the message. */
void cli_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error's message, each of its lines with the prefix, and the exit code that belongs to it. */
int cli_fail(const struct error *error);

/* A device's error that ends a whole command is one that kept it from opening, so the system's. */
int cli_exit_code(enum error_code code);

/* Parses a command's arguments: between arguments_min and arguments_max positional ones, stored in arguments.
 * A wrong option or number of arguments is explained on stderr and ends the program with CLI_EXIT_USAGE;
 * --help and --usage print and end it with CLI_EXIT_DONE, as argp does. */
struct cli_arguments {
    const char **arguments;
    unsigned count, min, max;
    void *options; /* for the command's own parser, which finds it in state->input */
};
void cli_parse(const struct argp *argp, int argc, char **argv, struct cli_arguments *arguments);

/* What a command's argp parser calls for keys it doesn't know: takes positional arguments. */
error_t cli_parse_positional(int key, char *text, struct argp_state *state);

/* A whole decimal number from min to max; otherwise explains what was expected and ends the program. */
unsigned cli_parse_number(const char *text, unsigned min, unsigned max, const char *option,
                          struct argp_state *state);

/* The name that is nearest to word by insertions, deletions, replacements and swaps of neighbours, or NULL if
 * none is near enough to be meant. Words over 32 bytes are near to nothing. */
const char *cli_nearest(const char *word, const struct cli_command *commands, size_t count);

/* Flushes stdout. CLI_EXIT_SYSTEM and a message if what was printed could not all be written, else exit_code.
 */
int cli_finish(int exit_code);

/* "873 ns", "4.27 ms", "1.05 s", "2 min 05 s", "3 h 07 min": three significant digits, terminated. */
enum { CLI_TEXT_BYTES = 32 };
const char *cli_text_duration(char text[CLI_TEXT_BYTES], uint64_t ns);

/* "812 B", "3.71 MiB". */
const char *cli_text_bytes(char text[CLI_TEXT_BYTES], uint64_t bytes);

/* One line of a table: two columns of margin, the label padded to CLI_LABEL_COLUMNS, the text. */
enum { CLI_MARGIN = 2, CLI_LABEL_COLUMNS = 13 };
void cli_row(FILE *out, const char *label, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints text that the outside gave us (a name in a file) with "?" for control characters, which would act on
 * a terminal. */
void cli_print_plain(FILE *out, const char *text, size_t length);

/* Processors this process may use, at least 1. */
unsigned cli_processors(void);

#endif
