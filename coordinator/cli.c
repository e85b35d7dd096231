#include "coordinator/cli.h"

#include "conf/check.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Message texts may be as long as an error's, with a prefix for each of its lines. */
enum { MESSAGE_BYTES = 4 * ERROR_TEXT_BYTES };

static const char prefix[] = "uzk: ";

static void message_write(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return; /* there is nobody left to tell */
        }
        text += written;
        length -= (size_t)written;
    }
}

static char plain(char one)
{
    unsigned char code = (unsigned char)one;
    return code < 0x20 || code == 0x7f ? '?' : one;
}

/* Copies text with the prefix before each line, a newline at the end and no other control character. */
static size_t message_compose(char *out, size_t capacity, const char *text)
{
    size_t length = 0;
    bool line_start = true;
    for (const char *from = text; *from != '\0'; from++) {
        size_t needed = 2 + (line_start ? sizeof prefix - 1 : 0);
        if (needed > capacity - length) {
            break;
        }
        if (line_start) {
            memcpy(out + length, prefix, sizeof prefix - 1);
            length += sizeof prefix - 1;
        }
        out[length++] = *from == '\n' ? '\n' : plain(*from); /* file names may hold what acts on a terminal */
        line_start = *from == '\n';
    }
    if (!line_start) {
        out[length++] = '\n';
    }
    CHECK(length <= capacity);
    return length;
}

void cli_message(const char *format, ...)
{
    char text[MESSAGE_BYTES / 2];
    char lines[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    message_write(lines, message_compose(lines, sizeof lines, text));
}

int cli_exit_code(enum error_code code)
{
    static const int codes[ERROR_CODES] = {
        [ERROR_NONE] = CLI_EXIT_DONE,     [ERROR_INPUT] = CLI_EXIT_USAGE,  [ERROR_SYSTEM] = CLI_EXIT_SYSTEM,
        [ERROR_DEVICE] = CLI_EXIT_SYSTEM, [ERROR_PROOF] = CLI_EXIT_FAILED, [ERROR_CANCELED] = CLI_EXIT_FAILED,
    };
    CHECK(code < ERROR_CODES);
    return codes[code];
}

int cli_fail(const struct error *error)
{
    CHECK(error->code != ERROR_NONE);
    cli_message("%s", error->text);
    return cli_exit_code(error->code);
}

error_t cli_parse_positional(int key, char *text, struct argp_state *state)
{
    struct cli_arguments *arguments = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (arguments->count == arguments->max) {
            argp_error(state, "unexpected argument '%s'", text);
        }
        arguments->arguments[arguments->count++] = text;
        return 0;
    case ARGP_KEY_END:
        if (arguments->count < arguments->min) {
            argp_error(state, "arguments are missing: %u given, %u expected", arguments->count,
                       arguments->min);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void cli_parse(const struct argp *argp, int argc, char **argv, struct cli_arguments *arguments)
{
    CHECK(arguments->min <= arguments->max);
    arguments->count = 0;
    /* Help without a paragraph about long and short options that everybody knows; whoever set it knows
     * better. */
    bool ours = getenv("ARGP_HELP_FMT") == NULL && setenv("ARGP_HELP_FMT", "no-dup-args-note", 0) == 0;
    error_t result = argp_parse(argp, argc, argv, 0, NULL, arguments);
    if (ours) {
        unsetenv("ARGP_HELP_FMT");
    }
    if (result != 0) {
        cli_message("%s: %s", argv[0], strerror(result));
        exit(CLI_EXIT_SYSTEM);
    }
}

unsigned cli_parse_number(const char *text, unsigned min, unsigned max, const char *option,
                          struct argp_state *state)
{
    uint64_t value = 0;
    bool valid = text[0] != '\0';
    for (const char *digit = text; *digit != '\0' && valid; digit++) {
        valid = *digit >= '0' && *digit <= '9' && value <= max;
        value = value * 10 + (uint64_t)(*digit - '0');
    }
    if (!valid || value < min || value > max) {
        argp_error(state, "%s takes a whole number from %u to %u, not '%s'", option, min, max, text);
    }
    return (unsigned)value;
}

enum { WORD_MAX = 32 };

/* Damerau-Levenshtein distance with adjacent swaps (optimal string alignment). */
static unsigned word_distance(const char *left, size_t left_length, const char *right, size_t right_length)
{
    CHECK(left_length <= WORD_MAX && right_length <= WORD_MAX);
    unsigned distance[WORD_MAX + 1][WORD_MAX + 1];
    for (size_t row = 0; row <= left_length; row++) {
        for (size_t column = 0; column <= right_length; column++) {
            if (row == 0 || column == 0) {
                distance[row][column] = (unsigned)(row + column);
                continue;
            }
            bool same = left[row - 1] == right[column - 1];
            unsigned best = distance[row - 1][column - 1] + (same ? 0 : 1);
            if (distance[row - 1][column] + 1 < best) {
                best = distance[row - 1][column] + 1;
            }
            if (distance[row][column - 1] + 1 < best) {
                best = distance[row][column - 1] + 1;
            }
            if (row > 1 && column > 1 && left[row - 1] == right[column - 2] &&
                left[row - 2] == right[column - 1] && distance[row - 2][column - 2] + 1 < best) {
                best = distance[row - 2][column - 2] + 1;
            }
            distance[row][column] = best;
        }
    }
    return distance[left_length][right_length];
}

const char *cli_nearest(const char *word, const struct cli_command *commands, size_t count)
{
    size_t length = strlen(word);
    if (length == 0 || length > WORD_MAX) {
        return NULL;
    }
    const char *nearest = NULL;
    unsigned nearest_distance = 3; /* farther is no typing mistake */
    for (size_t index = 0; index < count; index++) {
        const char *name = commands[index].name;
        size_t name_length = strlen(name);
        unsigned distance = word_distance(word, length, name, name_length);
        /* The start of one command's name is meant as that command, however short. */
        if (length >= 2 && length < name_length && strncmp(word, name, length) == 0) {
            distance = 1;
        }
        if (distance < nearest_distance && distance < name_length) {
            nearest = name;
            nearest_distance = distance;
        }
    }
    return nearest;
}

int cli_finish(int exit_code)
{
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) != 0 || failed) {
        cli_message("cannot write to standard output%s%s", errno != 0 ? ": " : "",
                    errno != 0 ? strerror(errno) : "");
        return CLI_EXIT_SYSTEM;
    }
    return exit_code;
}

/* value / unit with three significant digits. */
static void text_scaled(char text[CLI_TEXT_BYTES], uint64_t value, uint64_t unit, const char *name)
{
    double scaled = (double)value / (double)unit;
    int decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    snprintf(text, CLI_TEXT_BYTES, "%.*f %s", decimals, scaled, name);
}

const char *cli_text_duration(char text[CLI_TEXT_BYTES], uint64_t ns)
{
    const uint64_t us = 1000, ms = 1000 * us, s = 1000 * ms;
    if (ns < us) {
        snprintf(text, CLI_TEXT_BYTES, "%u ns", (unsigned)ns);
    } else if (ns < 999500) { /* so that rounding never shows 1000 of the smaller unit */
        text_scaled(text, ns, us, "us");
    } else if (ns < 999500 * us) {
        text_scaled(text, ns, ms, "ms");
    } else if (ns < 99950 * ms) {
        text_scaled(text, ns, s, "s");
    } else {
        uint64_t seconds = ns / s + (ns % s >= s / 2 ? 1 : 0);
        uint64_t minutes = seconds / 60;
        if (minutes < 60) {
            snprintf(text, CLI_TEXT_BYTES, "%u min %02u s", (unsigned)minutes, (unsigned)(seconds % 60));
        } else {
            snprintf(text, CLI_TEXT_BYTES, "%llu h %02u min", (unsigned long long)(minutes / 60),
                     (unsigned)(minutes % 60));
        }
    }
    return text;
}

const char *cli_text_bytes(char text[CLI_TEXT_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(text, CLI_TEXT_BYTES, "%u B", (unsigned)bytes);
        return text;
    }
    unsigned unit = 0;
    while (unit + 1 < sizeof units / sizeof units[0] && (bytes >> (10 * unit + 10)) >= 1000) {
        unit++;
    }
    text_scaled(text, bytes, UINT64_C(1) << (10 * unit + 10), units[unit]);
    return text;
}

void cli_row(FILE *out, const char *label, const char *format, ...)
{
    fprintf(out, "%*s%-*s", CLI_MARGIN, "", CLI_LABEL_COLUMNS, label);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    putc('\n', out);
}

void cli_print_plain(FILE *out, const char *text, size_t length)
{
    for (size_t index = 0; index < length; index++) {
        putc(plain(text[index]), out);
    }
}

unsigned cli_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1; /* more than 1024 processors: the caller's option says how many to use */
    }
    int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}
