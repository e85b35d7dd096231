#include "coordinator/command_devices.h"

#include "alloc/allocator.h"
#include "alloc/memory.h"
#include "coordinator/cli.h"
#include "coordinator/loop.h"
#include "cuda/device_cuda.h"
#include "groth16/cpu.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char description[] =
    "Lists what this machine can prove with, and whether uzk run finds what it needs.\v"
    "The environment variable UZK_CPU (portable, adx, fma, ifma) lowers the CPU's level, for comparisons.";

/* The processor's name as Linux tells it, or that it doesn't. */
static void cpu_model(char *model, size_t capacity)
{
    snprintf(model, capacity, "unknown processor");
    FILE *info = fopen("/proc/cpuinfo", "re");
    if (info == NULL) {
        return;
    }
    char line[256];
    while (fgets(line, sizeof line, info) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            const char *name = colon + 1 + strspn(colon + 1, " \t");
            snprintf(model, capacity, "%.*s", (int)strcspn(name, "\n"), name);
            break;
        }
    }
    fclose(info);
}

static uint64_t memory_all_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static void list_gpus(void)
{
    struct error error;
    unsigned count = device_cuda_count(&error);
    if (count == 0) {
        cli_row(stdout, "cuda", "none: %s", error.text);
    }
    for (unsigned i = 0; i < count; ++i) {
        char name[32], text[2][CLI_TEXT_BYTES];
        struct device_cuda_info info;
        snprintf(name, sizeof name, "cuda:%u", i);
        if (device_cuda_info(&info, i, &error) != ERROR_NONE) {
            cli_row(stdout, name, "unusable: %s", error.text);
            continue;
        }
        cli_row(stdout, name, "%s, %u multiprocessors, compute capability %d.%d, %s free of %s", info.name,
                info.processors, info.major, info.minor, cli_text_bytes(text[0], info.free_bytes),
                cli_text_bytes(text[1], info.memory_bytes));
    }
}

int command_devices(int argc, char **argv)
{
    static const struct argp argp = {.parser = cli_parse_positional, .doc = description};
    struct cli_arguments arguments = {.max = 0};
    cli_parse(&argp, argc, argv, &arguments);

    char model[128], library[PATH_MAX], text[2][CLI_TEXT_BYTES];
    struct error error;
    unsigned processors = cli_processors();
    cpu_model(model, sizeof model);
    const struct allocator *allocator = allocator_in_place(library, sizeof library);
    puts("Devices");
    cli_row(stdout, "cpu", "%s, %u processor%s, level %s", model, processors, processors == 1 ? "" : "s",
            cpu_level_name(cpu_level()));
    list_gpus();
    cli_row(stdout, "sim", "a simulated device, to try out a pipeline; it makes no proofs");
    puts("Host");
    cli_row(stdout, "io_uring", "%s", loop_probe(&error) == ERROR_NONE ? "usable" : error.text);
    cli_row(stdout, "memory", "%s available of %s", cli_text_bytes(text[0], memory_available_bytes()),
            cli_text_bytes(text[1], memory_all_bytes()));
    cli_row(stdout, "allocator", "%s", allocator != NULL ? allocator->name : library);
    return cli_finish(CLI_EXIT_DONE);
}
