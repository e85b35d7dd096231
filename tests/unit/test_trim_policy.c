/* When trims begin, by policy, on a clock of the test's own. */
#include "coordinator/trim_policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { INTERVAL = 100, ENOUGH = 50, START = 1007 };

static struct trim_policy policy_of(enum trim_policy_kind kind)
{
    struct trim_policy policy;
    const struct trim_policy_settings settings = {kind, INTERVAL, ENOUGH};
    trim_policy_init(&policy, &settings);
    trim_policy_start(&policy, START);
    return policy;
}

static void off_never_trims(void **state)
{
    (void)state;
    struct trim_policy policy = policy_of(TRIM_POLICY_OFF);
    trim_policy_freed(&policy, START, UINT64_MAX);
    trim_policy_freed(&policy, START, UINT64_MAX); /* the sum stays at the most there is */
    trim_policy_ended(&policy, START);
    trim_policy_pressure(&policy, START);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX);
    assert_false(trim_policy_begin(&policy, UINT64_MAX - 1));
}

static void many_ends_in_an_interval_cost_one_trim(void **state)
{
    (void)state;
    struct trim_policy policy = policy_of(TRIM_POLICY_TIMER);
    unsigned trims = 0;
    for (uint64_t now = START; now < START + 10 * INTERVAL; ++now) { /* each nanosecond one partition */
        trim_policy_freed(&policy, now, ENOUGH);
        trim_policy_ended(&policy, now);
        if (trim_policy_begin(&policy, now)) {
            assert_int_equal((now - START) % INTERVAL, 0);
            ++trims;
            trim_policy_done(&policy, now);
        }
    }
    assert_int_equal(trims, 9);
}

static void the_timer_needs_enough(void **state)
{
    (void)state;
    struct trim_policy policy = policy_of(TRIM_POLICY_TIMER);
    trim_policy_freed(&policy, START + 10, ENOUGH - 1);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX);
    trim_policy_freed(&policy, START + 5 * INTERVAL + 1, 1);
    assert_int_equal(trim_policy_due_ns(&policy), START + 6 * INTERVAL);
    assert_false(trim_policy_begin(&policy, START + 6 * INTERVAL - 1));
    assert_true(trim_policy_begin(&policy, START + 6 * INTERVAL));
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX);
    trim_policy_done(&policy, START + 6 * INTERVAL + 5);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX); /* what was freed before counts no more */
}

static void nothing_freed_is_never_enough(void **state)
{
    (void)state;
    struct trim_policy policy;
    const struct trim_policy_settings settings = {TRIM_POLICY_TIMER, INTERVAL, 0};
    trim_policy_init(&policy, &settings);
    trim_policy_start(&policy, START);
    trim_policy_freed(&policy, START, 0);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX);
    trim_policy_freed(&policy, START, 1);
    assert_int_equal(trim_policy_due_ns(&policy), START + INTERVAL);
}

static void a_long_trim_is_not_doubled(void **state)
{
    (void)state;
    struct trim_policy policy = policy_of(TRIM_POLICY_TIMER);
    trim_policy_freed(&policy, START, ENOUGH);
    assert_true(trim_policy_begin(&policy, START + INTERVAL));
    trim_policy_freed(&policy, START + INTERVAL + 1, ENOUGH);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX); /* while it runs nothing is due */
    assert_false(trim_policy_begin(&policy, START + 9 * INTERVAL));
    trim_policy_done(&policy, START + 9 * INTERVAL);
    assert_true(trim_policy_begin(&policy, START + 9 * INTERVAL)); /* that it was due is not forgotten */
}

static void a_late_trim_does_not_skip_the_next_tick(void **state)
{
    (void)state;
    struct trim_policy policy = policy_of(TRIM_POLICY_TIMER);
    trim_policy_freed(&policy, START, ENOUGH);
    assert_true(trim_policy_begin(&policy, START + INTERVAL + 70));
    trim_policy_freed(&policy, START + INTERVAL + 71, ENOUGH);
    trim_policy_done(&policy, START + INTERVAL + 72);
    assert_int_equal(trim_policy_due_ns(&policy), START + 2 * INTERVAL);
}

static void inline_trims_once_for_each_partition(void **state)
{
    (void)state;
    struct trim_policy policy = policy_of(TRIM_POLICY_INLINE);
    unsigned trims = 0;
    for (unsigned i = 0; i < 3; ++i) { /* three ended in one step */
        trim_policy_ended(&policy, START + 5);
    }
    while (trim_policy_begin(&policy, START + 5)) {
        assert_false(trim_policy_begin(&policy, START + 5));
        trim_policy_done(&policy, START + 5);
        ++trims;
    }
    assert_int_equal(trims, 3);
}

static void pressure_trims_at_once_but_not_too_often(void **state)
{
    (void)state;
    struct trim_policy policy = policy_of(TRIM_POLICY_PRESSURE);
    trim_policy_pressure(&policy, START + 1);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX); /* nothing to hand back */
    trim_policy_freed(&policy, START + 2, 1);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX); /* nobody asks for it */
    trim_policy_pressure(&policy, START + 3);
    assert_true(trim_policy_begin(&policy, START + 3));
    trim_policy_freed(&policy, START + 4, 1);
    trim_policy_pressure(&policy, START + 5);
    trim_policy_done(&policy, START + 6);
    assert_int_equal(trim_policy_due_ns(&policy), START + 3 + INTERVAL);
    trim_policy_forget(&policy);
    assert_true(trim_policy_due_ns(&policy) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_never_trims),
        cmocka_unit_test(many_ends_in_an_interval_cost_one_trim),
        cmocka_unit_test(the_timer_needs_enough),
        cmocka_unit_test(nothing_freed_is_never_enough),
        cmocka_unit_test(a_long_trim_is_not_doubled),
        cmocka_unit_test(a_late_trim_does_not_skip_the_next_tick),
        cmocka_unit_test(inline_trims_once_for_each_partition),
        cmocka_unit_test(pressure_trims_at_once_but_not_too_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
