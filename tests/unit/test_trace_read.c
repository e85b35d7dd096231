#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/trace_read.h"
#include "tests/unit/trace_world.h"

#include <stdio.h>

static void init(struct world *world)
{
    memset(world, 0, sizeof *world);
    world->header.devices_count = 2;
    world->begin_ns = 10000;
    world_header(world);
    world->header.devices[0].lanes = 2;
    world->header.devices[1].lanes = 1;
    world->header.devices[1].first_lane = 2;
}

static void parse(struct world *world, struct trace_read *read, size_t cut)
{
    struct error error;
    size_t size;
    uint8_t *bytes = world_bytes(world, &size);
    assert_int_equal(trace_read_parse(read, bytes, size - cut, "t", &error), ERROR_NONE);
    free(bytes);
}

static void expect_refused(struct world *world, size_t size, const char *said)
{
    struct trace_read read;
    struct error error;
    size_t whole;
    uint8_t *bytes = world_bytes(world, &whole);
    assert_int_equal(trace_read_parse(&read, bytes, size < whole ? size : whole, "some.trace", &error),
                     ERROR_INPUT);
    assert_non_null(strstr(error.text, "some.trace"));
    if (strstr(error.text, said) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, said);
    }
    free(bytes);
}

static void test_header(void **state)
{
    (void)state;
    struct world world;
    init(&world);
    expect_refused(&world, 0, "not a trace");
    expect_refused(&world, 7, "not a trace");
    expect_refused(&world, 8, "offset 8");
    expect_refused(&world, sizeof world.header - 1, "ends at offset");
    world.header.magic[0] = 'U';
    expect_refused(&world, SIZE_MAX, "not a trace");
    init(&world);
    world.header.version = 2;
    expect_refused(&world, SIZE_MAX, "version 2");
    init(&world);
    world.header.event_bytes = 40;
    expect_refused(&world, SIZE_MAX, "records of 40");
    init(&world);
    world.header.devices_count = TRACE_DEVICES_MAX + 1;
    expect_refused(&world, SIZE_MAX, "17 devices");
    init(&world);
    world.header.devices[1].first_lane = 65536;
    expect_refused(&world, SIZE_MAX, "65536");
    init(&world);
    world.header.devices[1].first_lane = 65535;
    world.header.devices[1].lanes = UINT32_MAX; /* their sum wraps around */
    expect_refused(&world, SIZE_MAX, "65536");
}

static void test_names(void **state)
{
    (void)state;
    struct world world;
    struct trace_read read;
    init(&world);
    memset(world.header.program, 'p', sizeof world.header.program); /* no end */
    memcpy(world.header.allocator, "a\033[2J\x80", 7);
    world.header.timeline_ns = 0;
    parse(&world, &read, 0);
    assert_int_equal(strlen(read.header.program), sizeof read.header.program - 1);
    assert_string_equal(read.header.allocator, "a?[2J?");
    assert_int_equal(read.header.timeline_ns, 200000000);
    trace_read_close(&read);
}

static void test_order_and_end(void **state)
{
    (void)state;
    struct world world;
    struct trace_read read;
    init(&world);
    for (uint64_t i = 0; i < 500; i++) {
        world_event(&world, TRACE_RSS, 0, 0, 0, i, 0, 5000 + i * 7919 % 4001);
    }
    world_event(&world, TRACE_END, 0, 0, 0, 0, 0, 10000);
    world_event(&world, TRACE_DROPPED, 0, 0, 0, 12, 0, 6000);
    world_event(&world, TRACE_DROPPED, 0, 0, 0, 7, 0, 7000);
    parse(&world, &read, 0);
    assert_int_equal(read.count, 501);
    assert_int_equal(read.dropped, 12);
    assert_true(read.ended);
    for (size_t i = 1; i < read.count; i++) {
        assert_true(read.events[i - 1].time_ns <= read.events[i].time_ns);
    }
    trace_read_close(&read);
    parse(&world, &read, 5); /* a record that is not whole */
    assert_int_equal(read.partial, 27);
    assert_in_range(read.count, 500, 501); /* 503 less one of any kind */
    trace_read_close(&read);
    world_deinit(&world);
}

/* One record that can't be true, by its fields. */
static void expect_odd(struct trace_event event)
{
    struct world world;
    struct trace_read read;
    init(&world);
    world_event(&world, event.kind, event.detail, event.lane, event.index, event.value, event.value2,
                event.time_ns);
    parse(&world, &read, 0);
    assert_int_equal(read.count, 0);
    assert_int_equal(read.odd, 1);
    trace_read_close(&read);
    world_deinit(&world);
}

static void test_odd(void **state)
{
    (void)state;
    uint64_t now = 20000;
    for (int kind = 0; kind < TRACE_KINDS; kind++) { /* an end before the begin */
        struct trace_event event = {.kind = (uint8_t)kind, .value = now + 1, .time_ns = now};
        if (trace_read_is_span(&event)) {
            expect_odd(event);
        }
    }
    expect_odd((struct trace_event){.kind = TRACE_STAGE, .lane = 3, .value = now, .time_ns = now + 1});
    expect_odd((struct trace_event){.kind = TRACE_SUBMIT, .lane = 3, .time_ns = now});
    expect_odd((struct trace_event){.kind = TRACE_STATE, .detail = CORE_STATES, .time_ns = now});
    expect_odd((struct trace_event){.kind = TRACE_STATE, .index = UINT32_MAX, .time_ns = now});
    expect_odd(
        (struct trace_event){.kind = TRACE_STAGE, .detail = DEVICE_STAGES, .value = now, .time_ns = now});
    expect_odd((struct trace_event){.kind = TRACE_SPAN, .detail = TRACE_SPANS, .value = now, .time_ns = now});
    expect_odd((struct trace_event){.kind = TRACE_TASK, .detail = TRACE_TASKS, .value = now, .time_ns = now});
    expect_odd(
        (struct trace_event){.kind = TRACE_BLOCKED, .detail = TRACE_BLOCKEDS, .value = now, .time_ns = now});
    expect_odd((struct trace_event){.kind = TRACE_RSS, .time_ns = UINT64_MAX});
    expect_odd((struct trace_event){.kind = TRACE_TRIM, .value = 0, .time_ns = UINT64_C(1) << 60});
}

static void test_unknown(void **state)
{
    (void)state;
    struct world world;
    struct trace_read read;
    init(&world);
    world_event(&world, TRACE_KINDS, 0, 0, 0, 0, 0, 20000);
    world_event(&world, (enum trace_kind)255, 0, 0, 0, 0, 0, 20000);
    world_event(&world, TRACE_SUBMIT, 0, 2, 9, 0, 0, 20000);
    parse(&world, &read, 0);
    assert_int_equal(read.unknown, 2);
    assert_int_equal(read.count, 1);
    assert_int_equal(trace_read_device(&read, 0), 0);
    assert_int_equal(trace_read_device(&read, 2), 1);
    trace_read_close(&read);
    world_deinit(&world);
}

/* Of whom an event tells, and how many. */
static void test_partitions(void **state)
{
    (void)state;
    const struct trace_event load = {.kind = TRACE_TASK, .detail = TRACE_TASK_LOAD, .index = 4};
    const struct trace_event task = {.kind = TRACE_TASK, .detail = TRACE_TASK_SYNTHESIZE, .index = 4};
    const struct trace_event lock = {.kind = TRACE_LOCK, .index = 9, .value2 = 5},
                             nobody = {.kind = TRACE_LOCK};
    const struct trace_event beyond = {.kind = TRACE_LOCK, .value2 = UINT64_C(1) << 32};
    assert_int_equal(trace_read_partition(&load), TRACE_READ_NONE);
    assert_int_equal(trace_read_partition(&task), 4);
    assert_int_equal(trace_read_partition(&lock), 4);
    assert_int_equal(trace_read_partition(&nobody), TRACE_READ_NONE);
    assert_int_equal(trace_read_partition(&beyond), TRACE_READ_NONE);
    struct trace_event queued = {.kind = TRACE_STATE, .index = 10};
    assert_int_equal(trace_read_state_count(&queued), 1);
    queued.value2 = 1000000;
    assert_int_equal(trace_read_state_count(&queued), 1000000);
    queued.value2 = UINT64_MAX;
    assert_int_equal(trace_read_state_count(&queued), UINT32_MAX - 10);
}

/* A task that was posted after it began, which can't be, is as if it had not waited. */
static void test_posts(void **state)
{
    (void)state;
    struct world world;
    struct trace_read read;
    init(&world);
    world_event(&world, TRACE_TASK, TRACE_TASK_READ, 1, 0, 20000, 20001, 30000);
    world_event(&world, TRACE_TASK, TRACE_TASK_READ, 1, 0, 20000, 19999, 30001);
    parse(&world, &read, 0);
    assert_int_equal(read.events[0].value2, 20000);
    assert_int_equal(read.events[1].value2, 19999);
    trace_read_close(&read);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header), cmocka_unit_test(test_names),   cmocka_unit_test(test_order_and_end),
        cmocka_unit_test(test_odd),    cmocka_unit_test(test_unknown), cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_posts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
