/* The baseline pipeline: real proofs come out (its self-check is the pairing equation), no more than the
 * given number of partitions are in flight, the tracker's mutex has one holder at a time, and a cause that is
 * put in is found in its trace. */
#include "bench/locked.h"

#include "coordinator/core.h"
#include "coordinator/explain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { IN_FLIGHT = 4, PARTITIONS = 12 };

struct place {
    char folder[64], conf[96], trace[96];
    struct config config;
};

static void place_open(struct place *place, const char *device)
{
    struct error error;
    strcpy(place->folder, "/tmp/uzk-locked-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->conf, sizeof place->conf, "%s/run.conf", place->folder);
    snprintf(place->trace, sizeof place->trace, "%s/trace", place->folder);
    FILE *file = fopen(place->conf, "w");
    assert_non_null(file);
    fprintf(
        file,
        "circuit small {\n  zkey = \"%s/circuit-small/circuit.zkey\"\n}\n"
        "job all {\n  circuit = small\n  witnesses = \"%s/circuit-small/witness-*.wtns\"\n  output = "
        "\"out\"\n}\n"
        "devices = { %s }\ndevice sim {\n  h2d = 0ms\n  evaluate = 1ms\n  ntt = 1ms\n  msm = 3ms\n  d2h = "
        "0ms\n}\n",
        UZK_TEST_DATA, UZK_TEST_DATA, device);
    assert_int_equal(fclose(file), 0);
    if (config_read(&place->config, place->conf, &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
}

static void place_close(struct place *place)
{
    char command[128];
    config_free(&place->config);
    snprintf(command, sizeof command, "rm -r '%s'", place->folder);
    assert_int_equal(system(command), 0);
}

static unsigned trims;

static void count_trim(void) /* under the tracker's mutex: one at a time */
{
    trims++;
}

static void run(struct explain *explain, struct locked_result *result, const struct place *place,
                const struct locked_settings *wanted)
{
    struct error error;
    struct locked_settings settings = *wanted;
    settings.config = &place->config;
    settings.trace = place->trace;
    settings.partitions = PARTITIONS;
    settings.in_flight = settings.finalizers = IN_FLIGHT;
    settings.synthesizers = 2;
    settings.trim_function = count_trim;
    settings.allocator = "none";
    if (locked_run(&settings, result, &error) != ERROR_NONE ||
        explain_open(explain, place->trace, &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(explain->read.unknown, 0);
    assert_int_equal(explain->read.odd, 0);
    assert_true(explain->read.ended);
}

/* From reading until recorded. */
static unsigned most_in_flight(const struct trace_read *read)
{
    unsigned now = 0, most = 0;
    for (size_t i = 0; i < read->count; i++) {
        const struct trace_event *event = &read->events[i];
        if (event->kind == TRACE_STATE && event->detail == CORE_READING) {
            now++;
        } else if (event->kind == TRACE_STATE &&
                   (event->detail == CORE_DONE || event->detail == CORE_FAILED)) {
            now--;
        }
        most = now > most ? now : most;
    }
    assert_int_equal(now, 0);
    return most;
}

static void assert_one_holder(const struct trace_read *read)
{
    uint64_t free_ns = 0;
    unsigned holds = 0;
    for (size_t i = 0; i < read->count; i++) { /* by their ends */
        const struct trace_event *event = &read->events[i];
        if (event->kind == TRACE_HOLD) {
            assert_true(event->value >= free_ns);
            free_ns = event->time_ns;
            holds++;
        }
    }
    assert_true(holds >= 3 * PARTITIONS); /* two by the worker, one by the finalizer */
}

static void test_proves(void **state)
{
    (void)state;
    struct place place;
    struct explain explain;
    struct locked_result result;
    char path[128];
    place_open(&place, "cpu");
    trims = 0;
    run(&explain, &result, &place, &(struct locked_settings){.workers = 2, .trim = LOCKED_TRIM_INSIDE});
    assert_int_equal(result.done, PARTITIONS);
    assert_int_equal(result.failed, 0);
    assert_int_equal(trims, PARTITIONS);
    assert_int_equal(explain.trims.count, PARTITIONS);
    assert_in_range(most_in_flight(&explain.read), 1, IN_FLIGHT);
    assert_one_holder(&explain.read);
    for (unsigned i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/out/witness-%03u.proof.json", place.folder, i);
        assert_int_equal(access(path, F_OK), 0);
        snprintf(path, sizeof path, "%s/out/witness-%03u.public.json", place.folder, i);
        assert_int_equal(access(path, F_OK), 0);
    }
    explain_close(&explain);
    place_close(&place);
}

/* One worker, and finalizers that hold the mutex for so long that a busy machine's own delays are small
 * beside it: most of the idle time is waiting for it. */
static void test_contention_is_found(void **state)
{
    (void)state;
    struct place place;
    struct explain explain;
    struct locked_result result;
    place_open(&place, "sim");
    run(&explain, &result, &place, &(struct locked_settings){.workers = 1, .hold_ns = 100 * 1000 * 1000});
    assert_int_equal(result.done, PARTITIONS);
    assert_int_equal(explain.ranked[0], GAPS_SUSPECT_LOCK);
    assert_true(gaps_suspect_ns(&explain.gaps, GAPS_SUSPECT_LOCK) > explain.gaps.idle_ns / 2);
    assert_int_equal(gaps_suspect_ns(&explain.gaps, GAPS_SUSPECT_LOCK_TRIM), 0);
    explain_close(&explain);
    place_close(&place);
}

static void slow_trim(void)
{
    usleep(100000);
}

static void test_trim_is_found(void **state)
{
    (void)state;
    struct place place;
    struct explain explain;
    struct locked_result result;
    struct error error;
    place_open(&place, "sim");
    const struct locked_settings settings = {.config = &place.config,
                                             .trace = place.trace,
                                             .partitions = PARTITIONS,
                                             .in_flight = IN_FLIGHT,
                                             .finalizers = IN_FLIGHT,
                                             .synthesizers = 1,
                                             .workers = 1,
                                             .trim = LOCKED_TRIM_INSIDE,
                                             .trim_function = slow_trim,
                                             .allocator = "none"};
    assert_int_equal(locked_run(&settings, &result, &error), ERROR_NONE);
    assert_int_equal(explain_open(&explain, place.trace, &error), ERROR_NONE);
    assert_int_equal(explain.ranked[0], GAPS_SUSPECT_LOCK_TRIM);
    assert_true(gaps_suspect_ns(&explain.gaps, GAPS_SUSPECT_LOCK_TRIM) > explain.gaps.idle_ns / 2);
    explain_close(&explain);
    place_close(&place);
}

/* A witness of another circuit fails its own partition, named, and no other one. */
static void test_failure_is_counted(void **state)
{
    (void)state;
    struct place place;
    struct explain explain;
    struct locked_result result;
    place_open(&place, "sim");
    struct config_input *input = &place.config.jobs[0].inputs[2];
    free(input->path);
    input->path = strdup(UZK_TEST_DATA "/circuit-small/circuit.zkey");
    assert_non_null(input->path);
    run(&explain, &result, &place, &(struct locked_settings){.workers = 2});
    assert_int_equal(result.failed, PARTITIONS / 6);
    assert_int_equal(result.done, PARTITIONS - PARTITIONS / 6);
    assert_non_null(strstr(result.first_failure.text, "circuit.zkey"));
    explain_close(&explain);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proves), cmocka_unit_test(test_contention_is_found),
        cmocka_unit_test(test_trim_is_found), cmocka_unit_test(test_failure_is_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
