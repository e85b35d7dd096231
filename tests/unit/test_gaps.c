/* Attribution against worlds whose truth is known, and moments one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/gaps.h"
#include "tests/unit/trace_world.h"

enum { WORLDS = 2400 };

struct analysis {
    struct trace_read read;
    struct timeline timeline;
    struct gaps gaps;
};

static void analysis_open(struct analysis *analysis, const uint8_t *bytes, size_t size)
{
    struct error error;
    assert_int_equal(trace_read_parse(&analysis->read, bytes, size, "world", &error), ERROR_NONE);
    assert_int_equal(timeline_open(&analysis->timeline, &analysis->read, &error), ERROR_NONE);
    assert_int_equal(gaps_open(&analysis->gaps, &analysis->read, &analysis->timeline, &error), ERROR_NONE);
}

static void analysis_close(struct analysis *analysis)
{
    gaps_close(&analysis->gaps);
    timeline_close(&analysis->timeline);
    trace_read_close(&analysis->read);
}

/* What holds whatever the trace says. */
static void check_sums(const struct analysis *analysis)
{
    const struct gaps *gaps = &analysis->gaps;
    const struct timeline *timeline = &analysis->timeline;
    uint64_t idle[TRACE_DEVICES_MAX] = {0}, pieces_ns = 0, reasons_ns = 0, suspects_ns = 0;
    for (size_t i = 0; i < gaps->count; i++) {
        const struct gaps_gap *gap = &gaps->gaps[i];
        uint64_t at = gap->begin_ns;
        assert_true(gap->pieces > 0 && gap->begin_ns < gap->end_ns);
        for (size_t k = gap->first; k < gap->first + gap->pieces; k++) {
            assert_int_equal(gaps->pieces[k].begin_ns, at);
            assert_true(gaps->pieces[k].end_ns > at);
            pieces_ns += gaps->pieces[k].end_ns - at;
            at = gaps->pieces[k].end_ns;
        }
        assert_int_equal(at, gap->end_ns);
        idle[gap->device] += gap->end_ns - gap->begin_ns;
    }
    uint64_t span = timeline->end_ns - timeline->begin_ns;
    for (unsigned i = 0; i < timeline->devices_count; i++) {
        assert_int_equal(idle[i] + timeline->devices[i].busy_ns, span);
        uint64_t bucket_ns = 0;
        for (size_t k = 0; k < timeline->buckets_count; k++) {
            assert_true(timeline->devices[i].buckets[k] <= timeline_bucket_width(timeline, k));
            bucket_ns += timeline->devices[i].buckets[k];
        }
        assert_int_equal(bucket_ns, timeline->devices[i].busy_ns);
    }
    for (int i = 0; i < GAPS_REASONS; i++) {
        reasons_ns += gaps_reason_ns(gaps, (enum gaps_reason)i);
    }
    for (int i = 0; i < GAPS_SUSPECTS; i++) {
        suspects_ns += gaps_suspect_ns(gaps, (enum gaps_suspect)i);
    }
    assert_int_equal(pieces_ns, gaps->idle_ns);
    assert_int_equal(reasons_ns, gaps->idle_ns);
    assert_int_equal(suspects_ns, gaps->idle_ns);
}

static void check_truth(const struct world *world, const struct analysis *analysis, uint64_t seed)
{
    bool equal = analysis->timeline.begin_ns == world->begin_ns && analysis->timeline.end_ns == world->end_ns;
    for (unsigned i = 0; i < world->header.devices_count; i++) {
        equal &= analysis->timeline.devices[i].busy_ns == world->busy_ns[i];
        for (int reason = 0; reason < GAPS_REASONS; reason++) {
            if (analysis->gaps.ns[i][reason] != world->truth[i][reason]) {
                print_error("seed %llu, device %u, %s: attributed %llu ns, true are %llu\n",
                            (unsigned long long)seed, i, gaps_reason_text((enum gaps_reason)reason),
                            (unsigned long long)analysis->gaps.ns[i][reason],
                            (unsigned long long)world->truth[i][reason]);
                equal = false;
            }
        }
    }
    if (!equal) {
        fail_msg("seed %llu: the truth was missed", (unsigned long long)seed);
    }
}

static enum gaps_suspect top_suspect(const struct gaps *gaps)
{
    int top = 0;
    for (int suspect = 1; suspect < GAPS_SUSPECTS; suspect++) {
        if (gaps_suspect_ns(gaps, (enum gaps_suspect)suspect) >
            gaps_suspect_ns(gaps, (enum gaps_suspect)top)) {
            top = suspect;
        }
    }
    return (enum gaps_suspect)top;
}

static void test_worlds(void **state)
{
    (void)state;
    unsigned blamed[GAPS_SUSPECTS] = {0};
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct world world;
        struct analysis analysis;
        unsigned focus = (unsigned)(seed % (GAPS_SUSPECTS + 1));
        world_init(&world, seed, focus);
        size_t size;
        uint8_t *bytes = world_bytes(&world, &size);
        analysis_open(&analysis, bytes, size);
        assert_int_equal(analysis.read.odd, 0);
        check_sums(&analysis);
        check_truth(&world, &analysis, seed);
        blamed[top_suspect(&analysis.gaps)]++;
        analysis_close(&analysis);
        free(bytes);
        world_deinit(&world);
    }
    /* Not only is each attributed exactly: there are enough worlds that are mostly its. */
    for (int suspect = 0; suspect < GAPS_SUSPECTS; suspect++) {
        if (blamed[suspect] < WORLDS / GAPS_SUSPECTS / 2) {
            fail_msg("only %u worlds suffer most from: %s", blamed[suspect], gaps_suspect_text(suspect));
        }
    }
}

/* Events get lost, and files are damaged: what is left is still added up to the nanosecond. */
static void test_losses(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        struct world world;
        struct analysis analysis;
        world_init(&world, seed, WORLD_MIXED);
        for (size_t i = 0; i < world.count; i++) {
            if (world_chance(&world, 200)) {
                world.events[i--] = world.events[--world.count];
            } else if (world_chance(&world, 20)) {
                uint8_t *byte =
                    (uint8_t *)&world.events[i] + world_between(&world, 0, sizeof world.events[i] - 1);
                *byte = (uint8_t)world_between(&world, 0, 255);
            }
        }
        size_t size;
        uint8_t *bytes = world_bytes(&world, &size);
        analysis_open(&analysis, bytes, size - (size_t)world_between(&world, 0, 31));
        check_sums(&analysis);
        analysis_close(&analysis);
        free(bytes);
        world_deinit(&world);
    }
}

/* ---- single moments ---- */

/* One device of one lane; partition 5 computes from 1000 on, the backlog begins at 100. */
static void moment_init(struct world *world)
{
    memset(world, 0, sizeof *world);
    world->header.devices_count = 1;
    world->begin_ns = 10000;
    world_header(world);
    world->header.devices[0].lanes = 1;
    world->header.start_ns = 1;
    world_stage(world, 0, 5, DEVICE_STAGE_EVALUATE, 1000, 1100);
}

static void moment_check(struct world *world, const uint64_t expected[GAPS_REASONS])
{
    struct analysis analysis;
    size_t size;
    uint8_t *bytes = world_bytes(world, &size);
    analysis_open(&analysis, bytes, size);
    check_sums(&analysis);
    for (int i = 0; i < GAPS_REASONS; i++) {
        if (gaps_reason_ns(&analysis.gaps, (enum gaps_reason)i) != expected[i]) {
            fail_msg("%s: attributed %llu ns, true are %llu", gaps_reason_text((enum gaps_reason)i),
                     (unsigned long long)gaps_reason_ns(&analysis.gaps, (enum gaps_reason)i),
                     (unsigned long long)expected[i]);
        }
    }
    analysis_close(&analysis);
    free(bytes);
    world_deinit(world);
}

static void test_witness_ahead(void **state)
{
    (void)state;
    struct world world;
    moment_init(&world);
    world_event(&world, TRACE_STATE, CORE_QUEUED, 0, 0, 0, 10, 100);
    world_state(&world, 4, CORE_READING, 100);
    world_state(&world, 4, CORE_SYNTHESIZING, 400);
    world_state(&world, 4, CORE_READY, 600);
    world_event(&world, TRACE_BLOCKED, TRACE_BLOCKED_LOOKAHEAD, 0, 0, 150, 0, 650);
    world_state(&world, 5, CORE_READING, 700);
    world_state(&world, 5, CORE_SYNTHESIZING, 800);
    world_state(&world, 5, CORE_READY, 900);
    moment_check(&world, (const uint64_t[GAPS_REASONS]){[GAPS_WITNESS_AHEAD] = 300,
                                                        [GAPS_SYNTHESIS_AHEAD] = 200,
                                                        [GAPS_UNSENT] = 200,
                                                        [GAPS_READ] = 100,
                                                        [GAPS_SYNTHESIS] = 100});
}

static void test_other_lane_copies(void **state)
{
    (void)state;
    struct world world;
    moment_init(&world);
    world.header.devices[0].lanes = 2;
    world_state(&world, 5, CORE_QUEUED, 100);
    world_state(&world, 5, CORE_PROVING, 100);
    world_event(&world, TRACE_SUBMIT, 0, 0, 5, 0, 0, 100);
    world_stage(&world, 1, 3, DEVICE_STAGE_D2H, 200, 500);
    world_stage(&world, 0, 5, DEVICE_STAGE_H2D, 600, 900);
    moment_check(&world, (const uint64_t[GAPS_REASONS]){
                             [GAPS_LAUNCH] = 300, [GAPS_COPY_OUT] = 300, [GAPS_COPY_IN] = 300});
}

/* A partition comes back to be proven once more: only its last submission counts, and on the device that
 * failed it is not somebody else's work. */
static void test_retry(void **state)
{
    (void)state;
    struct world world;
    moment_init(&world);
    world.header.devices_count = 2;
    world.header.devices[1] = (struct trace_device){.name = "sim:1", .lanes = 1, .first_lane = 1};
    world_state(&world, 5, CORE_QUEUED, 100);
    world_state(&world, 5, CORE_READY, 100);
    world_state(&world, 5, CORE_PROVING, 200);
    world_event(&world, TRACE_SUBMIT, 0, 1, 5, 0, 0, 200);
    world_state(&world, 5, CORE_READY, 700);
    world_event(&world, TRACE_SPAN, TRACE_SPAN_DISPATCH, 0, 0, 750, 0, 850);
    world_state(&world, 5, CORE_PROVING, 850);
    world_event(&world, TRACE_SUBMIT, 0, 0, 5, 0, 0, 850);
    moment_check(&world, (const uint64_t[GAPS_REASONS]){[GAPS_UNSENT] = 150,
                                                        [GAPS_NO_WORK] = 500 + 1000, /* all of device 1's */
                                                        [GAPS_BUSY + TRACE_SPAN_DISPATCH] = 100,
                                                        [GAPS_LAUNCH] = 150});
}

static void test_nothing_computed(void **state)
{
    (void)state;
    struct world world;
    moment_init(&world);
    world.count = 0;
    world_state(&world, 5, CORE_QUEUED, 100);
    world_state(&world, 5, CORE_FAILED, 900);
    moment_check(&world, (const uint64_t[GAPS_REASONS]){[GAPS_NO_WORK] = 800});
    moment_init(&world);
    world.count = 0;
    moment_check(&world, (const uint64_t[GAPS_REASONS]){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worlds),        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_witness_ahead), cmocka_unit_test(test_other_lane_copies),
        cmocka_unit_test(test_retry),         cmocka_unit_test(test_nothing_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
