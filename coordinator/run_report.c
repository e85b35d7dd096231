#include "coordinator/run_internal.h"

#include "alloc/memory.h"
#include "conf/check.h"
#include "conf/config_names.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 1024 };

/* A device's name in the result, which outlives the device. */
static const char *lasting_name(const struct run_plan_device *device, enum device_kind kind)
{
    static const char *const kinds[] = {[DEVICE_CPU] = "cpu", [DEVICE_CUDA] = "cuda", [DEVICE_SIM] = "sim"};
    static const char *const gpus[] = {"cuda:0", "cuda:1", "cuda:2", "cuda:3",
                                       "cuda:4", "cuda:5", "cuda:6", "cuda:7"};
    bool numbered = kind == DEVICE_CUDA && device->index < sizeof gpus / sizeof *gpus;
    return numbered ? gpus[device->index] : kinds[kind];
}

void run_report_note(const struct run *run, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    if (run->sink.note == NULL) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run->sink.note(run->sink.context, text);
}

const struct config_input *run_input(const struct run *run, uint32_t partition)
{
    uint32_t job = core_partition_job(run->core, partition);
    uint32_t index = partition - core_job_first_partition(run->core, job);
    CHECK(index < run->config->jobs[job].inputs_count);
    return &run->config->jobs[job].inputs[index];
}

void run_report_status(const struct run *run, uint64_t now_ns, struct run_status *status)
{
    struct core_counts counts;
    core_counts(run->core, &counts);
    memset(status, 0, sizeof *status);
    status->elapsed_ns = now_ns - run->start_ns;
    status->partitions = run->plan.partitions;
    status->done = counts.partitions[CORE_DONE];
    status->resumed = counts.resumed;
    status->failed = counts.partitions[CORE_FAILED];
    status->canceled = counts.partitions[CORE_CANCELED];
    for (int state = CORE_GENERATING; state <= CORE_WRITING; ++state) {
        status->started += counts.partitions[state];
    }
    uint32_t proven = status->done - status->resumed;
    uint32_t ended = status->done + status->failed + status->canceled;
    status->eta_ns = UINT64_MAX;
    if (proven > 0 && status->elapsed_ns > 0) {
        status->rate = (double)proven * 1e9 / (double)status->elapsed_ns;
        status->eta_ns = (uint64_t)((double)(status->partitions - ended) / status->rate * 1e9);
    }
    status->memory_bytes = counts.memory_reserved_bytes;
    status->memory_budget_bytes = run->plan.memory_bytes;
    status->devices_count = run->devices_open;
    for (unsigned i = 0; i < run->devices_open; ++i) {
        const struct device *device = run->devices[i].device;
        status->devices[i] = (struct run_device_status){.name = device->name,
                                                        .lanes = device->lanes,
                                                        .fallback = run->plan.devices[i].fallback,
                                                        .busy_ns = core_device_busy_ns(run->core, i, now_ns)};
    }
}

void run_report_tick(const struct run *run, uint64_t now_ns)
{
    struct run_status status;
    if (run->sink.tick != NULL) {
        run_report_status(run, now_ns, &status);
        run->sink.tick(run->sink.context, &status);
    }
}

/* The slot whose error belongs to a partition; NULL if it never had one. */
static struct slot *slot_of(const struct run *run, uint32_t partition)
{
    uint32_t number = run->partition_slot[partition];
    if (number == CORE_NONE || run->slots.table[number].partition != partition ||
        run->slots.table[number].slab == POOL_NONE) {
        return NULL;
    }
    return &run->slots.table[number];
}

static void explain_memory(const struct run *run, const struct config_job *job, char text[RUN_REASON_BYTES])
{
    const struct load *load = &run->loads[job->circuit];
    snprintf(text, RUN_REASON_BYTES,
             "circuit %s and one proof of it need %llu MiB, the memory budget is %llu MiB: raise budget in "
             "memory { }",
             load->config->name,
             (unsigned long long)((run_plan_least_bytes(load, run->plan.threads) >> 20) + 1),
             (unsigned long long)(run->plan.budget_bytes >> 20));
}

static void explain(const struct run *run, uint32_t partition, enum core_cause cause,
                    char text[RUN_REASON_BYTES])
{
    const struct config_job *job = &run->config->jobs[core_partition_job(run->core, partition)];
    const struct slot *slot = slot_of(run, partition);
    const char *found = slot != NULL && slot->error.text[0] != 0 ? slot->error.text : core_cause_name(cause);
    switch (cause) {
    case CORE_CAUSE_CIRCUIT:
        found = run->loads[job->circuit].error.text;
        break;
    case CORE_CAUSE_MEMORY:
        explain_memory(run, job, text);
        return;
    case CORE_CAUSE_TIMEOUT:
        snprintf(text, RUN_REASON_BYTES,
                 "%s: its witness command ran longer than witness_timeout (%llu ms) and was killed",
                 run_input(run, partition)->path, (unsigned long long)(job->witness_timeout_ns / 1000000));
        return;
    case CORE_CAUSE_DEADLINE:
        snprintf(text, RUN_REASON_BYTES, "the job's deadline (%llu ms) passed before its proof was begun",
                 (unsigned long long)(job->deadline_ns / 1000000));
        return;
    case CORE_CAUSE_NO_DEVICE:
        found = "no device is usable any more";
        break;
    case CORE_CAUSE_STOPPED:
        found = "the run was stopped";
        break;
    default:
        break;
    }
    snprintf(text, RUN_REASON_BYTES, "%s", found);
}

static void remember_failure(struct run *run, const char *job, const char *stem, enum core_cause cause,
                             const char *reason)
{
    struct run_result *result = run->result;
    if (result->failures_count < RUN_FAILURES_MAX) {
        struct run_failure *failure = &result->failures[result->failures_count];
        failure->job = job;
        failure->stem = stem;
        failure->cause = cause;
        snprintf(failure->reason, sizeof failure->reason, "%s", reason);
    }
    ++result->failures_count;
}

/* From taking its slot, by the core's own clock. */
static uint64_t latency_of(const struct run *run, uint32_t partition, uint64_t now_ns)
{
    uint64_t generating_ns = core_partition_entered_ns(run->core, partition, CORE_GENERATING);
    uint64_t began_ns =
        generating_ns != 0 ? generating_ns : core_partition_entered_ns(run->core, partition, CORE_READING);
    return now_ns - began_ns;
}

void run_report_ended(struct run *run, uint64_t now_ns, const struct core_effect *effect)
{
    uint32_t partition = effect->index;
    uint32_t job_index = core_partition_job(run->core, partition);
    const struct config_job *job = &run->config->jobs[job_index];
    const struct config_input *input = run_input(run, partition);
    const struct slot *slot = slot_of(run, partition);
    bool done = effect->state == CORE_DONE;
    enum core_cause cause = effect->cause;
    char reason[RUN_REASON_BYTES] = "", output[PATH_MAX];
    if (done) {
        CHECK(slot != NULL);
        run->jobs[job_index].done += 1;
        snprintf(output, sizeof output, "%s/%s", job->output,
                 slot->output.files[slot->simulated ? 0 : 1].final);
    } else {
        if (cause == CORE_CAUSE_READ && run->jobs[job_index].journal->code != ERROR_NONE) {
            cause = CORE_CAUSE_WRITE; /* it was not even begun, since its output folder cannot be used */
        }
        explain(run, partition, cause, reason);
        snprintf(output, sizeof output, "%s", job->output);
    }
    if (effect->state == CORE_FAILED) {
        remember_failure(run, job->name, input->stem, cause, reason);
    }
    if (run->sink.partition_ended != NULL) {
        const struct run_ended ended = {.job = job->name,
                                        .stem = input->stem,
                                        .input = input->path,
                                        .output = output,
                                        .state = effect->state,
                                        .cause = cause,
                                        .reason = reason,
                                        .latency_ns = done ? latency_of(run, partition, now_ns) : 0};
        run->sink.partition_ended(run->sink.context, &ended);
    }
}

void run_report_job_ended(struct run *run, const struct core_effect *effect)
{
    const struct config_job *config = &run->config->jobs[effect->index];
    const struct run_job *job = &run->jobs[effect->index];
    bool bundled = config->bundle && effect->state == CORE_DONE && !job->simulated;
    bool bundle_failed = effect->cause == CORE_CAUSE_WRITE && job->bundle.code != ERROR_NONE;
    if (bundle_failed) {
        ++run->result->bundles_failed;
        remember_failure(run, config->name, NULL, CORE_CAUSE_WRITE, job->bundle.error.text);
    }
    if (config->bundle && job->simulated && effect->state == CORE_DONE) {
        run_report_note(run, "job %s: no bundle is written, since its proofs were simulated", config->name);
    }
    if (run->sink.job_ended != NULL) {
        const struct run_job_ended ended = {.job = config->name,
                                            .state = effect->state,
                                            .partitions = (uint32_t)config->inputs_count,
                                            .done = job->done,
                                            .bundle = bundled ? job->bundle.path : NULL,
                                            .reason = bundle_failed ? job->bundle.error.text : ""};
        run->sink.job_ended(run->sink.context, &ended);
    }
}

static double ms(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e6 : 0.0;
}

static void timing(const struct run *run, const char *text)
{
    run->sink.timing(run->sink.context, text);
}

/* Milliseconds: from ready to the submission, from there to the device's beginning, then the device's stages.
 */
void run_report_proved(const struct run *run, const struct slot *slot,
                       const struct device_completion *completion)
{
    static const char *const stages[] = {"h2d", "evaluate", "ntt", "msm", "d2h"};
    char text[LINE_BYTES];
    if (!run->options->timing || run->sink.timing == NULL) {
        return;
    }
    uint64_t ready_ns = core_partition_entered_ns(run->core, slot->partition, CORE_READY);
    uint64_t before_ns = completion->begin_ns;
    int length = snprintf(text, sizeof text,
                          "GPU_TIMING job=%s partition=%s device=%s lane=%u attempt=%u queue=%.3f "
                          "dispatch=%.3f",
                          slot->job->name, slot->config_input->stem, run->devices[slot->device].device->name,
                          completion->lane, slot->attempts, ms(ready_ns, slot->times.submit_ns),
                          ms(slot->times.submit_ns, before_ns));
    for (int i = 0; i < DEVICE_STAGES && length > 0 && length < LINE_BYTES; ++i) {
        length += snprintf(text + length, sizeof text - (size_t)length, " %s=%.3f", stages[i],
                           ms(before_ns, completion->stage_end_ns[i]));
        before_ns = completion->stage_end_ns[i];
    }
    if (length > 0 && length < LINE_BYTES) {
        snprintf(text + length, sizeof text - (size_t)length, " ms%s",
                 completion->code == ERROR_NONE ? "" : " failed");
    }
    timing(run, text);
}

/* Milliseconds: waiting for a worker, assembling, checking with the texts, and writing until durable. */
void run_report_written(const struct run *run, const struct slot *slot, uint64_t now_ns)
{
    char text[LINE_BYTES];
    if (!run->options->timing || run->sink.timing == NULL) {
        return;
    }
    const struct slot_times *times = &slot->times;
    uint64_t finalizing_ns = core_partition_entered_ns(run->core, slot->partition, CORE_FINALIZING);
    snprintf(text, sizeof text,
             "FIN_TIMING job=%s partition=%s queue=%.3f finalize=%.3f self_check=%.3f write=%.3f ms",
             slot->job->name, slot->config_input->stem, ms(finalizing_ns, times->finalize_begin_ns),
             ms(times->finalize_begin_ns, times->assembled_ns),
             ms(times->assembled_ns, times->finalize_end_ns), ms(times->write_begin_ns, now_ns));
    timing(run, text);
}

void run_report_result(struct run *run, uint64_t now_ns)
{
    struct run_result *result = run->result;
    run_report_status(run, now_ns, &result->status);
    for (unsigned i = 0; i < result->status.devices_count;
         ++i) { /* the devices' own names go away with them */
        result->status.devices[i].name = lasting_name(&run->plan.devices[i], run->devices[i].device->kind);
    }
    core_counts(run->core, &result->counts);
    result->trim_policy = config_trim_names[run->config->trim_policy];
    snprintf(result->allocator, sizeof result->allocator, "%s", trim_allocator_name(&run->trim));
    result->heap = (struct allocator_stats){UINT64_MAX, UINT64_MAX, UINT64_MAX};
    if (run->trim.allocator != NULL) {
        run->trim.allocator->stats(&result->heap);
    }
    result->trace = run->config->trace;
    result->trace_events = run->tracing.trace.emitted;
    result->trace_dropped = run->tracing.trace.dropped;
    result->stopped = run->stops > 0;
    result->latency_p50_ns = core_latency_ns(run->core, 500);
    result->latency_p95_ns = core_latency_ns(run->core, 950);
    result->latency_p99_ns = core_latency_ns(run->core, 990);
    result->peak_rss_bytes = memory_peak_rss_bytes();
    result->late_completions = run->late_completions + result->counts.late_answers;
}
