#include "coordinator/command_prove.h"

#include "conf/check.h"
#include "coordinator/cli.h"
#include "coordinator/cli_input.h"
#include "coordinator/cli_output.h"
#include "coordinator/loop.h"
#include "cuda/team.h"
#include "groth16/circuit.h"
#include "groth16/prove.h"
#include "groth16/verify.h"
#include "groth16/wtns.h"
#include "groth16/zkey.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char description[] =
    "Proves one witness: same arguments and same files as snarkjs groth16 prove.\v"
    "The outputs appear both or not at all. For many witnesses of a circuit, uzk run loads the key once and "
    "is "
    "faster. Exit code: 0 proven, 1 the proof failed its self-check (the witness does not satisfy the "
    "circuit), 2 a "
    "file is wrong, 3 the system refused something.";

enum { ZKEY, WITNESS, PROOF, PUBLIC, ARGUMENTS };

enum stage {
    STAGE_OPEN,
    STAGE_WITNESS,
    STAGE_POINTS,
    STAGE_DERIVE,
    STAGE_EVALUATE,
    STAGE_NTT,
    STAGE_MSM,
    STAGE_ASSEMBLE,
    STAGE_SELF_CHECK,
    STAGE_WRITE,
    STAGES
};
static const char *const stage_names[STAGES] = {
    "open the key",         "read the witness", "check the key's points", "derive the circuit",
    "evaluate constraints", "transforms",       "multi-scalar sums",      "assemble the proof",
    "self-check",           "write the files",
};

struct prove_options {
    unsigned threads; /* 0: all processors */
    enum zkey_points points;
    bool self_check;
    bool timing;
};

struct prove_session {
    const char *paths[ARGUMENTS];
    struct prove_options options;
    struct team team;
    bool team_running;
    struct par *par;
    struct zkey key;
    bool key_open;
    struct cli_input file;
    struct wtns witness;
    void *memory; /* the circuit's */
    size_t memory_bytes;
    struct circuit circuit;
    struct proof proof;
    uint64_t lap_ns;
    uint64_t stage_ns[STAGES];
};

static void stage_end(struct prove_session *session, enum stage stage)
{
    uint64_t now_ns = loop_now_ns();
    session->stage_ns[stage] += now_ns - session->lap_ns;
    session->lap_ns = now_ns;
}

static void compute_stage_done(void *context, enum prove_stage stage)
{
    static const enum stage stages[PROVE_STAGES] = {
        [PROVE_EVALUATE] = STAGE_EVALUATE, [PROVE_NTT] = STAGE_NTT, [PROVE_MSM] = STAGE_MSM};
    stage_end(context, stages[stage]);
}

/* This thread works, too: a team of one less, and none at all for one thread. */
static enum error_code threads_start(struct prove_session *session, struct error *error)
{
    unsigned threads = session->options.threads != 0 ? session->options.threads : cli_processors();
    if (threads > TEAM_WORKERS_MAX) {
        threads = TEAM_WORKERS_MAX;
    }
    if (threads == 1) {
        session->par = &par_serial;
        return ERROR_NONE;
    }
    const struct team_settings settings = {.workers = threads - 1, .slots = 1, .guests = 1};
    if (team_open(&session->team, &settings, error) != ERROR_NONE) {
        return error->code;
    }
    session->team_running = true;
    session->par = team_par_open(&session->team);
    CHECK(session->par != NULL);
    return ERROR_NONE;
}

static enum error_code outputs_check(const struct prove_session *session, struct error *error)
{
    const struct cli_output_file files[] = {{.path = session->paths[PUBLIC]},
                                            {.path = session->paths[PROOF]}};
    return cli_output_check(files, 2, error);
}

static enum error_code inputs_load(struct prove_session *session, struct error *error)
{
    if (zkey_open(&session->key, session->paths[ZKEY], error) != ERROR_NONE) {
        return error->code;
    }
    session->key_open = true;
    stage_end(session, STAGE_OPEN);
    if (cli_input_open(&session->file, session->paths[WITNESS], SIZE_MAX / 4, error) != ERROR_NONE ||
        wtns_parse(&session->witness, session->file.bytes, session->file.size, session->paths[WITNESS],
                   error) != ERROR_NONE ||
        wtns_match(&session->witness, &session->key, error) != ERROR_NONE ||
        wtns_check(&session->witness, error) != ERROR_NONE) {
        return error->code;
    }
    stage_end(session, STAGE_WITNESS);
    if (zkey_check_points(&session->key, session->options.points, session->par, error) != ERROR_NONE) {
        return error->code;
    }
    stage_end(session, STAGE_POINTS);
    return ERROR_NONE;
}

static void *memory_take(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    (void)madvise(memory, bytes, MADV_DONTDUMP); /* it will hold what depends on the witness */
    return memory;
}

static enum error_code circuit_derive(struct prove_session *session, struct error *error)
{
    session->memory_bytes = circuit_memory_size(&session->key);
    session->memory = memory_take(session->memory_bytes);
    if (session->memory == NULL) {
        return error_set_errno(error, errno, "%s: no memory for its %zu bytes of tables",
                               session->paths[ZKEY], session->memory_bytes);
    }
    circuit_init(&session->circuit, &session->key, session->memory, session->par);
    stage_end(session, STAGE_DERIVE);
    return ERROR_NONE;
}

static enum error_code proof_compute(struct prove_session *session, struct error *error)
{
    struct prove_sums sums;
    struct prove_blinding blinding;
    size_t scratch_bytes = prove_scratch_size(&session->circuit, session->par->workers);
    void *scratch = memory_take(scratch_bytes);
    if (scratch == NULL) {
        return error_set_errno(error, errno, "%s: no memory for the proof's %zu bytes of work space",
                               session->paths[ZKEY], scratch_bytes);
    }
    prove_compute(&sums, &session->circuit, session->witness.values, session->par, scratch,
                  compute_stage_done, session);
    munmap(scratch, scratch_bytes);
    if (prove_blinding_draw(&blinding, error) != ERROR_NONE) {
        return error->code;
    }
    prove_assemble(&session->proof, &session->circuit, &sums, &blinding);
    explicit_bzero(&blinding, sizeof blinding);
    explicit_bzero(&sums, sizeof sums);
    stage_end(session, STAGE_ASSEMBLE);
    return ERROR_NONE;
}

/* The same check a stranger would do, with the key's own points. */
static enum error_code proof_check(struct prove_session *session, struct error *error)
{
    const struct zkey *key = &session->key;
    if (!session->options.self_check) {
        return ERROR_NONE;
    }
    if (key->ic == NULL) {
        cli_message("%s: has no section 3 (IC), so the proof cannot be checked before it is written",
                    key->name);
        return ERROR_NONE;
    }
    const struct verify_parts parts = {.publics = key->publics,
                                       .alpha1 = key->alpha1,
                                       .beta2 = key->beta2,
                                       .gamma2 = key->gamma2,
                                       .delta2 = key->delta2,
                                       .ic = key->ic};
    struct verify_key verify_key;
    if (verify_key_init(&verify_key, &parts, key->name, error) != ERROR_NONE) {
        return error->code;
    }
    u256 *publics = malloc(((size_t)key->publics + 1) * sizeof *publics);
    if (publics == NULL) {
        return error_set_errno(error, ENOMEM, "%s: no memory for %u public values", key->name, key->publics);
    }
    for (uint32_t index = 0; index < key->publics; index++) {
        u256_load_le(&publics[index], session->witness.values + ((size_t)index + 1) * WTNS_VALUE_BYTES);
    }
    enum verify_result result = verify_proof(&verify_key, publics, &session->proof);
    free(publics);
    stage_end(session, STAGE_SELF_CHECK);
    if (result != VERIFY_VALID) {
        return error_set(
            error, ERROR_PROOF,
            "%s: the proof made of it does not verify, so nothing is written: the witness does not satisfy "
            "the constraints of %s, or this machine computes wrongly",
            session->paths[WITNESS], session->paths[ZKEY]);
    }
    return ERROR_NONE;
}

static enum error_code outputs_write(struct prove_session *session, struct error *error)
{
    char proof_text[PROOF_JSON_BYTES];
    size_t public_capacity = proof_public_json_size(session->key.publics);
    char *public_text = malloc(public_capacity);
    if (public_text == NULL) {
        return error_set_errno(error, ENOMEM, "%s: no memory for %zu bytes of text", session->paths[PUBLIC],
                               public_capacity);
    }
    size_t proof_length = proof_write_json(proof_text, sizeof proof_text, &session->proof);
    size_t public_length =
        proof_public_write_json(public_text, public_capacity, session->witness.values, session->key.publics);
    /* The proof comes into place last: where there is a proof, its public values are there, too. */
    const struct cli_output_file files[] = {{session->paths[PUBLIC], public_text, public_length},
                                            {session->paths[PROOF], proof_text, proof_length}};
    enum error_code code = cli_output_write(files, 2, error);
    free(public_text);
    stage_end(session, STAGE_WRITE);
    return code;
}

static void session_close(struct prove_session *session)
{
    if (session->team_running) {
        team_par_close(session->par);
        team_close(&session->team);
    }
    if (session->memory != NULL) {
        munmap(session->memory, session->memory_bytes);
    }
    if (session->key_open) {
        zkey_close(&session->key);
    }
    cli_input_close(&session->file);
}

static void timing_print(const struct prove_session *session)
{
    uint64_t total_ns = 0;
    char text[CLI_TEXT_BYTES];
    for (enum stage stage = 0; stage < STAGES; stage++) {
        cli_message("%-22s  %s", stage_names[stage], cli_text_duration(text, session->stage_ns[stage]));
        total_ns += session->stage_ns[stage];
    }
    cli_message("%-22s  %s, %u threads", "total", cli_text_duration(text, total_ns), session->par->workers);
}

enum { KEY_TIMING = 0x100, KEY_NO_SELF_CHECK, KEY_CHECK_POINTS };

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct cli_arguments *arguments = state->input;
    struct prove_options *options = arguments->options;
    switch (key) {
    case 't':
        options->threads = cli_parse_number(text, 1, TEAM_WORKERS_MAX, "--threads", state);
        return 0;
    case KEY_TIMING:
        options->timing = true;
        return 0;
    case KEY_NO_SELF_CHECK:
        options->self_check = false;
        return 0;
    case KEY_CHECK_POINTS:
        if (strcmp(text, "off") == 0) {
            options->points = ZKEY_POINTS_OFF;
        } else if (strcmp(text, "curve") == 0) {
            options->points = ZKEY_POINTS_CURVE;
        } else if (strcmp(text, "full") == 0) {
            options->points = ZKEY_POINTS_FULL;
        } else {
            argp_error(state, "--check-points takes off, curve or full, not '%s'", text);
        }
        return 0;
    default:
        return cli_parse_positional(key, text, state);
    }
}

static const struct argp_option option_table[] = {
    {"threads", 't', "N", 0, "Threads to compute with (default: all processors)", 0},
    {"check-points", KEY_CHECK_POINTS, "MODE", 0,
     "How to check the key's points: off, curve (that each is on its curve; the default), full (also that G2 "
     "points "
     "are in the subgroup; takes far longer)",
     0},
    {"no-self-check", KEY_NO_SELF_CHECK, NULL, 0, "Write the proof without verifying it first", 0},
    {"timing", KEY_TIMING, NULL, 0, "Tell on stderr how long each stage took", 0},
    {0},
};

int command_prove(int argc, char **argv)
{
    static const struct argp argp = {.options = option_table,
                                     .parser = parse_option,
                                     .args_doc = "CIRCUIT.zkey WITNESS.wtns PROOF.json PUBLIC.json",
                                     .doc = description};
    struct prove_session session = {.options = {.points = ZKEY_POINTS_CURVE, .self_check = true}};
    struct cli_arguments arguments = {
        .arguments = session.paths, .min = ARGUMENTS, .max = ARGUMENTS, .options = &session.options};
    cli_parse(&argp, argc, argv, &arguments);
    signal(SIGPIPE, SIG_IGN); /* a closed stderr is no reason to lose a proof */

    struct error error;
    session.lap_ns = loop_now_ns();
    int exit_code = CLI_EXIT_DONE;
    if (outputs_check(&session, &error) != ERROR_NONE || threads_start(&session, &error) != ERROR_NONE ||
        inputs_load(&session, &error) != ERROR_NONE || circuit_derive(&session, &error) != ERROR_NONE ||
        proof_compute(&session, &error) != ERROR_NONE || proof_check(&session, &error) != ERROR_NONE ||
        outputs_write(&session, &error) != ERROR_NONE) {
        exit_code = cli_fail(&error);
    } else if (session.options.timing) {
        timing_print(&session);
    }
    session_close(&session);
    return exit_code;
}
