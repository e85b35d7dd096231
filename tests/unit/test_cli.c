/* Texts of numbers, typing mistakes in command names, exit codes. */
#include "coordinator/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct cli_command commands[] = {
    {.name = "prove"}, {.name = "verify"},  {.name = "run"},
    {.name = "check"}, {.name = "inspect"}, {.name = "devices"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void nearest_is(const char *word, const char *expected)
{
    const char *found = cli_nearest(word, commands, COMMANDS);
    if (expected == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, expected);
    }
}

static void nearest_finds_typing_mistakes(void **state)
{
    (void)state;
    nearest_is("porve", "prove");
    nearest_is("prov", "prove");
    nearest_is("provee", "prove");
    nearest_is("verfiy", "verify");
    nearest_is("chekc", "check");
    nearest_is("rnu", "run");
    nearest_is("device", "devices");
    nearest_is("insp", "inspect");
    nearest_is("", NULL);
    nearest_is("x", NULL);
    nearest_is("report", NULL);
    nearest_is("a-word-that-is-longer-than-every-name-there-is", NULL);
}

static void durations_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        const char *text;
    } table[] = {
        {0, "0 ns"},
        {999, "999 ns"},
        {1000, "1.00 us"},
        {9994, "9.99 us"},
        {9996, "10.0 us"},
        {99960, "100 us"},
        {999499, "999 us"},
        {999500, "1.00 ms"},
        {4270000, "4.27 ms"},
        {999499999, "999 ms"},
        {999500000, "1.00 s"},
        {1050000000, "1.05 s"},
        {99949999999, "99.9 s"},
        {99950000000, "1 min 40 s"},
        {125000000000, "2 min 05 s"},
        {3599500000000, "1 h 00 min"},
        {11220000000000, "3 h 07 min"},
    };
    for (size_t row = 0; row < sizeof table / sizeof table[0]; row++) {
        char text[CLI_TEXT_BYTES];
        assert_string_equal(cli_text_duration(text, table[row].ns), table[row].text);
    }
    char text[CLI_TEXT_BYTES];
    assert_true(strlen(cli_text_duration(text, UINT64_MAX)) < CLI_TEXT_BYTES);
}

static void bytes_have_three_digits(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } table[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {3890175, "3.71 MiB"},
        {UINT64_C(1000) << 10, "0.98 MiB"},
        {UINT64_C(3) << 30, "3.00 GiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (size_t row = 0; row < sizeof table / sizeof table[0]; row++) {
        char text[CLI_TEXT_BYTES];
        assert_string_equal(cli_text_bytes(text, table[row].bytes), table[row].text);
    }
}

static void errors_have_exit_codes(void **state)
{
    (void)state;
    assert_int_equal(cli_exit_code(ERROR_NONE), 0);
    assert_int_equal(cli_exit_code(ERROR_PROOF), 1);
    assert_int_equal(cli_exit_code(ERROR_DEVICE), 3);
    assert_int_equal(cli_exit_code(ERROR_CANCELED), 1);
    assert_int_equal(cli_exit_code(ERROR_INPUT), 2);
    assert_int_equal(cli_exit_code(ERROR_SYSTEM), 3);
}

/* What a child process says on stderr while it runs body. */
static void child_says(void (*body)(void), char *said, size_t capacity, int *exit_code)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while (length + 1 < capacity && (got = read(ends[0], said + length, capacity - 1 - length)) > 0) {
        length += (size_t)got;
    }
    said[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    *exit_code = WEXITSTATUS(status);
}

static void say_two_lines(void)
{
    struct error error;
    _exit(error_set(&error, ERROR_INPUT, "a.conf:3: no such key 'x'\na.conf:9: missing '}'")
              ? cli_fail(&error)
              : 0);
}

static void every_line_has_the_prefix(void **state)
{
    (void)state;
    char said[1024];
    int exit_code;
    child_says(say_two_lines, said, sizeof said, &exit_code);
    assert_string_equal(said, "uzk: a.conf:3: no such key 'x'\nuzk: a.conf:9: missing '}'\n");
    assert_int_equal(exit_code, CLI_EXIT_USAGE);
}

static void parse_three_of_two(void)
{
    const struct argp argp = {.parser = cli_parse_positional, .args_doc = "A B"};
    const char *given[2];
    struct cli_arguments arguments = {.arguments = given, .min = 2, .max = 2};
    char *argv[] = {"uzk test", "1", "2", "3", NULL};
    argp_err_exit_status = CLI_EXIT_USAGE;
    cli_parse(&argp, 4, argv, &arguments);
}

static void parse_one_of_two(void)
{
    const struct argp argp = {.parser = cli_parse_positional, .args_doc = "A B"};
    const char *given[2];
    struct cli_arguments arguments = {.arguments = given, .min = 2, .max = 2};
    char *argv[] = {"uzk test", "1", NULL};
    argp_err_exit_status = CLI_EXIT_USAGE;
    cli_parse(&argp, 2, argv, &arguments);
}

static void wrong_numbers_of_arguments_are_usage(void **state)
{
    (void)state;
    char said[1024];
    int exit_code;
    child_says(parse_three_of_two, said, sizeof said, &exit_code);
    assert_int_equal(exit_code, CLI_EXIT_USAGE);
    assert_non_null(strstr(said, "unexpected argument '3'"));
    child_says(parse_one_of_two, said, sizeof said, &exit_code);
    assert_int_equal(exit_code, CLI_EXIT_USAGE);
    assert_non_null(strstr(said, "missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_finds_typing_mistakes),
        cmocka_unit_test(durations_have_three_digits),
        cmocka_unit_test(bytes_have_three_digits),
        cmocka_unit_test(errors_have_exit_codes),
        cmocka_unit_test(every_line_has_the_prefix),
        cmocka_unit_test(wrong_numbers_of_arguments_are_usage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
