#include "coordinator/command_inspect.h"

#include "conf/check.h"
#include "coordinator/cli.h"
#include "coordinator/cli_input.h"
#include "coordinator/journal_codec.h"
#include "coordinator/json_read.h"
#include "coordinator/trace_read.h"
#include "groth16/binfile.h"
#include "groth16/wtns.h"
#include "groth16/zkey.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char description[] = "Tells what a file holds: a proving key (.zkey), a witness (.wtns), the "
                                  "trace of a run, the journal of an output folder, a proof, "
                                  "public values or a verification key (.json).\v"
                                  "The kind of file is recognised by its content, whatever its name. Exit "
                                  "code: 0 the file is sound as far as "
                                  "inspect looks (it does not check a key's points: uzk check does), 2 it is "
                                  "damaged or of no kind that is known "
                                  "here, 3 the system refused something.";

/* A file that is being looked at: its first bytes tell the kind, and readers of the kind open it again. */
struct specimen {
    const char *path;
    int fd;
    uint64_t size;
    uint8_t head[16];
    size_t head_size;
};

/* Every kind that is an iden3 container. Sections are listed for all of them. */
struct container_kind {
    char magic[5];
    const char *noun;
    const char *const *sections; /* names by type, NULL-terminated */
};

static const char *const zkey_sections[] = {
    "",          "protocol",  "header",   "IC points", "coefficients",  "A points",
    "B1 points", "B2 points", "C points", "H points",  "contributions", NULL};
static const char *const wtns_sections[] = {"", "header", "values", NULL};
static const char *const unnamed_sections[] = {NULL};
static const struct container_kind kinds[] = {
    {"zkey", "a proving key (.zkey)", zkey_sections},
    {"wtns", "a witness (.wtns)", wtns_sections},
    {"r1cs", "a circuit's constraints (.r1cs), which uzk does not use", unnamed_sections},
    {"ptau", "powers of tau (.ptau), which uzk does not use", unnamed_sections},
};

enum { PROTOCOL_GROTH16 = 1, PROTOCOL_PLONK = 2, PROTOCOL_FFLONK = 10, SECTIONS_SHOWN_MAX = 64 };

static void title(const struct specimen *specimen, const char *noun)
{
    cli_print_plain(stdout, specimen->path, strlen(specimen->path));
    printf(": %s\n", noun);
    char text[CLI_TEXT_BYTES];
    if (specimen->size < 1024) {
        cli_row(stdout, "size", "%" PRIu64 " bytes", specimen->size);
    } else {
        cli_row(stdout, "size", "%" PRIu64 " bytes (%s)", specimen->size,
                cli_text_bytes(text, specimen->size));
    }
}

static bool specimen_read(const struct specimen *specimen, void *bytes, size_t size, uint64_t offset)
{
    return pread(specimen->fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Lists the sections of a container, whatever their types, and finds the protocol of a key (0: none told). */
static enum error_code sections_list(const struct specimen *specimen, const struct container_kind *kind,
                                     uint32_t *protocol, struct error *error)
{
    enum { HEAD_BYTES = 12, SECTION_HEAD_BYTES = 12 };
    *protocol = 0;
    if (specimen->head_size < HEAD_BYTES) {
        return error_set(error, ERROR_INPUT, "%s: ends at %" PRIu64 ", within the first 12 bytes",
                         specimen->path, specimen->size);
    }
    uint32_t count = binfile_load32(specimen->head + 8);
    cli_row(stdout, "version", "%" PRIu32, binfile_load32(specimen->head + 4));
    cli_row(stdout, "sections", "%" PRIu32, count);
    printf("    %4s  %-14s %14s %14s\n", "type", "name", "offset", "bytes");
    uint64_t position = HEAD_BYTES;
    for (uint32_t index = 0; index < count; index++) {
        uint8_t head[SECTION_HEAD_BYTES];
        if (specimen->size - position < sizeof head ||
            !specimen_read(specimen, head, sizeof head, position)) {
            return error_set(error, ERROR_INPUT,
                             "%s: section %" PRIu32 " of %" PRIu32 " should begin at offset %" PRIu64
                             ", the file ends at %" PRIu64,
                             specimen->path, index + 1, count, position, specimen->size);
        }
        uint32_t type = binfile_load32(head);
        uint64_t bytes = binfile_load64(head + 4);
        position += sizeof head;
        const char *name = "";
        for (uint32_t known = 0; kind->sections[known] != NULL; known++) {
            name = known == type ? kind->sections[known] : name;
        }
        if (index < SECTIONS_SHOWN_MAX) {
            printf("    %4" PRIu32 "  %-14s %14" PRIu64 " %14" PRIu64 "\n", type, name, position, bytes);
        }
        if (bytes > specimen->size - position) {
            return error_set(error, ERROR_INPUT,
                             "%s: section %" PRIu32 " claims %" PRIu64 " bytes at offset %" PRIu64
                             ", the file ends at %" PRIu64,
                             specimen->path, type, bytes, position, specimen->size);
        }
        uint8_t number[4];
        if (kind->sections == zkey_sections && type == 1 && bytes >= sizeof number &&
            specimen_read(specimen, number, sizeof number, position)) {
            *protocol = binfile_load32(number);
        }
        position += bytes;
    }
    if (position < specimen->size) {
        cli_row(stdout, "behind them", "%" PRIu64 " bytes of no section", specimen->size - position);
    }
    return ERROR_NONE;
}

static uint32_t infinities(const uint8_t *points, uint64_t count, size_t point_bytes)
{
    static const uint8_t infinity[ZKEY_G2_BYTES];
    CHECK(point_bytes <= sizeof infinity);
    uint32_t found = 0;
    for (uint64_t index = 0; index < count; index++) {
        found += memcmp(points + index * point_bytes, infinity, point_bytes) == 0 ? 1 : 0;
    }
    return found;
}

static void zkey_print(const struct zkey *key)
{
    uint64_t domain = UINT64_C(1) << key->domain_log2;
    uint64_t privates = (uint64_t)key->wires - key->publics - 1;
    char text[CLI_TEXT_BYTES];
    cli_row(stdout, "curve", "BN254 (snarkjs calls it bn128)");
    cli_row(stdout, "domain", "2^%u", key->domain_log2);
    cli_row(stdout, "wires", "%" PRIu32 ", %" PRIu32 " of them public", key->wires, key->publics);
    cli_row(stdout, "coefficients", "%" PRIu32 " in the constraint matrices A and B",
            key->coefficients_count);
    cli_row(stdout, "at infinity",
            "A %" PRIu32 ", B1 %" PRIu32 ", B2 %" PRIu32 ", C %" PRIu32 ", H %" PRIu32 " points",
            infinities(key->a, key->wires, ZKEY_G1_BYTES), infinities(key->b1, key->wires, ZKEY_G1_BYTES),
            infinities(key->b2, key->wires, ZKEY_G2_BYTES), infinities(key->c, privates, ZKEY_G1_BYTES),
            infinities(key->h, domain, ZKEY_G1_BYTES));
    cli_row(stdout, "self-check", "%s",
            key->ic != NULL ? "possible" : "not possible: the IC points are missing");
    cli_row(stdout, "witness", "%" PRIu64 " bytes (%s)", wtns_file_size(key->wires),
            cli_text_bytes(text, wtns_file_size(key->wires)));
}

static enum error_code inspect_zkey(const struct specimen *specimen, uint32_t protocol, struct error *error)
{
    if (protocol == PROTOCOL_PLONK || protocol == PROTOCOL_FFLONK) {
        cli_row(stdout, "protocol", "%s; uzk proves Groth16 only",
                protocol == PROTOCOL_PLONK ? "PLONK" : "FFLONK");
        return ERROR_NONE;
    }
    if (protocol == PROTOCOL_GROTH16) {
        cli_row(stdout, "protocol", "Groth16");
    }
    struct zkey key;
    if (zkey_open(&key, specimen->path, error) != ERROR_NONE) {
        return error->code;
    }
    zkey_print(&key);
    zkey_close(&key);
    return ERROR_NONE;
}

static enum error_code inspect_wtns(const struct specimen *specimen, struct error *error)
{
    struct cli_input input;
    struct wtns witness;
    if (cli_input_open(&input, specimen->path, SIZE_MAX / 4, error) != ERROR_NONE) {
        return error->code;
    }
    enum error_code code = wtns_parse(&witness, input.bytes, input.size, specimen->path, error);
    if (code == ERROR_NONE) {
        cli_row(stdout, "curve", "BN254 (snarkjs calls it bn128)");
        cli_row(stdout, "values", "%" PRIu32 ", the constant one included", witness.count);
        code = wtns_check(&witness, error);
    }
    cli_input_close(&input);
    return code;
}

static enum error_code inspect_container(const struct specimen *specimen, const struct container_kind *kind,
                                         struct error *error)
{
    uint32_t protocol;
    title(specimen, kind->noun);
    if (sections_list(specimen, kind, &protocol, error) != ERROR_NONE) {
        return error->code;
    }
    if (kind->sections == zkey_sections) {
        return inspect_zkey(specimen, protocol, error);
    }
    return kind->sections == wtns_sections ? inspect_wtns(specimen, error) : ERROR_NONE;
}

static void journal_record_print(const struct journal_codec_done *done)
{
    printf("    ");
    cli_print_plain(stdout, done->job, done->job_length);
    putchar('/');
    cli_print_plain(stdout, done->stem, done->stem_length);
    printf(": proof of %" PRIu64 " bytes, public values of %" PRIu64 " bytes, from an input of %" PRIu64
           " bytes\n",
           done->proof_size, done->public_size, done->input_size);
}

static enum error_code journal_print(const struct specimen *specimen, const struct cli_input *input,
                                     struct error *error)
{
    struct journal_codec_reader reader;
    struct journal_codec_done done;
    title(specimen, "the journal of an output folder");
    enum journal_codec_status status = journal_codec_open(&reader, input->bytes, input->size);
    if (status == JOURNAL_CODEC_VERSIONED) {
        return error_set(error, ERROR_INPUT,
                         "%s: is a journal of version %" PRIu32 ", this uzk reads version %d", specimen->path,
                         reader.version, JOURNAL_CODEC_VERSION);
    }
    struct journal_codec_reader counter = reader;
    uint64_t records = 0;
    while (status == JOURNAL_CODEC_RECORD && journal_codec_next(&counter, &done) == JOURNAL_CODEC_RECORD) {
        records++;
    }
    cli_row(stdout, "proofs", "%" PRIu64 " recorded as on disk", records);
    while (status == JOURNAL_CODEC_RECORD &&
           (status = journal_codec_next(&reader, &done)) == JOURNAL_CODEC_RECORD) {
        journal_record_print(&done);
    }
    if (status == JOURNAL_CODEC_TORN) {
        return error_set(
            error, ERROR_INPUT,
            "%s: is damaged or was cut off at offset %zu of %zu; the next run continues from there",
            specimen->path, reader.valid, input->size);
    }
    return ERROR_NONE;
}

static void print_proof(const struct proof *proof)
{
    bool sound =
        g1_affine_on_curve(&proof->a) && g2_affine_on_curve(&proof->b) && g1_affine_on_curve(&proof->c);
    cli_row(stdout, "curve", "BN254 (bn128)");
    cli_row(stdout, "protocol", "Groth16");
    cli_row(stdout, "points", "%s",
            !sound                             ? "NOT all on the curve"
            : g2_affine_in_subgroup(&proof->b) ? "all on the curve and in the subgroup"
                                               : "on the curve, but pi_b NOT in the subgroup");
}

static enum error_code inspect_vkey(const struct specimen *specimen, const struct cli_input *input,
                                    struct error *error)
{
    struct json_vkey vkey = {.ic = NULL};
    struct verify_key key;
    title(specimen, "a verification key");
    enum error_code code =
        json_parse_vkey(&vkey, (const char *)input->bytes, input->size, specimen->path, error);
    if (code == ERROR_NONE) {
        cli_row(stdout, "curve", "BN254 (bn128)");
        cli_row(stdout, "protocol", "Groth16");
        cli_row(stdout, "public", "%" PRIu32 " values", vkey.parts.publics);
        code = verify_key_init(&key, &vkey.parts, specimen->path, error);
    }
    if (code == ERROR_NONE) {
        cli_row(stdout, "points", "all on the curve and in the subgroup");
    }
    json_vkey_free(&vkey);
    return code;
}

static enum error_code inspect_public(const struct specimen *specimen, const struct cli_input *input,
                                      struct error *error)
{
    struct json_public publics = {.values = NULL};
    title(specimen, "public values");
    enum error_code code =
        json_parse_public(&publics, (const char *)input->bytes, input->size, specimen->path, error);
    if (code == ERROR_NONE) {
        cli_row(stdout, "values", "%" PRIu32, publics.count);
        for (uint32_t index = 0; index < publics.count; index++) {
            char text[U256_DECIMAL_BYTES];
            u256_to_decimal(text, &publics.values[index]);
            printf("    %" PRIu32 "  %s\n", index + 1, text);
        }
    }
    json_public_free(&publics);
    return code;
}

/* Which of the three JSON files it is shows in the members that only it has. */
static enum error_code inspect_json(const struct specimen *specimen, const struct cli_input *input,
                                    struct error *error)
{
    json_error_t problem;
    json_t *root = json_loadb((const char *)input->bytes, input->size, JSON_REJECT_DUPLICATES, &problem);
    if (root == NULL) {
        return error_set(error, ERROR_INPUT, "%s: line %d is not JSON: %s", specimen->path, problem.line,
                         problem.text);
    }
    bool list = json_is_array(root);
    bool proof = json_object_get(root, "pi_a") != NULL || json_object_get(root, "pi_b") != NULL;
    bool vkey = json_object_get(root, "vk_alpha_1") != NULL || json_object_get(root, "vk_gamma_2") != NULL ||
                json_object_get(root, "IC") != NULL;
    const char *protocol = json_string_value(json_object_get(root, "protocol"));
    bool other = protocol != NULL && strcmp(protocol, "groth16") != 0;
    enum error_code code = ERROR_NONE;
    if (list) {
        code = inspect_public(specimen, input, error);
    } else if (other) {
        code = error_set(error, ERROR_INPUT, "%s: is of the protocol '%.32s'; uzk knows groth16 only",
                         specimen->path, protocol);
    } else if (proof) {
        struct proof parsed;
        title(specimen, "a proof");
        code = json_parse_proof(&parsed, (const char *)input->bytes, input->size, specimen->path, error);
        if (code == ERROR_NONE) {
            print_proof(&parsed);
        }
    } else if (vkey) {
        code = inspect_vkey(specimen, input, error);
    } else {
        code = error_set(error, ERROR_INPUT, "%s: is JSON, but no proof, public values or verification key",
                         specimen->path);
    }
    json_decref(root);
    return code;
}

static enum error_code inspect_trace(const struct specimen *specimen, struct error *error)
{
    struct trace_read read;
    title(specimen, "the trace of a run");
    enum error_code code = trace_read_open(&read, specimen->path, error);
    if (code == ERROR_NONE) {
        trace_read_print(&read);
        trace_read_close(&read);
    }
    return code;
}

/* Journals and JSON, which are read whole. */
static enum error_code inspect_small(const struct specimen *specimen, struct error *error)
{
    struct cli_input input;
    if (cli_input_open(&input, specimen->path, JSON_READ_BYTES_MAX, error) != ERROR_NONE) {
        return error->code;
    }
    struct journal_codec_reader reader;
    size_t blank = 0;
    while (blank < input.size && strchr(" \t\r\n", input.bytes[blank]) != NULL && input.bytes[blank] != 0) {
        blank++;
    }
    enum error_code code;
    enum journal_codec_status status = journal_codec_open(&reader, input.bytes, input.size);
    if (input.size > 0 && (status == JOURNAL_CODEC_RECORD || status == JOURNAL_CODEC_VERSIONED)) {
        code = journal_print(specimen, &input, error);
    } else if (blank < input.size && (input.bytes[blank] == '{' || input.bytes[blank] == '[')) {
        code = inspect_json(specimen, &input, error);
    } else {
        code = error_set(
            error, ERROR_INPUT,
            "%s: is no proving key, witness, trace, journal, proof, public values or verification key%s",
            specimen->path, specimen->size == 0 ? "; it is empty" : "");
    }
    cli_input_close(&input);
    return code;
}

static enum error_code inspect(struct specimen *specimen, struct error *error)
{
    struct stat info;
    if (fstat(specimen->fd, &info) != 0) {
        return error_set_errno(error, errno, "%s: cannot read", specimen->path);
    }
    if (!S_ISREG(info.st_mode)) {
        return error_set(error, ERROR_INPUT, "%s: is not a plain file", specimen->path);
    }
    specimen->size = (uint64_t)info.st_size;
    ssize_t got = pread(specimen->fd, specimen->head, sizeof specimen->head, 0);
    if (got < 0) {
        return error_set_errno(error, errno, "%s: cannot read", specimen->path);
    }
    specimen->head_size = (size_t)got;
    for (size_t index = 0; index < sizeof kinds / sizeof kinds[0] && got >= 4; index++) {
        if (memcmp(specimen->head, kinds[index].magic, 4) == 0) {
            return inspect_container(specimen, &kinds[index], error);
        }
    }
    if (got >= (ssize_t)strlen(TRACE_MAGIC) &&
        memcmp(specimen->head, TRACE_MAGIC, strlen(TRACE_MAGIC)) == 0) {
        return inspect_trace(specimen, error);
    }
    return inspect_small(specimen, error);
}

int command_inspect(int argc, char **argv)
{
    static const struct argp argp = {.parser = cli_parse_positional, .args_doc = "FILE", .doc = description};
    struct specimen specimen = {.fd = -1};
    struct cli_arguments arguments = {.arguments = &specimen.path, .min = 1, .max = 1};
    struct error error;
    cli_parse(&argp, argc, argv, &arguments);
    specimen.fd = open(specimen.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (specimen.fd < 0) {
        cli_input_refused(&error, errno, specimen.path);
        return cli_fail(&error);
    }
    enum error_code code = inspect(&specimen, &error);
    close(specimen.fd);
    int exit_code = CLI_EXIT_DONE;
    if (code != ERROR_NONE) {
        fflush(stdout); /* what is known so far comes before what is wrong */
        exit_code = cli_fail(&error);
    }
    return cli_finish(exit_code);
}
