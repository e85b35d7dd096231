#include "coordinator/gaps_scene.h"

#include "coordinator/core.h"
#include "cuda/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- partitions ---- */

static int compare_references(const void *left_reference, const void *right_reference)
{
    const struct gaps_reference *left = left_reference, *right = right_reference;
    if (left->partition != right->partition) {
        return left->partition < right->partition ? -1 : 1;
    }
    return left->event < right->event ? -1 : left->event > right->event;
}

static int compare_admissions(const void *left_admission, const void *right_admission)
{
    const struct gaps_admission *left = left_admission, *right = right_admission;
    if (left->first != right->first) {
        return left->first < right->first ? -1 : 1;
    }
    return left->time_ns < right->time_ns ? -1 : left->time_ns > right->time_ns;
}

static bool is_admission(const struct trace_event *event)
{
    return event->kind == TRACE_STATE && trace_read_state_count(event) > 1;
}

static bool arrange_partitions(struct gaps_scene *scene)
{
    const struct trace_read *read = scene->read;
    size_t admissions = 0, references = 0;
    for (size_t i = 0; i < read->count; i++) {
        admissions += is_admission(&read->events[i]) ? 1 : 0;
        references += trace_read_partition(&read->events[i]) != TRACE_READ_NONE ? 1 : 0;
    }
    scene->references = calloc(references + 1, sizeof *scene->references);
    scene->admissions = calloc(admissions + 1, sizeof *scene->admissions);
    if (scene->references == NULL || scene->admissions == NULL) {
        return false;
    }
    for (size_t i = 0; i < read->count; i++) {
        const struct trace_event *event = &read->events[i];
        uint32_t partition = trace_read_partition(event);
        if (is_admission(event)) {
            scene->admissions[scene->admissions_count++] =
                (struct gaps_admission){event->index, trace_read_state_count(event), event->time_ns};
        } else if (partition != TRACE_READ_NONE) {
            scene->references[scene->references_count++] = (struct gaps_reference){partition, i};
        }
    }
    qsort(scene->references, scene->references_count, sizeof *scene->references, compare_references);
    qsort(scene->admissions, scene->admissions_count, sizeof *scene->admissions, compare_admissions);
    return true;
}

size_t gaps_scene_history(const struct gaps_scene *scene, uint32_t partition, uint64_t time_ns,
                          const struct trace_event **events, size_t max)
{
    const struct trace_event *all = scene->read->events;
    size_t low = 0,
           high = scene->references_count; /* high: the first that is later or of a later partition */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gaps_reference *reference = &scene->references[middle];
        if (reference->partition < partition ||
            (reference->partition == partition && all[reference->event].time_ns <= time_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t count = 0;
    while (count < max && count < high && scene->references[high - 1 - count].partition == partition) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        events[i] = &all[scene->references[high - count + i].event];
    }
    return count;
}

uint64_t gaps_scene_admitted(const struct gaps_scene *scene, uint32_t partition)
{
    size_t low = 0, high = scene->admissions_count; /* high: the first that begins behind the partition */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scene->admissions[middle].first <= partition) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (high == 0 || partition - scene->admissions[high - 1].first >= scene->admissions[high - 1].count) {
        return UINT64_MAX;
    }
    return scene->admissions[high - 1].time_ns;
}

/* ---- the lock ---- */

/* A trim on a thread that holds the lock is what the holder does, also where the hold itself says less. */
static bool add_trims_of_holders(struct gaps_scene *scene)
{
    const struct trace_read *read = scene->read;
    struct gaps_intervals held = {.list = NULL}, trims = {.list = NULL};
    bool added = true;
    for (size_t i = 0; i < read->count && added; i++) {
        const struct trace_event *event = &read->events[i];
        struct gaps_interval interval = {
            .begin_ns = event->value, .end_ns = event->time_ns, .key = event->lane};
        if (event->kind == TRACE_HOLD) {
            added = gaps_intervals_add(&held, &interval);
        } else if (event->kind == TRACE_TRIM && event->detail != TRACE_THREAD_COORDINATOR) {
            interval.key = event->detail;
            added = gaps_intervals_add(&trims, &interval);
        }
    }
    gaps_intervals_build(&held);
    gaps_intervals_build(&trims);
    for (size_t i = 0; i < trims.count && added; i++) {
        const struct gaps_interval *trim = &trims.list[i];
        size_t at = gaps_intervals_find(&held, trim->key, trim->begin_ns);
        at -= at > 0 && held.list[at - 1].key == trim->key ? 1 : 0; /* it may reach into the trim */
        for (; at < held.count && added; at++) {
            const struct gaps_interval *hold = &held.list[at];
            if (hold->key != trim->key || hold->begin_ns >= trim->end_ns) {
                break;
            }
            uint64_t begin = hold->begin_ns > trim->begin_ns ? hold->begin_ns : trim->begin_ns;
            uint64_t end = hold->end_ns < trim->end_ns ? hold->end_ns : trim->end_ns;
            added = gaps_steps_add(&scene->holds, TRACE_SPAN_TRIM, trim->key, begin, end);
        }
    }
    gaps_intervals_free(&held);
    gaps_intervals_free(&trims);
    return added;
}

/* ---- the lanes ---- */

/* A lane is taken from a submission to the end of the last stage that follows on it before the next
 * submission. Events come by time, so a lane's current submission is all that must be remembered. */
static bool add_taken(struct gaps_scene *scene)
{
    struct lane {
        uint64_t from, until;
    } *lanes = calloc(UINT16_MAX + 1, sizeof *lanes);
    const struct trace_read *read = scene->read;
    bool added = lanes != NULL;
    for (size_t i = 0; i < read->count && added; i++) {
        const struct trace_event *event = &read->events[i];
        if (event->kind != TRACE_SUBMIT && event->kind != TRACE_STAGE) {
            continue;
        }
        struct lane *lane = &lanes[event->lane];
        struct gaps_steps *steps = &scene->lanes[trace_read_device(read, event->lane)];
        if (event->kind == TRACE_SUBMIT) {
            added = gaps_steps_add(steps, GAPS_LANES_TAKEN, event->lane, lane->from, lane->until);
            *lane = (struct lane){event->time_ns, event->time_ns};
        } else {
            lane->from = lane->until == 0 ? event->value : lane->from; /* its submission was lost */
            lane->until = event->time_ns;
        }
    }
    for (unsigned number = 0; number <= UINT16_MAX && added; number++) {
        if (lanes[number].until > lanes[number].from) {
            added = gaps_steps_add(&scene->lanes[trace_read_device(read, (uint16_t)number)], GAPS_LANES_TAKEN,
                                   number, lanes[number].from, lanes[number].until);
        }
    }
    free(lanes);
    return added;
}

/* ---- everything else ---- */

static bool add_task(struct gaps_scene *scene, const struct trace_event *event)
{
    const struct gaps_interval interval = {.begin_ns = event->value,
                                           .end_ns = event->time_ns,
                                           .key = event->lane,
                                           .partition = trace_read_partition(event),
                                           .detail = event->detail};
    bool added = true;
    if (event->detail == TRACE_TASK_SYNTHESIZE) {
        added = gaps_steps_add(&scene->work, GAPS_WORK_SYNTHESIS, event->index, event->value, event->time_ns);
    } else if (event->detail == TRACE_TASK_LOAD) {
        added = gaps_steps_add(&scene->work, GAPS_WORK_LOAD, event->index, event->value, event->time_ns);
    }
    return added && (event->lane == TRACE_THREAD_NONE || gaps_intervals_add(&scene->tasks, &interval));
}

static bool add_event(struct gaps_scene *scene, const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_SPAN:
        return gaps_steps_add(&scene->spans, event->detail, 0, event->value, event->time_ns);
    case TRACE_TRIM:
        return event->detail != TRACE_THREAD_COORDINATOR ||
               gaps_steps_add(&scene->spans, TRACE_SPAN_TRIM, 0, event->value, event->time_ns);
    case TRACE_HOLD:
        return gaps_steps_add(&scene->holds, event->detail, event->lane, event->value, event->time_ns);
    case TRACE_BLOCKED:
        return gaps_steps_add(&scene->blocked, event->detail, 0, event->value, event->time_ns);
    case TRACE_CIRCUIT:
        return event->detail == 0 ||
               gaps_steps_add(&scene->work, GAPS_WORK_LOAD, event->index, event->value, event->time_ns);
    case TRACE_TASK:
        return add_task(scene, event);
    case TRACE_LOCK:
        return gaps_intervals_add(&scene->waits, &(struct gaps_interval){.begin_ns = event->value,
                                                                         .end_ns = event->time_ns,
                                                                         .key = event->lane,
                                                                         .detail = event->detail});
    case TRACE_STAGE:
        if (event->detail == DEVICE_STAGE_H2D || event->detail == DEVICE_STAGE_D2H) {
            bool in = event->detail == DEVICE_STAGE_H2D;
            return gaps_steps_add(&scene->lanes[trace_read_device(scene->read, event->lane)],
                                  in ? GAPS_LANES_COPY_IN : GAPS_LANES_COPY_OUT, event->lane, event->value,
                                  event->time_ns);
        }
        return true;
    default:
        return true;
    }
}

/* From each state of a partition to its next one. */
static bool add_states(struct gaps_scene *scene)
{
    const struct trace_event *before = NULL;
    for (size_t i = 0; i < scene->references_count; i++) {
        const struct trace_event *event = &scene->read->events[scene->references[i].event];
        if (event->kind != TRACE_STATE) {
            continue;
        }
        if (before != NULL && before->index == event->index) {
            bool preparing = before->detail == CORE_SYNTHESIZING;
            if ((preparing || before->detail == CORE_READING || before->detail == CORE_GENERATING) &&
                !gaps_steps_add(&scene->work, preparing ? GAPS_WORK_PREPARING : GAPS_WORK_WITNESS,
                                event->index, before->time_ns, event->time_ns)) {
                return false;
            }
        }
        before = event;
    }
    return true;
}

bool gaps_scene_open(struct gaps_scene *scene, const struct trace_read *read)
{
    memset(scene, 0, sizeof *scene);
    scene->read = read;
    for (size_t i = 0; i < read->count; i++) {
        if (!add_event(scene, &read->events[i])) {
            return false;
        }
    }
    if (!arrange_partitions(scene) || !add_states(scene) || !add_taken(scene) ||
        !add_trims_of_holders(scene)) {
        return false;
    }
    gaps_intervals_build(&scene->waits);
    gaps_intervals_build(&scene->tasks);
    bool built = gaps_steps_build(&scene->spans) && gaps_steps_build(&scene->holds) &&
                 gaps_steps_build(&scene->blocked) && gaps_steps_build(&scene->work);
    for (unsigned i = 0; i < read->header.devices_count && built; i++) {
        built = gaps_steps_build(&scene->lanes[i]);
    }
    return built;
}

void gaps_scene_close(struct gaps_scene *scene)
{
    free(scene->references);
    free(scene->admissions);
    gaps_steps_free(&scene->spans);
    gaps_steps_free(&scene->holds);
    gaps_steps_free(&scene->blocked);
    gaps_steps_free(&scene->work);
    for (unsigned i = 0; i < TRACE_DEVICES_MAX; i++) {
        gaps_steps_free(&scene->lanes[i]);
    }
    gaps_intervals_free(&scene->waits);
    gaps_intervals_free(&scene->tasks);
    memset(scene, 0, sizeof *scene);
}
