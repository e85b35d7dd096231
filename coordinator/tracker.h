/* tracker.h - the tables of partitions, jobs and slots, and every change of a partition's state.
 *
 * Part of the pure core (core_internal.h): its owner calls it, inside core_step. No lock, no clock; O(1) or
 * O(log n) unless said otherwise. What may follow what is a table, moves[state][event]; anything else aborts.
 */
#ifndef COORDINATOR_TRACKER_H
#define COORDINATOR_TRACKER_H

#include "coordinator/core_internal.h"

enum tracker_event {                     /* what can happen to a partition */
                     TRACKER_GENERATE,   /* a slot was given, its witness command starts */
                     TRACKER_READ,       /* a slot was given or the witness command is done; reading starts */
                     TRACKER_SYNTHESIZE, /* read; synthesis starts */
                     TRACKER_PREPARED,   /* synthesized: waits for a lane */
                     TRACKER_SUBMIT,     /* on a lane */
                     TRACKER_RETRY,      /* the lane or the self-check failed: waits for a lane again */
                     TRACKER_RETURN,     /* the lane fell silent: from the start, in another slot */
                     TRACKER_FINALIZE,   /* proved */
                     TRACKER_WRITE,      /* finalized */
                     TRACKER_COMPLETE,   /* durable */
                     TRACKER_RESUME,     /* done by an earlier run */
                     TRACKER_FAIL,
                     TRACKER_CANCEL,
                     TRACKER_EVENTS
};

/* Adds a job and its queued partitions; O(partitions of the job). */
void tracker_admit(struct core *core, const struct core_job_request *request);

/* A queued partition was done by an earlier run; before START. */
void tracker_resume(struct core *core, uint32_t partition);

/* Applies the table; keeps counts and entered times. */
void tracker_move(struct core *core, uint32_t partition, enum tracker_event event);

/* Takes the job's next queued partition, by rising index, out of its queue. */
uint32_t tracker_take_queued(struct core *core, uint32_t job);

/* Gives the partition a free slot; memory must have been made (residency_make_room). */
uint32_t tracker_take_slot(struct core *core, uint32_t partition);

/* A slot that nothing uses any more goes back; its memory, its use of the circuit. */
void tracker_release_slot(struct core *core, uint32_t slot);

/* Starts the slot's next operation and expects `answer`. */
void tracker_begin(struct core *core, uint32_t slot, enum core_effect_kind effect,
                   enum core_event_kind answer);

/* A partition without a slot ends: done, canceled (cause STOPPED) or failed (any other). */
void tracker_end(struct core *core, uint32_t partition, enum core_cause cause);

/* A partition that holds a slot ends. The slot is released unless an operation still uses it: then it is
 * abandoned. */
void tracker_end_held(struct core *core, uint32_t slot, enum core_cause cause);

/* Ends, with cause, the partitions of a job (CORE_NONE: of all) between generating and ready; O(slots). */
void tracker_sweep(struct core *core, uint32_t job, enum core_cause cause);

/* The job's queued partitions are to end with cause, a bounded number each step. Nothing happens if it
 * already ends. */
void tracker_end_job(struct core *core, uint32_t job, enum core_cause cause);

/* The slot's partition goes back to queued, or ends if it must not; the slot stays out, stranded. */
void tracker_strand(struct core *core, uint32_t slot);

/* Why this partition, whose submission or self-check failed, must not wait for a lane again; CORE_CAUSE_NONE
 * if it may. */
enum core_cause tracker_bar(const struct core *core, uint32_t partition);

/* Ends queued partitions of ending jobs and closes jobs, at most CORE_ENDS_PER_STEP of both. */
void tracker_pump(struct core *core);

/* The job's bundle is written (or not, with another code): it closes. */
void tracker_bundled(struct core *core, uint32_t job, enum error_code code);

/* Whether tracker_pump has more to do. */
bool tracker_pending(const struct core *core);

#endif
