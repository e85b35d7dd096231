/* gaps_scene.h - a trace arranged for questions about one moment: who did what, and where a partition was.
 *
 * Part of gaps.c, which asks. Built once from the trace and read-only then; refers to the trace. */
#ifndef COORDINATOR_GAPS_SCENE_H
#define COORDINATOR_GAPS_SCENE_H

#include "coordinator/gaps.h"
#include "coordinator/gaps_steps.h"

#include <stdbool.h>

enum {                      /* categories of gaps_scene.work */
       GAPS_WORK_SYNTHESIS, /* tasks that run */
       GAPS_WORK_WITNESS,   /* partitions in the states generating and reading */
       GAPS_WORK_PREPARING, /* partitions in the state synthesizing */
       GAPS_WORK_LOAD
};

enum { /* categories of gaps_scene.lanes */
       GAPS_LANES_TAKEN,
       GAPS_LANES_COPY_IN,
       GAPS_LANES_COPY_OUT
};

/* Events that are about one partition, by partition and time. */
struct gaps_reference {
    uint32_t partition;
    size_t event;
};

/* Partitions that were queued with one event. */
struct gaps_admission {
    uint32_t first, count;
    uint64_t time_ns;
};

struct gaps_scene {
    const struct trace_read *read;
    struct gaps_reference *references;
    size_t references_count;
    struct gaps_admission *admissions; /* by first */
    size_t admissions_count;
    struct gaps_steps spans;   /* enum trace_span of the coordinator */
    struct gaps_steps holds;   /* enum trace_span of who holds the lock */
    struct gaps_steps blocked; /* enum trace_blocked */
    struct gaps_steps work;
    struct gaps_steps lanes[TRACE_DEVICES_MAX];
    struct gaps_intervals waits; /* for the lock, by thread */
    struct gaps_intervals tasks; /* by thread */
};

/* False: no memory. Then, too, gaps_scene_close frees what there is. */
bool gaps_scene_open(struct gaps_scene *scene, const struct trace_read *read);

void gaps_scene_close(struct gaps_scene *scene);

/* The last events of a partition up to time_ns, the latest last: fills at most `max`, returns how many. */
size_t gaps_scene_history(const struct gaps_scene *scene, uint32_t partition, uint64_t time_ns,
                          const struct trace_event **events, size_t max);

/* When the partition was queued as one of many; UINT64_MAX if it wasn't. */
uint64_t gaps_scene_admitted(const struct gaps_scene *scene, uint32_t partition);

#endif
