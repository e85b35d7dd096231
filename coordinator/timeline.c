#include "coordinator/timeline.h"

#include "conf/check.h"
#include "coordinator/core.h"
#include "cuda/device.h"

#include <stdlib.h>
#include <string.h>

static bool computes(const struct trace_event *event)
{
    return event->kind == TRACE_STAGE && event->detail >= DEVICE_STAGE_EVALUATE &&
           event->detail <= DEVICE_STAGE_MSM && event->value < event->time_ns;
}

/* The backlog's time. A stage that began before anything was queued (its event was lost) begins it, too. */
static void bounds(struct timeline *timeline, const struct trace_read *read)
{
    uint64_t begin = UINT64_MAX, end = 0, last_state = 0;
    for (size_t i = 0; i < read->count; i++) {
        const struct trace_event *event = &read->events[i];
        uint64_t from = UINT64_MAX;
        if (event->kind == TRACE_STATE) {
            last_state = event->time_ns;
            from = event->detail == CORE_QUEUED ? event->time_ns : UINT64_MAX;
        } else if (event->kind == TRACE_STAGE) {
            from = event->value;
            end = event->time_ns;
        }
        begin = from < begin ? from : begin;
    }
    end = end != 0 ? end : last_state; /* nothing was computed: all that time was idle */
    timeline->begin_ns = begin <= end ? begin : read->header.start_ns;
    timeline->end_ns = begin <= end ? end : read->header.start_ns;
}

static int compare(const void *left_busy, const void *right_busy)
{
    const struct timeline_busy *left = left_busy, *right = right_busy;
    if (left->begin_ns != right->begin_ns) {
        return left->begin_ns < right->begin_ns ? -1 : 1;
    }
    return left->partition < right->partition ? -1 : left->partition > right->partition;
}

/* Joins what overlaps or touches. */
static void join(struct timeline_device *device)
{
    qsort(device->busy, device->count, sizeof *device->busy, compare);
    size_t joined = 0;
    for (size_t i = 0; i < device->count; i++) {
        struct timeline_busy *last = joined > 0 ? &device->busy[joined - 1] : NULL;
        if (last != NULL && device->busy[i].begin_ns <= last->end_ns) {
            last->end_ns = device->busy[i].end_ns > last->end_ns ? device->busy[i].end_ns : last->end_ns;
        } else {
            device->busy[joined++] = device->busy[i];
        }
    }
    device->count = joined;
}

static void fill_buckets(const struct timeline *timeline, struct timeline_device *device)
{
    for (size_t i = 0; i < device->count; i++) {
        uint64_t at = device->busy[i].begin_ns - timeline->begin_ns;
        uint64_t end = device->busy[i].end_ns - timeline->begin_ns;
        device->busy_ns += end - at;
        while (at < end) {
            size_t bucket = (size_t)(at / timeline->bucket_ns);
            uint64_t bucket_end = (at / timeline->bucket_ns + 1) * timeline->bucket_ns;
            uint64_t until = bucket_end < end ? bucket_end : end;
            CHECK(bucket < timeline->buckets_count);
            device->buckets[bucket] += until - at;
            at = until;
        }
    }
}

static void choose_buckets(struct timeline *timeline, uint64_t wanted_ns)
{
    uint64_t span = timeline->end_ns - timeline->begin_ns;
    /* A timeline coarser than the whole is as good as one bucket, and keeps the products below 64 bits. */
    timeline->bucket_ns = wanted_ns < span || span == 0 ? wanted_ns : span;
    CHECK(timeline->bucket_ns > 0);
    uint64_t least = span / TIMELINE_BUCKETS_MAX + 1;
    if (timeline->bucket_ns < least) {
        timeline->bucket_ns *= (least + timeline->bucket_ns - 1) / timeline->bucket_ns;
    }
    timeline->buckets_count = (size_t)((span + timeline->bucket_ns - 1) / timeline->bucket_ns);
    CHECK(timeline->buckets_count <= TIMELINE_BUCKETS_MAX);
}

enum error_code timeline_open(struct timeline *timeline, const struct trace_read *read, struct error *error)
{
    memset(timeline, 0, sizeof *timeline);
    bounds(timeline, read);
    choose_buckets(timeline, read->header.timeline_ns);
    timeline->devices_count = read->header.devices_count;
    size_t counts[TRACE_DEVICES_MAX] = {0}, stages = 0;
    for (size_t i = 0; i < read->count; i++) {
        if (computes(&read->events[i])) {
            counts[trace_read_device(read, read->events[i].lane)]++;
            stages++;
        }
    }
    size_t buckets = timeline->buckets_count * timeline->devices_count;
    timeline->busy_memory = calloc(stages + 1, sizeof *timeline->busy_memory);
    timeline->buckets_memory = calloc(buckets + 1, sizeof *timeline->buckets_memory);
    if (timeline->busy_memory == NULL || timeline->buckets_memory == NULL) {
        timeline_close(timeline);
        return error_set(error, ERROR_SYSTEM, "no memory for a timeline of %zu stages and %zu buckets",
                         stages, buckets);
    }
    struct timeline_busy *next = timeline->busy_memory;
    for (unsigned i = 0; i < timeline->devices_count; i++) {
        timeline->devices[i].busy = next;
        timeline->devices[i].buckets = timeline->buckets_memory + i * timeline->buckets_count;
        next += counts[i];
    }
    for (size_t i = 0; i < read->count; i++) {
        const struct trace_event *event = &read->events[i];
        if (computes(event)) {
            struct timeline_device *device = &timeline->devices[trace_read_device(read, event->lane)];
            device->busy[device->count++] =
                (struct timeline_busy){event->value, event->time_ns, event->index};
        }
    }
    for (unsigned i = 0; i < timeline->devices_count; i++) {
        join(&timeline->devices[i]);
        fill_buckets(timeline, &timeline->devices[i]);
    }
    return ERROR_NONE;
}

void timeline_close(struct timeline *timeline)
{
    free(timeline->busy_memory);
    free(timeline->buckets_memory);
    memset(timeline, 0, sizeof *timeline);
}

uint64_t timeline_bucket_width(const struct timeline *timeline, size_t bucket)
{
    CHECK(bucket < timeline->buckets_count);
    uint64_t rest = timeline->end_ns - timeline->begin_ns - bucket * timeline->bucket_ns;
    return rest < timeline->bucket_ns ? rest : timeline->bucket_ns;
}

uint64_t timeline_busy_ns(const struct timeline *timeline)
{
    uint64_t busy = 0;
    for (unsigned i = 0; i < timeline->devices_count; i++) {
        busy += timeline->devices[i].busy_ns;
    }
    return busy;
}

uint64_t timeline_span_ns(const struct timeline *timeline)
{
    return (timeline->end_ns - timeline->begin_ns) * timeline->devices_count;
}
