#include "tests/unit/core_harness.h"

#include "tests/unit/expect_abort.h"

/* One circuit, one device with two lanes and a CPU lane for retries; times in ns as the tests like them. */
static const struct core_circuit_settings circuits[1] = {{.resident_bytes = 1000, .slot_bytes = 10}};
static const struct core_lane_settings lanes[3] = {
    {.device = 0, .time_limit_ns = 500},
    {.device = 0, .time_limit_ns = 500},
    {.device = 1, .fallback_only = true, .cpu = true, .time_limit_ns = CORE_NEVER}};

static struct core_settings settings_of(uint32_t lanes_count)
{
    return (struct core_settings){.jobs_max = 8,
                                  .partitions_max = 1000,
                                  .slots = 4,
                                  .lookahead = 1,
                                  .generators_max = 1,
                                  .attempts_max = 2,
                                  .memory_bytes = 1040,
                                  .circuits_count = 1,
                                  .lanes_count = lanes_count,
                                  .circuits = circuits,
                                  .lanes = lanes};
}

static struct core_job_request job_of(uint32_t partitions)
{
    return (struct core_job_request){
        .partitions = partitions, .deadline_ns = CORE_NEVER, .generate_limit_ns = CORE_NEVER};
}

static struct core_counts counts_of(const struct harness *harness)
{
    struct core_counts counts;
    core_counts(harness->core, &counts);
    return counts;
}

/* Admits one job, starts and loads; the step's effects are those of LOADED. */
static void open_loaded(struct harness *harness, struct core_settings settings, struct core_job_request job)
{
    harness_open(harness, &settings);
    harness_admit(harness, job);
    harness_event(harness, CORE_EVENT_START);
    harness_answer(harness, CORE_EVENT_LOADED, harness_first(harness, CORE_EFFECT_LOAD), ERROR_NONE);
}

/* Evicts what the step asks to evict, and expects the end. */
static void expect_drained(struct harness *harness)
{
    if (harness_count(harness, CORE_EFFECT_EVICT) > 0) {
        harness_answer(harness, CORE_EVENT_EVICTED, harness_first(harness, CORE_EFFECT_EVICT), ERROR_NONE);
    }
    assert_int_equal(harness_count(harness, CORE_EFFECT_DRAINED), 1);
    assert_int_equal(harness->effects[harness->effects_count - 1].kind, CORE_EFFECT_DRAINED);
    assert_true(core_deadline_ns(harness->core) == CORE_NEVER);
}

static void test_one_partition_goes_all_the_way(void **state)
{
    (void)state;
    struct harness harness;
    struct core_job_request job = job_of(1);
    job.bundle = true;
    open_loaded(&harness, settings_of(3), job);
    harness.now_ns = 2000;
    harness_answer(&harness, CORE_EVENT_READ, harness_first(&harness, CORE_EFFECT_READ), ERROR_NONE);
    harness.now_ns = 3000;
    harness_answer(&harness, CORE_EVENT_SYNTHESIZED, harness_first(&harness, CORE_EFFECT_SYNTHESIZE),
                   ERROR_NONE);
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_int_equal(submit.lane, 0);
    assert_true(core_deadline_ns(harness.core) == 3500);
    harness.now_ns = 3400;
    assert_int_equal(core_device_busy_ns(harness.core, 0, 3400), 400);
    harness_answer(&harness, CORE_EVENT_PROVED, submit, ERROR_NONE);
    assert_int_equal(core_device_busy_ns(harness.core, 0, 9999), 400);
    harness_answer(&harness, CORE_EVENT_FINALIZED, harness_first(&harness, CORE_EFFECT_FINALIZE), ERROR_NONE);
    harness.now_ns = 5000;
    harness_answer(&harness, CORE_EVENT_WRITTEN, harness_first(&harness, CORE_EFFECT_WRITE), ERROR_NONE);
    assert_int_equal(harness.effects[0].kind, CORE_EFFECT_ENDED);
    assert_int_equal(harness.effects[0].state, CORE_DONE);
    assert_int_equal(harness.effects[1].kind, CORE_EFFECT_RELEASE);
    assert_int_equal(core_partition_entered_ns(harness.core, 0, CORE_SYNTHESIZING), 2000);
    assert_int_equal(core_partition_entered_ns(harness.core, 0, CORE_PROVING), 3000);
    assert_int_equal(core_partition_entered_ns(harness.core, 0, CORE_DONE), 5000);
    assert_int_equal(core_partition_entered_ns(harness.core, 0, CORE_FAILED), 0);
    assert_in_range(core_latency_ns(harness.core, 500), 3960, 4040); /* read began at 1000 */
    assert_int_equal(harness_count(&harness, CORE_EFFECT_JOB_ENDED), 0);
    harness_answer(&harness, CORE_EVENT_BUNDLED, harness_first(&harness, CORE_EFFECT_BUNDLE), ERROR_NONE);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_JOB_ENDED).state, CORE_DONE);
    expect_drained(&harness);
    assert_int_equal(counts_of(&harness).memory_reserved_bytes, 0);
    assert_int_equal(counts_of(&harness).memory_peak_bytes, 1010);
    harness_close(&harness);
}

static void test_bundle_failure_fails_the_job_only(void **state)
{
    (void)state;
    struct harness harness;
    struct core_settings settings = settings_of(1);
    struct core_job_request job = job_of(2);
    job.bundle = true;
    harness_open(&harness, &settings);
    harness_admit(&harness, job);
    harness_step(&harness, (struct core_event){.kind = CORE_EVENT_RESUMED, .index = 0});
    harness_step(&harness, (struct core_event){.kind = CORE_EVENT_RESUMED, .index = 1});
    harness_event(&harness,
                  CORE_EVENT_START); /* everything resumed: nothing is loaded, the bundle is still made */
    assert_int_equal(harness_count(&harness, CORE_EFFECT_LOAD), 0);
    harness_answer(&harness, CORE_EVENT_BUNDLED, harness_first(&harness, CORE_EFFECT_BUNDLE), ERROR_SYSTEM);
    struct core_effect ended = harness_first(&harness, CORE_EFFECT_JOB_ENDED);
    assert_int_equal(ended.state, CORE_FAILED);
    assert_int_equal(ended.cause, CORE_CAUSE_WRITE);
    expect_drained(&harness);
    assert_int_equal(counts_of(&harness).resumed, 2);
    assert_int_equal(counts_of(&harness).partitions[CORE_DONE], 2);
    harness_close(&harness);
}

static void test_no_jobs_drain_at_once(void **state)
{
    (void)state;
    struct harness harness;
    struct core_settings settings = settings_of(1);
    harness_open(&harness, &settings);
    assert_true(core_deadline_ns(harness.core) == CORE_NEVER);
    harness_event(&harness, CORE_EVENT_START);
    expect_drained(&harness);
    harness_event(&harness, CORE_EVENT_TIMER);
    harness_event(&harness, CORE_EVENT_STOP);
    assert_int_equal(harness.effects_count, 0);
    harness_close(&harness);
}

static void test_device_error_is_retried_on_the_other_lane(void **state)
{
    (void)state;
    struct harness harness;
    open_loaded(&harness, settings_of(3), job_of(1));
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    harness_answer(&harness, CORE_EVENT_PROVED, harness_first(&harness, CORE_EFFECT_SUBMIT), ERROR_DEVICE);
    struct core_effect again = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_int_equal(again.lane, 1); /* lane 0 is idle, too */
    assert_int_equal(again.index, 0);
    assert_int_equal(counts_of(&harness).retries, 1);
    harness_answer(&harness, CORE_EVENT_PROVED, again, ERROR_DEVICE); /* attempts_max is 2 */
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_DEVICE);
    expect_drained(&harness);
    harness_close(&harness);
}

static void test_failed_self_check_is_retried_once_on_the_cpu(void **state)
{
    (void)state;
    struct harness harness;
    open_loaded(&harness, settings_of(3), job_of(1));
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    harness_answer(&harness, CORE_EVENT_PROVED, harness_first(&harness, CORE_EFFECT_SUBMIT), ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_FINALIZED, harness_first(&harness, CORE_EFFECT_FINALIZE),
                   ERROR_PROOF);
    struct core_effect again = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_int_equal(again.lane, 2);
    harness_answer(&harness, CORE_EVENT_PROVED, again, ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_FINALIZED, harness_first(&harness, CORE_EFFECT_FINALIZE),
                   ERROR_PROOF);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_SELF_CHECK);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_WRITE), 0);
    assert_int_equal(counts_of(&harness).self_check_failures, 2);
    expect_drained(&harness);
    harness_close(&harness);
}

static void test_silent_lane_is_quarantined_with_its_slot(void **state)
{
    (void)state;
    struct harness harness;
    open_loaded(&harness, settings_of(3), job_of(1));
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    struct core_effect silent = harness_first(&harness, CORE_EFFECT_SUBMIT);
    harness.now_ns = core_deadline_ns(harness.core);
    harness_event(&harness, CORE_EVENT_TIMER);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_QUARANTINE).lane, silent.lane);
    struct core_effect read = harness_first(&harness, CORE_EFFECT_READ);
    assert_int_equal(read.partition, 0);
    assert_int_not_equal(read.index, silent.index); /* the device may still read the old slot */
    assert_int_equal(harness_count(&harness, CORE_EFFECT_RELEASE), 0);
    assert_int_equal(counts_of(&harness).lanes_quarantined, 1);
    harness_prepare(&harness, read);
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_int_not_equal(submit.lane, silent.lane);
    /* It answers after all: the result is not used, lane and slot come back. */
    harness_answer(&harness, CORE_EVENT_PROVED, silent, ERROR_NONE);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_RELEASE).index, silent.index);
    assert_int_equal(counts_of(&harness).lanes_quarantined, 0);
    assert_int_equal(counts_of(&harness).late_answers, 1);
    harness_answer(&harness, CORE_EVENT_PROVED, silent, ERROR_NONE); /* and once more */
    assert_int_equal(counts_of(&harness).late_answers, 2);
    assert_int_equal(harness.effects_count, 0);
    harness_answer(&harness, CORE_EVENT_PROVED, submit, ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_FINALIZED, harness_first(&harness, CORE_EFFECT_FINALIZE), ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_WRITTEN, harness_first(&harness, CORE_EFFECT_WRITE), ERROR_NONE);
    expect_drained(&harness);
    harness_close(&harness);
}

static void test_sticky_error_loses_the_device(void **state)
{
    (void)state;
    struct harness harness;
    open_loaded(&harness, settings_of(3), job_of(3));
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    harness_step(&harness, (struct core_event){.kind = CORE_EVENT_PROVED,
                                               .index = submit.lane,
                                               .generation = submit.generation,
                                               .code = ERROR_DEVICE,
                                               .sticky = true});
    assert_int_equal(harness_count(&harness, CORE_EFFECT_QUARANTINE), 2);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_SUBMIT).lane, 2); /* the fallback lane takes over */
    harness_close(&harness);

    open_loaded(&harness, settings_of(2), job_of(3)); /* without it that is the end */
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    harness_step(&harness, (struct core_event){.kind = CORE_EVENT_PROVED,
                                               .index = submit.lane,
                                               .generation = submit.generation,
                                               .code = ERROR_DEVICE,
                                               .sticky = true});
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_NO_DEVICE);
    while (core_deadline_ns(harness.core) <= harness.now_ns) {
        harness_event(&harness, CORE_EVENT_TIMER);
    }
    assert_int_equal(counts_of(&harness).causes[CORE_CAUSE_NO_DEVICE], 3);
    harness_close(&harness);
}

static void test_circuit_without_room_is_for_the_cpu(void **state)
{
    (void)state;
    struct harness harness;
    struct core_settings settings = settings_of(3);
    harness_open(&harness, &settings);
    harness_admit(&harness, job_of(9));
    harness_event(&harness, CORE_EVENT_START);
    struct core_effect load = harness_first(&harness, CORE_EFFECT_LOAD);
    harness_step(&harness, (struct core_event){.kind = CORE_EVENT_LOADED,
                                               .index = load.index,
                                               .generation = load.generation,
                                               .cpu_only = true});
    assert_int_equal(harness_count(&harness, CORE_EFFECT_READ), 2); /* the look-ahead holds here, too */
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_int_equal(submit.lane, 2);
    harness_answer(&harness, CORE_EVENT_PROVED, submit, ERROR_NONE);
    harness_step(&harness,
                 (struct core_event){.kind = CORE_EVENT_FINALIZED,
                                     .index = harness_first(&harness, CORE_EFFECT_FINALIZE).index,
                                     .generation = harness_first(&harness, CORE_EFFECT_FINALIZE).generation,
                                     .code = ERROR_PROOF});
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_SELF_CHECK);
    harness_close(&harness);
}

static void test_stop_finishes_what_is_on_a_lane(void **state)
{
    (void)state;
    struct harness harness;
    open_loaded(&harness, settings_of(1), job_of(500));
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    struct core_effect read = harness_first(&harness, CORE_EFFECT_READ); /* the next one */
    harness_event(&harness, CORE_EVENT_STOP);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).state, CORE_CANCELED);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_RELEASE), 0); /* its file is still being read */
    unsigned ended = harness_count(&harness, CORE_EFFECT_ENDED);
    unsigned steps = 1;
    while (core_deadline_ns(harness.core) <= harness.now_ns) {
        harness_event(&harness, CORE_EVENT_TIMER);
        ended += harness_count(&harness, CORE_EFFECT_ENDED);
        steps++;
        assert_in_range(harness_count(&harness, CORE_EFFECT_ENDED), 0, 64);
    }
    assert_int_equal(ended, 499);
    assert_in_range(steps, 8, 10);
    harness_answer(&harness, CORE_EVENT_READ, read, ERROR_NONE);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_RELEASE).index, read.index);
    harness_answer(&harness, CORE_EVENT_PROVED, submit, ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_FINALIZED, harness_first(&harness, CORE_EFFECT_FINALIZE), ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_WRITTEN, harness_first(&harness, CORE_EFFECT_WRITE), ERROR_NONE);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).state, CORE_DONE);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_JOB_ENDED).state, CORE_CANCELED);
    expect_drained(&harness);
    harness_close(&harness);
}

static void test_deadline_spares_what_is_on_a_lane(void **state)
{
    (void)state;
    struct harness harness;
    struct core_settings settings = settings_of(3);
    struct core_job_request job = job_of(3);
    job.deadline_ns = 1200;
    open_loaded(&harness, settings, job);
    struct core_effect second = harness_find(&harness, CORE_EFFECT_READ, 1);
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_true(core_deadline_ns(harness.core) == 1200);
    harness.now_ns = 1200;
    harness_event(&harness, CORE_EVENT_TIMER);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_ENDED), 2);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_DEADLINE);
    harness_answer(&harness, CORE_EVENT_READ, second, ERROR_NONE);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_RELEASE), 1);
    harness_answer(&harness, CORE_EVENT_PROVED, submit, ERROR_NONE);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_FINALIZE), 1);
    harness_close(&harness);
}

static void test_witness_command_is_limited_and_killed(void **state)
{
    (void)state;
    struct harness harness;
    struct core_job_request job = job_of(2);
    job.generate = true;
    job.generate_limit_ns = 300;
    open_loaded(&harness, settings_of(3), job);
    struct core_effect generate = harness_first(&harness, CORE_EFFECT_GENERATE);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_GENERATE), 1); /* generators_max */
    assert_true(core_deadline_ns(harness.core) == 1300);
    harness.now_ns = 1300;
    harness_event(&harness, CORE_EVENT_TIMER);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_KILL).index, generate.index);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_KILL).generation, generate.generation);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_TIMEOUT);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_GENERATE), 0); /* it has not ended yet */
    harness_answer(&harness, CORE_EVENT_GENERATED, generate, ERROR_CANCELED);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_RELEASE), 1);
    generate = harness_first(&harness, CORE_EFFECT_GENERATE);
    assert_int_equal(generate.partition, 1);
    harness_answer(&harness, CORE_EVENT_GENERATED, generate, ERROR_NONE);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_READ).index, generate.index);
    harness_close(&harness);
}

static void test_equal_histories_give_equal_hashes(void **state)
{
    (void)state;
    struct harness one, two;
    open_loaded(&one, settings_of(3), job_of(4));
    open_loaded(&two, settings_of(3), job_of(4));
    assert_true(core_hash(one.core) == core_hash(two.core));
    struct core_effect read = harness_first(&one, CORE_EFFECT_READ);
    harness_answer(&one, CORE_EVENT_READ, read, ERROR_NONE);
    assert_true(core_hash(one.core) != core_hash(two.core));
    harness_answer(&two, CORE_EVENT_READ, read, ERROR_NONE);
    assert_true(core_hash(one.core) == core_hash(two.core));
    harness_close(&one);
    harness_close(&two);
}

struct impossible {
    struct harness harness;
    struct core_event event;
};

static void step_impossible(void *argument)
{
    struct impossible *impossible = argument;
    core_step(impossible->harness.core, impossible->harness.now_ns, &impossible->event);
}

static void test_impossible_answers_abort(void **state)
{
    (void)state;
    struct impossible impossible;
    open_loaded(&impossible.harness, settings_of(3), job_of(1));
    struct core_effect read = harness_first(&impossible.harness, CORE_EFFECT_READ);
    impossible.event = (struct core_event){
        .kind = CORE_EVENT_READ, .index = read.index, .generation = read.generation + 1}; /* not asked yet */
    assert_true(expect_abort(step_impossible, &impossible));
    impossible.event.generation = read.generation;
    assert_false(expect_abort(step_impossible, &impossible));
    impossible.event.kind = CORE_EVENT_WRITTEN; /* asked for something else */
    assert_true(expect_abort(step_impossible, &impossible));
    impossible.event =
        (struct core_event){.kind = CORE_EVENT_PROVED, .index = 7, .generation = 1}; /* no such lane */
    assert_true(expect_abort(step_impossible, &impossible));
    impossible.event = (struct core_event){.kind = CORE_EVENT_START}; /* twice */
    assert_true(expect_abort(step_impossible, &impossible));
    harness_close(&impossible.harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_partition_goes_all_the_way),
        cmocka_unit_test(test_bundle_failure_fails_the_job_only),
        cmocka_unit_test(test_no_jobs_drain_at_once),
        cmocka_unit_test(test_device_error_is_retried_on_the_other_lane),
        cmocka_unit_test(test_failed_self_check_is_retried_once_on_the_cpu),
        cmocka_unit_test(test_silent_lane_is_quarantined_with_its_slot),
        cmocka_unit_test(test_sticky_error_loses_the_device),
        cmocka_unit_test(test_circuit_without_room_is_for_the_cpu),
        cmocka_unit_test(test_stop_finishes_what_is_on_a_lane),
        cmocka_unit_test(test_deadline_spares_what_is_on_a_lane),
        cmocka_unit_test(test_witness_command_is_limited_and_killed),
        cmocka_unit_test(test_equal_histories_give_equal_hashes),
        cmocka_unit_test(test_impossible_answers_abort),
    };
    return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
