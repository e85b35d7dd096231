#include "conf/check.h"
#include "conf/config.h"
#include "conf/config_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scale {
    const char *unit;
    uint64_t factor;
};

/* The largest unit that divides the value, so that nothing is rounded. */
static void print_scaled(FILE *out, uint64_t value, const struct scale *scales)
{
    const struct scale *scale = scales;
    while (scale->factor > 1 && value % scale->factor != 0) {
        scale++;
    }
    fprintf(out, "%" PRIu64 "%s\n", value / scale->factor, scale->unit);
}

static void print_duration(FILE *out, uint64_t ns)
{
    static const struct scale scales[] = {{"h", 3600000000000u}, {"m", 60000000000u}, {"s", 1000000000u},
                                          {"ms", 1000000u},      {"us", 1000u},       {"ns", 1}};
    print_scaled(out, ns, scales);
}

static void print_size(FILE *out, uint64_t bytes)
{
    static const struct scale scales[] = {
        {"tb", 1ull << 40}, {"gb", 1ull << 30}, {"mb", 1ull << 20}, {"kb", 1ull << 10}, {"b", 1}};
    print_scaled(out, bytes, scales);
}

/* Quoted as libConfuse reads it; inside, '$' would otherwise start a variable. */
static void print_quoted_bytes(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\' || *at == '$') {
            fprintf(out, "\\%c", *at);
        } else if (*at < ' ' || *at == 127) {
            fprintf(out, "\\%03o", *at);
        } else {
            fputc(*at, out);
        }
    }
}

static void print_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    print_quoted_bytes(out, text);
    fputc('"', out);
}

/* An absolute path, so that the printed file may lie anywhere. */
static void print_path(FILE *out, const char *folder, const char *path)
{
    fputc('"', out);
    if (path[0] != '/') {
        print_quoted_bytes(out, folder);
        fputc('/', out);
    }
    print_quoted_bytes(out, path);
    fputc('"', out);
}

/* As print_path, for a setting that is a pattern: wildcards in the name stand for themselves. */
static void print_pattern(FILE *out, const char *folder, const char *path)
{
    size_t length = strlen(folder) + strlen(path);
    char *pattern = malloc(2 * length + 2);
    CHECK(pattern != NULL);
    char *to = pattern;
    const char *parts[] = {path[0] == '/' ? "" : folder, path[0] == '/' ? "" : "/", path};
    for (size_t i = 0; i < 3; i++) {
        for (const char *at = parts[i]; *at != '\0'; at++) {
            if (strchr("*?[]\\", *at) != NULL) {
                *to++ = '\\';
            }
            *to++ = *at;
        }
    }
    *to = '\0';
    print_quoted(out, pattern);
    free(pattern);
}

static void print_job(FILE *out, const struct config *config, const struct config_job *job,
                      const char *folder)
{
    fputs("job ", out);
    print_quoted(out, job->name);
    fputs(" {\n  circuit = ", out);
    print_quoted(out, config->circuits[job->circuit].name);
    fprintf(out, "\n  %s = {", job->witness_command == NULL ? "witnesses" : "inputs");
    for (size_t i = 0; i < job->inputs_count; i++) {
        fputs(i == 0 ? "\n    " : ",\n    ", out);
        print_pattern(out, folder, job->inputs[i].path);
    }
    fputs("\n  }\n", out);
    if (job->witness_command != NULL) {
        fputs("  witness_command = { ", out);
        for (char **argument = job->witness_command; *argument != NULL; argument++) {
            fputs(argument == job->witness_command ? "" : ", ", out);
            if (argument == job->witness_command && strchr(*argument, '/') != NULL) {
                print_path(out, folder, *argument);
            } else {
                print_quoted(out, *argument);
            }
        }
        fputs(" }\n  witness_timeout = ", out);
        print_duration(out, job->witness_timeout_ns);
    }
    fputs("  output = ", out);
    print_path(out, folder, job->output);
    fprintf(out, "\n  bundle = %s\n  priority = %s\n", job->bundle ? "true" : "false",
            config_priority_names[job->priority]);
    if (job->deadline_ns != 0) {
        fputs("  deadline = ", out);
        print_duration(out, job->deadline_ns);
    }
    fputs("}\n", out);
}

static void print_devices(FILE *out, const struct config *config)
{
    fputs("devices = { ", out);
    for (size_t i = 0; i < config->devices_count; i++) {
        const struct config_device *device = &config->devices[i];
        fputs(i == 0 ? "" : ", ", out);
        if (device->kind == CONFIG_DEVICE_CUDA) {
            fprintf(out, "cuda:%u", device->index);
        } else {
            fputs(device->kind == CONFIG_DEVICE_CPU ? "cpu" : "sim", out);
        }
    }
    fputs(config->devices_count == 0 ? "auto }\n" : " }\n", out);
    fputs("device sim {\n", out);
    for (size_t i = 0; i < CONFIG_SIM_STAGES; i++) {
        fprintf(out, "  %s = ", config_sim_stage_names[i]);
        print_duration(out, config->sim.stage_ns[i]);
    }
    fprintf(out, "  spread = %u\n  seed = %" PRIu64 "\n}\n", config->sim.spread_percent, config->sim.seed);
}

static void print_count(FILE *out, const char *name, unsigned count)
{
    if (count == 0) {
        fprintf(out, "%s = auto\n", name);
    } else {
        fprintf(out, "%s = %u\n", name, count);
    }
}

static void print_host(FILE *out, const struct config *config, const char *folder)
{
    print_count(out, "lanes_per_device", config->lanes_per_device);
    print_count(out, "threads", config->threads);
    print_count(out, "lookahead", config->lookahead);
    fputs("memory {\n  budget = ", out);
    if (config->memory_budget == 0) {
        fputs("auto\n", out);
    } else {
        print_size(out, config->memory_budget);
    }
    fputs("  safety_margin = ", out);
    print_size(out, config->memory_safety_margin);
    fprintf(out, "}\ntrim {\n  policy = %s\n  interval = ", config_trim_names[config->trim_policy]);
    print_duration(out, config->trim_interval_ns);
    fputs("  min_freed = ", out);
    print_size(out, config->trim_min_freed);
    fputs("}\n", out);
    if (config->allocator_set) {
        fprintf(out, "allocator = %s\n", config_allocator_names[config->allocator]);
    }
    fprintf(out, "buffers = %s\n", config->buffers_heap ? "heap" : "pool");
    if (config->trace != NULL) {
        fputs("trace = ", out);
        print_path(out, folder, config->trace);
        fputc('\n', out);
    }
    fputs("timeline = ", out);
    print_duration(out, config->timeline_ns);
    fprintf(out, "self_check = %s\n", config->self_check ? "true" : "false");
}

void config_print(const struct config *config, FILE *out)
{
    CHECK(config->jobs_count > 0);
    char *folder = getcwd(NULL, 0);
    const char *base = folder == NULL ? "." : folder;
    for (size_t i = 0; i < config->circuits_count; i++) {
        const struct config_circuit *circuit = &config->circuits[i];
        fputs("circuit ", out);
        print_quoted(out, circuit->name);
        fputs(" {\n  zkey = ", out);
        print_path(out, base, circuit->zkey);
        fprintf(out, "\n  check_points = %s\n  tables = %s\n}\n",
                config_check_points_names[circuit->check_points], config_tables_names[circuit->tables]);
    }
    for (size_t i = 0; i < config->jobs_count; i++) {
        print_job(out, config, &config->jobs[i], base);
    }
    print_devices(out, config);
    print_host(out, config, base);
    free(folder);
}
