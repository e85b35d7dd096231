#include "coordinator/command_check.h"

#include "alloc/allocator.h"
#include "conf/check.h"
#include "conf/config.h"
#include "conf/config_names.h"
#include "coordinator/cli.h"
#include "coordinator/cli_input.h"
#include "cuda/device_cuda.h"
#include "cuda/team.h"
#include "groth16/wtns.h"
#include "groth16/zkey.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char description[] =
    "Checks a configuration and all that it names: keys with their points, each witness against its key, "
    "witness "
    "commands, output folders. Tells every problem, not only the first, and changes nothing.\v"
    "If there is no problem, the resolved configuration is printed on stdout, as a configuration that can be "
    "run. Exit "
    "code: 0 nothing wrong, 2 something is, 3 the system refused something.";

enum { PROBLEMS_SHOWN_MAX = 100 };

struct check {
    const struct config *config;
    struct par *par;
    struct zkey *keys; /* by circuit */
    bool *keys_open;
    uint64_t problems;
    int exit_code; /* that of the first problem */
};

static void problem(struct check *check, const struct error *error)
{
    if (check->problems++ < PROBLEMS_SHOWN_MAX) {
        int exit_code = cli_fail(error);
        check->exit_code = check->problems == 1 ? exit_code : check->exit_code;
    }
}

static void check_devices(struct check *check)
{
    for (size_t index = 0; index < check->config->devices_count; index++) {
        const struct config_device *device = &check->config->devices[index];
        if (device->kind == CONFIG_DEVICE_CUDA) {
            struct device_cuda_info info;
            struct error why, error;
            if (device_cuda_info(&info, device->index, &why) != ERROR_NONE) {
                error_set(&error, ERROR_INPUT, "%s: devices: cuda:%u: %s; use cpu or auto",
                          check->config->path, device->index, why.text);
                problem(check, &error);
            }
        }
    }
}

static void check_allocator(struct check *check)
{
    struct error error;
    if (check->config->allocator_set &&
        allocator_available(allocator_by_name(config_allocator_names[check->config->allocator]), &error) !=
            ERROR_NONE) {
        problem(check, &error);
    }
}

static void check_circuit(struct check *check, size_t index)
{
    static const enum zkey_points modes[] = {[CONFIG_CHECK_OFF] = ZKEY_POINTS_OFF,
                                             [CONFIG_CHECK_CURVE] = ZKEY_POINTS_CURVE,
                                             [CONFIG_CHECK_FULL] = ZKEY_POINTS_FULL};
    const struct config_circuit *circuit = &check->config->circuits[index];
    struct error error;
    if (zkey_open(&check->keys[index], circuit->zkey, &error) != ERROR_NONE) {
        problem(check, &error);
        return;
    }
    check->keys_open[index] = true;
    if (zkey_check_points(&check->keys[index], modes[circuit->check_points], check->par, &error) !=
        ERROR_NONE) {
        problem(check, &error);
    }
}

static void check_witness(struct check *check, const struct config_job *job, const char *path)
{
    struct cli_input input;
    struct wtns witness;
    struct error error;
    if (cli_input_open(&input, path, SIZE_MAX / 4, &error) != ERROR_NONE) {
        problem(check, &error);
        return;
    }
    /* Without its key a witness can still be wrong in itself. */
    if (wtns_parse(&witness, input.bytes, input.size, path, &error) != ERROR_NONE ||
        (check->keys_open[job->circuit] &&
         wtns_match(&witness, &check->keys[job->circuit], &error) != ERROR_NONE) ||
        wtns_check(&witness, &error) != ERROR_NONE) {
        problem(check, &error);
    }
    cli_input_close(&input);
}

/* A run creates folders that are missing: then the nearest one that is there must be writable. */
static void check_output(struct check *check, const struct config_job *job)
{
    char folder[PATH_MAX];
    struct error error;
    struct stat info;
    size_t length = strlen(job->output);
    if (length >= sizeof folder) {
        error_set_errno(&error, ENAMETOOLONG, "%s: output folder of job %s", job->output, job->name);
        problem(check, &error);
        return;
    }
    memcpy(folder, job->output, length + 1);
    while (stat(folder, &info) != 0 && errno == ENOENT && strcmp(folder, ".") != 0) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL) {
            memcpy(folder, ".", 2);
        } else {
            slash[slash == folder ? 1 : 0] = '\0';
        }
    }
    if (stat(folder, &info) == 0 && !S_ISDIR(info.st_mode)) {
        error_set(&error, ERROR_INPUT, "%s: output folder of job %s: %s is not a folder", job->output,
                  job->name, folder);
        problem(check, &error);
    } else if (access(folder, W_OK | X_OK) != 0) {
        error_set_errno(&error, errno, "%s: output folder of job %s: cannot write into %s", job->output,
                        job->name, folder);
        problem(check, &error);
    }
}

static void check_job(struct check *check, const struct config_job *job)
{
    CHECK(job->circuit < check->config->circuits_count);
    check_output(check, job);
    for (size_t index = 0; index < job->inputs_count; index++) {
        const char *path = job->inputs[index].path;
        struct error error;
        if (job->witness_command == NULL) {
            check_witness(check, job, path);
        } else if (access(path, R_OK) != 0) {
            error_set_errno(&error, errno, "%s: input of job %s: cannot read", path, job->name);
            problem(check, &error);
        }
    }
}

static void check_all(struct check *check)
{
    const struct config *config = check->config;
    check_devices(check);
    check_allocator(check);
    for (size_t index = 0; index < config->circuits_count; index++) {
        check_circuit(check, index);
    }
    for (size_t index = 0; index < config->jobs_count; index++) {
        check_job(check, &config->jobs[index]);
    }
    for (size_t index = 0; index < config->circuits_count; index++) {
        if (check->keys_open[index]) {
            zkey_close(&check->keys[index]);
        }
    }
}

static int report(const struct check *check)
{
    const struct config *config = check->config;
    uint64_t partitions = 0;
    for (size_t index = 0; index < config->jobs_count; index++) {
        partitions += config->jobs[index].inputs_count;
    }
    if (check->problems > PROBLEMS_SHOWN_MAX) {
        cli_message("and %" PRIu64 " more problems", check->problems - PROBLEMS_SHOWN_MAX);
    }
    if (check->problems > 0) {
        cli_message("%s: %" PRIu64 " problem%s in all", config->path, check->problems,
                    check->problems == 1 ? "" : "s");
        return check->exit_code;
    }
    config_print(config, stdout);
    if (!config->allocator_set) {
        char library[PATH_MAX];
        const struct allocator *allocator = allocator_in_place(library, sizeof library);
        printf("# allocator = %s: in place, and not set\n", allocator != NULL ? allocator->name : library);
    }
    cli_message("%s: nothing is wrong: %zu circuit%s, %zu job%s, %" PRIu64 " partition%s", config->path,
                config->circuits_count, config->circuits_count == 1 ? "" : "s", config->jobs_count,
                config->jobs_count == 1 ? "" : "s", partitions, partitions == 1 ? "" : "s");
    return CLI_EXIT_DONE;
}

/* Runs the check with all the processors: points and values are many. */
static enum error_code check_with_team(struct check *check, struct error *error)
{
    static struct team team;
    unsigned threads = cli_processors();
    check->par = &par_serial;
    if (threads > 1) {
        const struct team_settings settings = {
            .workers = threads <= TEAM_WORKERS_MAX ? threads - 1 : TEAM_WORKERS_MAX, .slots = 1, .guests = 1};
        if (team_open(&team, &settings, error) != ERROR_NONE) {
            return error->code;
        }
        check->par = team_par_open(&team);
    }
    check_all(check);
    if (threads > 1) {
        team_par_close(check->par);
        team_close(&team);
    }
    return ERROR_NONE;
}

int command_check(int argc, char **argv)
{
    static const struct argp argp = {.parser = cli_parse_positional, .args_doc = "CONF", .doc = description};
    const char *path;
    struct cli_arguments arguments = {.arguments = &path, .min = 1, .max = 1};
    struct config config;
    struct error error;
    cli_parse(&argp, argc, argv, &arguments);
    if (config_read(&config, path, &error) != ERROR_NONE) {
        return cli_fail(&error);
    }
    struct check check = {.config = &config};
    check.keys = calloc(config.circuits_count + 1, sizeof *check.keys);
    check.keys_open = calloc(config.circuits_count + 1, sizeof *check.keys_open);
    int exit_code;
    if (check.keys == NULL || check.keys_open == NULL) {
        error_set_errno(&error, ENOMEM, "%s: no memory for %zu circuits", path, config.circuits_count);
        exit_code = cli_fail(&error);
    } else if (check_with_team(&check, &error) != ERROR_NONE) {
        exit_code = cli_fail(&error);
    } else {
        exit_code = report(&check);
    }
    free(check.keys);
    free(check.keys_open);
    config_free(&config);
    return cli_finish(exit_code);
}
