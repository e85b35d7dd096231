#include "cuda/device_sim.h"

#include "device_wait.h"
#include "expect_abort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct config_sim exact = {.stage_ns = {10, 20, 30, 40, 5}, .seed = 1};
static const uint64_t second = UINT64_C(1000000000);

static struct device_sim *open_sim(const struct config_sim *config, unsigned lanes)
{
    static struct device_sim sim;
    struct error error;
    assert_int_equal(device_sim_open(&sim, config, lanes, &error), ERROR_NONE);
    return &sim;
}

static void submit_at(struct device_sim *sim, uint64_t now_ns, unsigned lane, uint64_t token)
{
    struct device_work work = {.token = token};
    device_sim_submit_at(sim, now_ns, lane, &work);
}

/* Worked out by hand: the second work's copy overlaps the first one's computing, and its computing comes
 * after. */
static void test_lanes_share_the_engines(void **state)
{
    (void)state;
    struct device_sim *sim = open_sim(&exact, 3);
    submit_at(sim, 1000, 0, 1);
    submit_at(sim, 1002, 1, 2);
    submit_at(sim, 1002, 2, 3);
    const struct device_completion expected[3] = {
        {.token = 1, .lane = 0, .begin_ns = 1000, .stage_end_ns = {1010, 1030, 1060, 1100, 1105}},
        {.token = 2, .lane = 1, .begin_ns = 1010, .stage_end_ns = {1020, 1120, 1150, 1190, 1195}},
        {.token = 3, .lane = 2, .begin_ns = 1020, .stage_end_ns = {1030, 1210, 1240, 1280, 1285}},
    };
    struct device_completion polled[3];
    assert_int_equal(device_sim_next_ns(sim), 1105);
    assert_int_equal(device_sim_poll_at(sim, 1104, polled, 3), 0);
    assert_int_equal(device_sim_poll_at(sim, 1105, polled, 3), 1);
    assert_int_equal(device_sim_next_ns(sim), 1195);
    assert_int_equal(device_sim_poll_at(sim, 9999, polled + 1, 3), 2);
    assert_int_equal(device_sim_next_ns(sim), UINT64_MAX);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(polled[i].token, expected[i].token);
        assert_int_equal(polled[i].lane, expected[i].lane);
        assert_int_equal(polled[i].code, ERROR_NONE);
        assert_int_equal(polled[i].begin_ns, expected[i].begin_ns);
        assert_memory_equal(polled[i].stage_end_ns, expected[i].stage_end_ns, sizeof polled[i].stage_end_ns);
    }
    device_close(&sim->device);
}

/* A long copy out holds the next copy out up, and nothing else. */
static void test_a_slow_copy_out_is_its_own_queue(void **state)
{
    (void)state;
    const struct config_sim config = {.stage_ns = {1, 1, 1, 1, 100}, .seed = 1};
    struct device_sim *sim = open_sim(&config, 2);
    submit_at(sim, 0, 0, 1);
    submit_at(sim, 0, 1, 2);
    struct device_completion polled[2];
    assert_int_equal(device_sim_poll_at(sim, second, polled, 2), 2);
    assert_int_equal(polled[0].stage_end_ns[DEVICE_STAGE_D2H], 104);
    assert_int_equal(polled[1].stage_end_ns[DEVICE_STAGE_MSM], 7);
    assert_int_equal(polled[1].stage_end_ns[DEVICE_STAGE_D2H], 204);
    device_close(&sim->device);
}

static void test_an_idle_device_begins_at_once(void **state)
{
    (void)state;
    struct device_sim *sim = open_sim(&exact, 1);
    struct device_completion polled;
    for (unsigned i = 0; i < 3; i++) {
        submit_at(sim, i * second, 0, i);
        assert_int_equal(device_sim_poll_at(sim, i * second + 104, &polled, 1), 0);
        assert_int_equal(device_sim_poll_at(sim, i * second + 105, &polled, 1), 1);
        assert_int_equal(polled.begin_ns, i * second);
    }
    device_close(&sim->device);
}

/* Two lanes, always refilled: the computing engine must never pause, whatever the spread. */
static void test_two_lanes_keep_the_engine_busy(void **state)
{
    (void)state;
    const struct config_sim config = {.stage_ns = {5, 30, 40, 60, 5}, .spread_percent = 30, .seed = 42};
    struct device_sim *sim = open_sim(&config, 2);
    uint64_t computing_ns = 0, last_ns = 0, first_copy_ns = 0;
    submit_at(sim, 0, 0, 0);
    submit_at(sim, 0, 1, 1);
    for (uint64_t count = 0; count < 10000; count++) {
        struct device_completion polled;
        uint64_t now_ns = device_sim_next_ns(sim);
        assert_int_equal(device_sim_poll_at(sim, now_ns, &polled, 1), 1);
        assert_int_equal(polled.token, count); /* first in, first out */
        for (unsigned stage = DEVICE_STAGE_EVALUATE; stage <= DEVICE_STAGE_MSM; stage++) {
            computing_ns += device_sim_duration_ns(&config, count + 1, (enum device_stage)stage);
        }
        last_ns = polled.stage_end_ns[DEVICE_STAGE_MSM];
        first_copy_ns = count == 0 ? polled.stage_end_ns[DEVICE_STAGE_H2D] : first_copy_ns;
        submit_at(sim, now_ns, polled.lane, count + 2);
    }
    assert_int_equal(last_ns - first_copy_ns, computing_ns);
    device_close(&sim->device);
}

static void test_durations_spread_evenly_and_repeatably(void **state)
{
    (void)state;
    const struct config_sim config = {
        .stage_ns = {1000, 1000, 1000, 1000, 1000}, .spread_percent = 10, .seed = 7};
    struct config_sim other = config;
    other.seed = 8;
    uint64_t sum = 0, least = UINT64_MAX, most = 0, differ = 0, stages_differ = 0;
    enum { DRAWS = 20000 };
    for (uint64_t number = 1; number <= DRAWS; number++) {
        uint64_t ns = device_sim_duration_ns(&config, number, DEVICE_STAGE_MSM);
        assert_int_equal(ns, device_sim_duration_ns(&config, number, DEVICE_STAGE_MSM));
        differ += ns != device_sim_duration_ns(&other, number, DEVICE_STAGE_MSM);
        stages_differ += ns != device_sim_duration_ns(&config, number, DEVICE_STAGE_NTT);
        sum += ns;
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
    }
    assert_int_equal(least, 900);
    assert_int_equal(most, 1100);
    /* 201 equal chances: standard deviation 58, of the mean 0.41. */
    assert_true(sum / DRAWS >= 997 && sum / DRAWS <= 1003);
    assert_true(differ > DRAWS / 2 && stages_differ > DRAWS / 2);
}

static void test_extreme_settings_stay_in_range(void **state)
{
    (void)state;
    const struct config_sim huge = {.stage_ns = {UINT64_MAX, UINT64_MAX, 1, 1, 1}, .spread_percent = 1000};
    struct device_sim *sim = open_sim(&huge, 1);
    submit_at(sim, UINT64_MAX - 5, 0, 1);
    struct device_completion polled;
    assert_int_equal(device_sim_poll_at(sim, UINT64_MAX, &polled, 1), 1);
    for (unsigned stage = 1; stage < DEVICE_STAGES; stage++) {
        assert_true(polled.stage_end_ns[stage] >= polled.stage_end_ns[stage - 1]);
    }
    device_close(&sim->device);
    const struct config_sim nothing = {.seed = 3};
    sim = open_sim(&nothing, 1);
    submit_at(sim, 77, 0, 1);
    assert_int_equal(device_sim_next_ns(sim), 77);
    device_close(&sim->device);
}

static void test_doorbell_rings_when_the_work_is_done(void **state)
{
    (void)state;
    const struct config_sim config = {.stage_ns = {1000000, 1000000, 1000000, 1000000, 1000000}};
    struct device_sim *sim = open_sim(&config, 2);
    struct device *device = &sim->device;
    struct error error;
    assert_int_equal(device_attach(device, NULL, &error), ERROR_NONE);
    assert_false(device_wait_ring(device, 0));
    uint64_t before_ns = device_now_ns();
    for (unsigned lane = 0; lane < 2; lane++) {
        struct device_work work = {.token = lane};
        device_submit(device, lane, &work);
    }
    struct device_completion completions[2];
    assert_true(device_wait_completions(device, completions, 2));
    uint64_t after_ns = device_now_ns();
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(completions[i].token, i);
        assert_true(completions[i].begin_ns >= before_ns);
        assert_true(completions[i].stage_end_ns[DEVICE_STAGE_D2H] <= after_ns);
    }
    assert_true(after_ns - before_ns >= 8000000); /* copy in, six stages on one engine, copy out */
    assert_false(device_wait_ring(device, 0));
    device_detach(device, NULL);
    device_close(device);
}

/* What a poll leaves behind keeps ringing. */
static void test_doorbell_rings_for_the_rest(void **state)
{
    (void)state;
    const struct config_sim nothing = {.seed = 1};
    struct device_sim *sim = open_sim(&nothing, 3);
    for (unsigned lane = 0; lane < 3; lane++) {
        struct device_work work = {.token = lane};
        device_submit(&sim->device, lane, &work);
    }
    struct device_completion completion;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(device_wait_ring(&sim->device, -1));
        assert_int_equal(device_poll(&sim->device, &completion, 1), 1);
        assert_int_equal(completion.token, i);
    }
    assert_false(device_wait_ring(&sim->device, 0));
    device_close(&sim->device);
}

static void submit_twice(void *argument)
{
    submit_at(argument, 1, 0, 1);
    submit_at(argument, 1, 0, 2);
}

static void submit_beyond(void *argument)
{
    submit_at(argument, 1, 1, 1);
}

static void test_bugs_abort(void **state)
{
    (void)state;
    struct device_sim *sim = open_sim(&exact, 1);
    assert_true(expect_abort(submit_twice, sim));
    assert_true(expect_abort(submit_beyond, sim));
    device_close(&sim->device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_share_the_engines),
        cmocka_unit_test(test_a_slow_copy_out_is_its_own_queue),
        cmocka_unit_test(test_an_idle_device_begins_at_once),
        cmocka_unit_test(test_two_lanes_keep_the_engine_busy),
        cmocka_unit_test(test_durations_spread_evenly_and_repeatably),
        cmocka_unit_test(test_extreme_settings_stay_in_range),
        cmocka_unit_test(test_doorbell_rings_when_the_work_is_done),
        cmocka_unit_test(test_doorbell_rings_for_the_rest),
        cmocka_unit_test(test_bugs_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
