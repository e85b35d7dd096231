/* timeline.h - when each device was busy, exactly.
 *
 * A device is busy while at least one of its lanes computes: is in a stage from evaluate to msm. Copies in
 * and out occupy a lane and leave the device idle. All of that is taken over the backlog's time: from the
 * first partition that was queued to the end of the last stage of any device. Nanoseconds are whole numbers,
 * so that busy and idle time add up to the backlog's time, and a bucket's busy time never exceeds its width.
 *
 * Owns its arrays, from malloc; keeps no pointer into the trace. Cost: O(n log n) time and O(n) memory in the
 * stages, and TIMELINE_BUCKETS_MAX buckets a device at most. */
#ifndef COORDINATOR_TIMELINE_H
#define COORDINATOR_TIMELINE_H

#include "conf/error.h"
#include "coordinator/trace_read.h"

enum { TIMELINE_BUCKETS_MAX = 1 << 16 };

struct timeline_busy {
    uint64_t begin_ns, end_ns;
    uint32_t partition; /* whose computing began it */
};

struct timeline_device {
    struct timeline_busy *busy; /* by time, with idle time between any two */
    size_t count;
    uint64_t busy_ns;
    uint64_t *buckets; /* busy nanoseconds in each */
};

struct timeline {
    uint64_t begin_ns, end_ns; /* the backlog's time; equal if there was none */
    uint64_t bucket_ns;   /* the trace's timeline_ns, or a multiple that needs no more buckets than allowed */
    size_t buckets_count; /* the last one may reach beyond end_ns */
    unsigned devices_count;
    struct timeline_device devices[TRACE_DEVICES_MAX];
    uint64_t *buckets_memory;
    struct timeline_busy *busy_memory;
};

/* ERROR_SYSTEM: no memory; then there is nothing to close. */
enum error_code ERROR_MUST_USE timeline_open(struct timeline *timeline, const struct trace_read *read,
                                             struct error *error);

void timeline_close(struct timeline *timeline);

/* Width of a bucket within the backlog's time: less than bucket_ns only for the last. */
uint64_t timeline_bucket_width(const struct timeline *timeline, size_t bucket);

/* Over all devices: busy time, and devices times the backlog's time. */
uint64_t timeline_busy_ns(const struct timeline *timeline);
uint64_t timeline_span_ns(const struct timeline *timeline);

#endif
