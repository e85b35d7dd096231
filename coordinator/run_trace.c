#include "coordinator/run_trace.h"

#include "conf/check.h"
#include "conf/config_names.h"
#include "coordinator/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SPAN_MIN_NS = 20000, WRITE_MAX = 1 << 30 };

/* ---- the file ---- */

size_t run_trace_arena_bytes(const struct run *run)
{
    return run->config->trace == NULL ? 0 : arena_bytes_for(TRACE_BUFFERS, TRACE_BUFFER_BYTES);
}

enum error_code run_trace_open(struct run *run, struct error *error)
{
    struct run_trace *tracing = &run->tracing;
    tracing->file = -1;
    tracing->tick_ns = LOOP_NEVER;
    tracing->doing = TRACE_SPANS;
    tracing->told_partition = CORE_NONE;
    if (run->config->trace == NULL) {
        return ERROR_NONE;
    }
    tracing->memory = arena_take(&run->arena, TRACE_BUFFERS, TRACE_BUFFER_BYTES);
    enum error_code code = memory_probe_open(&tracing->probe, error);
    if (code != ERROR_NONE) {
        return code;
    }
    tracing->file = open(run->config->trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (tracing->file < 0) {
        code = error_set_errno(error, errno, "%s: creating the trace", run->config->trace);
        memory_probe_close(&tracing->probe);
    }
    return code;
}

static void describe_devices(const struct run *run, struct trace_header *header)
{
    header->devices_count = run->devices_open;
    for (unsigned i = 0; i < run->devices_open; ++i) {
        const struct device *device = run->devices[i].device;
        snprintf(header->devices[i].name, sizeof header->devices[i].name, "%.23s", device->name);
        header->devices[i].lanes = device->lanes;
        header->devices[i].first_lane = run->devices[i].first_lane;
    }
}

void run_trace_begin(struct run *run)
{
    struct run_trace *tracing = &run->tracing;
    struct timespec utc;
    if (tracing->file < 0) {
        return;
    }
    struct trace_header header;
    memset(&header, 0, sizeof header);
    clock_gettime(CLOCK_REALTIME, &utc);
    memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
    header.version = TRACE_VERSION;
    header.event_bytes = sizeof(struct trace_event);
    header.start_ns = loop_now_ns();
    header.start_utc_ns = (uint64_t)utc.tv_sec * 1000000000u + (uint64_t)utc.tv_nsec;
    header.timeline_ns = run->config->timeline_ns;
    header.partitions = run->plan.partitions;
    snprintf(header.program, sizeof header.program, "uzk %s", UZK_VERSION);
    snprintf(header.allocator, sizeof header.allocator, "%.15s", trim_allocator_name(&run->trim));
    snprintf(header.policy, sizeof header.policy, "%.15s", config_trim_names[run->config->trim_policy]);
    _Static_assert((int)RUN_DEVICES_MAX <= (int)TRACE_DEVICES_MAX,
                   "every device has its place in the header");
    describe_devices(run, &header);
    trace_init(&tracing->trace, tracing->memory, &header);
    tracing->on = true;
    tracing->tick_ns = header.start_ns;
}

static struct loop_token token(void)
{
    return (struct loop_token){LOOP_TRACE, 0, 0};
}

static void write_data(struct run *run)
{
    struct run_trace *tracing = &run->tracing;
    CHECK(tracing->bytes > 0 && tracing->bytes < WRITE_MAX);
    tracing->writing = true;
    loop_write(&run->loop, token(), tracing->file, tracing->data, (unsigned)tracing->bytes, tracing->offset,
               0);
}

static void pump(struct run *run, bool partial)
{
    struct run_trace *tracing = &run->tracing;
    if (!tracing->writing && trace_full_take(&tracing->trace, partial, &tracing->data, &tracing->bytes)) {
        write_data(run);
    }
}

/* The trace ends here; the batch does not. */
static void give_up(struct run *run, int errno_value)
{
    struct error error;
    error_set_errno(&error, errno_value, "%s: writing the trace", run->config->trace);
    run_report_note(run, "%s; the trace ends here, the batch goes on", error.text);
    run->tracing.on = false;
    run->tracing.tick_ns = LOOP_NEVER;
}

void run_trace_complete(struct run *run, const struct loop_completion *completion)
{
    struct run_trace *tracing = &run->tracing;
    CHECK(tracing->writing);
    tracing->writing = false;
    bool again = completion->result == -EINTR || completion->result == -EAGAIN;
    if (completion->result <= 0 && !again) {
        give_up(run, completion->result == 0 ? ENOSPC : -completion->result);
        return;
    }
    size_t written = again ? 0 : (size_t)completion->result;
    CHECK(written <= tracing->bytes);
    tracing->data += written;
    tracing->bytes -= written;
    tracing->offset += written;
    if (tracing->bytes > 0) {
        write_data(run);
        return;
    }
    trace_full_done(&tracing->trace);
    pump(run, run->drained);
}

void run_trace_close(struct run *run)
{
    if (run->tracing.file >= 0) {
        close(run->tracing.file);
        memory_probe_close(&run->tracing.probe);
        run->tracing.file = -1;
    }
}

/* ---- events ---- */

static void emit(struct run *run, const struct trace_event *event)
{
    struct run_trace *tracing = &run->tracing;
    trace_emit(&tracing->trace, event);
    if (!tracing->writing && tracing->trace.filling - tracing->trace.taken > 1 && run->looping) {
        pump(run, false);
    }
}

void run_trace_end(struct run *run, uint64_t now_ns)
{
    if (!run->tracing.on) {
        return;
    }
    run_trace_doing(run, TRACE_SPANS);
    run_trace_tick(run, now_ns);
    emit(run, &(struct trace_event){.kind = TRACE_END, .time_ns = now_ns});
    pump(run, true);
}

uint64_t run_trace_tick_ns(const struct run *run)
{
    return run->tracing.tick_ns;
}

static void sample(struct run *run, uint64_t now_ns, uint64_t rss_bytes)
{
    struct core_counts counts;
    core_counts(run->core, &counts);
    emit(run, &(struct trace_event){.kind = TRACE_RSS,
                                    .time_ns = now_ns,
                                    .value = rss_bytes,
                                    .value2 = counts.memory_reserved_bytes});
}

void run_trace_tick(struct run *run, uint64_t now_ns)
{
    if (!run->tracing.on) {
        return;
    }
    sample(run, now_ns, memory_probe_rss_bytes(&run->tracing.probe));
    run->tracing.tick_ns = now_ns + run->config->timeline_ns;
    pump(run, true);
}

void run_trace_admitted(struct run *run, uint64_t now_ns, uint32_t first, uint32_t count,
                        enum core_state state)
{
    if (run->tracing.on && count > 0) {
        emit(run, &(struct trace_event){.kind = TRACE_STATE,
                                        .detail = (uint8_t)state,
                                        .time_ns = now_ns,
                                        .index = first,
                                        .value = CORE_NONE,
                                        .value2 = count});
    }
}

void run_trace_states(struct run *run, uint64_t now_ns, uint32_t partition)
{
    struct run_trace *tracing = &run->tracing;
    if (!tracing->on || partition == CORE_NONE ||
        (tracing->told_partition == partition && tracing->told_ns == now_ns)) {
        return;
    }
    tracing->told_partition = partition;
    tracing->told_ns = now_ns;
    for (int state = CORE_QUEUED; state < CORE_STATES; ++state) {
        if (core_partition_entered_ns(run->core, partition, state) == now_ns) {
            emit(run, &(struct trace_event){.kind = TRACE_STATE,
                                            .detail = (uint8_t)state,
                                            .time_ns = now_ns,
                                            .index = partition,
                                            .value = run->partition_slot[partition]});
        }
    }
}

void run_trace_blocked(struct run *run, uint64_t now_ns)
{
    static const uint8_t details[] = {
        [CORE_BLOCKED_MEMORY] = TRACE_BLOCKED_MEMORY, [CORE_BLOCKED_LOOKAHEAD] = TRACE_BLOCKED_LOOKAHEAD};
    struct run_trace *tracing = &run->tracing;
    if (!tracing->on) {
        return;
    }
    enum core_blocked blocked = core_blocked(run->core);
    if (blocked == tracing->blocked) {
        return;
    }
    if (tracing->blocked != CORE_BLOCKED_NOT) {
        emit(run, &(struct trace_event){.kind = TRACE_BLOCKED,
                                        .detail = details[tracing->blocked],
                                        .time_ns = now_ns,
                                        .value = tracing->blocked_ns});
    }
    tracing->blocked = blocked;
    tracing->blocked_ns = now_ns;
}

void run_trace_submit(struct run *run, uint32_t partition, uint32_t lane, uint64_t now_ns)
{
    if (run->tracing.on) {
        emit(run, &(struct trace_event){.kind = TRACE_SUBMIT,
                                        .time_ns = now_ns,
                                        .index = partition,
                                        .lane = (uint16_t)lane,
                                        .value = TRACE_THREAD_COORDINATOR});
    }
}

void run_trace_proved(struct run *run, uint32_t partition, uint32_t lane,
                      const struct device_completion *completion)
{
    uint64_t begin_ns = completion->begin_ns;
    for (int stage = 0; run->tracing.on && stage < DEVICE_STAGES; ++stage) {
        uint64_t end_ns = completion->stage_end_ns[stage];
        if (end_ns < begin_ns || begin_ns == 0) { /* it failed before */
            return;
        }
        emit(run, &(struct trace_event){.kind = TRACE_STAGE,
                                        .detail = (uint8_t)stage,
                                        .time_ns = end_ns,
                                        .value = begin_ns,
                                        .index = partition,
                                        .lane = (uint16_t)lane});
        begin_ns = end_ns;
    }
}

void run_trace_task(struct run *run, enum trace_task kind, uint32_t index, const struct worker_task *task)
{
    if (run->tracing.on) {
        emit(run, &(struct trace_event){.kind = TRACE_TASK,
                                        .detail = (uint8_t)kind,
                                        .time_ns = task->end_ns,
                                        .value = task->begin_ns,
                                        .value2 = task->posted_ns,
                                        .index = index,
                                        .lane = (uint16_t)task->thread});
    }
}

void run_trace_io(struct run *run, enum trace_task kind, uint32_t partition, uint64_t posted_ns,
                  uint64_t begin_ns)
{
    if (run->tracing.on) {
        emit(run, &(struct trace_event){.kind = TRACE_TASK,
                                        .detail = (uint8_t)kind,
                                        .time_ns = loop_now_ns(),
                                        .value = begin_ns,
                                        .value2 = posted_ns,
                                        .index = partition,
                                        .lane = TRACE_THREAD_NONE});
    }
}

void run_trace_circuit(struct run *run, uint32_t circuit, bool loaded, uint64_t bytes,
                       const struct worker_task *task)
{
    if (run->tracing.on) {
        emit(run, &(struct trace_event){.kind = TRACE_CIRCUIT,
                                        .detail = loaded,
                                        .time_ns = task->end_ns,
                                        .value = task->begin_ns,
                                        .value2 = bytes,
                                        .index = circuit});
    }
}

void run_trace_trimmed(struct run *run, uint32_t thread)
{
    const struct trim *trim = &run->trim;
    if (run->tracing.on) {
        sample(run, trim->begin_ns, trim->rss_before_bytes);
        sample(run, trim->end_ns, trim->rss_after_bytes);
        emit(run, &(struct trace_event){.kind = TRACE_TRIM,
                                        .detail = (uint8_t)thread,
                                        .time_ns = trim->end_ns,
                                        .value = trim->begin_ns,
                                        .value2 = trim_bytes(trim)});
    }
}

enum trace_span run_trace_doing(struct run *run, enum trace_span what)
{
    struct run_trace *tracing = &run->tracing;
    enum trace_span before = tracing->doing;
    if (!tracing->on || before == what) {
        return before;
    }
    uint64_t now_ns = loop_now_ns();
    if (before != TRACE_SPANS && now_ns - tracing->doing_ns >= SPAN_MIN_NS) {
        emit(run, &(struct trace_event){.kind = TRACE_SPAN,
                                        .detail = (uint8_t)before,
                                        .time_ns = now_ns,
                                        .value = tracing->doing_ns});
    }
    tracing->doing = what;
    tracing->doing_ns = now_ns;
    return before;
}
