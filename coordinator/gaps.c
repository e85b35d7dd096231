#include "coordinator/gaps.h"

#include "conf/check.h"
#include "coordinator/core.h"
#include "coordinator/gaps_scene.h"
#include "cuda/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- one moment of the partition that ends a gap ---- */

enum { HISTORY_MAX = 64 /* events: an attempt has some twenty */ };

struct actor {
    const struct gaps_scene *scene;
    unsigned device;
    uint32_t lanes; /* of the device */
    uint32_t partition;
    const struct trace_event *history[HISTORY_MAX];
    size_t history_count;
    uint64_t admitted_ns;
    const struct trace_event *submit; /* the one that led to the gap's end; NULL if the trace has none */
    const struct trace_event *copy;   /* its copy in, likewise */
};

static bool on_device(const struct actor *actor, const struct trace_event *event)
{
    return trace_read_device(actor->scene->read, event->lane) == actor->device;
}

static void actor_init(struct actor *actor, const struct gaps_scene *scene, const struct gaps_gap *gap)
{
    memset(actor, 0, sizeof *actor);
    actor->scene = scene;
    actor->device = gap->device;
    actor->lanes = scene->read->header.devices[gap->device].lanes;
    actor->partition = gap->partition;
    actor->admitted_ns = gaps_scene_admitted(scene, gap->partition);
    actor->history_count =
        gaps_scene_history(scene, gap->partition, gap->end_ns, actor->history, HISTORY_MAX);
    for (size_t i = 0; i < actor->history_count; i++) {
        const struct trace_event *event = actor->history[i];
        if (event->kind == TRACE_SUBMIT && on_device(actor, event)) {
            actor->submit = event;
        } else if (event->kind == TRACE_STAGE && event->detail == DEVICE_STAGE_H2D &&
                   on_device(actor, event)) {
            actor->copy = event;
        }
    }
}

/* The state in force; CORE_STATES: not there yet. Every event of the partition may change the answer to any
 * question about it, so all of them limit the probe. */
static enum core_state actor_state(const struct actor *actor, struct gaps_probe *probe)
{
    enum core_state state = actor->admitted_ns <= probe->time_ns ? CORE_QUEUED : CORE_STATES;
    if (actor->admitted_ns != UINT64_MAX) {
        gaps_probe_limit(probe, actor->admitted_ns);
    }
    for (size_t i = 0; i < actor->history_count; i++) {
        const struct trace_event *event = actor->history[i];
        gaps_probe_limit(probe, event->time_ns);
        if (trace_read_is_span(event)) {
            gaps_probe_limit(probe, event->value);
        }
        if (event->kind == TRACE_TASK) {
            gaps_probe_limit(probe, event->value2);
        }
        if (event->kind == TRACE_STATE && event->time_ns <= probe->time_ns) {
            state = event->detail;
        }
    }
    return state;
}

/* The task of a kind that the moment belongs to: the first one that ends later, else the last one that ended.
 */
static const struct trace_event *actor_task(const struct actor *actor, const struct gaps_probe *probe,
                                            enum trace_task kind)
{
    const struct trace_event *task = NULL;
    for (size_t i = 0; i < actor->history_count; i++) {
        const struct trace_event *event = actor->history[i];
        if (event->kind == TRACE_TASK && event->detail == kind) {
            task = event;
            if (event->time_ns > probe->time_ns) {
                break;
            }
        }
    }
    return task;
}

/* Submitted, by what the trace tells, and not yet computing. */
static bool actor_submitted(const struct actor *actor, const struct gaps_probe *probe)
{
    if (actor->submit != NULL) {
        return probe->time_ns >= actor->submit->time_ns;
    }
    return actor->copy != NULL && probe->time_ns >= actor->copy->value;
}

/* On another device, by an earlier submission that led to nothing. */
static bool actor_elsewhere(const struct actor *actor, const struct gaps_probe *probe)
{
    for (size_t i = 0; i < actor->history_count; i++) {
        const struct trace_event *event = actor->history[i];
        if (event->kind == TRACE_SUBMIT && event->time_ns <= probe->time_ns) {
            return true;
        }
    }
    return false;
}

/* ---- reasons ---- */

/* Of several things at once the one that takes longest by its nature. */
static unsigned span_of(const struct gaps_step *step)
{
    static const uint8_t order[] = {TRACE_SPAN_TRIM, TRACE_SPAN_FINALIZE, TRACE_SPAN_DISPATCH, TRACE_SPAN_IO,
                                    TRACE_SPAN_OTHER};
    for (size_t i = 0; i < sizeof order; i++) {
        if (step->counts[order[i]] > 0) {
            return order[i];
        }
    }
    return TRACE_SPANS;
}

/* What the coordinator does instead; `otherwise` if it does nothing. */
static enum gaps_reason busy_or(const struct actor *actor, struct gaps_probe *probe,
                                enum gaps_reason otherwise)
{
    unsigned span = span_of(gaps_steps_at(&actor->scene->spans, probe));
    return span < TRACE_SPANS ? (enum gaps_reason)(GAPS_BUSY + span) : otherwise;
}

/* The device has it, or all its lanes: what does it do with them? */
static enum gaps_reason on_lanes(const struct actor *actor, struct gaps_probe *probe)
{
    const struct gaps_step *lanes = gaps_steps_at(&actor->scene->lanes[actor->device], probe);
    return lanes->counts[GAPS_LANES_COPY_IN] > 0    ? GAPS_COPY_IN
           : lanes->counts[GAPS_LANES_COPY_OUT] > 0 ? GAPS_COPY_OUT
                                                    : GAPS_LAUNCH;
}

/* Whether a thread waits for the lock, and what the lock's holder does meanwhile. */
static bool waits(const struct actor *actor, struct gaps_probe *probe, uint32_t thread,
                  enum gaps_reason *reason)
{
    const struct gaps_interval *wait = gaps_intervals_at(&actor->scene->waits, thread, probe);
    if (wait == NULL) {
        return false;
    }
    unsigned span = span_of(gaps_steps_at(&actor->scene->holds, probe));
    *reason = GAPS_LOCK + (span < TRACE_SPANS ? span : wait->detail);
    return true;
}

/* A wait for the lock that names the partition. */
static bool waited_for(const struct actor *actor, struct gaps_probe *probe, enum gaps_reason *reason)
{
    for (size_t i = 0; i < actor->history_count; i++) {
        const struct trace_event *event = actor->history[i];
        if (event->kind == TRACE_LOCK && event->value <= probe->time_ns && event->time_ns > probe->time_ns) {
            return waits(actor, probe, event->lane, reason);
        }
    }
    return false;
}

/* Posted to a thread that has not begun with it. */
static enum gaps_reason before_task(const struct actor *actor, struct gaps_probe *probe,
                                    const struct trace_event *task)
{
    if (probe->time_ns < task->value2) {
        return busy_or(actor, probe, GAPS_UNTAKEN);
    }
    if (task->lane == TRACE_THREAD_NONE) {
        return GAPS_READ; /* the kernel has it */
    }
    const struct gaps_interval *other = gaps_intervals_at(&actor->scene->tasks, task->lane, probe);
    if (other == NULL) {
        return task->lane == TRACE_THREAD_COORDINATOR ? busy_or(actor, probe, GAPS_UNTAKEN) : GAPS_UNTAKEN;
    }
    switch (other->detail) {
    case TRACE_TASK_SYNTHESIZE:
        return GAPS_SYNTHESIS_BEHIND;
    case TRACE_TASK_READ:
    case TRACE_TASK_GENERATE:
        return GAPS_WITNESS_BEHIND;
    case TRACE_TASK_LOAD:
        return GAPS_CIRCUIT;
    default:
        return GAPS_BEHIND;
    }
}

/* In a state in which a task does the work. */
static enum gaps_reason in_task(const struct actor *actor, struct gaps_probe *probe, enum trace_task kind,
                                enum gaps_reason running)
{
    enum gaps_reason reason;
    const struct trace_event *task = actor_task(actor, probe, kind);
    if (task == NULL) {
        return running; /* the trace has states only */
    }
    if (waits(actor, probe, task->lane, &reason)) {
        return reason;
    }
    if (probe->time_ns < task->value) {
        return before_task(actor, probe, task);
    }
    return probe->time_ns < task->time_ns ? running : busy_or(actor, probe, GAPS_UNNOTICED);
}

static enum gaps_reason in_ready(const struct actor *actor, struct gaps_probe *probe)
{
    enum gaps_reason reason;
    bool threaded = actor->submit != NULL && actor->submit->value != TRACE_THREAD_COORDINATOR &&
                    actor->submit->value < TRACE_THREAD_NONE;
    if (threaded && waits(actor, probe, (uint32_t)actor->submit->value, &reason)) {
        return reason;
    }
    const struct gaps_step *lanes = gaps_steps_at(&actor->scene->lanes[actor->device], probe);
    if (lanes->counts[GAPS_LANES_TAKEN] >= actor->lanes) {
        return on_lanes(actor, probe);
    }
    if (threaded) { /* what it does under the lock itself keeps it from sending */
        const struct gaps_step *hold = gaps_steps_at(&actor->scene->holds, probe);
        unsigned span = span_of(hold);
        if (span < TRACE_SPANS && hold->owner == actor->submit->value) {
            return GAPS_BUSY + span;
        }
    }
    return busy_or(actor, probe, GAPS_UNSENT);
}

static enum gaps_reason in_queue(const struct actor *actor, struct gaps_probe *probe)
{
    const struct gaps_step *blocked = gaps_steps_at(&actor->scene->blocked, probe);
    if (blocked->counts[TRACE_BLOCKED_MEMORY] > 0) {
        return GAPS_MEMORY;
    }
    const struct gaps_step *work = gaps_steps_at(&actor->scene->work, probe);
    if (work->counts[GAPS_WORK_LOAD] > 0) {
        return GAPS_CIRCUIT;
    }
    enum gaps_reason ahead = work->counts[GAPS_WORK_PREPARING] > 0 ? GAPS_SYNTHESIS_AHEAD
                             : work->counts[GAPS_WORK_WITNESS] > 0 ? GAPS_WITNESS_AHEAD
                                                                   : GAPS_UNSENT;
    if (blocked->counts[TRACE_BLOCKED_LOOKAHEAD] > 0 && ahead != GAPS_UNSENT) {
        return ahead;
    }
    return busy_or(actor, probe, ahead);
}

static enum gaps_reason reason_at(const struct actor *actor, struct gaps_probe *probe)
{
    enum gaps_reason reason;
    enum core_state state = actor_state(actor, probe);
    if (actor_submitted(actor, probe)) {
        return on_lanes(actor, probe);
    }
    if (state == CORE_STATES) {
        return GAPS_NO_WORK;
    }
    if (waited_for(actor, probe, &reason)) {
        return reason;
    }
    switch (state) {
    case CORE_QUEUED:
        return in_queue(actor, probe);
    case CORE_GENERATING:
        return in_task(actor, probe, TRACE_TASK_GENERATE, GAPS_GENERATE);
    case CORE_READING:
        return in_task(actor, probe, TRACE_TASK_READ, GAPS_READ);
    case CORE_SYNTHESIZING:
        return in_task(actor, probe, TRACE_TASK_SYNTHESIZE, GAPS_SYNTHESIS);
    case CORE_PROVING:
        if (actor->submit == NULL) {
            return on_lanes(actor, probe); /* its submission was lost */
        }
        return actor_elsewhere(actor, probe) ? GAPS_NO_WORK : in_ready(actor, probe);
    default:
        return in_ready(actor, probe);
    }
}

/* After the last computing of a device. */
static enum gaps_reason tail_reason(const struct actor *actor, struct gaps_probe *probe)
{
    enum gaps_reason reason = on_lanes(actor, probe);
    return reason == GAPS_LAUNCH ? GAPS_NO_WORK : reason;
}

/* ---- gaps ---- */

static bool piece_add(struct gaps *gaps, struct gaps_gap *gap, const struct gaps_piece *piece)
{
    struct gaps_piece *last = gap->pieces > 0 ? &gaps->pieces[gaps->pieces_count - 1] : NULL;
    gaps->ns[gap->device][piece->reason] += piece->end_ns - piece->begin_ns;
    gaps->idle_ns += piece->end_ns - piece->begin_ns;
    if (last != NULL && last->reason == piece->reason) {
        last->end_ns = piece->end_ns;
        return true;
    }
    if (gaps->pieces_count == gaps->pieces_capacity) {
        size_t capacity = gaps->pieces_capacity > 0 ? gaps->pieces_capacity * 2 : 256;
        struct gaps_piece *pieces = reallocarray(gaps->pieces, capacity, sizeof *pieces);
        if (pieces == NULL) {
            return false;
        }
        gaps->pieces = pieces;
        gaps->pieces_capacity = capacity;
    }
    CHECK(gaps->pieces != NULL);
    gaps->pieces[gaps->pieces_count++] = *piece;
    gap->pieces++;
    return true;
}

static bool gap_cut(struct gaps *gaps, struct gaps_gap *gap, const struct gaps_scene *scene)
{
    struct actor actor;
    actor_init(&actor, scene, gap);
    gap->first = gaps->pieces_count;
    for (uint64_t at = gap->begin_ns; at < gap->end_ns;) {
        struct gaps_probe probe = {.time_ns = at, .until_ns = gap->end_ns};
        enum gaps_reason reason =
            gap->partition != TRACE_READ_NONE ? reason_at(&actor, &probe) : tail_reason(&actor, &probe);
        struct gaps_probe beside = {.time_ns = at, .until_ns = gap->end_ns};
        uint32_t running = gaps_steps_at(&scene->work, &beside)->counts[GAPS_WORK_SYNTHESIS];
        CHECK(probe.until_ns > at);
        const struct gaps_piece piece = {.begin_ns = at,
                                         .end_ns = probe.until_ns,
                                         .others =
                                             running > 0 && reason == GAPS_SYNTHESIS ? running - 1 : running,
                                         .reason = (uint8_t)reason};
        if (!piece_add(gaps, gap, &piece)) {
            return false;
        }
        at = probe.until_ns;
    }
    return true;
}

static bool gap_add(struct gaps *gaps, const struct gaps_scene *scene, const struct gaps_gap *found)
{
    if (found->begin_ns >= found->end_ns) {
        return true;
    }
    if (gaps->count == gaps->capacity) {
        size_t capacity = gaps->capacity > 0 ? gaps->capacity * 2 : 256;
        struct gaps_gap *list = reallocarray(gaps->gaps, capacity, sizeof *list);
        if (list == NULL) {
            return false;
        }
        gaps->gaps = list;
        gaps->capacity = capacity;
    }
    gaps->gaps[gaps->count] = *found;
    return gap_cut(gaps, &gaps->gaps[gaps->count++], scene);
}

static bool device_gaps(struct gaps *gaps, const struct gaps_scene *scene, const struct timeline *timeline,
                        unsigned device)
{
    const struct timeline_device *row = &timeline->devices[device];
    struct gaps_gap gap = {.begin_ns = timeline->begin_ns, .device = device};
    for (size_t i = 0; i < row->count; i++) {
        gap.end_ns = row->busy[i].begin_ns;
        gap.partition = row->busy[i].partition;
        if (!gap_add(gaps, scene, &gap)) {
            return false;
        }
        gap.begin_ns = row->busy[i].end_ns;
    }
    gap.end_ns = timeline->end_ns;
    gap.partition = TRACE_READ_NONE;
    return gap_add(gaps, scene, &gap);
}

enum error_code gaps_open(struct gaps *gaps, const struct trace_read *read, const struct timeline *timeline,
                          struct error *error)
{
    struct gaps_scene scene;
    memset(gaps, 0, sizeof *gaps);
    bool done = gaps_scene_open(&scene, read);
    for (unsigned i = 0; i < timeline->devices_count && done; i++) {
        done = device_gaps(gaps, &scene, timeline, i);
    }
    gaps_scene_close(&scene);
    if (!done) {
        gaps_close(gaps);
        return error_set(error, ERROR_SYSTEM, "no memory to attribute the gaps of %zu events", read->count);
    }
    CHECK(gaps->idle_ns == timeline_span_ns(timeline) - timeline_busy_ns(timeline));
    return ERROR_NONE;
}

void gaps_close(struct gaps *gaps)
{
    free(gaps->gaps);
    free(gaps->pieces);
    memset(gaps, 0, sizeof *gaps);
}

/* ---- names ---- */

static const struct {
    enum gaps_suspect suspect;
    const char *text;
} reasons[GAPS_REASONS] = {
    [GAPS_LAUNCH] = {GAPS_SUSPECT_LAUNCH, "submitted, the device had not begun"},
    [GAPS_COPY_IN] = {GAPS_SUSPECT_COPY, "copy to the device"},
    [GAPS_COPY_OUT] = {GAPS_SUSPECT_COPY, "copy from the device"},
    [GAPS_LOCK + TRACE_SPAN_OTHER] = {GAPS_SUSPECT_LOCK, "lock wait, the holder did something else"},
    [GAPS_LOCK + TRACE_SPAN_TRIM] = {GAPS_SUSPECT_LOCK_TRIM, "lock wait, the holder trimmed"},
    [GAPS_LOCK + TRACE_SPAN_FINALIZE] = {GAPS_SUSPECT_LOCK, "lock wait, the holder finalized"},
    [GAPS_LOCK + TRACE_SPAN_DISPATCH] = {GAPS_SUSPECT_LOCK, "lock wait, the holder dispatched"},
    [GAPS_LOCK + TRACE_SPAN_IO] = {GAPS_SUSPECT_LOCK, "lock wait, the holder did I/O"},
    [GAPS_BUSY + TRACE_SPAN_OTHER] = {GAPS_SUSPECT_BUSY, "coordinator busy with other things"},
    [GAPS_BUSY + TRACE_SPAN_TRIM] = {GAPS_SUSPECT_BUSY_TRIM, "coordinator busy trimming"},
    [GAPS_BUSY + TRACE_SPAN_FINALIZE] = {GAPS_SUSPECT_BUSY, "coordinator busy finalizing"},
    [GAPS_BUSY + TRACE_SPAN_DISPATCH] = {GAPS_SUSPECT_BUSY, "coordinator busy dispatching"},
    [GAPS_BUSY + TRACE_SPAN_IO] = {GAPS_SUSPECT_BUSY, "coordinator busy with I/O"},
    [GAPS_UNSENT] = {GAPS_SUSPECT_HANDOVER, "ready, a lane idle, nobody sent it"},
    [GAPS_UNTAKEN] = {GAPS_SUSPECT_HANDOVER, "posted to an idle worker that had not begun"},
    [GAPS_BEHIND] = {GAPS_SUSPECT_HANDOVER, "posted to a worker that did something else"},
    [GAPS_UNNOTICED] = {GAPS_SUSPECT_HANDOVER, "a task was done, nobody went on"},
    [GAPS_SYNTHESIS] = {GAPS_SUSPECT_SYNTHESIS, "its synthesis ran"},
    [GAPS_SYNTHESIS_BEHIND] = {GAPS_SUSPECT_SYNTHESIS, "its worker synthesized another"},
    [GAPS_SYNTHESIS_AHEAD] = {GAPS_SUSPECT_SYNTHESIS, "queued behind others in synthesis"},
    [GAPS_READ] = {GAPS_SUSPECT_WITNESS, "its witness was read"},
    [GAPS_GENERATE] = {GAPS_SUSPECT_WITNESS, "its witness was generated"},
    [GAPS_WITNESS_BEHIND] = {GAPS_SUSPECT_WITNESS, "its worker read another witness"},
    [GAPS_WITNESS_AHEAD] = {GAPS_SUSPECT_WITNESS, "queued behind other witnesses"},
    [GAPS_CIRCUIT] = {GAPS_SUSPECT_CIRCUIT, "a circuit was loaded"},
    [GAPS_MEMORY] = {GAPS_SUSPECT_MEMORY, "queued, no room in the memory budget"},
    [GAPS_NO_WORK] = {GAPS_SUSPECT_NO_WORK, "nothing was queued for it"},
};

static const struct {
    const char *text, *word;
} suspects[GAPS_SUSPECTS] = {
    [GAPS_SUSPECT_LOCK_TRIM] = {"trim under the lock", "lock_trim"},
    [GAPS_SUSPECT_LOCK] = {"lock contention", "lock"},
    [GAPS_SUSPECT_BUSY_TRIM] = {"trim on the coordinator", "coordinator_trim"},
    [GAPS_SUSPECT_BUSY] = {"coordinator busy", "coordinator"},
    [GAPS_SUSPECT_HANDOVER] = {"hand-over delay", "hand_over"},
    [GAPS_SUSPECT_SYNTHESIS] = {"synthesis", "synthesis"},
    [GAPS_SUSPECT_WITNESS] = {"witness input", "witness"},
    [GAPS_SUSPECT_CIRCUIT] = {"circuit load", "circuit"},
    [GAPS_SUSPECT_MEMORY] = {"memory budget", "memory"},
    [GAPS_SUSPECT_COPY] = {"copies", "copy"},
    [GAPS_SUSPECT_LAUNCH] = {"launch", "launch"},
    [GAPS_SUSPECT_NO_WORK] = {"no work", "no_work"},
};

enum gaps_suspect gaps_suspect_of(enum gaps_reason reason)
{
    CHECK(reason < GAPS_REASONS);
    return reasons[reason].suspect;
}

const char *gaps_reason_text(enum gaps_reason reason)
{
    CHECK(reason < GAPS_REASONS);
    return reasons[reason].text;
}

const char *gaps_suspect_text(enum gaps_suspect suspect)
{
    CHECK(suspect < GAPS_SUSPECTS);
    return suspects[suspect].text;
}

const char *gaps_suspect_word(enum gaps_suspect suspect)
{
    CHECK(suspect < GAPS_SUSPECTS);
    return suspects[suspect].word;
}

uint64_t gaps_reason_ns(const struct gaps *gaps, enum gaps_reason reason)
{
    uint64_t ns = 0;
    CHECK(reason < GAPS_REASONS);
    for (unsigned i = 0; i < TRACE_DEVICES_MAX; i++) {
        ns += gaps->ns[i][reason];
    }
    return ns;
}

uint64_t gaps_suspect_ns(const struct gaps *gaps, enum gaps_suspect suspect)
{
    uint64_t ns = 0;
    for (int reason = 0; reason < GAPS_REASONS; reason++) {
        ns += gaps_suspect_of(reason) == suspect ? gaps_reason_ns(gaps, reason) : 0;
    }
    return ns;
}
