/* pipeline_world.h - whole runs in made-up time, with their traces: the real core under a shell that needs no
 * time but what the settings say, and the pipeline with a lock that it replaces.
 *
 * Unlike trace_world.h nothing is laid out beforehand: gaps come about as they do in a run, from what
 * competes for what. So a run can be repeated with one cause taken away, and its utilization compared with
 * what the first one's trace foretells.
 *
 * Devices copy in, compute and copy out with one engine each, in the order of submission. Workers take tasks
 * in order. The coordinator handles one event at a time, in no time unless the settings say so. */
#ifndef TESTS_UNIT_PIPELINE_WORLD_H
#define TESTS_UNIT_PIPELINE_WORLD_H

#include "tests/unit/trace_world.h"

enum {
    PIPELINE_PARTITIONS_MAX = 256,
    PIPELINE_LANES_MAX = 8,
    PIPELINE_EVENTS_MAX = 1024,
    PIPELINE_THREADS_MAX = 8
};

struct pipeline_settings {
    unsigned partitions, devices, lanes, lookahead, threads;
    unsigned slots; /* as many as the memory budget allows */
    uint64_t read_ns, handover_ns, synthesis_ns, finalize_ns, write_ns,
        load_ns; /* handover: until a worker begins */
    uint64_t launch_ns, copy_in_ns, compute_ns, copy_out_ns;
    uint64_t dispatch_ns; /* of the coordinator, for each proof that a device is done with */
    uint64_t trim_ns;     /* inline; 0: off */
    /* With a lock: */
    unsigned finalizers;
    uint64_t hold_ns; /* by a finalizer, beside its trim */
};

struct pipeline_pending {
    uint64_t time_ns, sequence;
    struct core_event event;
};

struct pipeline {
    struct pipeline_settings settings;
    struct world world; /* its header and events only */
    struct core *core;
    uint64_t now_ns, sequence;
    struct pipeline_pending pending[PIPELINE_EVENTS_MAX];
    unsigned pending_count;
    uint32_t slot_partition[PIPELINE_PARTITIONS_MAX], lane_partition[PIPELINE_LANES_MAX];
    uint32_t told_partition;
    uint64_t told_ns;
    uint64_t thread_free_ns[PIPELINE_THREADS_MAX + 1];
    uint64_t in_free_ns[PIPELINE_LANES_MAX], compute_free_ns[PIPELINE_LANES_MAX],
        out_free_ns[PIPELINE_LANES_MAX];
    enum core_blocked blocked;
    uint64_t blocked_ns;
    bool drained;
};

static inline uint64_t pipeline_later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

static inline void pipeline_push(struct pipeline *pipeline, uint64_t time_ns, struct core_event event)
{
    if (pipeline->pending_count == PIPELINE_EVENTS_MAX) {
        abort();
    }
    pipeline->pending[pipeline->pending_count++] =
        (struct pipeline_pending){time_ns, pipeline->sequence++, event};
}

static inline struct pipeline_pending pipeline_pop(struct pipeline *pipeline)
{
    unsigned first = 0;
    for (unsigned i = 1; i < pipeline->pending_count; i++) {
        const struct pipeline_pending *a = &pipeline->pending[i], *b = &pipeline->pending[first];
        if (a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->sequence < b->sequence)) {
            first = i;
        }
    }
    struct pipeline_pending popped = pipeline->pending[first];
    pipeline->pending[first] = pipeline->pending[--pipeline->pending_count];
    return popped;
}

/* ---- the world's header ---- */

static inline void pipeline_header(struct pipeline *pipeline, const char *policy)
{
    struct trace_header *header = &pipeline->world.header;
    memcpy(header->magic, TRACE_MAGIC, sizeof header->magic);
    header->version = TRACE_VERSION;
    header->event_bytes = sizeof(struct trace_event);
    header->start_ns = pipeline->now_ns;
    header->timeline_ns = 1000000;
    header->partitions = pipeline->settings.partitions;
    strcpy(header->program, "pipeline world");
    strcpy(header->allocator, "none");
    strcpy(header->policy, policy);
    header->devices_count = pipeline->settings.devices;
    for (unsigned i = 0; i < header->devices_count; i++) {
        memcpy(header->devices[i].name, "sim:0", 6);
        header->devices[i].name[4] = (char)('0' + i);
        header->devices[i].lanes = pipeline->settings.lanes;
        header->devices[i].first_lane = i * pipeline->settings.lanes;
    }
}

/* A submission's way over its device; returns when its sums are back. */
static inline uint64_t pipeline_device(struct pipeline *pipeline, uint32_t partition, unsigned lane,
                                       uint64_t submit_ns)
{
    const struct pipeline_settings *settings = &pipeline->settings;
    unsigned device = lane / settings->lanes;
    uint64_t in = pipeline_later(submit_ns + settings->launch_ns, pipeline->in_free_ns[device]);
    uint64_t copied = pipeline->in_free_ns[device] = in + settings->copy_in_ns;
    uint64_t begin = pipeline_later(copied, pipeline->compute_free_ns[device]);
    uint64_t end = pipeline->compute_free_ns[device] = begin + settings->compute_ns;
    uint64_t out = pipeline_later(end, pipeline->out_free_ns[device]) + settings->copy_out_ns;
    pipeline->out_free_ns[device] = out;
    world_stage(&pipeline->world, lane, partition, DEVICE_STAGE_H2D, in, copied);
    world_stage(&pipeline->world, lane, partition, DEVICE_STAGE_EVALUATE, copied,
                begin + settings->compute_ns / 4);
    world_stage(&pipeline->world, lane, partition, DEVICE_STAGE_NTT, begin + settings->compute_ns / 4,
                begin + settings->compute_ns / 2);
    world_stage(&pipeline->world, lane, partition, DEVICE_STAGE_MSM, begin + settings->compute_ns / 2, end);
    world_stage(&pipeline->world, lane, partition, DEVICE_STAGE_D2H, end, out);
    return out;
}

/* ---- the shell, as in run_trace.c ---- */

static inline void pipeline_states(struct pipeline *pipeline, uint64_t now_ns, uint32_t partition)
{
    if (partition == CORE_NONE || (pipeline->told_partition == partition && pipeline->told_ns == now_ns)) {
        return;
    }
    pipeline->told_partition = partition;
    pipeline->told_ns = now_ns;
    for (int state = CORE_READING; state < CORE_STATES; state++) {
        if (core_partition_entered_ns(pipeline->core, partition, (enum core_state)state) == now_ns) {
            world_state(&pipeline->world, partition, (enum core_state)state, now_ns);
        }
    }
}

static inline void pipeline_blocked(struct pipeline *pipeline, uint64_t now_ns)
{
    enum core_blocked blocked = core_blocked(pipeline->core);
    if (blocked == pipeline->blocked) {
        return;
    }
    if (pipeline->blocked != CORE_BLOCKED_NOT) {
        world_event(&pipeline->world, TRACE_BLOCKED,
                    pipeline->blocked == CORE_BLOCKED_MEMORY ? TRACE_BLOCKED_MEMORY : TRACE_BLOCKED_LOOKAHEAD,
                    0, 0, pipeline->blocked_ns, 0, now_ns);
    }
    pipeline->blocked = blocked;
    pipeline->blocked_ns = now_ns;
}

/* The kernel does it, at once. */
static inline void pipeline_io(struct pipeline *pipeline, const struct core_effect *effect,
                               enum trace_task task, uint64_t takes_ns, enum core_event_kind answer)
{
    uint64_t end = pipeline->now_ns + takes_ns;
    world_event(&pipeline->world, TRACE_TASK, task, TRACE_THREAD_NONE, effect->partition, pipeline->now_ns,
                pipeline->now_ns, end);
    pipeline_push(
        pipeline, end,
        (struct core_event){.kind = answer, .index = effect->index, .generation = effect->generation});
}

/* The worker that is free first. Thread 0 is the coordinator's. */
static inline void pipeline_task(struct pipeline *pipeline, const struct core_effect *effect,
                                 enum trace_task task, uint64_t takes_ns, enum core_event_kind answer)
{
    unsigned worker = 1;
    for (unsigned i = 2; i <= pipeline->settings.threads; i++) {
        worker = pipeline->thread_free_ns[i] < pipeline->thread_free_ns[worker] ? i : worker;
    }
    uint64_t begin =
        pipeline_later(pipeline->now_ns + pipeline->settings.handover_ns, pipeline->thread_free_ns[worker]);
    uint64_t end = pipeline->thread_free_ns[worker] = begin + takes_ns;
    world_event(&pipeline->world, TRACE_TASK, task, worker, effect->partition, begin, pipeline->now_ns, end);
    pipeline_push(
        pipeline, end,
        (struct core_event){.kind = answer, .index = effect->index, .generation = effect->generation});
}

static inline void pipeline_load(struct pipeline *pipeline, const struct core_effect *effect)
{
    uint64_t end = pipeline->now_ns + pipeline->settings.load_ns;
    world_event(&pipeline->world, TRACE_TASK, TRACE_TASK_LOAD, PIPELINE_THREADS_MAX + 1, effect->index,
                pipeline->now_ns, pipeline->now_ns, end);
    world_event(&pipeline->world, TRACE_CIRCUIT, 1, 0, effect->index, pipeline->now_ns, 1, end);
    pipeline_push(pipeline, end,
                  (struct core_event){
                      .kind = CORE_EVENT_LOADED, .index = effect->index, .generation = effect->generation});
}

static inline void pipeline_trim(struct pipeline *pipeline, const struct core_effect *effect)
{
    uint64_t begin = pipeline->now_ns;
    pipeline->now_ns += pipeline->settings.trim_ns;
    world_event(&pipeline->world, TRACE_TRIM, TRACE_THREAD_COORDINATOR, 0, 0, begin, 4096, pipeline->now_ns);
    world_event(&pipeline->world, TRACE_SPAN, TRACE_SPAN_TRIM, 0, 0, begin, 0, pipeline->now_ns);
    pipeline_push(pipeline, pipeline->now_ns,
                  (struct core_event){.kind = CORE_EVENT_TRIMMED, .generation = effect->generation});
}

static inline void pipeline_submit(struct pipeline *pipeline, const struct core_effect *effect)
{
    pipeline->lane_partition[effect->lane] = effect->partition;
    world_event(&pipeline->world, TRACE_SUBMIT, 0, effect->lane, effect->partition, TRACE_THREAD_COORDINATOR,
                0, pipeline->now_ns);
    uint64_t end = pipeline_device(pipeline, effect->partition, effect->lane, pipeline->now_ns);
    pipeline_push(pipeline, end,
                  (struct core_event){
                      .kind = CORE_EVENT_PROVED, .index = effect->lane, .generation = effect->generation});
}

static inline void pipeline_carry(struct pipeline *pipeline, const struct core_effect *effect)
{
    const struct pipeline_settings *settings = &pipeline->settings;
    switch (effect->kind) {
    case CORE_EFFECT_LOAD:
        pipeline_load(pipeline, effect);
        break;
    case CORE_EFFECT_EVICT:
        pipeline_push(pipeline, pipeline->now_ns,
                      (struct core_event){.kind = CORE_EVENT_EVICTED,
                                          .index = effect->index,
                                          .generation = effect->generation});
        break;
    case CORE_EFFECT_READ:
        pipeline->slot_partition[effect->index] = effect->partition;
        pipeline_io(pipeline, effect, TRACE_TASK_READ, settings->read_ns, CORE_EVENT_READ);
        break;
    case CORE_EFFECT_SYNTHESIZE:
        pipeline_task(pipeline, effect, TRACE_TASK_SYNTHESIZE, settings->synthesis_ns,
                      CORE_EVENT_SYNTHESIZED);
        break;
    case CORE_EFFECT_SUBMIT:
        pipeline_submit(pipeline, effect);
        break;
    case CORE_EFFECT_FINALIZE:
        pipeline_task(pipeline, effect, TRACE_TASK_FINALIZE, settings->finalize_ns, CORE_EVENT_FINALIZED);
        break;
    case CORE_EFFECT_WRITE:
        pipeline_io(pipeline, effect, TRACE_TASK_WRITE, settings->write_ns, CORE_EVENT_WRITTEN);
        break;
    case CORE_EFFECT_TRIM:
        pipeline_trim(pipeline, effect);
        break;
    case CORE_EFFECT_DRAINED:
        pipeline->drained = true;
        break;
    default: /* for the log */
        break;
    }
}

static inline uint32_t pipeline_partition(const struct pipeline *pipeline, const struct core_event *event)
{
    switch (event->kind) {
    case CORE_EVENT_READ:
    case CORE_EVENT_SYNTHESIZED:
    case CORE_EVENT_FINALIZED:
    case CORE_EVENT_WRITTEN:
        return pipeline->slot_partition[event->index];
    case CORE_EVENT_PROVED:
        return pipeline->lane_partition[event->index];
    default:
        return CORE_NONE;
    }
}

static inline void pipeline_feed(struct pipeline *pipeline, const struct core_event *event)
{
    struct core_effect effect;
    uint64_t begin = pipeline->now_ns;
    if (event->kind == CORE_EVENT_PROVED && pipeline->settings.dispatch_ns > 0) {
        pipeline->now_ns += pipeline->settings.dispatch_ns;
        world_event(&pipeline->world, TRACE_SPAN, TRACE_SPAN_DISPATCH, 0, 0, begin, 0, pipeline->now_ns);
    }
    uint64_t now_ns = pipeline->now_ns;
    uint32_t partition = pipeline_partition(pipeline, event);
    core_step(pipeline->core, now_ns, event);
    pipeline_states(pipeline, now_ns, partition);
    while (core_effect_take(pipeline->core, &effect)) {
        pipeline_carry(pipeline, &effect);
        pipeline_states(pipeline, now_ns, effect.partition);
    }
    pipeline_blocked(pipeline, now_ns);
}

static inline void pipeline_loop(struct pipeline *pipeline)
{
    while (!pipeline->drained) {
        uint64_t deadline = core_deadline_ns(pipeline->core), next = UINT64_MAX;
        for (unsigned i = 0; i < pipeline->pending_count; i++) {
            next = pipeline->pending[i].time_ns < next ? pipeline->pending[i].time_ns : next;
        }
        struct core_event event = {.kind = CORE_EVENT_TIMER};
        if (next == UINT64_MAX && deadline == CORE_NEVER) {
            abort(); /* nothing will ever happen */
        }
        pipeline->now_ns = pipeline_later(pipeline->now_ns, next < deadline ? next : deadline);
        if (next <= deadline) {
            event = pipeline_pop(pipeline).event;
        }
        pipeline_feed(pipeline, &event);
    }
    world_event(&pipeline->world, TRACE_END, 0, 0, 0, 0, 0, pipeline->now_ns);
}

/* Runs the core to its end. world_deinit(&pipeline->world) afterwards. */
static inline void pipeline_run(struct pipeline *pipeline, const struct pipeline_settings *settings)
{
    memset(pipeline, 0, sizeof *pipeline);
    pipeline->settings = *settings;
    pipeline->now_ns = 1000000;
    pipeline->told_partition = CORE_NONE;
    pipeline_header(pipeline, settings->trim_ns > 0 ? "inline" : "off");
    struct core_lane_settings lanes[PIPELINE_LANES_MAX];
    unsigned lanes_count = settings->devices * settings->lanes;
    for (unsigned i = 0; i < lanes_count; i++) {
        lanes[i] = (struct core_lane_settings){.device = i / settings->lanes, .time_limit_ns = CORE_NEVER};
    }
    const struct core_circuit_settings circuit = {.resident_bytes = 1, .slot_bytes = 1};
    const struct core_settings core = {
        .jobs_max = 1,
        .partitions_max = settings->partitions,
        .slots = PIPELINE_PARTITIONS_MAX,
        .lookahead = settings->lookahead,
        .generators_max = 1,
        .attempts_max = 1,
        .memory_bytes = 1 + settings->slots,
        .trim = {.kind = settings->trim_ns > 0 ? TRIM_POLICY_INLINE : TRIM_POLICY_OFF},
        .circuits_count = 1,
        .lanes_count = lanes_count,
        .circuits = &circuit,
        .lanes = lanes};
    size_t size = (core_size(&core) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    if (memory == NULL) {
        abort();
    }
    memset(memory, 0, size);
    pipeline->core = core_init(memory, &core);
    const struct core_event admit = {.kind = CORE_EVENT_ADMIT,
                                     .job = {.partitions = settings->partitions,
                                             .deadline_ns = CORE_NEVER,
                                             .generate_limit_ns = CORE_NEVER}};
    const struct core_event start = {.kind = CORE_EVENT_START};
    pipeline_feed(pipeline, &admit);
    world_event(&pipeline->world, TRACE_STATE, CORE_QUEUED, 0, 0, CORE_NONE, settings->partitions,
                pipeline->now_ns);
    pipeline_feed(pipeline, &start);
    pipeline_loop(pipeline);
    free(memory);
}

/* ---- the pipeline with a lock ---- */

/* One device; a worker a lane takes the lock to dispatch a partition and to record its proof, a finalizer
 * takes it for hold_ns and trim_ns. Whoever asks first gets it first. Everything is ready from the start. */

enum pipeline_action { PIPELINE_DISPATCH, PIPELINE_RECORD, PIPELINE_FINALIZED };

struct pipeline_holder {
    uint32_t thread;
    uint64_t begin_ns, end_ns;
};

struct pipeline_lock {
    uint64_t free_ns;
    struct pipeline_holder holds[3 * PIPELINE_PARTITIONS_MAX];
    unsigned holds_count;
};

static const uint64_t pipeline_brief_ns = 2000; /* what a worker does under the lock */

/* Returns when the lock is given back. */
static inline uint64_t pipeline_lock(struct pipeline *pipeline, struct pipeline_lock *lock, uint32_t thread,
                                     uint32_t partition, enum trace_span span, uint64_t hold_ns)
{
    uint64_t asked = pipeline->now_ns, given = pipeline_later(asked, lock->free_ns);
    if (given > asked) {
        uint32_t holder = thread;
        for (unsigned i = 0; i < lock->holds_count; i++) {
            if (lock->holds[i].begin_ns <= asked && asked < lock->holds[i].end_ns) {
                holder = lock->holds[i].thread;
            }
        }
        world_event(&pipeline->world, TRACE_LOCK, TRACE_SPAN_FINALIZE, thread, holder, asked, 1 + partition,
                    given);
    }
    lock->free_ns = given + hold_ns;
    lock->holds[lock->holds_count++] = (struct pipeline_holder){thread, given, lock->free_ns};
    world_event(&pipeline->world, TRACE_HOLD, span, thread, 0, given, 0, lock->free_ns);
    if (span == TRACE_SPAN_FINALIZE && pipeline->settings.trim_ns > 0) {
        world_event(&pipeline->world, TRACE_TRIM, thread, 0, 0, lock->free_ns - pipeline->settings.trim_ns,
                    4096, lock->free_ns);
    }
    return lock->free_ns;
}

/* index: of the event's worker or finalizer; generation: its partition. */
static inline void pipeline_then(struct pipeline *pipeline, uint64_t time_ns, enum pipeline_action action,
                                 uint32_t index, uint32_t partition)
{
    pipeline_push(
        pipeline, time_ns,
        (struct core_event){.kind = (enum core_event_kind)action, .index = index, .generation = partition});
}

static inline void pipeline_locked_record(struct pipeline *pipeline, struct pipeline_lock *lock,
                                          uint32_t worker, uint32_t partition)
{
    uint64_t done =
        pipeline_lock(pipeline, lock, 1 + worker, partition, TRACE_SPAN_DISPATCH, pipeline_brief_ns);
    world_state(&pipeline->world, partition, CORE_FINALIZING, done);
    unsigned finalizer = 0;
    for (unsigned i = 1; i < pipeline->settings.finalizers; i++) {
        finalizer = pipeline->thread_free_ns[i] < pipeline->thread_free_ns[finalizer] ? i : finalizer;
    }
    uint64_t begin = pipeline_later(done, pipeline->thread_free_ns[finalizer]);
    uint64_t end = begin + pipeline->settings.finalize_ns;
    pipeline->thread_free_ns[finalizer] = end;
    world_event(&pipeline->world, TRACE_TASK, TRACE_TASK_FINALIZE, 10 + finalizer, partition, begin, done,
                end);
    pipeline_then(pipeline, end, PIPELINE_FINALIZED, finalizer, partition);
    pipeline_then(pipeline, done, PIPELINE_DISPATCH, worker, 0);
}

static inline void pipeline_run_locked(struct pipeline *pipeline, const struct pipeline_settings *settings)
{
    struct pipeline_lock lock = {0};
    uint32_t dispatched = 0;
    memset(pipeline, 0, sizeof *pipeline);
    pipeline->settings = *settings;
    pipeline->now_ns = 1000000;
    pipeline_header(pipeline, settings->trim_ns > 0 ? "under lock" : "off");
    world_event(&pipeline->world, TRACE_STATE, CORE_QUEUED, 0, 0, CORE_NONE, settings->partitions,
                pipeline->now_ns);
    for (uint32_t i = 0; i < settings->partitions; i++) {
        world_state(&pipeline->world, i, CORE_READY, pipeline->now_ns);
    }
    for (uint32_t worker = 0; worker < settings->lanes; worker++) {
        pipeline_then(pipeline, pipeline->now_ns, PIPELINE_DISPATCH, worker, 0);
    }
    while (pipeline->pending_count > 0) {
        struct pipeline_pending next = pipeline_pop(pipeline);
        uint32_t index = next.event.index, partition = next.event.generation;
        pipeline->now_ns = next.time_ns;
        switch ((enum pipeline_action)next.event.kind) {
        case PIPELINE_DISPATCH:
            if (dispatched < settings->partitions) {
                partition = dispatched++;
                uint64_t submit = pipeline_lock(pipeline, &lock, 1 + index, partition, TRACE_SPAN_DISPATCH,
                                                pipeline_brief_ns);
                world_state(&pipeline->world, partition, CORE_PROVING, submit);
                world_event(&pipeline->world, TRACE_SUBMIT, 0, index, partition, 1 + index, 0, submit);
                pipeline_then(pipeline, pipeline_device(pipeline, partition, index, submit), PIPELINE_RECORD,
                              index, partition);
            }
            break;
        case PIPELINE_RECORD:
            pipeline_locked_record(pipeline, &lock, index, partition);
            break;
        case PIPELINE_FINALIZED:
            world_state(&pipeline->world, partition, CORE_DONE,
                        pipeline_lock(pipeline, &lock, 10 + index, partition, TRACE_SPAN_FINALIZE,
                                      settings->hold_ns + settings->trim_ns));
            break;
        }
    }
    world_event(&pipeline->world, TRACE_END, 0, 0, 0, 0, 0, lock.free_ns);
}

#endif
