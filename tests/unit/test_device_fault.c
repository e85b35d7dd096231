#include "cuda/device_fault.h"

#include "cuda/device_sim.h"
#include "device_wait.h"
#include "expect_abort.h"
#include "groth16/g1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { LANES = 4 };

/* An inner device that is done when the test says so, and remembers what was asked of it. */
struct scripted {
    struct device device;
    struct device_work works[LANES];
    bool busy[LANES], done[LANES];
    enum error_code codes[LANES];
    unsigned attached, detached, closed;
};

static enum error_code scripted_attach(struct device *device, const struct circuit *circuit,
                                       struct error *error)
{
    (void)circuit;
    (void)error;
    ((struct scripted *)device)->attached++;
    return ERROR_NONE;
}

static void scripted_detach(struct device *device, const struct circuit *circuit)
{
    (void)circuit;
    ((struct scripted *)device)->detached++;
}

static void scripted_submit(struct device *device, unsigned lane, const struct device_work *work)
{
    struct scripted *scripted = (struct scripted *)device;
    assert_false(scripted->busy[lane]);
    scripted->busy[lane] = true;
    scripted->works[lane] = *work;
}

static unsigned scripted_poll(struct device *device, struct device_completion *completions, unsigned max)
{
    struct scripted *scripted = (struct scripted *)device;
    uint64_t rings;
    unsigned count = 0;
    if (read(device->doorbell, &rings, sizeof rings) < 0) {
        rings = 0;
    }
    for (unsigned lane = 0; lane < LANES && count < max; lane++) {
        if (scripted->busy[lane] && scripted->done[lane]) {
            completions[count++] = (struct device_completion){
                .token = scripted->works[lane].token, .lane = lane, .code = scripted->codes[lane]};
            scripted->busy[lane] = scripted->done[lane] = false;
        }
    }
    return count;
}

static void scripted_close(struct device *device)
{
    close(device->doorbell);
    ((struct scripted *)device)->closed++;
}

static void scripted_finish(struct scripted *scripted, unsigned lane)
{
    uint64_t one = 1;
    scripted->done[lane] = true;
    assert_int_equal(write(scripted->device.doorbell, &one, sizeof one), sizeof one);
}

static struct scripted scripted;
static struct device_fault fault;

static void open_fault(const struct device_fault_settings *settings)
{
    static const struct device_operations operations = {scripted_attach, scripted_detach, scripted_submit,
                                                        scripted_poll, scripted_close};
    memset(&scripted, 0, sizeof scripted);
    scripted.device = (struct device){&operations, DEVICE_CPU, LANES, eventfd(0, EFD_NONBLOCK), "scripted"};
    struct error error;
    assert_int_equal(device_fault_open(&fault, &scripted.device, settings, &error), ERROR_NONE);
}

static void close_fault(void)
{
    device_close(&fault.device);
    assert_int_equal(scripted.closed, 1);
}

static struct prove_sums sums_table[LANES];

static void submit(unsigned lane, uint64_t token)
{
    static const uint8_t witness[32];
    struct device_work work = {.witness = witness, .sums = &sums_table[lane], .token = token};
    device_submit(&fault.device, lane, &work);
}

/* Submits, lets the inner device finish, and polls once. */
static unsigned pass(unsigned lane, uint64_t token, struct device_completion *completion)
{
    submit(lane, token);
    scripted_finish(&scripted, lane);
    return device_poll(&fault.device, completion, 1);
}

static void test_no_rules_change_nothing(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.seed = 5};
    open_fault(&settings);
    assert_int_equal(fault.device.lanes, LANES);
    assert_int_equal(fault.device.kind, DEVICE_CPU);
    assert_string_equal(fault.device.name, "scripted (faulty)");
    struct error error;
    assert_int_equal(device_attach(&fault.device, NULL, &error), ERROR_NONE);
    assert_int_equal(scripted.attached, 1);
    struct device_completion completions[LANES];
    for (unsigned round = 0; round < 100; round++) {
        for (unsigned lane = 0; lane < LANES; lane++) {
            submit(lane, round * 10 + lane);
        }
        assert_false(device_wait_ring(&fault.device, 0));
        assert_int_equal(device_poll(&fault.device, completions, LANES), 0);
        for (unsigned lane = 0; lane < LANES; lane++) {
            scripted.codes[lane] = lane == 2 ? ERROR_DEVICE : ERROR_NONE; /* its own failures pass through */
            scripted_finish(&scripted, lane);
        }
        assert_true(device_wait_ring(&fault.device, 0));
        assert_int_equal(device_poll(&fault.device, completions, LANES), LANES);
        for (unsigned lane = 0; lane < LANES; lane++) {
            assert_int_equal(completions[lane].token, round * 10 + lane);
            assert_int_equal(completions[lane].code, lane == 2 ? ERROR_DEVICE : ERROR_NONE);
            assert_false(completions[lane].sticky);
        }
        assert_false(device_wait_ring(&fault.device, 0));
    }
    device_detach(&fault.device, NULL);
    assert_int_equal(scripted.detached, 1);
    close_fault();
}

static void test_fails_the_nth(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth <= 6; nth++) {
        struct device_fault_settings settings = {.rules[DEVICE_FAULT_FAIL].nth = nth};
        open_fault(&settings);
        for (uint64_t number = 1; number <= 6; number++) {
            struct device_completion completion;
            memset(&sums_table[1], 0, sizeof sums_table[1]);
            assert_int_equal(pass(1, number, &completion), 1);
            assert_int_equal(completion.code, number == nth ? ERROR_DEVICE : ERROR_NONE);
            assert_false(completion.sticky);
            assert_int_equal(completion.reason[0] != '\0', number == nth);
            assert_int_equal(sums_table[1].a.x.w[0] != 0, number == nth); /* rubbish */
        }
        assert_int_equal(fault.struck[DEVICE_FAULT_FAIL], 1);
        close_fault();
    }
}

static void test_a_lost_device_stays_lost(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.rules[DEVICE_FAULT_STICKY].nth = 2};
    open_fault(&settings);
    struct device_completion completion;
    assert_int_equal(pass(0, 1, &completion), 1);
    assert_int_equal(completion.code, ERROR_NONE);
    for (uint64_t number = 2; number <= 4; number++) {
        assert_int_equal(pass(0, number, &completion), 1);
        assert_int_equal(completion.code, ERROR_DEVICE);
        assert_true(completion.sticky);
        assert_non_null(strstr(completion.reason, "lost"));
    }
    close_fault();
}

static void test_a_silent_lane_stays_busy(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.rules[DEVICE_FAULT_SILENCE].nth = 2};
    open_fault(&settings);
    struct device_completion completion;
    assert_int_equal(pass(0, 1, &completion), 1);
    assert_int_equal(pass(0, 2, &completion), 0);
    for (uint64_t number = 3; number <= 5; number++) { /* the other lanes go on */
        assert_int_equal(pass(1, number, &completion), 1);
        assert_int_equal(completion.token, number);
    }
    assert_false(device_wait_ring(&fault.device, 0));
    close_fault();
}

static void test_delays_and_then_rings(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.delay_ns = 3000000, .rules[DEVICE_FAULT_DELAY].nth = 1};
    open_fault(&settings);
    submit(0, 1);
    submit(1, 2);
    scripted_finish(&scripted, 0);
    scripted_finish(&scripted, 1);
    uint64_t before_ns = device_now_ns();
    struct device_completion completion;
    assert_int_equal(device_poll(&fault.device, &completion, 1), 1);
    assert_int_equal(completion.token, 2); /* the one behind it comes first */
    while (device_poll(&fault.device, &completion, 1) == 0) {
        assert_true(device_wait_ring(&fault.device, -1));
    }
    assert_int_equal(completion.token, 1);
    assert_int_equal(completion.code, ERROR_NONE);
    assert_true(device_now_ns() - before_ns >= 3000000);
    assert_false(device_wait_ring(&fault.device, 0));
    close_fault();
}

static void test_corrupts_a_point_that_stays_on_the_curve(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.rules[DEVICE_FAULT_CORRUPT].nth = 1};
    open_fault(&settings);
    g1_xyzz_set_infinity(&sums_table[0].c);
    struct device_completion completion;
    assert_int_equal(pass(0, 1, &completion), 1);
    assert_int_equal(completion.code, ERROR_NONE);
    g1_affine point;
    g1_xyzz_to_affine(&point, &sums_table[0].c);
    assert_true(g1_affine_equal(&point, &g1_generator)); /* infinity plus the generator */
    close_fault();
}

static void test_a_lost_ring_is_made_good_by_a_poll_or_a_submission(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.rules[DEVICE_FAULT_LOSE_RING].nth = 1};
    struct device_completion completions[2];
    open_fault(&settings);
    submit(0, 1);
    scripted_finish(&scripted, 0);
    assert_false(device_wait_ring(&fault.device, 0));
    assert_int_equal(device_poll(&fault.device, completions, 2), 1);
    submit(0, 2);
    scripted_finish(&scripted, 0);
    assert_true(device_wait_ring(&fault.device, 0));
    close_fault();
    open_fault(&settings);
    submit(0, 1);
    scripted_finish(&scripted, 0);
    assert_false(device_wait_ring(&fault.device, 0));
    submit(1, 2);
    assert_true(device_wait_ring(&fault.device, 0));
    assert_int_equal(device_poll(&fault.device, completions, 2), 1);
    assert_int_equal(completions[0].token, 1);
    close_fault();
}

static void test_rings_twice(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.rules[DEVICE_FAULT_RING_TWICE].nth = 1};
    open_fault(&settings);
    struct device_completion completion;
    assert_int_equal(pass(0, 1, &completion), 1);
    assert_true(device_wait_ring(&fault.device, 0)); /* for nothing */
    assert_int_equal(device_poll(&fault.device, &completion, 1), 0);
    assert_false(device_wait_ring(&fault.device, 0));
    close_fault();
}

static void test_attaching_can_fail(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.rules[DEVICE_FAULT_ATTACH].nth = 2};
    open_fault(&settings);
    struct error error;
    assert_int_equal(device_attach(&fault.device, NULL, &error), ERROR_NONE);
    assert_int_equal(device_attach(&fault.device, NULL, &error), ERROR_DEVICE);
    assert_non_null(strstr(error.text, "injected"));
    assert_int_equal(device_attach(&fault.device, NULL, &error), ERROR_NONE);
    assert_int_equal(scripted.attached, 2);
    close_fault();
}

static void test_what_a_short_poll_leaves_rings_again(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.seed = 1};
    open_fault(&settings);
    for (unsigned lane = 0; lane < 3; lane++) {
        submit(lane, lane);
        scripted_finish(&scripted, lane);
    }
    struct device_completion completion;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(device_wait_ring(&fault.device, 0));
        assert_int_equal(device_poll(&fault.device, &completion, 1), 1);
        assert_int_equal(completion.token, i);
    }
    assert_false(device_wait_ring(&fault.device, 0));
    close_fault();
}

static void test_chances_are_as_set_and_repeatable(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.seed = 9};
    enum { DRAWS = 100000 };
    for (unsigned kind = 0; kind < DEVICE_FAULTS; kind++) {
        settings.rules[kind].permille = 100;
    }
    unsigned struck[DEVICE_FAULTS] = {0}, both = 0;
    for (uint64_t number = 1; number <= DRAWS; number++) {
        for (unsigned kind = 0; kind < DEVICE_FAULTS; kind++) {
            struck[kind] += device_fault_strikes(&settings, (enum device_fault_kind)kind, number);
        }
        both += device_fault_strikes(&settings, DEVICE_FAULT_FAIL, number) &&
                device_fault_strikes(&settings, DEVICE_FAULT_DELAY, number);
    }
    for (unsigned kind = 0; kind < DEVICE_FAULTS; kind++) {
        assert_true(struck[kind] > 9500 && struck[kind] < 10500); /* 10000 and five standard deviations */
    }
    assert_true(both > 840 && both < 1160); /* kinds are independent: 1000 */
    settings.rules[DEVICE_FAULT_FAIL].permille = 0;
    assert_false(device_fault_strikes(&settings, DEVICE_FAULT_FAIL, 0x7fffffff));
    settings.rules[DEVICE_FAULT_FAIL].permille = 1000;
    assert_true(device_fault_strikes(&settings, DEVICE_FAULT_FAIL, 0x7fffffff));
}

/* Everything at once, over a simulated device: no completion twice, none invented, and all but those of
 * silent lanes come. Once more with the same seed gives the same faults. */
static uint64_t storm(uint64_t seed)
{
    static struct device_sim sim;
    static struct device_fault stormy;
    const struct config_sim config = {
        .stage_ns = {1000, 2000, 2000, 2000, 1000}, .spread_percent = 50, .seed = seed};
    struct device_fault_settings settings = {.seed = seed, .delay_ns = 50000};
    settings.rules[DEVICE_FAULT_FAIL].permille = 200;
    settings.rules[DEVICE_FAULT_DELAY].permille = 200;
    settings.rules[DEVICE_FAULT_LOSE_RING].permille = 200;
    settings.rules[DEVICE_FAULT_RING_TWICE].permille = 200;
    settings.rules[DEVICE_FAULT_SILENCE].nth = 30;
    enum { WORKS = 150 };
    struct error error;
    assert_int_equal(device_sim_open(&sim, &config, 3, &error), ERROR_NONE);
    assert_int_equal(device_fault_open(&stormy, &sim.device, &settings, &error), ERROR_NONE);
    uint64_t failed[WORKS] = {0}, ended[WORKS] = {0};
    unsigned next = 0, count = 0;
    for (; next < 3; next++) {
        struct device_work work = {.token = next};
        device_submit(&stormy.device, next, &work);
    }
    while (count < WORKS - 1) {
        device_wait_ring(&stormy.device, 1); /* rings may be lost: look from time to time */
        struct device_completion completions[3];
        unsigned came = device_poll(&stormy.device, completions, 3);
        for (unsigned i = 0; i < came; i++, count++) {
            assert_true(completions[i].token < next);
            ended[completions[i].token]++;
            failed[completions[i].token] = completions[i].code == ERROR_DEVICE;
            if (next < WORKS) {
                struct device_work work = {.token = next++};
                device_submit(&stormy.device, completions[i].lane, &work);
            }
        }
    }
    uint64_t hash = 0;
    for (unsigned i = 0; i < WORKS; i++) {
        assert_int_equal(ended[i], i != 29);
        hash = hash * 31 + failed[i];
    }
    device_close(&stormy.device);
    return hash;
}

static void test_a_storm_loses_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(storm(1), storm(1));
    assert_int_not_equal(storm(1), storm(2));
}

static void submit_to_silent_lane(void *argument)
{
    (void)argument;
    submit(0, 3);
}

static void test_bugs_abort(void **state)
{
    (void)state;
    struct device_fault_settings settings = {.rules[DEVICE_FAULT_SILENCE].nth = 1};
    open_fault(&settings);
    struct device_completion completion;
    assert_int_equal(pass(0, 1, &completion), 0);
    assert_true(expect_abort(submit_to_silent_lane, NULL));
    close_fault();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_rules_change_nothing),
        cmocka_unit_test(test_fails_the_nth),
        cmocka_unit_test(test_a_lost_device_stays_lost),
        cmocka_unit_test(test_a_silent_lane_stays_busy),
        cmocka_unit_test(test_delays_and_then_rings),
        cmocka_unit_test(test_corrupts_a_point_that_stays_on_the_curve),
        cmocka_unit_test(test_a_lost_ring_is_made_good_by_a_poll_or_a_submission),
        cmocka_unit_test(test_rings_twice),
        cmocka_unit_test(test_attaching_can_fail),
        cmocka_unit_test(test_what_a_short_poll_leaves_rings_again),
        cmocka_unit_test(test_chances_are_as_set_and_repeatable),
        cmocka_unit_test(test_a_storm_loses_nothing_else),
        cmocka_unit_test(test_bugs_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
