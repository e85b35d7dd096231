#include "tests/unit/core_harness.h"

/* Circuits under a memory budget: when they are loaded, which one is evicted, and what cannot ever fit. */

static const struct core_lane_settings lane = {.time_limit_ns = 100};
static const struct core_circuit_settings circuits[3] = {{.resident_bytes = 100, .slot_bytes = 10},
                                                         {.resident_bytes = 200, .slot_bytes = 20},
                                                         {.resident_bytes = 300, .slot_bytes = 30}};

static void open_budget(struct harness *harness, uint64_t memory_bytes)
{
    struct core_settings settings = {.jobs_max = 10,
                                     .partitions_max = 200,
                                     .slots = 4,
                                     .lookahead = 1,
                                     .generators_max = 1,
                                     .attempts_max = 3,
                                     .memory_bytes = memory_bytes,
                                     .circuits_count = 3,
                                     .lanes_count = 1,
                                     .circuits = circuits,
                                     .lanes = &lane};
    harness_open(harness, &settings);
}

static void admit(struct harness *harness, uint32_t circuit, uint32_t partitions)
{
    harness_admit(harness, (struct core_job_request){.circuit = circuit,
                                                     .partitions = partitions,
                                                     .deadline_ns = CORE_NEVER,
                                                     .generate_limit_ns = CORE_NEVER});
}

static void load(struct harness *harness, uint32_t circuit)
{
    struct core_effect effect = harness_first(harness, CORE_EFFECT_LOAD);
    assert_int_equal(effect.index, circuit);
    harness_answer(harness, CORE_EVENT_LOADED, effect, ERROR_NONE);
}

static void fail_read(struct harness *harness)
{
    harness_answer(harness, CORE_EVENT_READ, harness_first(harness, CORE_EFFECT_READ), ERROR_SYSTEM);
}

static void evict(struct harness *harness, uint32_t circuit)
{
    struct core_effect effect = harness_first(harness, CORE_EFFECT_EVICT);
    assert_int_equal(effect.index, circuit);
    harness_answer(harness, CORE_EVENT_EVICTED, effect, ERROR_NONE);
}

static uint64_t reserved(const struct harness *harness)
{
    struct core_counts counts;
    core_counts(harness->core, &counts);
    return counts.memory_reserved_bytes;
}

static void test_what_never_fits_fails_at_once(void **state)
{
    (void)state;
    struct harness harness;
    open_budget(&harness, 329); /* circuit 2 and one slot take 330 */
    admit(&harness, 2, 2);
    admit(&harness, 0, 1);
    harness_event(&harness, CORE_EVENT_START);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_ENDED), 2);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_MEMORY);
    load(&harness, 0); /* the other job goes on */
    harness_close(&harness);
}

static void test_exact_fit(void **state)
{
    (void)state;
    struct harness harness;
    open_budget(&harness, 330);
    admit(&harness, 2, 2);
    harness_event(&harness, CORE_EVENT_START);
    assert_int_equal(reserved(&harness), 330); /* a load reserves one slot, too */
    load(&harness, 2);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_READ), 1);
    assert_int_equal(reserved(&harness), 330);
    harness_close(&harness);
}

static void test_least_recently_used_goes_first(void **state)
{
    (void)state;
    struct harness harness;
    open_budget(&harness, 340); /* circuits 0 and 1 with a slot; circuit 2 needs both gone but for 10 bytes */
    admit(&harness, 1, 1);
    admit(&harness, 0, 1);
    admit(&harness, 2, 1);
    harness_event(&harness, CORE_EVENT_START);
    load(&harness, 1);
    fail_read(&harness);
    load(&harness, 0);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_EVICT), 0); /* both fit */
    fail_read(&harness);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_LOAD), 0); /* not before both have left */
    assert_int_equal(harness_count(&harness, CORE_EFFECT_EVICT), 2);
    struct core_effect second = harness_find(&harness, CORE_EFFECT_EVICT, 1);
    assert_int_equal(second.index, 0);
    evict(&harness, 1);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_LOAD), 0);
    harness_answer(&harness, CORE_EVENT_EVICTED, second, ERROR_NONE);
    load(&harness, 2);
    fail_read(&harness);
    evict(&harness, 2); /* at the end nothing stays */
    assert_int_equal(harness_count(&harness, CORE_EFFECT_DRAINED), 1);
    assert_int_equal(reserved(&harness), 0);
    harness_close(&harness);
}

static void test_only_as_many_as_needed_are_evicted(void **state)
{
    (void)state;
    struct harness harness;
    open_budget(&harness, 440);
    admit(&harness, 1, 1);
    admit(&harness, 0, 1);
    admit(&harness, 2, 1);
    harness_event(&harness, CORE_EVENT_START);
    load(&harness, 1);
    fail_read(&harness);
    load(&harness, 0);
    fail_read(&harness);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_EVICT), 1);
    evict(&harness, 1);
    load(&harness, 2); /* circuit 0 is still there */
    assert_int_equal(reserved(&harness), 430);
    harness_close(&harness);
}

static void test_circuit_in_use_is_not_evicted(void **state)
{
    (void)state;
    struct harness harness;
    open_budget(&harness, 330);
    admit(&harness, 0, 1);
    admit(&harness, 2, 1);
    harness_event(&harness, CORE_EVENT_START);
    load(&harness, 0);
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_EVICT), 0);
    harness_answer(&harness, CORE_EVENT_PROVED, submit, ERROR_NONE);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_EVICT), 0);
    harness_answer(&harness, CORE_EVENT_FINALIZED, harness_first(&harness, CORE_EFFECT_FINALIZE), ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_WRITTEN, harness_first(&harness, CORE_EFFECT_WRITE), ERROR_NONE);
    evict(&harness, 0);
    load(&harness, 2);
    harness_close(&harness);
}

static void test_failed_load_fails_its_partitions_only(void **state)
{
    (void)state;
    struct harness harness;
    open_budget(&harness, 1000);
    admit(&harness, 1, 100);
    admit(&harness, 0, 1);
    harness_event(&harness, CORE_EVENT_START);
    harness_answer(&harness, CORE_EVENT_LOADED, harness_first(&harness, CORE_EFFECT_LOAD), ERROR_INPUT);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_ENDED), 64); /* the rest in the next step */
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_CIRCUIT);
    struct core_effect next = harness_first(&harness, CORE_EFFECT_LOAD); /* the other job goes on meanwhile */
    assert_int_equal(next.index, 0);
    assert_true(core_deadline_ns(harness.core) == harness.now_ns);
    harness_event(&harness, CORE_EVENT_TIMER);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_ENDED), 36);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_JOB_ENDED).index, 0);
    assert_int_equal(reserved(&harness), 110);
    harness_close(&harness);
}

/* A silent lane keeps its slot and so its circuit; another circuit that needs that memory must not wait for
 * ever. */
static void test_memory_held_by_a_silent_lane(void **state)
{
    (void)state;
    static const struct core_lane_settings lanes[2] = {{.time_limit_ns = 100}, {.time_limit_ns = CORE_NEVER}};
    struct core_settings settings = {.jobs_max = 2,
                                     .partitions_max = 2,
                                     .slots = 4,
                                     .lookahead = 1,
                                     .generators_max = 1,
                                     .attempts_max = 1,
                                     .memory_bytes = 330,
                                     .circuits_count = 3,
                                     .lanes_count = 2,
                                     .circuits = circuits,
                                     .lanes = lanes};
    struct harness harness;
    harness_open(&harness, &settings);
    admit(&harness, 0, 1);
    admit(&harness, 2, 1);
    harness_event(&harness, CORE_EVENT_START);
    load(&harness, 0);
    harness_prepare(&harness, harness_first(&harness, CORE_EFFECT_READ));
    struct core_effect silent = harness_first(&harness, CORE_EFFECT_SUBMIT);
    harness.now_ns = core_deadline_ns(harness.core);
    harness_event(&harness, CORE_EVENT_TIMER);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause,
                     CORE_CAUSE_DEVICE); /* attempts_max is 1 */
    assert_true(core_deadline_ns(harness.core) == harness.now_ns);
    harness_event(&harness, CORE_EVENT_TIMER);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).partition, 1);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_ENDED).cause, CORE_CAUSE_DEVICE);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_DRAINED), 1);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_EVICT), 0); /* the device may still read it */
    harness_answer(&harness, CORE_EVENT_PROVED, silent, ERROR_NONE);
    assert_int_equal(harness.effects_count, 0);
    harness_close(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_never_fits_fails_at_once),
        cmocka_unit_test(test_exact_fit),
        cmocka_unit_test(test_least_recently_used_goes_first),
        cmocka_unit_test(test_only_as_many_as_needed_are_evicted),
        cmocka_unit_test(test_circuit_in_use_is_not_evicted),
        cmocka_unit_test(test_failed_load_fails_its_partitions_only),
        cmocka_unit_test(test_memory_held_by_a_silent_lane),
    };
    return cmocka_run_group_tests_name("residency", tests, NULL, NULL);
}
