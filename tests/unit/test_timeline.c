#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/timeline.h"
#include "tests/unit/trace_world.h"

static void init(struct world *world, uint64_t timeline_ns)
{
    memset(world, 0, sizeof *world);
    world->header.devices_count = 1;
    world->begin_ns = 10000;
    world_header(world);
    world->header.timeline_ns = timeline_ns;
}

static void compute(struct world *world, struct timeline *timeline)
{
    struct trace_read read;
    struct error error;
    size_t size;
    uint8_t *bytes = world_bytes(world, &size);
    assert_int_equal(trace_read_parse(&read, bytes, size, "t", &error), ERROR_NONE);
    assert_int_equal(timeline_open(timeline, &read, &error), ERROR_NONE);
    trace_read_close(&read);
    free(bytes);
    world_deinit(world);
}

/* Worked out by hand: two lanes that overlap, copies that don't count, a last bucket that is short. */
static void test_union(void **state)
{
    (void)state;
    struct world world;
    struct timeline timeline;
    init(&world, 100);
    world_state(&world, 1, CORE_QUEUED, 6000);
    world_stage(&world, 0, 1, DEVICE_STAGE_H2D, 6000, 6050);
    world_stage(&world, 0, 1, DEVICE_STAGE_EVALUATE, 6050, 6120);
    world_stage(&world, 1, 2, DEVICE_STAGE_NTT, 6110, 6150);
    world_stage(&world, 0, 1, DEVICE_STAGE_MSM, 6150, 6160);
    world_stage(&world, 0, 3, DEVICE_STAGE_MSM, 6220, 6220); /* takes no time */
    world_stage(&world, 1, 2, DEVICE_STAGE_MSM, 6250, 6330);
    world_stage(&world, 1, 2, DEVICE_STAGE_D2H, 6330, 6345);
    compute(&world, &timeline);
    assert_int_equal(timeline.begin_ns, 6000);
    assert_int_equal(timeline.end_ns, 6345);
    assert_int_equal(timeline.bucket_ns, 100);
    assert_int_equal(timeline.buckets_count, 4);
    assert_int_equal(timeline.devices[0].count, 2);
    assert_int_equal(timeline.devices[0].busy[0].partition, 1);
    assert_int_equal(timeline.devices[0].busy[1].partition, 2);
    assert_int_equal(timeline.devices[0].busy_ns, 110 + 80);
    const uint64_t expected[] = {50, 60, 50, 30};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(timeline.devices[0].buckets[i], expected[i]);
        assert_int_equal(timeline_bucket_width(&timeline, (size_t)i), i < 3 ? 100 : 45);
    }
    assert_int_equal(timeline_busy_ns(&timeline), 190);
    assert_int_equal(timeline_span_ns(&timeline), 345);
    timeline_close(&timeline);
}

/* A resolution of 1 ns over an hour gets coarser by a whole number, and one of a year is one bucket. */
static void test_resolution(void **state)
{
    (void)state;
    const uint64_t hour = UINT64_C(3600000000000);
    const uint64_t resolutions[] = {1, 7, 200000000, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        struct world world;
        struct timeline timeline;
        init(&world, resolutions[i]);
        world_state(&world, 1, CORE_QUEUED, 10000);
        world_stage(&world, 0, 1, DEVICE_STAGE_MSM, 10000 + hour / 2, 10000 + hour);
        compute(&world, &timeline);
        assert_in_range(timeline.buckets_count, 1, TIMELINE_BUCKETS_MAX);
        assert_true(timeline.bucket_ns % resolutions[i] == 0 || timeline.bucket_ns == hour);
        uint64_t busy = 0, width = 0;
        for (size_t k = 0; k < timeline.buckets_count; k++) {
            busy += timeline.devices[0].buckets[k];
            width += timeline_bucket_width(&timeline, k);
        }
        assert_int_equal(busy, hour / 2);
        assert_int_equal(width, hour);
        timeline_close(&timeline);
    }
}

/* Without queued partitions the first stage begins it; without stages the last state ends it. */
static void test_bounds(void **state)
{
    (void)state;
    struct world world;
    struct timeline timeline;
    init(&world, 100);
    world_stage(&world, 0, 1, DEVICE_STAGE_MSM, 7000, 7300);
    compute(&world, &timeline);
    assert_int_equal(timeline.begin_ns, 7000);
    assert_int_equal(timeline.devices[0].busy_ns, 300);
    timeline_close(&timeline);
    init(&world, 100);
    world_state(&world, 1, CORE_QUEUED, 6000);
    world_state(&world, 1, CORE_FAILED, 9000);
    compute(&world, &timeline);
    assert_int_equal(timeline.end_ns - timeline.begin_ns, 3000);
    assert_int_equal(timeline.devices[0].busy_ns, 0);
    timeline_close(&timeline);
    init(&world, 100);
    compute(&world, &timeline);
    assert_int_equal(timeline.buckets_count, 0);
    assert_int_equal(timeline_span_ns(&timeline), 0);
    timeline_close(&timeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_union),
        cmocka_unit_test(test_resolution),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
