/* core_internal.h - the tables of the pure core, shared by its sources (core, tracker, scheduler, residency)
 * only.
 *
 * Everything lies in the one block of memory given to core_init: struct core, then the arrays it points to.
 * Only scalars and indices follow `now_ns` and fill the arrays (no pointers), so that core_hash can read them
 * as words. Objects in the arrays are changed field by field, never assigned whole, so that padding stays
 * zero.
 *
 * Rank: what is more urgent is smaller, by priority, then deadline, then index, packed in a heap_key. */
#ifndef COORDINATOR_CORE_INTERNAL_H
#define COORDINATOR_CORE_INTERNAL_H

#include "conf/check.h"
#include "coordinator/core.h"
#include "coordinator/heap.h"
#include "coordinator/histogram.h"
#include "coordinator/timers.h"

enum {
    CORE_ENDS_PER_STEP = 64,  /* queued partitions that are ended, and jobs that are closed, in one step */
    CORE_TIMERS_PER_STEP = 16 /* timers served by one CORE_EVENT_TIMER */
};

/* Entered times are kept for the states before the end, and one for whichever end it was. */
enum { CORE_ENTERED_END = CORE_DONE, CORE_ENTERED = CORE_ENTERED_END + 1 };

struct core_partition {
    uint64_t entered_ns[CORE_ENTERED];
    uint64_t taken_ns; /* when it first got a slot */
    uint32_t job;
    uint32_t slot;          /* CORE_NONE unless it holds one */
    uint32_t returned_next; /* in its job's list of partitions that went back to queued */
    uint8_t state;
    uint8_t cause;
    uint8_t attempts; /* submissions so far; since the failed self-check, if cpu_only */
    uint8_t cpu_only; /* its self-check failed, or its circuit is for the CPU: to be proved on a CPU lane */
};
_Static_assert(sizeof(struct core_partition) <= 96, "a million partitions must stay small");

struct core_job {
    uint64_t deadline_ns;
    uint64_t generate_limit_ns;
    uint32_t circuit;
    uint32_t first; /* partition */
    uint32_t count;
    uint32_t cursor;   /* partitions from here on have not been taken yet, if queued */
    uint32_t returned; /* list, by rising index, of those before the cursor that are queued again */
    uint32_t queued;
    uint32_t ended;
    uint32_t done;
    uint32_t canceled;
    uint32_t generation;  /* of its bundle */
    uint32_t left, right; /* in its queue, a leftist heap */
    uint32_t ending_next;
    uint32_t closing_next;
    uint8_t spine; /* length of the right spine, for the leftist heap */
    uint8_t priority;
    uint8_t bundle;
    uint8_t generate;
    uint8_t in_queue;
    uint8_t end_cause; /* not CORE_CAUSE_NONE: partitions that have not reached a lane end with this */
    uint8_t bundling;
    uint8_t closed;
};

enum core_slot_state {
    CORE_SLOT_FREE,
    CORE_SLOT_HELD,      /* by a partition */
    CORE_SLOT_ABANDONED, /* its partition ended; an operation still uses its memory */
    CORE_SLOT_STRANDED   /* its partition went elsewhere; a silent lane may still use its memory */
};

struct core_slot {
    uint32_t partition; /* CORE_NONE unless held */
    uint32_t circuit;   /* unless free */
    uint32_t generation;
    uint32_t lane;  /* proving on it, or the one it last failed on; CORE_NONE */
    uint32_t next;  /* free list */
    uint8_t state;  /* enum core_slot_state */
    uint8_t answer; /* the enum core_event_kind that its operation will be answered with; CORE_EVENTS: none
                       runs */
    uint8_t unused[2];
};

enum core_lane_state {
    CORE_LANE_IDLE,
    CORE_LANE_BUSY,
    CORE_LANE_SILENT, /* out of service until it answers */
    CORE_LANE_LOST    /* out of service for good; it may still hold a slot */
};

struct core_lane {
    uint64_t time_limit_ns;
    uint32_t device;
    uint32_t slot; /* CORE_NONE unless a submission is unanswered */
    uint32_t generation;
    uint8_t state; /* enum core_lane_state */
    uint8_t fallback_only;
    uint8_t cpu;
    uint8_t unused;
};

struct core_device {
    uint64_t busy_ns;
    uint64_t busy_since_ns;
    uint32_t busy_lanes;
    uint32_t unused;
};

enum core_circuit_state {
    CORE_CIRCUIT_ABSENT,
    CORE_CIRCUIT_LOADING,
    CORE_CIRCUIT_RESIDENT,
    CORE_CIRCUIT_EVICTING,
    CORE_CIRCUIT_UNUSABLE
};

struct core_circuit {
    uint64_t resident_bytes;
    uint64_t slot_bytes;
    uint64_t used_sequence; /* when a slot last took it or gave it back, as a sequence number */
    uint32_t generation;
    uint32_t uses;      /* slots that are not free */
    uint32_t queues[2]; /* top job with queued partitions, by job.generate; CORE_NONE */
    uint32_t doomed_next;
    uint8_t state; /* enum core_circuit_state */
    uint8_t doom;  /* enum core_cause that ends whatever is queued for it; CORE_CAUSE_NONE: it may be used */
    uint8_t cpu_only;
    uint8_t unused;
};

struct core_list { /* of jobs or circuits, linked through one of their members */
    uint32_t head, tail;
};

struct core {
    struct core_partition *partitions;
    struct core_job *jobs;
    struct core_slot *slots;
    struct core_lane *lanes;
    struct core_device *devices;
    struct core_circuit *circuits;
    struct histogram *latency;
    uint32_t *deferred; /* slots set aside during one scheduler pass */
    struct core_effect *effects;
    struct timers timers;
    struct heap runnable[2]; /* circuits that are resident and have queued jobs, by job.generate */
    struct heap absent[2];   /* circuits that would have to be loaded first */
    struct heap ready[2]; /* slots whose partition is ready: for any lane but fallback ones; for CPU lanes */
    struct heap idle;     /* resident circuits that no slot uses, the first to evict on top */

    uint64_t now_ns; /* from here on: scalars only */
    uint64_t memory_bytes;
    uint64_t reserved_bytes;
    uint64_t peak_bytes;
    uint64_t idle_bytes;     /* of the circuits in `idle` */
    uint64_t evicting_bytes; /* of the circuits being evicted */
    uint64_t sequence;
    uint64_t late_answers;
    uint64_t retries;
    uint64_t self_check_failures;
    uint64_t loads;
    uint64_t evictions;
    uint64_t trims, trim_ns, trim_bytes;
    struct trim_policy trim;
    uint32_t trim_generation;
    uint32_t blocked; /* enum core_blocked */
    uint32_t jobs_max, partitions_max, slots_count, lanes_count, devices_count, circuits_count;
    uint32_t lookahead, generators_max, attempts_max;
    uint32_t jobs_count, partitions_count;
    uint32_t states[CORE_STATES];
    uint32_t causes[CORE_CAUSES];
    uint32_t resumed;
    uint32_t jobs_closed;
    uint32_t slots_held; /* not free */
    uint32_t slots_stranded;
    uint32_t slots_free; /* list */
    uint32_t ahead;      /* partitions from reading to ready that wait for an ordinary lane */
    uint32_t generators; /* witness commands that run */
    uint32_t loading, evicting;
    uint32_t lanes_usable[2]; /* in service: ordinary (not fallback); CPU */
    uint32_t lanes_idle[2];   /* of those, idle */
    uint32_t lanes_quarantined;
    struct core_list ending;  /* jobs whose queued partitions are being ended */
    struct core_list closing; /* jobs whose partitions have all ended */
    struct core_list doomed;  /* circuits whose queues are being emptied */
    uint32_t effects_head, effects_count, effects_capacity;
    uint8_t started, stopping, drained, no_device;
};

/* tests/sim builds the core with one of its rules broken, to see that the simulator notices: 1 ignores job
 * deadlines in the order, 2 keeps the slot of a silent lane that answers, 3 never evicts, 4 takes an answer
 * twice, 5 trims before it dispatches. */
#ifndef SIM_PLANTED_BUG
#define SIM_PLANTED_BUG 0
#endif

/* Whether a partition counts against the look-ahead: between reading and ready, but for retries on the CPU.
 */
static inline bool core_is_ahead(const struct core *core, const struct core_partition *partition)
{
    return partition->state >= CORE_READING && partition->state <= CORE_READY &&
           (!partition->cpu_only || core->circuits[core->jobs[partition->job].circuit].cpu_only);
}

static inline struct heap_key core_rank(const struct core_job *job, uint32_t index)
{
    uint64_t deadline_ns = SIM_PLANTED_BUG == 1 ? 0 : job->deadline_ns;
    return (struct heap_key){.high = (uint64_t)job->priority << 62 | deadline_ns >> 2,
                             .low = deadline_ns << 62 | index};
}

/* The next generation; 0 stands for "never asked". */
static inline void core_next(uint32_t *generation)
{
    if (++*generation == 0) {
        *generation = 1;
    }
}

/* Appends an effect with everything but its kind and index zero or none; nothing after DRAINED. The result
 * can be filled in until the next call. */
struct core_effect *core_emit(struct core *core, enum core_effect_kind kind, uint32_t index);

/* Timer ids: jobs first, then lanes, then slots. */
static inline uint32_t core_timer_of_lane(const struct core *core, uint32_t lane)
{
    return core->jobs_max + lane;
}

static inline uint32_t core_timer_of_slot(const struct core *core, uint32_t slot)
{
    return core->jobs_max + core->lanes_count + slot;
}

#endif
