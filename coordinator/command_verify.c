#include "coordinator/command_verify.h"

#include "coordinator/cli.h"
#include "coordinator/json_read.h"

#include <stdio.h>

static const char description[] =
    "Verifies a Groth16 proof over BN254. Takes the files that snarkjs and uzk write.\v"
    "Prints OK or INVALID. Exit code: 0 the proof is valid, 1 it is not, 2 that could not be told, "
    "because a file is missing or wrong.";

enum { VKEY, PUBLIC, PROOF, ARGUMENTS };

struct verify_inputs {
    struct json_vkey vkey;
    struct json_public publics;
    struct proof proof;
    struct verify_key key;
};

/* The proof first: of three files it is the one that a stranger made. */
static enum error_code inputs_read(struct verify_inputs *inputs, const char *const paths[ARGUMENTS],
                                   struct error *error)
{
    if (json_read_proof(&inputs->proof, paths[PROOF], error) != ERROR_NONE ||
        json_read_vkey(&inputs->vkey, paths[VKEY], error) != ERROR_NONE ||
        json_read_public(&inputs->publics, paths[PUBLIC], error) != ERROR_NONE) {
        return error->code;
    }
    if (inputs->publics.count != inputs->vkey.parts.publics) {
        return error_set(error, ERROR_INPUT, "%s: has %u public values, but %s is a key for %u",
                         paths[PUBLIC], inputs->publics.count, paths[VKEY], inputs->vkey.parts.publics);
    }
    return verify_key_init(&inputs->key, &inputs->vkey.parts, paths[VKEY], error);
}

int command_verify(int argc, char **argv)
{
    static const struct argp argp = {
        .parser = cli_parse_positional, .args_doc = "VKEY.json PUBLIC.json PROOF.json", .doc = description};
    const char *paths[ARGUMENTS];
    struct cli_arguments arguments = {.arguments = paths, .min = ARGUMENTS, .max = ARGUMENTS};
    cli_parse(&argp, argc, argv, &arguments);

    struct verify_inputs inputs = {.vkey = {.ic = NULL}};
    struct error error;
    int exit_code;
    if (inputs_read(&inputs, paths, &error) != ERROR_NONE) {
        cli_fail(&error);
        exit_code = CLI_EXIT_USAGE; /* whatever the reason: the caller learns that there is no verdict */
    } else {
        enum verify_result result = verify_proof(&inputs.key, inputs.publics.values, &inputs.proof);
        if (result == VERIFY_VALID) {
            puts("OK");
            exit_code = CLI_EXIT_DONE;
        } else {
            puts("INVALID");
            fflush(stdout); /* the verdict comes before its reason */
            cli_message("%s: %s", paths[PROOF], verify_result_text(result));
            exit_code = CLI_EXIT_FAILED;
        }
    }
    json_vkey_free(&inputs.vkey);
    json_public_free(&inputs.publics);
    return cli_finish(exit_code);
}
