/* Batches of the committed circuits, put together without a configuration file. */
#ifndef TESTS_UNIT_RUN_BATCH_FIXTURE_H
#define TESTS_UNIT_RUN_BATCH_FIXTURE_H

#include "tests/unit/shell_fixture.h"

#include "coordinator/run.h"

enum { BATCH_JOBS_MAX = 6, BATCH_INPUTS_MAX = 16, BATCH_ENDED_MAX = 64 };

struct batch {
    struct config config;
    struct config_circuit circuits[4];
    struct config_job jobs[BATCH_JOBS_MAX];
    struct config_input inputs[BATCH_JOBS_MAX][BATCH_INPUTS_MAX];
    char texts[256][PATH_MAX];
    unsigned texts_count;
    struct run_result result;
    struct error error;
    char notes[4096];
    unsigned timings;
    unsigned ended_count, jobs_ended;
    enum core_state ended[BATCH_JOBS_MAX][BATCH_INPUTS_MAX]; /* by job and input */
    enum core_cause causes[BATCH_JOBS_MAX][BATCH_INPUTS_MAX];
    unsigned proved_count;
    char proved[BATCH_ENDED_MAX][64]; /* stems in the order in which the device was done with them */
    void (*on_start)(void *context);
    void (*on_end)(void *context);
    struct run_options options; /* tick, timing and sink are set by batch_run */
};

static char *batch_text(struct batch *batch, const char *format, const char *text)
{
    char *to = batch->texts[batch->texts_count++];
    snprintf(to, PATH_MAX, format, text);
    return to;
}

static void batch_init(struct batch *batch)
{
    memset(batch, 0, sizeof *batch);
    batch->config = (struct config){.path = "test.conf",
                                    .circuits = batch->circuits,
                                    .jobs = batch->jobs,
                                    .threads = 2,
                                    .memory_budget = UINT64_C(512) << 20,
                                    .trim_policy = CONFIG_TRIM_TIMER,
                                    .sim = {.stage_ns = {100000, 100000, 500000, 1000000, 100000}, .seed = 1},
                                    .self_check = true};
}

/* A circuit of tests/data ("circuit-small"), or a path that begins with a slash. */
static size_t batch_circuit(struct batch *batch, const char *name)
{
    char *zkey = name[0] == '/' ? batch_text(batch, "%s", name)
                                : batch_text(batch, UZK_TEST_DATA "/%s/circuit.zkey", name);
    batch->circuits[batch->config.circuits_count] = (struct config_circuit){
        .name = batch_text(batch, "%s", name), .zkey = zkey, .check_points = CONFIG_CHECK_CURVE};
    return batch->config.circuits_count++;
}

/* A job that writes to a folder within the test's. */
static struct config_job *batch_job(struct batch *batch, size_t circuit, const char *name, const char *output)
{
    size_t index = batch->config.jobs_count++;
    struct config_job *job = &batch->jobs[index];
    *job = (struct config_job){.name = batch_text(batch, "%s", name),
                               .circuit = circuit,
                               .priority = CONFIG_NORMAL,
                               .output = batch_text(batch, "%s", shell_path(output)),
                               .inputs = batch->inputs[index]};
    return job;
}

/* A witness of tests/data ("circuit-small/witness-000.wtns"), or a path that begins with a slash. */
static void batch_input(struct batch *batch, struct config_job *job, const char *path, const char *stem)
{
    job->inputs[job->inputs_count++] = (struct config_input){
        .path = path[0] == '/' ? batch_text(batch, "%s", path) : batch_text(batch, UZK_TEST_DATA "/%s", path),
        .stem = batch_text(batch, "%s", stem)};
}

static void batch_note(void *context, const char *text)
{
    struct batch *batch = context;
    size_t length = strlen(batch->notes);
    snprintf(batch->notes + length, sizeof batch->notes - length, "%s\n", text);
}

static void batch_timing(void *context, const char *text)
{
    struct batch *batch = context;
    const char *stem = strstr(text, "partition=");
    assert_non_null(stem);
    batch->timings += strncmp(text, "GPU_TIMING ", 11) == 0 || strncmp(text, "FIN_TIMING ", 11) == 0;
    if (strncmp(text, "GPU_TIMING ", 11) == 0) {
        char *place = batch->proved[batch->proved_count++ % BATCH_ENDED_MAX];
        assert_int_equal(sscanf(stem, "partition=%63s", place), 1);
    }
}

static void batch_ended(void *context, const struct run_ended *ended)
{
    struct batch *batch = context;
    ++batch->ended_count;
    for (size_t i = 0; i < batch->config.jobs_count; ++i) {
        for (size_t j = 0; j < batch->jobs[i].inputs_count; ++j) {
            if (ended->job == batch->jobs[i].name && ended->stem == batch->jobs[i].inputs[j].stem) {
                assert_int_equal(batch->ended[i][j], 0); /* once only */
                batch->ended[i][j] = ended->state;
                batch->causes[i][j] = ended->cause;
            }
        }
    }
    assert_int_equal(ended->reason[0] == 0, ended->state == CORE_DONE);
}

static void batch_job_ended(void *context, const struct run_job_ended *ended)
{
    struct batch *batch = context;
    ++batch->jobs_ended;
    assert_true(ended->done <= ended->partitions);
}

static void batch_loop_started(void *context)
{
    struct batch *batch = context;
    if (batch->on_start != NULL) {
        batch->on_start(batch);
    }
}

static void batch_loop_ended(void *context)
{
    struct batch *batch = context;
    if (batch->on_end != NULL) {
        batch->on_end(batch);
    }
}

static void batch_tick(void *context, const struct run_status *status)
{
    const struct batch *batch = context;
    assert_true(status->done + status->failed + status->canceled + status->started <= status->partitions);
    assert_true(status->devices_count >= 1 && batch->config.jobs_count > 0);
}

static enum error_code batch_run(struct batch *batch)
{
    const struct run_sink sink = {.context = batch,
                                  .loop_started = batch_loop_started,
                                  .loop_ended = batch_loop_ended,
                                  .note = batch_note,
                                  .timing = batch_timing,
                                  .partition_ended = batch_ended,
                                  .job_ended = batch_job_ended,
                                  .tick = batch_tick};
    struct run_options options = batch->options;
    options.tick_ns = 1000000;
    options.timing = true;
    options.sink = &sink;
    memset(batch->ended, 0, sizeof batch->ended);
    memset(batch->causes, 0, sizeof batch->causes);
    batch->ended_count = batch->proved_count = batch->jobs_ended = batch->timings = 0;
    batch->notes[0] = 0;
    return run_batch(&batch->config, &options, &batch->result, &batch->error);
}

#endif
