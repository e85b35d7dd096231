#include "coordinator/run_plan.h"

#include "conf/check.h"

#include <string.h>

enum { LOOKAHEAD = 2, ATTEMPTS = 3, SHORT_PER_THREADS = 8, SHORT_MAX = 4 };

static uint64_t scratch_of(const struct load *load, unsigned workers)
{
    return load->look_code == ERROR_NONE ? prove_scratch_size(&load->sizes.shape, workers) : 0;
}

uint64_t run_plan_least_bytes(const struct load *load, unsigned threads)
{
    struct slots_layout layout;
    slots_layout(&layout, load->sizes.wires, load->sizes.publics);
    return load->sizes.resident_bytes + layout.slab_bytes + scratch_of(load, threads);
}

static void add_device(struct run_plan *plan, const struct config *config, struct run_plan_device device)
{
    CHECK(plan->devices_count < RUN_DEVICES_MAX);
    unsigned lanes = config->lanes_per_device;
    if (lanes == 0 || device.fallback) {
        lanes = device.kind == CONFIG_DEVICE_CPU ? plan->threads + 1 : 2;
    }
    lanes = lanes > plan->partitions ? plan->partitions : lanes;
    device.lanes = lanes > DEVICE_LANES_MAX ? DEVICE_LANES_MAX : lanes;
    device.time_limit_ns = CORE_NEVER;
    plan->devices[plan->devices_count++] = device;
    plan->lanes_count += device.lanes;
}

static enum error_code check_device(const struct run_plan *plan, const struct config *config,
                                    const struct config_device *device,
                                    const struct run_plan_machine *machine, struct error *error)
{
    if (plan->devices_count >= RUN_DEVICES_MAX - 1) {
        return error_set(error, ERROR_INPUT, "%s: devices: more than %d", config->path, RUN_DEVICES_MAX - 1);
    }
    if (device->kind == CONFIG_DEVICE_CUDA && machine->gpus == 0) {
        return error_set(error, ERROR_INPUT,
                         "%s: devices: cuda:%u: %s; use cpu or auto, or sim to simulate one", config->path,
                         device->index, machine->gpus_missing);
    }
    if (device->kind == CONFIG_DEVICE_CUDA && device->index >= machine->gpus) {
        return error_set(error, ERROR_INPUT,
                         "%s: devices: cuda:%u: there is no such device; the last one is cuda:%u",
                         config->path, device->index, machine->gpus - 1);
    }
    for (unsigned i = 0; i < plan->devices_count; ++i) {
        if (plan->devices[i].kind == device->kind && plan->devices[i].index == device->index) {
            return error_set(error, ERROR_INPUT, "%s: devices: %s is named twice", config->path,
                             device->kind == CONFIG_DEVICE_CPU   ? "cpu"
                             : device->kind == CONFIG_DEVICE_SIM ? "sim"
                                                                 : "a cuda device");
        }
    }
    return ERROR_NONE;
}

/* Those that are named; else all GPUs that can be used, else the CPU. Beside GPUs there is always the CPU. */
static enum error_code plan_devices(struct run_plan *plan, const struct config *config,
                                    const struct run_plan_machine *machine, struct error *error)
{
    bool gpus = false, proves = false;
    for (size_t i = 0; i < config->devices_count; ++i) {
        const struct config_device *device = &config->devices[i];
        enum error_code code = check_device(plan, config, device, machine, error);
        if (code != ERROR_NONE) {
            return code;
        }
        gpus |= device->kind == CONFIG_DEVICE_CUDA;
        proves |= device->kind != CONFIG_DEVICE_SIM;
        plan->cpu_ordinary |= device->kind == CONFIG_DEVICE_CPU;
        add_device(plan, config, (struct run_plan_device){.kind = device->kind, .index = device->index});
    }
    for (unsigned i = 0; config->devices_count == 0 && i < machine->gpus && i < RUN_DEVICES_MAX - 1; ++i) {
        if ((machine->gpus_refused >> i & 1) != 0) {
            continue;
        }
        gpus = true;
        add_device(plan, config, (struct run_plan_device){.kind = CONFIG_DEVICE_CUDA, .index = i});
    }
    if (plan->devices_count == 0 || (gpus && !plan->cpu_ordinary)) {
        plan->cpu_ordinary = !gpus;
        add_device(plan, config, (struct run_plan_device){.kind = CONFIG_DEVICE_CPU, .fallback = gpus});
    }
    plan->simulated_only = config->devices_count > 0 && !proves;
    return ERROR_NONE;
}

static enum error_code plan_budget(struct run_plan *plan, const struct config *config,
                                   const struct run_plan_machine *machine, struct error *error)
{
    plan->budget_bytes = config->memory_budget;
    if (plan->budget_bytes != 0) {
        return ERROR_NONE;
    }
    if (machine->memory_bytes <= config->memory_safety_margin) {
        return error_set(
            error, ERROR_SYSTEM,
            "%s: %llu MiB of memory are available and the safety margin is %llu MiB, which leaves nothing: "
            "lower safety_margin, or set budget",
            config->path, (unsigned long long)(machine->memory_bytes >> 20),
            (unsigned long long)(config->memory_safety_margin >> 20));
    }
    plan->budget_bytes = machine->memory_bytes - config->memory_safety_margin;
    return ERROR_NONE;
}

/* Slots are made for the largest circuit that can be proven at all within the budget; the core fails the
 * others. */
static void plan_layout(struct run_plan *plan, const struct config *config, const struct load *loads)
{
    uint32_t wires = 1, publics = 0;
    for (size_t i = 0; i < config->circuits_count; ++i) {
        if (loads[i].look_code == ERROR_NONE &&
            run_plan_least_bytes(&loads[i], plan->threads) <= plan->budget_bytes) {
            wires = loads[i].sizes.wires > wires ? loads[i].sizes.wires : wires;
            publics = loads[i].sizes.publics > publics ? loads[i].sizes.publics : publics;
        }
    }
    slots_layout(&plan->layout, wires, publics);
}

/* As many proofs at once as the scratch of the largest of them leaves half the budget free, one in any case.
 */
static void plan_scratch(struct run_plan *plan, const struct config *config, const struct load *loads)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < config->circuits_count; ++i) {
        if (run_plan_least_bytes(&loads[i], plan->threads) <= plan->budget_bytes) {
            uint64_t bytes = scratch_of(&loads[i], plan->threads);
            largest = bytes > largest ? bytes : largest;
        }
    }
    plan->mains_max = plan->threads;
    while (plan->mains_max > 1 && largest > plan->budget_bytes / 2 / plan->mains_max) {
        --plan->mains_max;
    }
    plan->scratch_bytes = plan->simulated_only ? 0 : largest * plan->mains_max;
    plan->memory_bytes =
        plan->budget_bytes > plan->scratch_bytes ? plan->budget_bytes - plan->scratch_bytes : 0;
}

static void plan_slots(struct run_plan *plan, const struct config *config)
{
    plan->lookahead = config->lookahead != 0 ? config->lookahead : LOOKAHEAD;
    uint64_t slots = (uint64_t)plan->lanes_count * (2 + plan->lookahead) + 2;
    slots = slots > RUN_PLAN_SLOTS_MAX ? RUN_PLAN_SLOTS_MAX : slots;
    slots = slots > plan->partitions ? plan->partitions : slots;
    uint64_t fit = plan->memory_bytes / plan->layout.slab_bytes;
    slots = slots > fit ? fit : slots;
    plan->slots = slots > 0 ? (uint32_t)slots : 1;
}

/* A GPU is given 20 us for each point of the largest domain, far more than any takes, beside a minute. */
static uint64_t gpu_limit_ns(const struct config *config, const struct load *loads, unsigned lanes)
{
    unsigned log2 = 0;
    for (size_t i = 0; i < config->circuits_count; ++i) {
        if (loads[i].look_code == ERROR_NONE && loads[i].sizes.shape.key.domain_log2 > log2) {
            log2 = loads[i].sizes.shape.key.domain_log2;
        }
    }
    return 60000000000u + (UINT64_C(20000) << log2) * lanes;
}

static void plan_limits(struct run_plan *plan, const struct config *config, const struct load *loads)
{
    uint64_t once_ns = 0;
    for (int i = 0; i < DEVICE_STAGES; ++i) {
        once_ns += config->sim.stage_ns[i];
    }
    for (unsigned i = 0; i < plan->devices_count; ++i) {
        struct run_plan_device *device = &plan->devices[i];
        if (device->kind == CONFIG_DEVICE_SIM && once_ns < UINT64_MAX / 1000000) {
            device->time_limit_ns = 60000000000u + 20 * once_ns * device->lanes;
        } else if (device->kind == CONFIG_DEVICE_CUDA) {
            device->time_limit_ns = gpu_limit_ns(config, loads, device->lanes);
        }
    }
}

enum error_code run_plan_make(struct run_plan *plan, const struct config *config, const struct load *loads,
                              const struct run_plan_machine *machine, struct error *error)
{
    memset(plan, 0, sizeof *plan);
    uint64_t partitions = 0;
    for (size_t i = 0; i < config->jobs_count; ++i) {
        partitions += config->jobs[i].inputs_count;
    }
    if (partitions == 0) {
        return error_set(error, ERROR_INPUT, "%s: there is nothing to prove: no job has an input",
                         config->path);
    }
    if (partitions >= CORE_NONE || config->jobs_count >= CORE_NONE || config->circuits_count >= CORE_NONE) {
        return error_set(error, ERROR_INPUT, "%s: %llu partitions are more than one run can hold (%u)",
                         config->path, (unsigned long long)partitions, (unsigned)CORE_NONE - 1);
    }
    plan->partitions = (uint32_t)partitions;
    plan->threads = config->threads != 0 ? config->threads : machine->processors;
    plan->threads = plan->threads > TEAM_WORKERS_MAX ? TEAM_WORKERS_MAX : plan->threads;
    plan->short_threads = 1 + plan->threads / SHORT_PER_THREADS;
    plan->short_threads = plan->short_threads > SHORT_MAX ? SHORT_MAX : plan->short_threads;
    plan->generators_max = plan->threads;
    plan->attempts_max = ATTEMPTS;
    enum error_code code = plan_devices(plan, config, machine, error);
    code = code != ERROR_NONE ? code : plan_budget(plan, config, machine, error);
    if (code != ERROR_NONE) {
        return code;
    }
    plan_layout(plan, config, loads);
    plan_scratch(plan, config, loads);
    plan_slots(plan, config);
    plan_limits(plan, config, loads);
    CHECK(plan->slots >= 1 && plan->lanes_count >= 1);
    return ERROR_NONE;
}
