/* main.c - the program uzk: picks the command and hands over. */
#include "coordinator/cli.h"
#include "coordinator/command_check.h"
#include "coordinator/command_devices.h"
#include "coordinator/command_explain.h"
#include "coordinator/command_inspect.h"
#include "coordinator/command_prove.h"
#include "coordinator/command_report.h"
#include "coordinator/command_run.h"
#include "coordinator/command_verify.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_command commands[] = {
    {"prove", "CIRCUIT.zkey WITNESS.wtns PROOF.json PUBLIC.json", "one proof, as fast as can be",
     command_prove},
    {"verify", "VKEY.json PUBLIC.json PROOF.json", "does a proof hold? exit code 0: yes, 1: no",
     command_verify},
    {"run", "CONF", "the batch of proofs that a configuration describes", command_run},
    {"check", "CONF", "all that is wrong with a configuration and its inputs", command_check},
    {"inspect", "FILE", "what a key, witness, trace, journal, proof holds", command_inspect},
    {"explain", "TRACE", "why the devices of a traced run were idle", command_explain},
    {"report", "TRACE", "a traced run as a page with pictures", command_report},
    {"devices", "", "what can prove here", command_devices},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void help_print(FILE *out)
{
    fputs("Usage: uzk COMMAND [ARGUMENT...]\n"
          "Proves batches of Groth16 circuits (BN254), from the files that "
          "circom and snarkjs write.\n\n",
          out);
    for (size_t index = 0; index < COMMANDS; index++) {
        const struct cli_command *command = &commands[index];
        bool takes = command->arguments[0] != '\0';
        fprintf(out, "  uzk %*s%s\n", takes ? -8 : 0, command->name, command->arguments);
        fprintf(out, "              %s\n", command->summary);
    }
    fputs("\nExamples:\n"
          "  uzk prove circuit.zkey witness.wtns proof.json public.json\n"
          "  uzk verify verification_key.json public.json proof.json\n"
          "  uzk check batch.conf && uzk run batch.conf\n"
          "\n"
          "uzk help COMMAND explains one command and its options; uzk --version "
          "tells the version.\n"
          "Exit codes: 0 done, 1 some work failed, 2 wrong usage or bad input, 3 "
          "the system refused "
          "something.\n",
          out);
}

static const struct cli_command *command_find(const char *name)
{
    for (size_t index = 0; index < COMMANDS; index++) {
        if (strcmp(commands[index].name, name) == 0) {
            return &commands[index];
        }
    }
    return NULL;
}

static int command_unknown(const char *name)
{
    const char *nearest = cli_nearest(name, commands, COMMANDS);
    if (nearest != NULL) {
        cli_message("there is no command '%s'; did you mean '%s'?", name, nearest);
    } else {
        cli_message("there is no command '%s'; 'uzk --help' lists them", name);
    }
    return CLI_EXIT_USAGE;
}

static int command_start(const struct cli_command *command, int argc, char **argv)
{
    char name[32]; /* argp's messages begin with it */
    snprintf(name, sizeof name, "uzk %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        help_print(stdout);
        return cli_finish(CLI_EXIT_DONE);
    }
    const struct cli_command *command = command_find(argv[1]);
    if (command == NULL) {
        return command_unknown(argv[1]);
    }
    char option[] = "--help";
    char *arguments[] = {argv[0], option, NULL};
    return command_start(command, 2, arguments);
}

/* The next file to be opened takes the place of a standard descriptor that is closed, and what is meant for
 * people would be written into it. So something stands there that, as a closed one, can be neither read nor
 * written. */
static void take_closed_descriptors(void)
{
    int file;
    do {
        file = open("/", O_PATH);
    } while (file >= STDIN_FILENO && file <= STDERR_FILENO);
    if (file > STDERR_FILENO) {
        close(file);
    }
}

int main(int argc, char **argv)
{
    take_closed_descriptors();
    /* A file that grows beyond the limit is an error with a name, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
    argp_err_exit_status = CLI_EXIT_USAGE;
    argp_program_version = "uzk " UZK_VERSION;
    if (argc < 2) {
        help_print(stderr);
        return CLI_EXIT_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "-?") == 0) {
        help_print(stdout);
        return cli_finish(CLI_EXIT_DONE);
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        puts(argp_program_version);
        return cli_finish(CLI_EXIT_DONE);
    }
    if (strcmp(first, "help") == 0) {
        return help(argc - 1, argv + 1);
    }
    if (first[0] == '-') {
        cli_message("there is no option '%s' before the command; 'uzk --help' "
                    "shows how uzk is called",
                    first);
        return CLI_EXIT_USAGE;
    }
    const struct cli_command *command = command_find(first);
    return command != NULL ? command_start(command, argc - 1, argv + 1) : command_unknown(first);
}
