/* What a batch's trace holds, read back: every partition's whole life, what threads and the coordinator did.
 */
#include "tests/unit/run_batch_fixture.h"

#include "coordinator/run_plan.h"
#include "coordinator/trace_read.h"
#include "cuda/device.h"

static struct batch batch;
static struct trace_read trace;

static void run_traced(void)
{
    batch.config.trace = batch_text(&batch, "%s", shell_path("run.trace"));
    batch.config.timeline_ns = 1000000;
    if (batch_run(&batch) != ERROR_NONE) {
        fail_msg("%s", batch.error.text);
    }
    struct error error;
    if (trace_read_open(&trace, batch.config.trace, &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_true(trace.ended);
    assert_int_equal(trace.unknown + trace.odd + trace.dropped + trace.partial, 0);
}

static unsigned count_of(enum trace_kind kind, unsigned detail)
{
    unsigned count = 0;
    for (size_t i = 0; i < trace.count; ++i) {
        count += trace.events[i].kind == kind && (detail == UINT32_MAX || trace.events[i].detail == detail);
    }
    return count;
}

/* The event of a partition; the test fails unless there is exactly one. */
static const struct trace_event *only(enum trace_kind kind, unsigned detail, uint32_t partition)
{
    const struct trace_event *found = NULL;
    for (size_t i = 0; i < trace.count; ++i) {
        const struct trace_event *event = &trace.events[i];
        if (event->kind == kind && event->detail == detail && event->index == partition) {
            assert_null(found);
            found = event;
        }
    }
    assert_non_null(found);
    return found;
}

static void check_life(uint32_t partition)
{
    static const enum core_state states[] = {CORE_READING,    CORE_SYNTHESIZING, CORE_READY, CORE_PROVING,
                                             CORE_FINALIZING, CORE_WRITING,      CORE_DONE};
    uint64_t before_ns = trace.header.start_ns;
    uint64_t entered_ns[CORE_STATES];
    for (unsigned i = 0; i < sizeof states / sizeof states[0]; ++i) {
        uint64_t time_ns = entered_ns[states[i]] = only(TRACE_STATE, states[i], partition)->time_ns;
        assert_true(time_ns >= before_ns);
        before_ns = time_ns;
    }
    const struct trace_event *submit = only(TRACE_SUBMIT, 0, partition);
    assert_true(submit->time_ns >= entered_ns[CORE_PROVING]);
    assert_int_equal(submit->value, TRACE_THREAD_COORDINATOR);
    uint64_t end_ns = submit->time_ns;
    for (unsigned stage = 0; stage < DEVICE_STAGES; ++stage) {
        const struct trace_event *event = only(TRACE_STAGE, stage, partition);
        assert_int_equal(event->lane, submit->lane);
        assert_true(stage == 0 ? event->value >= end_ns : event->value == end_ns); /* no hole between them */
        end_ns = event->time_ns;
    }
    assert_true(end_ns <= entered_ns[CORE_FINALIZING]);
    const struct trace_event *read = only(TRACE_TASK, TRACE_TASK_READ, partition);
    assert_int_equal(read->lane, TRACE_THREAD_NONE);
    assert_true(read->value >= entered_ns[CORE_READING] && read->time_ns <= entered_ns[CORE_SYNTHESIZING]);
    static const struct {
        enum trace_task task;
        enum core_state from, to;
    } tasks[] = {{TRACE_TASK_SYNTHESIZE, CORE_SYNTHESIZING, CORE_READY},
                 {TRACE_TASK_FINALIZE, CORE_FINALIZING, CORE_WRITING}};
    for (unsigned i = 0; i < 2; ++i) {
        const struct trace_event *task = only(TRACE_TASK, tasks[i].task, partition);
        assert_true(task->lane >= 1 && task->lane < TRACE_THREAD_NONE);
        assert_true(entered_ns[tasks[i].from] <= task->value2 && task->value2 <= task->value);
        assert_true(task->value <= task->time_ns && task->time_ns <= entered_ns[tasks[i].to]);
    }
    const struct trace_event *written = only(TRACE_TASK, TRACE_TASK_WRITE, partition);
    assert_true(written->value >= entered_ns[CORE_WRITING] && written->time_ns <= entered_ns[CORE_DONE]);
}

static void small_batch(bool simulated, const char *output)
{
    static struct config_device sim = {.kind = CONFIG_DEVICE_SIM};
    batch_init(&batch);
    size_t small = batch_circuit(&batch, "circuit-small");
    struct config_job *job = batch_job(&batch, small, "plain", output);
    batch_input(&batch, job, "circuit-small/witness-000.wtns", "w0");
    batch_input(&batch, job, "circuit-small/witness-001.wtns", "w1");
    batch_input(&batch, job, "circuit-small/witness-002.wtns", "w2");
    if (simulated) {
        batch.config.devices = &sim;
        batch.config.devices_count = 1;
    }
}

static void a_partitions_whole_life_is_there(void **state)
{
    (void)state;
    for (unsigned simulated = 0; simulated < 2; ++simulated) {
        small_batch(simulated, simulated ? "lives-sim" : "lives");
        run_traced();
        assert_int_equal(trace.header.partitions, 3);
        assert_int_equal(trace.header.devices_count, 1);
        assert_string_equal(trace.header.devices[0].name, simulated ? "sim" : "cpu");
        assert_string_equal(trace.header.policy, "timer");
        const struct trace_event *queued = only(TRACE_STATE, CORE_QUEUED, 0);
        assert_int_equal(trace_read_state_count(queued), 3); /* one event for all of the job */
        for (uint32_t partition = 0; partition < 3; ++partition) {
            check_life(partition);
        }
        assert_int_equal(count_of(TRACE_TASK, TRACE_TASK_LOAD), 1);
        assert_int_equal(count_of(TRACE_CIRCUIT, 1), 1);
        assert_int_equal(count_of(TRACE_CIRCUIT, 0), 1);
        assert_true(count_of(TRACE_RSS, 0) >= 2);
        for (size_t i = 0; i < trace.count; ++i) {
            assert_true(trace.events[i].kind != TRACE_RSS || trace.events[i].value > 100000);
        }
        trace_read_close(&trace);
    }
}

static void what_an_earlier_run_did_is_told_as_done(void **state)
{
    (void)state;
    small_batch(false, "again");
    run_traced();
    trace_read_close(&trace);
    batch_input(&batch, &batch.jobs[0], "circuit-small/witness-003.wtns", "w3");
    run_traced();
    assert_int_equal(batch.result.status.resumed, 3);
    assert_int_equal(trace_read_state_count(only(TRACE_STATE, CORE_DONE, 0)), 3);
    check_life(3);
    assert_int_equal(count_of(TRACE_SUBMIT, UINT32_MAX), 1);
    trace_read_close(&trace);
}

static void failures_and_retries_are_in_order(void **state)
{
    (void)state;
    small_batch(false, "fails");
    batch_input(&batch, &batch.jobs[0], "circuit-closed/witness-000.wtns", "bad");
    run_traced();
    assert_int_equal(batch.result.status.failed, 1);
    only(TRACE_STATE, CORE_FAILED, 3);
    assert_int_equal(count_of(TRACE_SUBMIT, UINT32_MAX), 3);
    trace_read_close(&trace);
}

static void being_blocked_is_told(void **state)
{
    (void)state;
    small_batch(true, "blocked");
    batch.config.lanes_per_device = 1;
    batch.config.lookahead = 1;
    run_traced();
    assert_true(count_of(TRACE_BLOCKED, TRACE_BLOCKED_LOOKAHEAD) >= 1);
    assert_int_equal(count_of(TRACE_BLOCKED, TRACE_BLOCKED_MEMORY), 0);
    trace_read_close(&trace);
    small_batch(false, "short");
    struct load load = {.config = &batch.circuits[0]};
    load_look(&load);
    batch.config.memory_budget = run_plan_least_bytes(&load, batch.config.threads); /* one slot fits */
    run_traced();
    assert_int_equal(batch.result.status.done, 3);
    assert_true(count_of(TRACE_BLOCKED, TRACE_BLOCKED_MEMORY) >= 1);
    trace_read_close(&trace);
}

static void a_full_disk_ends_the_trace_and_not_the_batch(void **state)
{
    (void)state;
    small_batch(false, "full");
    batch.config.trace = batch_text(&batch, "%s", "/dev/full");
    batch.config.timeline_ns = 1000000;
    assert_int_equal(batch_run(&batch), ERROR_NONE);
    assert_int_equal(batch.result.status.done, 3);
    assert_non_null(strstr(batch.notes, "/dev/full"));
    assert_non_null(strstr(batch.notes, "the batch goes on"));
}

static void a_trace_that_cannot_be_made_is_refused(void **state)
{
    (void)state;
    small_batch(false, "refused");
    batch.config.trace = batch_text(&batch, "%s", shell_path("no/such/folder.trace"));
    batch.config.timeline_ns = 1000000;
    assert_int_equal(batch_run(&batch), ERROR_INPUT);
    assert_non_null(strstr(batch.error.text, "no/such/folder.trace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partitions_whole_life_is_there),
        cmocka_unit_test(what_an_earlier_run_did_is_told_as_done),
        cmocka_unit_test(failures_and_retries_are_in_order),
        cmocka_unit_test(being_blocked_is_told),
        cmocka_unit_test(a_full_disk_ends_the_trace_and_not_the_batch),
        cmocka_unit_test(a_trace_that_cannot_be_made_is_refused),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
