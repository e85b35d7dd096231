/* How many of everything: arithmetic on small machines and large ones. */
#include "coordinator/run_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct config_circuit circuits[2] = {{.name = "small"}, {.name = "large"}};
static struct config_job jobs[1] = {{.name = "job", .inputs_count = 1000}};

static struct config a_config(void)
{
    return (struct config){.path = "batch.conf",
                           .circuits = circuits,
                           .circuits_count = 2,
                           .jobs = jobs,
                           .jobs_count = 1,
                           .memory_safety_margin = 1 << 20};
}

static void shape(struct load *load, uint32_t wires, unsigned domain_log2)
{
    memset(load, 0, sizeof *load);
    load->sizes.wires = wires;
    load->sizes.publics = 2;
    load->sizes.resident_bytes = (uint64_t)wires * 400;
    load->sizes.shape.key.wires = wires;
    load->sizes.shape.key.publics = 2;
    load->sizes.shape.key.domain_log2 = domain_log2;
    load->sizes.shape.ntt.log2 = domain_log2;
}

static struct load loads[2];

static struct run_plan plan_for(const struct config *config, unsigned processors, uint64_t memory_bytes)
{
    struct run_plan plan;
    struct error error;
    const struct run_plan_machine machine = {.processors = processors, .memory_bytes = memory_bytes};
    shape(&loads[0], 1000, 10);
    shape(&loads[1], 1000000, 20);
    if (run_plan_make(&plan, config, loads, &machine, &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_true(plan.budget_bytes >= plan.memory_bytes + plan.scratch_bytes || plan.memory_bytes == 0);
    assert_true(plan.slots >= 1 && plan.slots <= plan.partitions);
    assert_true(plan.mains_max >= 1 && plan.mains_max <= plan.threads);
    return plan;
}

static void a_large_machine_has_room_for_all(void **state)
{
    (void)state;
    struct config config = a_config();
    struct run_plan plan = plan_for(&config, 16, UINT64_C(64) << 30);
    assert_int_equal(plan.budget_bytes, (UINT64_C(64) << 30) - (1 << 20));
    assert_int_equal(plan.threads, 16);
    assert_int_equal(plan.mains_max, 16);
    assert_int_equal(plan.lanes_count, 17);
    assert_int_equal(plan.devices_count, 1);
    assert_true(plan.slots > plan.lanes_count);
    assert_true(plan.layout.witness_capacity >= 32u * 1000000);
    assert_false(plan.simulated_only);
}

static void a_tight_budget_makes_fewer_proofs_at_once(void **state)
{
    (void)state;
    struct config config = a_config();
    config.memory_budget = UINT64_C(1) << 30;
    struct run_plan plan = plan_for(&config, 16, UINT64_C(64) << 30);
    assert_int_equal(plan.budget_bytes, UINT64_C(1) << 30); /* as it was set, whatever the machine has */
    assert_true(plan.mains_max < 16);
    assert_true(plan.scratch_bytes <= plan.budget_bytes / 2);
    assert_true((uint64_t)plan.slots * plan.layout.slab_bytes <= plan.memory_bytes);
}

/* What can't be proven at all doesn't take from what can. */
static void a_circuit_that_cannot_fit_is_left_out(void **state)
{
    (void)state;
    struct config config = a_config();
    config.memory_budget = UINT64_C(64) << 20;
    struct run_plan plan = plan_for(&config, 4, UINT64_C(64) << 30);
    assert_true(run_plan_least_bytes(&loads[1], plan.threads) > plan.budget_bytes);
    assert_true(run_plan_least_bytes(&loads[0], plan.threads) <= plan.memory_bytes + plan.scratch_bytes);
    assert_true(plan.layout.slab_bytes < 1 << 20);
    assert_true(plan.slots > 4);
}

static void devices_are_resolved(void **state)
{
    (void)state;
    struct config config = a_config();
    struct config_device devices[2] = {{CONFIG_DEVICE_SIM, 0}, {CONFIG_DEVICE_CPU, 0}};
    config.devices = devices;
    config.devices_count = 1;
    struct run_plan plan = plan_for(&config, 4, UINT64_C(8) << 30);
    assert_true(plan.simulated_only);
    assert_int_equal(plan.lanes_count, 2);
    assert_int_equal(plan.scratch_bytes, 0);
    assert_true(plan.devices[0].time_limit_ns != CORE_NEVER);
    config.devices_count = 2;
    config.lanes_per_device = 3;
    plan = plan_for(&config, 4, UINT64_C(8) << 30);
    assert_false(plan.simulated_only);
    assert_int_equal(plan.lanes_count, 6);
    assert_true(plan.devices[1].time_limit_ns == CORE_NEVER);
}

static void refused(const struct config *config, uint64_t memory_bytes, enum error_code code,
                    const char *expected)
{
    struct run_plan plan;
    struct error error = {.text = ""};
    const struct run_plan_machine machine = {
        .processors = 2, .memory_bytes = memory_bytes, .gpus_missing = "no GPU is there"};
    assert_int_equal(run_plan_make(&plan, config, loads, &machine, &error), code);
    if (strstr(error.text, expected) == NULL || strstr(error.text, "batch.conf") == NULL) {
        fail_msg("'%s' lacks '%s' or the file", error.text, expected);
    }
}

static void beside_gpus_there_is_the_cpu(void **state)
{
    (void)state;
    struct config config = a_config();
    struct config_device named[2] = {{CONFIG_DEVICE_CUDA, 1}, {CONFIG_DEVICE_CPU, 0}};
    const struct run_plan_machine machine = {.processors = 4, .memory_bytes = UINT64_C(64) << 30, .gpus = 2};
    struct run_plan plan;
    struct error error;
    assert_int_equal(run_plan_make(&plan, &config, loads, &machine, &error), ERROR_NONE);
    assert_int_equal(plan.devices_count, 3); /* auto: all GPUs, and the CPU for what they cannot do */
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(plan.devices[i].kind, CONFIG_DEVICE_CUDA);
        assert_int_equal(plan.devices[i].index, i);
        assert_int_equal(plan.devices[i].lanes, 2);
        assert_true(plan.devices[i].time_limit_ns < CORE_NEVER && !plan.devices[i].fallback);
    }
    assert_int_equal(plan.devices[2].kind, CONFIG_DEVICE_CPU);
    assert_true(plan.devices[2].fallback && !plan.cpu_ordinary && !plan.simulated_only);
    struct run_plan_machine refusing = machine;
    refusing.gpus_refused = 1;
    assert_int_equal(run_plan_make(&plan, &config, loads, &refusing, &error), ERROR_NONE);
    assert_int_equal(plan.devices_count, 2);
    assert_true(plan.devices[0].kind == CONFIG_DEVICE_CUDA && plan.devices[0].index == 1 &&
                plan.devices[1].fallback);
    refusing.gpus_refused = 3; /* all: as without any */
    assert_int_equal(run_plan_make(&plan, &config, loads, &refusing, &error), ERROR_NONE);
    assert_int_equal(plan.devices_count, 1);
    assert_true(plan.devices[0].kind == CONFIG_DEVICE_CPU && !plan.devices[0].fallback && plan.cpu_ordinary);
    config.devices = named;
    config.devices_count = 1;
    assert_int_equal(run_plan_make(&plan, &config, loads, &machine, &error), ERROR_NONE);
    assert_int_equal(plan.devices_count, 2);
    assert_true(plan.devices[1].fallback);
    config.devices_count = 2;
    assert_int_equal(run_plan_make(&plan, &config, loads, &machine, &error), ERROR_NONE);
    assert_int_equal(plan.devices_count, 2);
    assert_true(!plan.devices[1].fallback && plan.cpu_ordinary);
    named[0].index = 2;
    assert_int_equal(run_plan_make(&plan, &config, loads, &machine, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "cuda:2: there is no such device; the last one is cuda:1"));
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct config config = a_config();
    struct config_device cuda = {CONFIG_DEVICE_CUDA, 3};
    struct config_device twice[2] = {{CONFIG_DEVICE_CPU, 0}, {CONFIG_DEVICE_CPU, 0}};
    refused(&config, 1 << 20, ERROR_SYSTEM, "safety margin");
    config.devices = &cuda;
    config.devices_count = 1;
    refused(&config, UINT64_C(8) << 30, ERROR_INPUT, "cuda:3: no GPU is there");
    config.devices = twice;
    config.devices_count = 2;
    refused(&config, UINT64_C(8) << 30, ERROR_INPUT, "cpu is named twice");
    config.devices_count = 0;
    config.jobs_count = 0;
    refused(&config, UINT64_C(8) << 30, ERROR_INPUT, "nothing to prove");
    struct config_job many = {.name = "many", .inputs_count = CORE_NONE};
    config.jobs = &many;
    config.jobs_count = 1;
    refused(&config, UINT64_C(8) << 30, ERROR_INPUT, "16777215 partitions");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_machine_has_room_for_all),
        cmocka_unit_test(a_tight_budget_makes_fewer_proofs_at_once),
        cmocka_unit_test(a_circuit_that_cannot_fit_is_left_out),
        cmocka_unit_test(devices_are_resolved),
        cmocka_unit_test(beside_gpus_there_is_the_cpu),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
