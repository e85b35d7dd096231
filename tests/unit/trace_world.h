/* trace_world.h - traces of worlds that are made up so that the true reason of each idle nanosecond is known.
 *
 * A world is built from its seed the other way round than the program works: gaps are laid out first, each a
 * chain of reasons with lengths, and then the events are emitted that such a course of things leaves behind,
 * among much that has nothing to do with it: spans of the coordinator while every device computes or while
 * they hinder nobody, trims and syntheses on other threads, waits for the lock by threads that carry
 * something else. Gaps of different devices don't overlap, so that what the coordinator does in one can't be
 * a reason for another. */
#ifndef TESTS_UNIT_TRACE_WORLD_H
#define TESTS_UNIT_TRACE_WORLD_H

#include "coordinator/core.h"
#include "coordinator/gaps.h"
#include "coordinator/trace.h"
#include "cuda/device.h"
#include "tests/sim/sim_random.h"

#include <stdlib.h>
#include <string.h>

enum { WORLD_GAPS_MAX = 24, WORLD_SEGMENTS_MAX = 24, WORLD_MIXED = GAPS_SUSPECTS };

/* Thread numbers: trims and holders must fit in 8 bits. */
enum {
    WORLD_HOLDER = 10,
    WORLD_SUBMITTER = 30,
    WORLD_TRIMMER = 60,
    WORLD_BYSTANDER = 100,
    WORLD_WORKER = 300
};

/* A partition's way; each segment of a gap lies in one phase. */
enum world_phase {
    WORLD_AWAY,
    WORLD_QUEUED,
    WORLD_READING,
    WORLD_SYNTHESIZING,
    WORLD_READY,
    WORLD_SUBMITTED
};

struct world_segment {
    uint64_t begin_ns, end_ns;
    enum world_phase phase;
    enum gaps_reason reason;
};

struct world_gap {
    uint64_t begin_ns, end_ns;
    unsigned device;
    bool threaded; /* a thread that takes a lock submits, not the coordinator */
    bool generated;
    enum world_phase first;
    struct world_segment segments[WORLD_SEGMENTS_MAX];
    unsigned count;
};

struct world {
    struct trace_header header;
    struct trace_event *events;
    size_t count, capacity;
    struct sim_random random;
    unsigned focus; /* enum gaps_suspect: what most idle time is lost to; WORLD_MIXED: nothing special */
    uint64_t time_ns;
    struct world_gap gaps[WORLD_GAPS_MAX];
    unsigned gaps_count;
    uint32_t next_partition, next_bystander, next_worker;
    unsigned lane[TRACE_DEVICES_MAX]; /* of the partition that computes last */
    uint64_t truth[TRACE_DEVICES_MAX][GAPS_REASONS];
    uint64_t busy_ns[TRACE_DEVICES_MAX];
    uint64_t begin_ns, end_ns;
};

static inline uint64_t world_between(struct world *world, uint64_t low, uint64_t high)
{
    return sim_random_between(&world->random, low, high);
}

static inline bool world_chance(struct world *world, unsigned permille)
{
    return sim_random_chance(&world->random, permille);
}

static inline void world_event(struct world *world, enum trace_kind kind, unsigned detail, unsigned lane,
                               uint32_t index, uint64_t value, uint64_t value2, uint64_t time_ns)
{
    if (world->count == world->capacity) {
        world->capacity = world->capacity > 0 ? 2 * world->capacity : 1024;
        world->events = realloc(world->events, world->capacity * sizeof *world->events);
        if (world->events == NULL) {
            abort();
        }
    }
    world->events[world->count++] = (struct trace_event){.time_ns = time_ns,
                                                         .value = value,
                                                         .value2 = value2,
                                                         .index = index,
                                                         .kind = (uint8_t)kind,
                                                         .detail = (uint8_t)detail,
                                                         .lane = (uint16_t)lane};
}

static inline void world_state(struct world *world, uint32_t partition, enum core_state state,
                               uint64_t time_ns)
{
    world_event(world, TRACE_STATE, state, 0, partition, 0, 0, time_ns);
}

static inline void world_stage(struct world *world, unsigned lane, uint32_t partition,
                               enum device_stage stage, uint64_t begin_ns, uint64_t end_ns)
{
    world_event(world, TRACE_STAGE, stage, lane, partition, begin_ns, 0, end_ns);
}

static inline uint64_t world_length(struct world *world, bool focused)
{
    uint64_t length = world_chance(world, 100) ? 1 : world_between(world, 1, 20000);
    return focused ? 200000 + 20 * length : length;
}

/* ---- planning ---- */

static inline void plan_segment(struct world *world, struct world_gap *gap, enum world_phase phase,
                                enum gaps_reason reason, uint64_t length)
{
    if (gap->count == WORLD_SEGMENTS_MAX || phase < gap->first) {
        return;
    }
    world->truth[gap->device][reason] += length;
    gap->segments[gap->count++] = (struct world_segment){gap->end_ns, gap->end_ns + length, phase, reason};
    gap->end_ns += length;
}

static inline enum gaps_reason random_span(struct world *world, enum gaps_reason base, bool trim)
{
    enum trace_span span = (enum trace_span)world_between(world, 0, TRACE_SPANS - 1);
    return base + (trim ? TRACE_SPAN_TRIM : span == TRACE_SPAN_TRIM ? TRACE_SPAN_FINALIZE : span);
}

/* With a chance, or for certain if it is in focus; long in that case. */
static inline void plan_maybe(struct world *world, struct world_gap *gap, enum world_phase phase,
                              enum gaps_reason reason, unsigned permille)
{
    bool focused = gaps_suspect_of(reason) == world->focus;
    if (focused || world_chance(world, permille)) {
        plan_segment(world, gap, phase, reason, world_length(world, focused));
    }
}

static inline void plan_busy(struct world *world, struct world_gap *gap, enum world_phase phase,
                             enum gaps_reason otherwise, unsigned permille)
{
    if (!gap->threaded && world_chance(world, permille)) {
        plan_maybe(world, gap, phase, random_span(world, GAPS_BUSY, world_chance(world, 300)), 1000);
    }
    plan_maybe(world, gap, phase, otherwise, permille);
}

static inline void plan_lock(struct world *world, struct world_gap *gap, enum world_phase phase,
                             unsigned permille)
{
    if (gap->threaded) {
        bool trim = world->focus == GAPS_SUSPECT_LOCK_TRIM ||
                    (world->focus != GAPS_SUSPECT_LOCK && world_chance(world, 300));
        plan_maybe(world, gap, phase, random_span(world, GAPS_LOCK, trim), permille);
    }
}

static inline void plan_gap(struct world *world, struct world_gap *gap)
{
    static const enum world_phase needed[GAPS_SUSPECTS] = {
        [GAPS_SUSPECT_LOCK_TRIM] = WORLD_READY,  [GAPS_SUSPECT_LOCK] = WORLD_READY,
        [GAPS_SUSPECT_BUSY_TRIM] = WORLD_READY,  [GAPS_SUSPECT_BUSY] = WORLD_READY,
        [GAPS_SUSPECT_HANDOVER] = WORLD_READY,   [GAPS_SUSPECT_SYNTHESIS] = WORLD_SYNTHESIZING,
        [GAPS_SUSPECT_WITNESS] = WORLD_READING,  [GAPS_SUSPECT_CIRCUIT] = WORLD_QUEUED,
        [GAPS_SUSPECT_MEMORY] = WORLD_QUEUED,    [GAPS_SUSPECT_COPY] = WORLD_SUBMITTED,
        [GAPS_SUSPECT_LAUNCH] = WORLD_SUBMITTED, [GAPS_SUSPECT_NO_WORK] = WORLD_AWAY};
    enum world_phase latest = world->focus < GAPS_SUSPECTS ? needed[world->focus] : WORLD_SUBMITTED;
    gap->first = (enum world_phase)world_between(world, WORLD_AWAY, latest);
    gap->threaded = world_chance(world, 500);
    if (world->focus <= GAPS_SUSPECT_LOCK) {
        gap->threaded = true;
    } else if (world->focus == GAPS_SUSPECT_BUSY || world->focus == GAPS_SUSPECT_BUSY_TRIM) {
        gap->threaded = false;
    }
    gap->generated = world_chance(world, 300);
    gap->end_ns = gap->begin_ns;
    gap->count = 0;
    plan_maybe(world, gap, WORLD_AWAY, GAPS_NO_WORK, 1000);
    plan_maybe(world, gap, WORLD_QUEUED, GAPS_MEMORY, 400);
    plan_maybe(world, gap, WORLD_QUEUED, GAPS_CIRCUIT, 200);
    plan_maybe(world, gap, WORLD_QUEUED, GAPS_SYNTHESIS_AHEAD, 200);
    if (!gap->threaded) {
        plan_maybe(world, gap, WORLD_QUEUED, random_span(world, GAPS_BUSY, world_chance(world, 300)), 200);
    }
    plan_maybe(world, gap, WORLD_READING, gap->generated ? GAPS_GENERATE : GAPS_READ, 1000);
    plan_busy(world, gap, WORLD_READING, GAPS_UNNOTICED, 300);
    switch (world_between(world, 0, 2)) {
    case 0:
        plan_maybe(world, gap, WORLD_SYNTHESIZING, GAPS_UNTAKEN, 500);
        break;
    case 1:
        plan_maybe(world, gap, WORLD_SYNTHESIZING, GAPS_SYNTHESIS_BEHIND, 500);
        break;
    default:
        plan_maybe(world, gap, WORLD_SYNTHESIZING, GAPS_BEHIND, 500);
    }
    plan_maybe(world, gap, WORLD_SYNTHESIZING, GAPS_SYNTHESIS, 1000);
    plan_lock(world, gap, WORLD_SYNTHESIZING, 300);
    plan_busy(world, gap, WORLD_SYNTHESIZING, GAPS_UNNOTICED, 300);
    if (gap->first == WORLD_READY) {
        plan_maybe(world, gap, WORLD_READY, GAPS_COPY_OUT, 300);
    }
    plan_lock(world, gap, WORLD_READY, 700);
    plan_busy(world, gap, WORLD_READY, GAPS_UNSENT, 400);
    plan_lock(world, gap, WORLD_READY, 300);
    if (gap->threaded && world_chance(world, 300)) {
        plan_maybe(world, gap, WORLD_READY, GAPS_BUSY + TRACE_SPAN_DISPATCH,
                   1000); /* holds the lock itself */
    }
    plan_maybe(world, gap, WORLD_SUBMITTED, GAPS_LAUNCH, 500);
    plan_maybe(world, gap, WORLD_SUBMITTED, GAPS_COPY_IN, 700);
    plan_maybe(world, gap, WORLD_SUBMITTED, GAPS_LAUNCH, 500);
    if (gap->count == 0) {
        plan_segment(world, gap, WORLD_SUBMITTED, GAPS_LAUNCH, 7);
    }
}

/* ---- events of a gap ---- */

static inline uint32_t world_bystander(struct world *world)
{
    return world->next_bystander++;
}

/* Things that go on beside and are no reason for anything. */
static inline void emit_noise(struct world *world, uint64_t begin_ns, uint64_t end_ns, bool spans)
{
    if (end_ns - begin_ns < 4) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        uint64_t from = world_between(world, begin_ns, end_ns - 2),
                 to = world_between(world, from + 1, end_ns);
        uint32_t thread = world->next_worker++;
        switch (world_between(world, 0, 4)) {
        case 0:
            if (spans) {
                world_event(world, TRACE_SPAN, (unsigned)world_between(world, 0, TRACE_SPANS - 1), 0, 0, from,
                            0, to);
            }
            break;
        case 1:
            world_event(world, TRACE_TRIM, WORLD_TRIMMER, 0, 0, from, 4096, to);
            break;
        case 2:
            world_event(world, TRACE_TASK, TRACE_TASK_SYNTHESIZE, thread, world_bystander(world), from, from,
                        to);
            break;
        case 3:
            world_event(world, TRACE_LOCK, TRACE_SPAN_TRIM, WORLD_BYSTANDER + thread % 100, WORLD_HOLDER,
                        from, world_bystander(world) + 1, to);
            break;
        default:
            world_event(world, TRACE_RSS, 0, 0, 0, from * 7 % 100000, 5, from);
        }
    }
}

static inline void emit_hold(struct world *world, const struct world_segment *segment, unsigned span)
{
    /* The hold may reach into the segment from before, as the wait itself does not. */
    unsigned holder = WORLD_HOLDER + (unsigned)world_between(world, 0, 3);
    if (span == TRACE_SPAN_TRIM && world_chance(world, 500)) {
        world_event(world, TRACE_HOLD, TRACE_SPAN_FINALIZE, holder, 0, segment->begin_ns, 0, segment->end_ns);
        world_event(world, TRACE_TRIM, holder, 0, 0, segment->begin_ns, 0, segment->end_ns);
    } else {
        uint64_t middle = world_between(world, segment->begin_ns, segment->end_ns);
        world_event(world, TRACE_HOLD, span, holder, 0, segment->begin_ns, 0, middle);
        world_event(world, TRACE_HOLD, span, holder + 1, 0, middle, 0, segment->end_ns);
    }
}

/* The events that a segment of a gap leaves, other than states and tasks of the partition itself. */
static inline void emit_segment(struct world *world, const struct world_gap *gap,
                                const struct world_segment *segment, uint32_t partition, uint32_t worker)
{
    uint64_t begin = segment->begin_ns, end = segment->end_ns;
    unsigned reason = segment->reason;
    bool harmless = reason == GAPS_NO_WORK || reason == GAPS_SYNTHESIS || reason == GAPS_READ ||
                    reason == GAPS_GENERATE || reason == GAPS_MEMORY || reason == GAPS_COPY_IN ||
                    reason == GAPS_LAUNCH || reason == GAPS_CIRCUIT;
    if (world_chance(world, 300)) {
        emit_noise(world, begin, end, harmless);
    }
    if (reason >= GAPS_LOCK && reason < GAPS_LOCK + TRACE_SPANS) {
        unsigned thread = segment->phase == WORLD_READY ? WORLD_SUBMITTER + gap->device : worker;
        world_event(world, TRACE_LOCK, reason - GAPS_LOCK, thread, WORLD_HOLDER, begin,
                    world_chance(world, 500) ? partition + 1 : 0, end);
        emit_hold(world, segment, reason - GAPS_LOCK);
    } else if (reason >= GAPS_BUSY && reason < GAPS_BUSY + TRACE_SPANS) {
        if (gap->threaded) {
            world_event(world, TRACE_HOLD, reason - GAPS_BUSY, WORLD_SUBMITTER + gap->device, 0, begin, 0,
                        end);
        } else if (reason == GAPS_BUSY + TRACE_SPAN_TRIM && world_chance(world, 500)) {
            world_event(world, TRACE_TRIM, TRACE_THREAD_COORDINATOR, 0, 0, begin, 8192, end);
        } else {
            world_event(world, TRACE_SPAN, reason - GAPS_BUSY, 0, 0, begin, 0, end);
        }
    } else if (reason == GAPS_MEMORY) {
        world_event(world, TRACE_BLOCKED, TRACE_BLOCKED_MEMORY, 0, 0, begin, 0, end);
    } else if (reason == GAPS_CIRCUIT) {
        world_event(world, TRACE_CIRCUIT, 1, 0, 3, begin, 1 << 20, end);
    } else if (reason == GAPS_SYNTHESIS_AHEAD) {
        uint32_t other = world_bystander(world);
        world_state(world, other, CORE_SYNTHESIZING, begin);
        world_state(world, other, CORE_READY, end);
        world_event(world, TRACE_BLOCKED, TRACE_BLOCKED_LOOKAHEAD, 0, 0, begin, 0, end);
    } else if (reason == GAPS_SYNTHESIS_BEHIND) {
        world_event(world, TRACE_TASK, TRACE_TASK_SYNTHESIZE, worker, world_bystander(world), begin, begin,
                    end);
    } else if (reason == GAPS_BEHIND) {
        world_event(world, TRACE_TASK, TRACE_TASK_FINALIZE, worker, world_bystander(world), begin, begin,
                    end);
    } else if (reason == GAPS_COPY_OUT) {
        for (unsigned i = 0; i < world->header.devices[gap->device].lanes; i++) {
            unsigned lane = world->header.devices[gap->device].first_lane + i;
            uint32_t other = world_bystander(world);
            if (lane != world->lane[gap->device]) { /* the other lanes are taken, too */
                world_event(world, TRACE_SUBMIT, 0, lane, other, 0, 0, begin - 1);
            }
            world_stage(world, lane, other, DEVICE_STAGE_D2H, begin, end);
        }
    } else if (reason == GAPS_COPY_IN) {
        unsigned lane = world->lane[gap->device];
        unsigned first = world->header.devices[gap->device].first_lane;
        world_stage(world, first + (lane - first + 1) % world->header.devices[gap->device].lanes, partition,
                    DEVICE_STAGE_H2D, begin, end);
    }
}

/* When each phase began: within the gap, or evenly before it. */
static inline void phase_times(const struct world *world, const struct world_gap *gap,
                               uint64_t times[WORLD_SUBMITTED + 1])
{
    uint64_t base = gap->begin_ns - (gap->begin_ns - world->begin_ns) / 2;
    uint64_t step = (gap->begin_ns - base) / 8;
    for (int phase = WORLD_AWAY; phase <= WORLD_SUBMITTED; phase++) {
        times[phase] = phase <= (int)gap->first ? base + (uint64_t)phase * step : gap->end_ns;
        for (unsigned i = gap->count; i-- > 0;) {
            if ((int)gap->segments[i].phase >= phase && phase > (int)gap->first) {
                times[phase] = gap->segments[i].begin_ns;
            }
        }
    }
    if (gap->first == WORLD_SUBMITTED) {
        times[WORLD_SUBMITTED] = gap->begin_ns - 300; /* its lane was free for so long, see emit_run */
    }
}

/* The task that did the work of a phase: from its segment if there is one, else from the whole phase. */
static inline void emit_task(struct world *world, const struct world_gap *gap, enum world_phase phase,
                             enum trace_task task, uint32_t partition, uint32_t worker, const uint64_t *times)
{
    uint64_t posted = times[phase], begin = posted, end = times[phase + 1];
    for (unsigned i = 0; i < gap->count; i++) {
        const struct world_segment *segment = &gap->segments[i];
        if (segment->phase == phase && (segment->reason == GAPS_SYNTHESIS || segment->reason == GAPS_READ ||
                                        segment->reason == GAPS_GENERATE)) {
            begin = segment->begin_ns;
            end = segment->end_ns;
        }
    }
    world_event(world, TRACE_TASK, task, worker, partition, begin, posted, end);
}

static inline void emit_gap(struct world *world, const struct world_gap *gap, uint32_t partition)
{
    uint64_t times[WORLD_SUBMITTED + 1];
    uint32_t worker = world->next_worker++;
    phase_times(world, gap, times);
    for (unsigned i = 0; i < gap->count; i++) {
        emit_segment(world, gap, &gap->segments[i], partition, worker);
    }
    const struct trace_device *device = &world->header.devices[gap->device];
    unsigned lane = device->first_lane + (world->lane[gap->device] - device->first_lane + 1) % device->lanes;
    if (world_chance(world, 300)) { /* admitted as one of many */
        uint32_t first = partition;
        world_event(world, TRACE_STATE, CORE_QUEUED, 0, first, 0, 2, times[WORLD_QUEUED]);
    } else {
        world_state(world, partition, CORE_QUEUED, times[WORLD_QUEUED]);
    }
    world_state(world, partition, gap->generated ? CORE_GENERATING : CORE_READING, times[WORLD_READING]);
    emit_task(world, gap, WORLD_READING, gap->generated ? TRACE_TASK_GENERATE : TRACE_TASK_READ, partition,
              gap->generated ? world->next_worker++ : TRACE_THREAD_NONE, times);
    world_state(world, partition, CORE_SYNTHESIZING, times[WORLD_SYNTHESIZING]);
    emit_task(world, gap, WORLD_SYNTHESIZING, TRACE_TASK_SYNTHESIZE, partition, worker, times);
    world_state(world, partition, CORE_READY, times[WORLD_READY]);
    world_state(world, partition, CORE_PROVING, times[WORLD_SUBMITTED]);
    world_event(world, TRACE_SUBMIT, 0, lane, partition, gap->threaded ? WORLD_SUBMITTER + gap->device : 0, 0,
                times[WORLD_SUBMITTED]);
    world->lane[gap->device] = lane;
}

/* ---- computing ---- */

static inline void emit_compute(struct world *world, unsigned device, uint32_t partition, uint64_t begin_ns,
                                uint64_t end_ns)
{
    unsigned lane = world->lane[device];
    uint64_t first = world_between(world, begin_ns, end_ns), second = world_between(world, first, end_ns);
    world_stage(world, lane, partition, DEVICE_STAGE_EVALUATE, begin_ns, first);
    world_stage(world, lane, partition, DEVICE_STAGE_NTT, first, second);
    world_stage(world, lane, partition, DEVICE_STAGE_MSM, second, end_ns);
    uint32_t worker = world->next_worker++;
    world_state(world, partition, CORE_FINALIZING, end_ns + 3);
    world_event(world, TRACE_TASK, TRACE_TASK_FINALIZE, worker, partition, end_ns + 4, end_ns + 3,
                end_ns + 400);
    world_state(world, partition, CORE_WRITING, end_ns + 410);
    world_state(world, partition, CORE_DONE, end_ns + 500);
    world->busy_ns[device] += end_ns - begin_ns;
}

/* A partition that follows without a gap: it was submitted and copied while the one before computed. */
static inline uint32_t emit_follower(struct world *world, unsigned device, uint64_t before_ns,
                                     uint64_t begin_ns)
{
    uint32_t partition = world->next_partition;
    world->next_partition += 2; /* the next one may have been admitted together with a gap's */
    const struct trace_device *all = &world->header.devices[device];
    uint64_t length = begin_ns - before_ns;
    uint64_t submit = before_ns + length / 2;
    unsigned lane = all->first_lane + (world->lane[device] - all->first_lane + 1) % all->lanes;
    world_state(world, partition, CORE_QUEUED, world->begin_ns);
    world_state(world, partition, CORE_READING, before_ns);
    world_state(world, partition, CORE_READY, before_ns + length / 3);
    world_state(world, partition, CORE_PROVING, submit);
    world_event(world, TRACE_SUBMIT, 0, lane, partition, 0, 0, submit);
    world_stage(world, lane, partition, DEVICE_STAGE_H2D, submit, begin_ns - length / 8);
    world->lane[device] = lane;
    return partition;
}

/* Computes from begin to end without a gap, beginning with `partition`. */
static inline void emit_run(struct world *world, unsigned device, uint32_t partition, uint64_t begin_ns,
                            uint64_t end_ns)
{
    uint64_t at = begin_ns;
    for (unsigned i = 0; i < 2 && end_ns - at > 3000; i++) {
        uint64_t until = world_between(world, at + 1000, end_ns - 1000);
        emit_compute(world, device, partition, at, until);
        unsigned lane = world->lane[device];
        uint32_t computed = partition;
        partition = emit_follower(world, device, at, until);
        /* The lane copies out while the follower computes, for 1000 ns or more, and is then free. */
        world_stage(world, lane, computed, DEVICE_STAGE_D2H, until, until + 200);
        at = until;
    }
    emit_compute(world, device, partition, at, end_ns);
}

/* ---- worlds ---- */

static inline void world_header(struct world *world)
{
    struct trace_header *header = &world->header;
    memcpy(header->magic, TRACE_MAGIC, sizeof header->magic);
    header->version = TRACE_VERSION;
    header->event_bytes = sizeof(struct trace_event);
    header->start_ns = world->begin_ns - 5000;
    header->start_utc_ns = UINT64_C(1780000000000000000);
    header->timeline_ns = world_between(world, 1, 1000000);
    strcpy(header->program, "world");
    strcpy(header->allocator, "glibc");
    strcpy(header->policy, "timer");
    uint32_t lane = 0;
    for (uint32_t i = 0; i < header->devices_count; i++) {
        header->devices[i].first_lane = lane;
        header->devices[i].lanes = (uint32_t)world_between(world, 2, 3);
        lane += header->devices[i].lanes;
        memcpy(header->devices[i].name, "sim:0", 6);
        header->devices[i].name[4] = (char)('0' + i);
    }
}

/* The beginning of the backlog: every device gets its first partition in the same way. */
static inline uint64_t world_begin(struct world *world, unsigned device, uint32_t partition)
{
    uint64_t begin = world->begin_ns, read = begin + world_between(world, 1, 3000);
    uint64_t synthesized = read + world_between(world, 1, 5000),
             copied = synthesized + world_between(world, 1, 3000);
    unsigned lane = world->header.devices[device].first_lane;
    world_state(world, partition, CORE_QUEUED, begin);
    world_state(world, partition, CORE_READING, begin);
    world_state(world, partition, CORE_SYNTHESIZING, read);
    world_state(world, partition, CORE_READY, synthesized);
    world_event(world, TRACE_SUBMIT, 0, lane, partition, 0, 0, synthesized);
    world_stage(world, lane, partition, DEVICE_STAGE_H2D, synthesized, copied);
    world->lane[device] = lane;
    world->truth[device][GAPS_READ] += read - begin;
    world->truth[device][GAPS_SYNTHESIS] += synthesized - read;
    world->truth[device][GAPS_COPY_IN] += copied - synthesized;
    return copied;
}

/* The end: a copy out of the last one, then nothing until the last device is done. */
static inline void world_finish(struct world *world, const uint64_t *ends_ns)
{
    for (unsigned device = 0; device < world->header.devices_count; device++) {
        uint64_t copied = ends_ns[device] + world_between(world, 1, 2000);
        world_stage(world, world->lane[device], world_bystander(world), DEVICE_STAGE_D2H, ends_ns[device],
                    copied);
        world->truth[device][GAPS_COPY_OUT] += copied - ends_ns[device];
        world->truth[device][GAPS_NO_WORK] -= copied;
        world->end_ns = copied > world->end_ns ? copied : world->end_ns;
    }
    for (unsigned device = 0; device < world->header.devices_count; device++) {
        world->truth[device][GAPS_NO_WORK] += world->end_ns;
    }
}

static inline void world_init(struct world *world, uint64_t seed, unsigned focus)
{
    memset(world, 0, sizeof *world);
    sim_random_init(&world->random, seed);
    world->focus = focus;
    world->begin_ns = world_between(world, 1000000, UINT64_C(1000000000000));
    world->next_bystander = 1000000;
    world->next_worker = WORLD_WORKER;
    world->header.devices_count = (uint32_t)world_between(world, 1, 3);
    world_header(world);
    uint32_t first[TRACE_DEVICES_MAX];
    uint64_t from[TRACE_DEVICES_MAX], ends[TRACE_DEVICES_MAX];
    for (unsigned device = 0; device < world->header.devices_count; device++) {
        first[device] = world->next_partition;
        world->next_partition += 2;
        from[device] = world_begin(world, device, first[device]);
    }
    uint64_t at = world->begin_ns + 20000;
    world->gaps_count = (unsigned)world_between(world, 3, WORLD_GAPS_MAX);
    for (unsigned i = 0; i < world->gaps_count; i++) {
        uint64_t run = world_between(world, 5000, 60000);
        emit_noise(world, at, at + run, true);
        struct world_gap *gap = &world->gaps[i];
        gap->device = (unsigned)world_between(world, 0, world->header.devices_count - 1);
        gap->begin_ns = at + run;
        plan_gap(world, gap);
        at = gap->end_ns;
    }
    for (unsigned device = 0; device < world->header.devices_count; device++) {
        uint32_t partition = first[device];
        for (unsigned i = 0; i < world->gaps_count; i++) {
            if (world->gaps[i].device == device) {
                emit_run(world, device, partition, from[device], world->gaps[i].begin_ns);
                partition = world->next_partition;
                world->next_partition += 2;
                emit_gap(world, &world->gaps[i], partition);
                from[device] = world->gaps[i].end_ns;
            }
        }
        ends[device] = at + world_between(world, 5000, 90000);
        emit_run(world, device, partition, from[device], ends[device]);
    }
    world_finish(world, ends);
    world->header.partitions = world->next_partition;
    world_event(world, TRACE_END, 0, 0, 0, 0, 0, world->end_ns + 5000);
}

static inline void world_deinit(struct world *world)
{
    free(world->events);
}

/* The trace as a file, its events in no order; free() it. */
static inline uint8_t *world_bytes(struct world *world, size_t *size)
{
    *size = sizeof world->header + world->count * sizeof *world->events;
    uint8_t *bytes = malloc(*size);
    if (bytes == NULL) {
        abort();
    }
    for (size_t i = world->count; i > 1; i--) {
        size_t other = (size_t)world_between(world, 0, i - 1);
        struct trace_event event = world->events[i - 1];
        world->events[i - 1] = world->events[other];
        world->events[other] = event;
    }
    memcpy(bytes, &world->header, sizeof world->header);
    for (size_t i = 0; i < world->count; i++) {
        memcpy(bytes + sizeof world->header + i * sizeof *world->events, &world->events[i],
               sizeof *world->events);
    }
    return bytes;
}

#endif
