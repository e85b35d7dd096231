#include "tests/unit/core_harness.h"

#include "tests/sim/sim_random.h"

/* Which partition starts next, and which lane takes a ready one: rules of coordinator/core.h, one at a time.
 */

enum { LANES = 4 };
static const struct core_circuit_settings circuits[2] = {{.resident_bytes = 10, .slot_bytes = 1},
                                                         {.resident_bytes = 10, .slot_bytes = 1}};

static struct core_settings settings_of(const struct core_lane_settings *lanes, uint32_t lanes_count)
{
    return (struct core_settings){.jobs_max = 300,
                                  .partitions_max = 3000,
                                  .slots = 8,
                                  .lookahead = 1,
                                  .generators_max = 1,
                                  .attempts_max = 3,
                                  .memory_bytes = 1000,
                                  .circuits_count = 2,
                                  .lanes_count = lanes_count,
                                  .circuits = circuits,
                                  .lanes = lanes};
}

static struct core_job_request job_of(uint32_t partitions, uint8_t priority, uint64_t deadline_ns)
{
    return (struct core_job_request){.partitions = partitions,
                                     .priority = priority,
                                     .deadline_ns = deadline_ns,
                                     .generate_limit_ns = CORE_NEVER};
}

static void load(struct harness *harness)
{
    harness_answer(harness, CORE_EVENT_LOADED, harness_first(harness, CORE_EFFECT_LOAD), ERROR_NONE);
}

/* A partition that is read and fails makes room for the next: notes the order in which they start. */
static void start_order(struct harness *harness, uint32_t *order, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct core_effect read = harness_first(harness, CORE_EFFECT_READ);
        assert_int_equal(harness_count(harness, CORE_EFFECT_READ), 1);
        order[i] = read.partition;
        harness_answer(harness, CORE_EVENT_READ, read, ERROR_SYSTEM);
    }
}

static void test_priority_then_deadline_then_admission(void **state)
{
    (void)state;
    static const struct core_lane_settings lane = {.time_limit_ns = CORE_NEVER};
    struct core_settings settings = settings_of(&lane, 1);
    struct harness harness;
    harness_open(&harness, &settings);
    harness_admit(&harness, job_of(1, 2, CORE_NEVER)); /* 0 */
    harness_admit(&harness, job_of(2, 1, CORE_NEVER)); /* 1, 2 */
    harness_admit(&harness, job_of(1, 1, 900000));     /* 3 */
    harness_admit(&harness, job_of(1, 1, 900001));     /* 4: differs in the last bits only */
    harness_admit(&harness, job_of(1, 1, 900000));     /* 5 */
    harness_admit(&harness, job_of(1, 0, CORE_NEVER)); /* 6 */
    harness_admit(&harness, job_of(1, 3, 2000));       /* 7 */
    harness_event(&harness, CORE_EVENT_START);
    load(&harness);
    static const uint32_t expected[8] = {6, 3, 5, 4, 1, 2, 0, 7};
    uint32_t order[8];
    start_order(&harness, order, 8);
    assert_memory_equal(order, expected, sizeof order);
    harness_close(&harness);
}

/* Three hundred jobs with random priorities and deadlines start in the order that sorting gives. */
struct rank {
    uint64_t deadline_ns;
    uint32_t partition;
    uint8_t priority;
};

static int compare(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority < y->priority ? -1 : 1;
    }
    if (x->deadline_ns != y->deadline_ns) {
        return x->deadline_ns < y->deadline_ns ? -1 : 1;
    }
    return x->partition < y->partition ? -1 : 1;
}

static void test_many_jobs_start_as_sorted(void **state)
{
    (void)state;
    enum { JOBS = 300 };
    static const struct core_lane_settings lane = {.time_limit_ns = CORE_NEVER};
    static struct rank ranks[JOBS];
    static uint32_t order[JOBS];
    struct core_settings settings = settings_of(&lane, 1);
    struct sim_random random;
    struct harness harness;
    sim_random_init(&random, 3);
    harness_open(&harness, &settings);
    for (uint32_t i = 0; i < JOBS; i++) {
        ranks[i].partition = i;
        ranks[i].priority = (uint8_t)sim_random_between(&random, 0, 3);
        ranks[i].deadline_ns = 100000 + sim_random_between(&random, 0, 40);
        harness_admit(&harness, job_of(1, ranks[i].priority, ranks[i].deadline_ns));
    }
    harness_event(&harness, CORE_EVENT_START);
    load(&harness);
    start_order(&harness, order, JOBS);
    qsort(ranks, JOBS, sizeof ranks[0], compare);
    for (uint32_t i = 0; i < JOBS; i++) {
        assert_int_equal(order[i], ranks[i].partition);
    }
    harness_close(&harness);
}

static void test_look_ahead_bounds_what_is_prepared(void **state)
{
    (void)state;
    static const struct core_lane_settings lanes[2] = {{.time_limit_ns = CORE_NEVER},
                                                       {.time_limit_ns = CORE_NEVER}};
    struct core_settings settings = settings_of(lanes, 2);
    settings.lookahead = 2;
    struct harness harness;
    harness_open(&harness, &settings);
    harness_admit(&harness, job_of(20, 0, CORE_NEVER));
    harness_event(&harness, CORE_EVENT_START);
    load(&harness);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_READ), 4); /* 2 lanes x 2 */
    struct core_effect reads[4];
    for (unsigned i = 0; i < 4; i++) {
        reads[i] = harness_find(&harness, CORE_EFFECT_READ, i);
    }
    /* As soon as a lane takes one, the next begins to be read: all 8 slots fill up, and no more. */
    for (unsigned i = 0; i < 2; i++) {
        harness_prepare(&harness, reads[i]);
        assert_int_equal(harness_count(&harness, CORE_EFFECT_SUBMIT), 1);
        assert_int_equal(harness_count(&harness, CORE_EFFECT_READ), 1);
    }
    harness_prepare(&harness, reads[2]);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_SUBMIT), 0); /* both lanes are busy */
    assert_int_equal(harness_count(&harness, CORE_EFFECT_READ), 0);
    harness_close(&harness);
}

static void test_submissions_spread_over_devices(void **state)
{
    (void)state;
    static const struct core_lane_settings lanes[LANES] = {{.device = 0, .time_limit_ns = CORE_NEVER},
                                                           {.device = 0, .time_limit_ns = CORE_NEVER},
                                                           {.device = 1, .time_limit_ns = CORE_NEVER},
                                                           {.device = 1, .time_limit_ns = CORE_NEVER}};
    struct core_settings settings = settings_of(lanes, LANES);
    struct harness harness;
    harness_open(&harness, &settings);
    harness_admit(&harness, job_of(4, 0, CORE_NEVER));
    harness_event(&harness, CORE_EVENT_START);
    load(&harness);
    struct core_effect reads[LANES];
    for (unsigned i = 0; i < LANES; i++) {
        reads[i] = harness_find(&harness, CORE_EFFECT_READ, i);
    }
    static const uint32_t expected[LANES] = {0, 2, 1, 3};
    for (unsigned i = 0; i < LANES; i++) {
        harness_prepare(&harness, reads[i]);
        assert_int_equal(harness_first(&harness, CORE_EFFECT_SUBMIT).lane, expected[i]);
    }
    harness_close(&harness);
}

static void test_most_urgent_ready_partition_is_submitted_first(void **state)
{
    (void)state;
    static const struct core_lane_settings lane = {.time_limit_ns = CORE_NEVER};
    struct core_settings settings = settings_of(&lane, 1);
    settings.lookahead = 3;
    struct harness harness;
    harness_open(&harness, &settings);
    harness_admit(&harness, job_of(1, 2, CORE_NEVER)); /* 0 */
    harness_admit(&harness, job_of(1, 1, CORE_NEVER)); /* 1 */
    harness_admit(&harness, job_of(1, 0, CORE_NEVER)); /* 2 */
    harness_event(&harness, CORE_EVENT_START);
    load(&harness);
    struct core_effect reads[3]; /* of partitions 2, 1, 0 */
    for (unsigned i = 0; i < 3; i++) {
        reads[i] = harness_find(&harness, CORE_EFFECT_READ, i);
        assert_int_equal(reads[i].partition, 2 - i);
    }
    harness_prepare(&harness, reads[2]); /* the least urgent is ready first: an idle lane does not wait */
    struct core_effect submit = harness_first(&harness, CORE_EFFECT_SUBMIT);
    assert_int_equal(submit.partition, 0);
    harness_prepare(&harness, reads[1]);
    harness_prepare(&harness, reads[0]);
    harness_answer(&harness, CORE_EVENT_PROVED, submit, ERROR_NONE);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_SUBMIT).partition, 2);
    harness_close(&harness);
}

static void test_loading_circuit_is_overtaken(void **state)
{
    (void)state;
    static const struct core_lane_settings lane = {.time_limit_ns = CORE_NEVER};
    struct core_settings settings = settings_of(&lane, 1);
    settings.lookahead = 2;
    struct harness harness;
    harness_open(&harness, &settings);
    struct core_job_request urgent = job_of(1, 0, CORE_NEVER), other = job_of(9, 1, CORE_NEVER);
    other.circuit = 1;
    harness_admit(&harness, urgent);
    harness_admit(&harness, other);
    harness_event(&harness, CORE_EVENT_START);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_LOAD),
                     2); /* a load counts as one of the look-ahead */
    struct core_effect slow = harness_find(&harness, CORE_EFFECT_LOAD, 0);
    assert_int_equal(slow.index, 0);
    harness_answer(&harness, CORE_EVENT_LOADED, harness_find(&harness, CORE_EFFECT_LOAD, 1), ERROR_NONE);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_READ), 2);
    struct core_effect read = harness_first(&harness, CORE_EFFECT_READ);
    assert_int_equal(read.partition, 1);
    harness_answer(&harness, CORE_EVENT_LOADED, slow, ERROR_NONE);
    harness_answer(&harness, CORE_EVENT_READ, read, ERROR_SYSTEM); /* room for one: the urgent one is next */
    assert_int_equal(harness_first(&harness, CORE_EFFECT_READ).partition, 0);
    harness_close(&harness);
}

static void test_full_generators_are_overtaken(void **state)
{
    (void)state;
    static const struct core_lane_settings lane = {.time_limit_ns = CORE_NEVER};
    struct core_settings settings = settings_of(&lane, 1);
    struct harness harness;
    harness_open(&harness, &settings);
    struct core_job_request urgent = job_of(2, 0, CORE_NEVER);
    urgent.generate = true;
    harness_admit(&harness, urgent);
    harness_admit(&harness, job_of(3, 1, CORE_NEVER));
    harness_event(&harness, CORE_EVENT_START);
    load(&harness);
    assert_int_equal(harness_count(&harness, CORE_EFFECT_GENERATE), 1);
    assert_int_equal(harness_first(&harness, CORE_EFFECT_READ).partition, 2);
    harness_close(&harness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_priority_then_deadline_then_admission),
        cmocka_unit_test(test_many_jobs_start_as_sorted),
        cmocka_unit_test(test_look_ahead_bounds_what_is_prepared),
        cmocka_unit_test(test_submissions_spread_over_devices),
        cmocka_unit_test(test_most_urgent_ready_partition_is_submitted_first),
        cmocka_unit_test(test_loading_circuit_is_overtaken),
        cmocka_unit_test(test_full_generators_are_overtaken),
    };
    return cmocka_run_group_tests_name("scheduler", tests, NULL, NULL);
}
