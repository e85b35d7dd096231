/* What explain foretells for a run without a suspect, against a run in which that suspect really is gone:
 * each suspect has a world of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/explain.h"
#include "tests/unit/pipeline_world.h"

enum { VARIANTS = 12 };
static const double within = 0.05;

typedef void pipeline_function(struct pipeline *pipeline, const struct pipeline_settings *settings);

static struct pipeline pipeline;

static void explain_run(struct explain *explain, pipeline_function *run,
                        const struct pipeline_settings *settings)
{
    struct trace_read read;
    struct error error;
    size_t size;
    run(&pipeline, settings);
    uint8_t *bytes = world_bytes(&pipeline.world, &size);
    assert_int_equal(trace_read_parse(&read, bytes, size, "t", &error), ERROR_NONE);
    assert_int_equal(read.odd + read.unknown, 0);
    assert_int_equal(explain_init(explain, &read, &error), ERROR_NONE);
    assert_int_equal(explain->timeline.devices_count, settings->devices);
    free(bytes);
    world_deinit(&pipeline.world);
}

/* A pipeline in which nothing holds the device up: read ahead, two lanes, copies beside computing. */
static struct pipeline_settings smooth(unsigned variant)
{
    return (struct pipeline_settings){.partitions = 60,
                                      .devices = 1,
                                      .lanes = 2,
                                      .lookahead = 2,
                                      .threads = 2,
                                      .slots = 32,
                                      .read_ns = 100000,
                                      .handover_ns = 20000,
                                      .synthesis_ns = 200000,
                                      .finalize_ns = 300000,
                                      .write_ns = 500000,
                                      .load_ns = 100000,
                                      .launch_ns = 10000,
                                      .copy_in_ns = 150000,
                                      .compute_ns = 5000000 + 700000 * variant,
                                      .copy_out_ns = 50000,
                                      .dispatch_ns = 5000,
                                      .finalizers = 4,
                                      .hold_ns = 5000};
}

/* With the suspect; its strength rises with the variant. */
static struct pipeline_settings spoiled(enum gaps_suspect suspect, unsigned variant)
{
    struct pipeline_settings settings = smooth(variant);
    uint64_t much = 3000000 * (uint64_t)(1 + variant);
    switch (suspect) {
    case GAPS_SUSPECT_LOCK_TRIM:
    case GAPS_SUSPECT_BUSY_TRIM:
        settings.trim_ns = much + 2 * settings.compute_ns;
        break;
    case GAPS_SUSPECT_LOCK:
        settings.hold_ns = much + settings.compute_ns;
        break;
    case GAPS_SUSPECT_BUSY:
        settings.dispatch_ns = much + settings.compute_ns;
        break;
    case GAPS_SUSPECT_HANDOVER:
        settings.handover_ns = 3 * much + 3 * settings.compute_ns;
        settings.threads = 1;
        settings.lookahead = 1;
        break;
    case GAPS_SUSPECT_SYNTHESIS:
        settings.synthesis_ns = 2 * much + 2 * settings.compute_ns;
        break;
    case GAPS_SUSPECT_WITNESS:
        settings.read_ns = 4 * much + 4 * settings.compute_ns;
        break;
    case GAPS_SUSPECT_CIRCUIT:
        settings.load_ns = 30 * much;
        break;
    case GAPS_SUSPECT_MEMORY:
        settings.slots = 1; /* held until all is written; a witness is there at once */
        settings.write_ns = much;
        settings.read_ns = settings.handover_ns = settings.synthesis_ns = 10000;
        break;
    case GAPS_SUSPECT_COPY:
        settings.lanes = 1;
        settings.copy_in_ns = settings.copy_out_ns = much;
        break;
    case GAPS_SUSPECT_LAUNCH:
        settings.lanes = 1;
        settings.launch_ns = much;
        break;
    case GAPS_SUSPECT_NO_WORK:
        settings.devices = 2;
        settings.partitions = 1 + 2 * (variant % 3);
        settings.compute_ns *= 4; /* the beginning of a run is to weigh little */
        break;
    case GAPS_SUSPECTS:
        break;
    }
    return settings;
}

/* The same without it, and all else as it is. */
static struct pipeline_settings mended(enum gaps_suspect suspect, unsigned variant)
{
    struct pipeline_settings settings = spoiled(suspect, variant), as_usual = smooth(variant);
    switch (suspect) {
    case GAPS_SUSPECT_LOCK_TRIM:
    case GAPS_SUSPECT_BUSY_TRIM:
        settings.trim_ns = 0;
        break;
    case GAPS_SUSPECT_LOCK:
        settings.hold_ns = as_usual.hold_ns;
        break;
    case GAPS_SUSPECT_BUSY:
        settings.dispatch_ns = as_usual.dispatch_ns;
        break;
    case GAPS_SUSPECT_HANDOVER:
        settings.handover_ns = 0;
        break;
    case GAPS_SUSPECT_SYNTHESIS:
        settings.synthesis_ns = 0;
        break;
    case GAPS_SUSPECT_WITNESS:
        settings.read_ns = 0;
        break;
    case GAPS_SUSPECT_CIRCUIT:
        settings.load_ns = 0;
        break;
    case GAPS_SUSPECT_MEMORY:
        settings.slots = as_usual.slots;
        break;
    case GAPS_SUSPECT_COPY:
        settings.copy_in_ns = settings.copy_out_ns = 0;
        break;
    case GAPS_SUSPECT_LAUNCH:
        settings.launch_ns = 0;
        break;
    case GAPS_SUSPECT_NO_WORK: /* more of it */
        settings.partitions = 200;
        break;
    case GAPS_SUSPECTS:
        break;
    }
    return settings;
}

static pipeline_function *run_of(enum gaps_suspect suspect)
{
    bool lock = suspect == GAPS_SUSPECT_LOCK || suspect == GAPS_SUSPECT_LOCK_TRIM;
    return lock ? pipeline_run_locked : pipeline_run;
}

static void each_suspect_is_blamed_and_its_absence_foretold(void **state)
{
    (void)state;
    bool failed = false;
    for (int suspect = 0; suspect < GAPS_SUSPECTS; suspect++) {
        for (unsigned variant = 0; variant < VARIANTS; variant++) {
            struct explain with, without;
            struct pipeline_settings settings = spoiled((enum gaps_suspect)suspect, variant);
            explain_run(&with, run_of((enum gaps_suspect)suspect), &settings);
            settings = mended((enum gaps_suspect)suspect, variant);
            explain_run(&without, run_of((enum gaps_suspect)suspect), &settings);
            double now = explain_utilization(&with, GAPS_SUSPECTS);
            double foretold = explain_utilization(&with, (enum gaps_suspect)suspect);
            double real = explain_utilization(&without, GAPS_SUSPECTS);
            bool blamed = with.ranked[0] == (enum gaps_suspect)suspect;
            if (!blamed || now > 0.9 || foretold - real > within || real - foretold > within) {
                print_error(
                    "%s, variant %u: busy %.3f, foretold %.3f, really %.3f without it; blamed is %s\n",
                    gaps_suspect_text((enum gaps_suspect)suspect), variant, now, foretold, real,
                    gaps_suspect_text(with.ranked[0]));
                failed = true;
            }
            explain_close(&with);
            explain_close(&without);
        }
    }
    assert_false(failed);
}

/* Nothing is wrong, and nothing is made of it. */
static void a_smooth_pipeline_is_busy(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        struct explain explain;
        struct pipeline_settings settings = smooth(variant);
        explain_run(&explain, pipeline_run, &settings);
        assert_true(explain_utilization(&explain, GAPS_SUSPECTS) > 0.99);
        explain_close(&explain);
        explain_run(&explain, pipeline_run_locked, &settings);
        assert_true(explain_utilization(&explain, GAPS_SUSPECTS) > 0.99);
        explain_close(&explain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_suspect_is_blamed_and_its_absence_foretold),
        cmocka_unit_test(a_smooth_pipeline_is_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
