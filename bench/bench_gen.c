/* bench_gen - makes a proving key, its verification key and witnesses of a made-up circuit of any size.
 *
 * bench_gen [OPTION...] FOLDER writes circuit.INSECURE.zkey, vkey.INSECURE.json and witness-NNN.wtns into the
 * folder, which it makes if need be. The keys are for measurements only: whoever knows the seed can prove
 * anything (gen_key.h). */
#include "bench/gen_key.h"
#include "cuda/team.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct options {
    enum gen_circuit_kind kind;
    uint32_t constraints, publics, witnesses;
    uint64_t seed;
    unsigned threads;
    const char *folder;
};

static uint64_t number_at_most(const char *text, uint64_t most, struct argp_state *state)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value > most) {
        argp_error(state, "%s: expected a number up to %" PRIu64, text, most);
    }
    return value;
}

static enum gen_circuit_kind kind_named(const char *text, struct argp_state *state)
{
    for (int kind = 0; kind < GEN_CIRCUIT_KINDS; kind++) {
        if (strcmp(text, gen_circuit_kind_names[kind]) == 0) {
            return kind;
        }
    }
    argp_error(state, "%s: expected squaring, poseidon or bits", text);
    return GEN_CIRCUIT_SQUARING;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'k':
        options->kind = kind_named(text, state);
        return 0;
    case 'n':
        options->constraints = (uint32_t)number_at_most(text, UINT32_C(1) << 27, state);
        return 0;
    case 'p':
        options->publics = (uint32_t)number_at_most(text, UINT32_C(1) << 20, state);
        return 0;
    case 'w':
        options->witnesses = (uint32_t)number_at_most(text, 100000, state);
        return 0;
    case 's':
        options->seed = number_at_most(text, UINT64_MAX, state);
        return 0;
    case 't':
        options->threads = (unsigned)number_at_most(text, TEAM_WORKERS_MAX, state);
        return 0;
    case ARGP_KEY_ARG:
        if (options->folder) {
            argp_error(state, "one folder expected");
        }
        options->folder = text;
        return 0;
    case ARGP_KEY_END:
        if (!options->folder) {
            argp_error(state, "a folder to write into is missing");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"kind", 'k', "KIND", 0, "squaring, poseidon (the default) or bits", 0},
    {"constraints", 'n', "N", 0,
     "65000 unless given; one row more for each public value and one fill the domain", 0},
    {"publics", 'p', "N", 0, "public values, 1 unless given", 0},
    {"witnesses", 'w', "N", 0, "witnesses to write, 1 unless given", 0},
    {"seed", 's', "N", 0, "makes another circuit, other secrets and other witnesses; 1 unless given", 0},
    {"threads", 't', "N", 0, "all processors unless given", 0},
    {0},
};

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .args_doc = "FOLDER",
    .doc = "Makes INSECURE Groth16 keys and witnesses of a made-up circuit, for benchmarks"};

static enum error_code path_make(char path[PATH_MAX], const char *folder, const char *name,
                                 struct error *error)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX
               ? ERROR_NONE
               : error_set(error, ERROR_INPUT, "%s: this name is too long", folder);
}

static enum error_code write_all(const struct options *options, const struct gen_circuit *circuit,
                                 struct par *par, struct error *error)
{
    char path[PATH_MAX], verification_path[PATH_MAX], name[32];
    if (mkdir(options->folder, 0777) != 0 && errno != EEXIST) {
        return error_set_errno(error, errno, "%s: cannot make the folder", options->folder);
    }
    enum error_code code = path_make(path, options->folder, "circuit.INSECURE.zkey", error);
    if (!code) {
        code = path_make(verification_path, options->folder, "vkey.INSECURE.json", error);
    }
    if (!code) {
        code = gen_key_write(circuit, path, verification_path, par, error);
    }
    for (uint32_t i = 0; i < options->witnesses && !code; i++) {
        snprintf(name, sizeof name, "witness-%03" PRIu32 ".wtns", i);
        code = path_make(path, options->folder, name, error);
        if (!code) {
            code = gen_key_write_witness(circuit, i, path, error);
        }
    }
    return code;
}

static enum error_code work(const struct options *options, const struct gen_circuit *circuit,
                            struct error *error)
{
    struct team team;
    const struct team_settings settings = {
        .workers = options->threads > 1 ? options->threads - 1 : 1, .slots = 1, .guests = 1};
    if (options->threads == 1) {
        return write_all(options, circuit, &par_serial, error);
    }
    enum error_code code = team_open(&team, &settings, error);
    if (code) {
        return code;
    }
    struct par *par = team_par_open(&team);
    code = write_all(options, circuit, par, error);
    team_par_close(par);
    team_close(&team);
    return code;
}

int main(int argc, char **argv)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct options options = {
        .kind = GEN_CIRCUIT_POSEIDON, .constraints = 65000, .publics = 1, .witnesses = 1, .seed = 1};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (options.threads == 0) {
        options.threads = processors < 1                  ? 1
                          : processors > TEAM_WORKERS_MAX ? TEAM_WORKERS_MAX
                                                          : (unsigned)processors;
    }
    struct gen_circuit circuit;
    if (!gen_circuit_init(&circuit, options.kind, options.constraints, options.publics, options.seed)) {
        fprintf(stderr,
                "bench_gen: %" PRIu32 " constraints don't do for %" PRIu32
                " public values: expected three for each and "
                "%s more, and at most 2^27 in all\n",
                options.constraints, options.publics, options.kind == GEN_CIRCUIT_BITS ? "512" : "one");
        return 2;
    }
    struct error error;
    const enum error_code code = work(&options, &circuit, &error);
    if (code) {
        fprintf(stderr, "bench_gen: %s\n", error.text);
        return code == ERROR_INPUT ? 2 : 3;
    }
    printf("%s: %s, %" PRIu32 " constraints, domain 2^%u, %" PRIu32 " wires, %" PRIu32 " public, %" PRIu32
           " witnesses, seed %" PRIu64 ": INSECURE, for benchmarks only\n",
           options.folder, gen_circuit_kind_names[options.kind], circuit.constraints, circuit.domain_log2,
           circuit.wires, circuit.publics, options.witnesses, options.seed);
    return 0;
}
