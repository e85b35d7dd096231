/* scheduler.h - which queued partition starts next, and which ready one goes to which lane.
 *
 * Part of the pure core (core_internal.h). Queued jobs lie in one leftist heap for each circuit and kind
 * (with or without a witness command), ordered by rank: priority, deadline, admission. The circuits
 * themselves lie in heaps by the rank of their best job, so that the best partition that can start, and the
 * best that needs a load first, are found in O(1) and kept in O(log n). */
#ifndef COORDINATOR_SCHEDULER_H
#define COORDINATOR_SCHEDULER_H

#include "coordinator/core_internal.h"

/* A job has queued partitions (again): into its circuit's queue, unless it is there. */
void scheduler_queue(struct core *core, uint32_t job);

/* The circuit's queues or its state have changed: places it among runnable or absent ones; O(log n),
 * amortized over the jobs that left a queue from its middle. */
void scheduler_refresh(struct core *core, uint32_t circuit);

/* The slot's partition is ready and waits for a lane; or does so no more. */
void scheduler_ready(struct core *core, uint32_t slot);
void scheduler_unready(struct core *core, uint32_t slot);

/* Whatever is queued for the circuit ends with cause, a bounded number each step; nothing is started for it
 * again. */
void scheduler_doom(struct core *core, uint32_t circuit, enum core_cause cause);
void scheduler_doom_all(struct core *core, enum core_cause cause);

/* Ends jobs of doomed circuits: a bounded number. */
void scheduler_pump(struct core *core);

/* Submits ready partitions to idle lanes, then starts queued ones, as far as limits and memory let it. */
void scheduler_run(struct core *core);

/* A lane's submission is over; a lane leaves service, with or without hope to come back; a silent one comes
 * back. */
void scheduler_lane_free(struct core *core, uint32_t lane);
void scheduler_lane_quarantine(struct core *core, uint32_t lane, enum core_lane_state state);
void scheduler_lane_restore(struct core *core, uint32_t lane);

/* After lanes left service: ends what no lane can take any more. */
void scheduler_lanes_check(struct core *core);

#endif
