/* Devices that fail, lie, fall silent or ring wrongly under a whole batch: every partition ends once, no
 * wrong proof is delivered, and nothing hangs or leaks (a slab that is still out when the pool is closed
 * aborts). */
#include "tests/unit/run_batch_fixture.h"

#include "cuda/device_fault.h"

static struct batch batch;
static struct device_fault fault;
static struct device_fault_settings settings;

static struct device *wrap(void *context, struct device *device)
{
    struct error error;
    (void)context;
    assert_int_equal(device_fault_open(&fault, device, &settings, &error), ERROR_NONE);
    return &fault.device;
}

enum { PARTITIONS = 6 };

/* Six partitions on a device with this fault at its nth submission, or at each with this chance. */
static void run_with(enum device_fault_kind kind, uint64_t nth, uint32_t permille, bool simulated)
{
    static struct config_device sim = {CONFIG_DEVICE_SIM, 0};
    batch_init(&batch);
    memset(&settings, 0, sizeof settings);
    settings.seed = 7;
    settings.delay_ns = 4000000000;
    settings.rules[kind] = (struct device_fault_rule){.permille = permille, .nth = nth};
    size_t small = batch_circuit(&batch, "circuit-small");
    struct config_job *job = batch_job(&batch, small, "job", "faulty");
    for (unsigned i = 0; i < PARTITIONS; ++i) {
        char path[64], stem[16];
        snprintf(path, sizeof path, "circuit-small/witness-%03u.wtns", i);
        snprintf(stem, sizeof stem, "w%u", i);
        batch_input(&batch, job, path, stem);
    }
    if (simulated) {
        batch.config.devices = &sim;
        batch.config.devices_count = 1;
    }
    batch.options.wrap_device = wrap;
    if (simulated) { /* its proofs end by the clock, however slow this machine is, and it is asked before it
                        is given up */
        batch.options.lane_limit_ns = 2000000000;
    }
    shell_remove(shell_path("faulty"));
    if (batch_run(&batch) != ERROR_NONE) {
        fail_msg("%s", batch.error.text);
    }
    assert_int_equal(batch.ended_count, PARTITIONS);
    assert_int_equal(batch.result.status.done + batch.result.status.failed, PARTITIONS);
    unsigned expected = 1 + (simulated ? 1 : 2) * batch.result.status.done; /* the journal, and whole pairs */
    assert_int_equal(shell_entries(shell_path("faulty")), expected);
}

static void a_failure_is_tried_again(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_FAIL, 1, 0, false);
    assert_int_equal(batch.result.status.done, PARTITIONS);
    assert_true(batch.result.counts.retries >= 1);
}

static void failures_without_end_are_told(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_FAIL, 0, 1000, false);
    assert_int_equal(batch.result.status.failed, PARTITIONS);
    for (unsigned i = 0; i < PARTITIONS; ++i) {
        assert_int_equal(batch.causes[0][i], CORE_CAUSE_DEVICE);
        assert_non_null(strstr(batch.result.failures[i].reason, "device cpu"));
    }
}

static void a_wrong_result_is_not_delivered(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_CORRUPT, 2, 0, false);
    assert_int_equal(batch.result.status.done, PARTITIONS);
    assert_int_equal(batch.result.counts.self_check_failures, 1);
    run_with(DEVICE_FAULT_CORRUPT, 0, 1000, false);
    assert_int_equal(batch.result.status.failed, PARTITIONS);
    for (unsigned i = 0; i < PARTITIONS; ++i) {
        assert_int_equal(batch.causes[0][i], CORE_CAUSE_SELF_CHECK);
    }
}

static void a_lost_device_ends_the_batch(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_STICKY, 1, 0,
             true); /* simulated, so that the first submission is the first to end */
    assert_int_equal(batch.result.status.done, 0);
    assert_int_equal(batch.result.counts.lanes_quarantined, 2);
    assert_non_null(strstr(batch.notes, "out of service"));
}

static void a_silent_lane_is_left_alone(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_SILENCE, 2, 0, true);
    assert_int_equal(batch.result.status.done, PARTITIONS);
    assert_true(batch.result.counts.lanes_quarantined >= 1);
    run_with(DEVICE_FAULT_SILENCE, 0, 1000, true); /* all of them: nobody waits for ever */
    assert_int_equal(batch.result.status.failed, PARTITIONS);
}

static void a_late_answer_is_recognized(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_DELAY, 1, 0, true);
    assert_int_equal(batch.result.status.done, PARTITIONS);
    run_with(DEVICE_FAULT_DELAY, 0, 1000, true); /* longer than the limit: lanes come and go */
    assert_true(batch.result.counts.lanes_quarantined > 0 || batch.result.counts.late_answers > 0);
}

static void doorbells_are_only_hints(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_LOSE_RING, 0, 1000, true);
    assert_int_equal(batch.result.status.done, PARTITIONS);
    run_with(DEVICE_FAULT_RING_TWICE, 0, 1000, true);
    assert_int_equal(batch.result.status.done, PARTITIONS);
}

static void a_circuit_that_cannot_be_attached_fails_its_job(void **state)
{
    (void)state;
    run_with(DEVICE_FAULT_ATTACH, 1, 0, false);
    assert_int_equal(batch.result.status.failed, PARTITIONS);
    assert_int_equal(batch.causes[0][0], CORE_CAUSE_CIRCUIT);
}

static void many_faults_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        run_with(DEVICE_FAULT_FAIL, 0, 0, true);
        for (int kind = DEVICE_FAULT_FAIL; kind < DEVICE_FAULT_ATTACH; ++kind) {
            settings.rules[kind].permille = kind == DEVICE_FAULT_STICKY ? 20 : 120;
        }
        settings.seed = seed;
        settings.delay_ns = 100000000;
        batch.options.lane_limit_ns = 300000000;
        batch.options.wrap_device = wrap;
        if (batch_run(&batch) != ERROR_NONE) {
            fail_msg("%s", batch.error.text);
        }
        assert_int_equal(batch.ended_count, PARTITIONS);
        assert_int_equal(batch.result.status.done + batch.result.status.failed, PARTITIONS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_tried_again),
        cmocka_unit_test(failures_without_end_are_told),
        cmocka_unit_test(a_wrong_result_is_not_delivered),
        cmocka_unit_test(a_lost_device_ends_the_batch),
        cmocka_unit_test(a_silent_lane_is_left_alone),
        cmocka_unit_test(a_late_answer_is_recognized),
        cmocka_unit_test(doorbells_are_only_hints),
        cmocka_unit_test(a_circuit_that_cannot_be_attached_fails_its_job),
        cmocka_unit_test(many_faults_at_once),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
