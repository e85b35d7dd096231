#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/cli.h"
#include "coordinator/explain.h"
#include "tests/unit/explain_world.h"

#include <jansson.h>

/* Worked out by hand: of 1000 ns 400 are busy; 300 are waited for a lock whose holder trims, 200 copied, 100
 * read. */
static void small_init(struct world *world)
{
    memset(world, 0, sizeof *world);
    world->header.devices_count = 1;
    world->begin_ns = 10000;
    world_header(world);
    world_state(world, 3, CORE_QUEUED, 10000);
    world_state(world, 3, CORE_READING, 10000);
    world_state(world, 3, CORE_READY, 10100);
    world_event(world, TRACE_LOCK, TRACE_SPAN_FINALIZE, 30, 12, 10100, 4, 10400);
    world_event(world, TRACE_HOLD, TRACE_SPAN_FINALIZE, 12, 0, 10050, 0, 10400);
    world_event(world, TRACE_TRIM, 12, 0, 0, 10060, 4096, 10400);
    world_event(world, TRACE_SUBMIT, 0, 0, 3, 30, 0, 10400);
    world_stage(world, 0, 3, DEVICE_STAGE_H2D, 10400, 10600);
    world_stage(world, 0, 3, DEVICE_STAGE_MSM, 10600, 11000);
    world_state(world, 3, CORE_DONE, 11500);
    world_event(world, TRACE_RSS, 0, 0, 0, 7000, 500, 10100);
    world_event(world, TRACE_RSS, 0, 0, 0, 9000, 500, 10200);
    world_event(world, TRACE_RSS, 0, 0, 0, 8000, 500, 10300);
    world_event(world, TRACE_END, 0, 0, 0, 0, 0, 12000);
}

static void test_numbers(void **state)
{
    (void)state;
    struct world world;
    struct explain explain;
    char chain[EXPLAIN_CHAIN_BYTES], headline[EXPLAIN_HEADLINE_BYTES];
    small_init(&world);
    open_world(&explain, &world);
    assert_int_equal(explain.ranked[0], GAPS_SUSPECT_LOCK_TRIM);
    assert_int_equal(explain.ranked[1], GAPS_SUSPECT_COPY);
    assert_int_equal(explain.ranked[2], GAPS_SUSPECT_WITNESS);
    assert_true(explain_utilization(&explain, GAPS_SUSPECTS) == 400.0 / 1000);
    assert_true(explain_utilization(&explain, GAPS_SUSPECT_LOCK_TRIM) == 400.0 / 700);
    assert_true(explain_utilization(&explain, GAPS_SUSPECT_MEMORY) == 400.0 / 1000);
    assert_int_equal(explain.trims.count, 1);
    assert_int_equal(explain.trims.total_ns, 340);
    assert_int_equal(explain.trimmed_bytes, 4096);
    assert_int_equal(explain.holds_ns[TRACE_SPAN_FINALIZE], 350);
    assert_int_equal(explain.latencies.count, 1);
    assert_int_equal(explain.latencies.total_ns, 1500);
    assert_int_equal(explain.rss_first_bytes, 7000);
    assert_int_equal(explain.rss_peak_bytes, 9000);
    assert_int_equal(explain.rss_last_bytes, 8000);
    assert_int_equal(explain.worst_count, 1);
    explain_chain(chain, &explain, &explain.gaps.gaps[explain.worst[0]]);
    assert_string_equal(chain, "its witness was read 100 ns > lock wait, the holder trimmed (thread 12) 300 "
                               "ns > copy to the device 200 ns");
    explain_headline(headline, &explain);
    assert_string_equal(headline,
                        "The device was busy 40.00% of the 1.00 us that there was work; 50.0% of the idle "
                        "time was trim under the lock.");
    explain_close(&explain);
    world_deinit(&world);
}

static void test_quantiles(void **state)
{
    (void)state;
    uint64_t sorted[200];
    struct explain_durations durations = {.sorted = sorted};
    assert_int_equal(explain_quantile(&durations, 990), 0);
    for (uint64_t count = 1; count <= 200; count++) {
        sorted[count - 1] = count;
        durations.count = count;
        assert_int_equal(explain_quantile(&durations, 0), 1);
        assert_int_equal(explain_quantile(&durations, 1000), count);
        assert_int_equal(explain_quantile(&durations, 500), (count + 1) / 2);
        assert_int_equal(explain_quantile(&durations, 990), (count * 99 + 99) / 100);
    }
}

/* Every worst gap is at least as long as every other. */
static void check_worst(const struct explain *explain)
{
    size_t most = explain->gaps.count < EXPLAIN_WORST_MAX ? explain->gaps.count : EXPLAIN_WORST_MAX;
    assert_int_equal(explain->worst_count, most);
    for (unsigned i = 0; i < explain->worst_count; i++) {
        const struct gaps_gap *gap = &explain->gaps.gaps[explain->worst[i]];
        size_t longer = explain->gap_lengths.count - 1 - i;
        assert_int_equal(gap->end_ns - gap->begin_ns, explain->gap_lengths.sorted[longer]);
    }
}

/* The JSON is read back by its own library: parts add up in it, too. */
static void check_json(const struct explain *explain)
{
    char *text = NULL;
    size_t length = 0, index;
    struct error error;
    FILE *stream = open_memstream(&text, &length);
    assert_int_equal(explain_print_json(stream, explain, &error), ERROR_NONE);
    fclose(stream);
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL), *suspect, *reason;
    assert_non_null(root);
    uint64_t idle = 0;
    double before = 2;
    json_array_foreach(json_object_get(root, "suspects"), index, suspect)
    {
        size_t number;
        uint64_t parts = 0, ns = (uint64_t)json_integer_value(json_object_get(suspect, "ns"));
        json_array_foreach(json_object_get(suspect, "reasons"), number, reason)
        {
            parts += (uint64_t)json_integer_value(json_object_get(reason, "ns"));
        }
        assert_int_equal(parts, ns);
        double share = json_real_value(json_object_get(suspect, "share"));
        assert_true(share <= before && share > 0 && share <= 1);
        before = share;
        idle += ns;
    }
    assert_int_equal(idle, json_integer_value(json_object_get(root, "idle_ns")));
    uint64_t busy = (uint64_t)json_integer_value(json_object_get(root, "busy_ns"));
    uint64_t span = (uint64_t)json_integer_value(json_object_get(root, "span_ns"));
    assert_int_equal(busy + idle, span * json_array_size(json_object_get(root, "devices")));
    json_decref(root);
    free(text);
}

static void check_text(const struct explain *explain)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    explain_print(stream, explain, "a\033.trace");
    fclose(stream);
    assert_non_null(strstr(text, "a?.trace: "));
    assert_non_null(strstr(text, gaps_suspect_text(explain->ranked[0])));
    unsigned lines = 0;
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == '\n' ? 1 : 0;
        assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
    }
    assert_in_range(lines, 5, 48); /* one screen */
    free(text);
}

static void test_worlds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct world world;
        struct explain explain;
        world_init(&world, seed, (unsigned)(seed % (GAPS_SUSPECTS + 1)));
        open_world(&explain, &world);
        check_worst(&explain);
        check_json(&explain);
        check_text(&explain);
        explain_close(&explain);
        world_deinit(&world);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    struct world world;
    struct explain explain;
    char headline[EXPLAIN_HEADLINE_BYTES];
    small_init(&world);
    world.count = 0;
    open_world(&explain, &world);
    explain_headline(headline, &explain);
    assert_string_equal(headline, "The trace shows no work for a device.");
    check_json(&explain);
    explain_close(&explain);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_worlds),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
