/* core.h - the pure core: every decision uzk takes about jobs, partitions, lanes, circuits and memory.
 *
 * The core owns plain data in memory that the caller gives. The shell turns what happens into events and
 * feeds them to core_step one at a time; the core changes its state and queues effects, which the shell takes
 * with core_effect_take and carries out. The core reads no clock (`now_ns` is an argument and never
 * decreases), calls no system function, allocates nothing, uses no floating point, and breaks every tie by
 * sequence number, so that equal histories of events give equal states: core_hash proves it. One thread owns
 * a core.
 *
 * Life of a partition: queued, generating (only with a witness command), reading, synthesizing, ready,
 * proving, finalizing, writing, then done, failed or canceled. From reading (generating) until its end it
 * holds one slot: a buffer set with room for its witness, its result and its output text, counted against the
 * memory budget.
 *
 * Generations: each operation that the core starts for a slot, lane, circuit or job carries a generation that
 * the event which answers it must repeat. An answer with an older generation is late: counted and ignored.
 * One that the core never asked for aborts. Submissions carry the generation of their lane, all other
 * operations of a slot the slot's.
 *
 * Order: the more urgent job first (priority, then deadline, then admission); within a job by rising
 * partition. Only while a circuit loads, or while as many witness commands run as may, do less urgent
 * partitions overtake; when memory is short for the most urgent one, the others wait too, so that it cannot
 * starve.
 *
 * Silent lanes: a submission that outlasts its lane's limit is given up. The lane is out of service and its
 * slot, whose memory the device may still use, stays out with it until the answer comes after all; the
 * partition begins again in another slot. If silent lanes hold what queued partitions need and nothing else
 * is left to wait for, those fail with CORE_CAUSE_DEVICE.
 *
 * Trims: the core is told what was freed and when memory is short, and asks for a trim as its policy says
 * (trim_policy.h), as the last effect of a step but for evictions at the very end: nothing
 * that can go on waits for one. Once the run stops or
 * every job is closed none begins any more, but DRAINED waits for the one that runs.
 *
 * Cost: core_step is O(log n) in the number of partitions and jobs, whatever is queued, plus O(slots + lanes
 * + circuits) when a deadline passes, lanes are lost or the run stops. ADMIT is linear in the job's
 * partitions. Ends of many partitions at once are spread over steps: core_deadline_ns then asks for a TIMER
 * at once. */
#ifndef COORDINATOR_CORE_H
#define COORDINATOR_CORE_H

#include "conf/error.h"
#include "coordinator/trim_policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CORE_NONE = UINT32_MAX >> 8 }; /* no partition, slot, lane, ...: indices fit in 24 bits */
#define CORE_NEVER UINT64_MAX         /* no deadline */

enum core_state { /* of a partition */
                  CORE_QUEUED,
                  CORE_GENERATING,
                  CORE_READING,
                  CORE_SYNTHESIZING,
                  CORE_READY,
                  CORE_PROVING,
                  CORE_FINALIZING,
                  CORE_WRITING,
                  CORE_DONE,
                  CORE_FAILED,
                  CORE_CANCELED,
                  CORE_STATES
};

enum core_cause { /* why a partition did not end as done */
                  CORE_CAUSE_NONE,
                  CORE_CAUSE_CIRCUIT,    /* its circuit could not be loaded */
                  CORE_CAUSE_GENERATE,   /* the witness command failed */
                  CORE_CAUSE_TIMEOUT,    /* the witness command ran too long */
                  CORE_CAUSE_READ,       /* the witness could not be read */
                  CORE_CAUSE_WITNESS,    /* the witness is not one of this circuit */
                  CORE_CAUSE_DEVICE,     /* devices failed as often as is allowed, or a silent one holds the
                                            memory it needs */
                  CORE_CAUSE_NO_DEVICE,  /* no usable lane is left */
                  CORE_CAUSE_SELF_CHECK, /* the proof did not verify, twice, or once without a CPU lane to try
                                            again */
                  CORE_CAUSE_WRITE,      /* the output could not be made or written */
                  CORE_CAUSE_DEADLINE,   /* the job's deadline passed before it was on a lane */
                  CORE_CAUSE_MEMORY,     /* circuit and one slot exceed the memory budget */
                  CORE_CAUSE_STOPPED,    /* the run was stopped */
                  CORE_CAUSES
};

/* What the shell tells the core. `code` ERROR_NONE means that the operation succeeded. */
enum core_event_kind {
    CORE_EVENT_ADMIT,     /* a job: see struct core_job_request; its partitions get the next indices */
    CORE_EVENT_RESUMED,   /* partition: already done by an earlier run; right after its ADMIT, before START */
    CORE_EVENT_START,     /* all jobs are known: begin */
    CORE_EVENT_LOADED,    /* circuit, generation, code, cpu_only */
    CORE_EVENT_EVICTED,   /* circuit, generation */
    CORE_EVENT_GENERATED, /* slot, generation, code */
    CORE_EVENT_READ,      /* slot, generation, code */
    CORE_EVENT_SYNTHESIZED, /* slot, generation, code */
    CORE_EVENT_PROVED,      /* lane, generation, code, sticky */
    CORE_EVENT_FINALIZED, /* slot, generation, code; ERROR_PROOF: the self-check failed, else CORE_CAUSE_WRITE
                           */
    CORE_EVENT_WRITTEN,   /* slot, generation, code: files and journal record are durable */
    CORE_EVENT_BUNDLED,   /* job, generation, code */
    CORE_EVENT_TIMER,     /* the time asked for with core_deadline_ns has come; spurious ones are harmless.
                             Deadlines     are looked at only here, so feed what has completed before it */
    CORE_EVENT_FREED,     /* bytes: went back to the allocator, or to the pool, since the last one */
    CORE_EVENT_PRESSURE,  /* the system says that memory is short */
    CORE_EVENT_TRIMMED,   /* generation, bytes, ns: so much went back to the system and it took so long */
    CORE_EVENT_STOP,      /* finish what is on a lane or later, cancel the rest */
    CORE_EVENTS
};

struct core_job_request {
    uint32_t circuit;
    uint32_t partitions; /* at least 1 */
    uint8_t priority;    /* 0 is the most urgent, below CORE_PRIORITIES */
    bool bundle;
    bool generate;              /* a witness command makes the witnesses */
    uint64_t deadline_ns;       /* absolute, or CORE_NEVER */
    uint64_t generate_limit_ns; /* duration of one witness command, or CORE_NEVER */
};
enum { CORE_PRIORITIES = 4 };

struct core_event {
    enum core_event_kind kind;
    uint32_t index; /* of the circuit, slot, lane, job or partition that the kind names */
    uint32_t generation;
    enum error_code code;
    bool sticky;
    bool cpu_only; /* LOADED: some device has no room for the circuit, so CPU lanes alone prove it */
    uint64_t bytes, ns;
    struct core_job_request job; /* CORE_EVENT_ADMIT */
};

/* What the core asks the shell to do. */
enum core_effect_kind {
    CORE_EFFECT_LOAD,       /* circuit: open, check, derive, attach to devices; answer LOADED */
    CORE_EFFECT_EVICT,      /* circuit: detach and free; answer EVICTED */
    CORE_EFFECT_GENERATE,   /* slot, partition: run the witness command; answer GENERATED */
    CORE_EFFECT_KILL,       /* slot: kill its witness command with all it started; GENERATED still answers */
    CORE_EFFECT_READ,       /* slot, partition: witness file into the slot's buffer; answer READ */
    CORE_EFFECT_SYNTHESIZE, /* slot, partition: parse, compare with the circuit, check ranges; answer
                               SYNTHESIZED */
    CORE_EFFECT_SUBMIT,     /* slot, partition, lane and its generation: device_submit; answer PROVED */
    CORE_EFFECT_FINALIZE,   /* slot, partition: blinding, assembly, self-check, text; answer FINALIZED */
    CORE_EFFECT_WRITE,      /* slot, partition: durable files, then a journal record; answer WRITTEN */
    CORE_EFFECT_BUNDLE,     /* job: all its proofs into one file in partition order; answer BUNDLED */
    CORE_EFFECT_RELEASE,    /* slot: wipe its witness; no answer */
    CORE_EFFECT_ENDED, /* partition, state, cause: for the log, before RELEASE of its slot; not for RESUMED
                          ones; no answer */
    CORE_EFFECT_JOB_ENDED,  /* job, state, cause: every partition ended and the bundle, if any, is written, or
                               failed  (all partitions done, yet FAILED with cause WRITE); no answer */
    CORE_EFFECT_QUARANTINE, /* lane, the partition that was on it: it stayed silent, or its device is lost;
                               for the log */
    CORE_EFFECT_TRIM,       /* hand free memory back to the system; answer TRIMMED */
    CORE_EFFECT_DRAINED,    /* nothing is left to do; once, last */
    CORE_EFFECTS
};

struct core_effect {
    enum core_effect_kind kind;
    uint32_t index;      /* of the circuit, slot, lane, job or partition that the kind names first */
    uint32_t generation; /* to be repeated in the answer */
    uint32_t partition;  /* CORE_NONE where the kind has none; so too lane */
    uint32_t lane;
    enum core_state state;
    enum core_cause cause;
};

struct core_lane_settings {
    uint32_t device;        /* lanes of one device are consecutive */
    bool fallback_only;     /* takes only partitions that must be tried on the CPU, and all of them once no
                               other lane is in service */
    bool cpu;               /* computes on the CPU: where a failed self-check is retried */
    uint64_t time_limit_ns; /* a submission that takes longer quarantines the lane; CORE_NEVER: trusted */
};

struct core_circuit_settings {
    uint64_t resident_bytes; /* while loaded */
    uint64_t slot_bytes;     /* one partition's buffers */
};

struct core_settings {
    uint32_t jobs_max;
    uint32_t partitions_max; /* below CORE_NONE, as are all counts here */
    uint32_t slots;
    uint32_t
        lookahead; /* partitions kept between reading and ready, per lane in service (fallback ones apart): at
                      least 1; those from witness commands may come on top. Loads count as one each */
    uint32_t generators_max; /* witness commands at once */
    uint32_t attempts_max;   /* submissions of one partition before CORE_CAUSE_DEVICE, 1 to 255 */
    uint64_t memory_bytes;   /* budget for circuits and slots together */
    struct trim_policy_settings trim;
    uint32_t circuits_count;
    uint32_t lanes_count;
    const struct core_circuit_settings *circuits; /* copied */
    const struct core_lane_settings *lanes;       /* copied */
};

/* Counters for progress, summary and reports; derived from states, so that they cannot leak. */
struct core_counts {
    uint32_t partitions[CORE_STATES]; /* now in each state */
    uint32_t resumed;
    uint32_t causes[CORE_CAUSES];
    uint32_t slots_held;
    uint64_t memory_reserved_bytes;
    uint64_t memory_peak_bytes;
    uint64_t late_answers;
    uint64_t retries;
    uint64_t self_check_failures;
    uint64_t loads, evictions;
    uint64_t trims, trim_ns, trim_bytes; /* those that are done, and what they took and handed back in all */
    uint32_t lanes_quarantined;
};

enum core_blocked {                      /* why no queued partition begins now */
                    CORE_BLOCKED_NOT,    /* nothing is queued, or its circuit or witness command is awaited */
                    CORE_BLOCKED_MEMORY, /* the budget, or the slots */
                    CORE_BLOCKED_LOOKAHEAD, /* enough others are between reading and a lane */
};

struct core;

size_t core_size(const struct core_settings *settings);

/* memory: core_size bytes, 64-byte aligned, zeroed. */
struct core *core_init(void *memory, const struct core_settings *settings);

/* One event; aborts on an impossible one. All effects of the step before must have been taken. The queue
 * holds all that a step can cause: each belongs to one of the slots, lanes and circuits, or to one of a
 * bounded number of queued partitions that end, and jobs that close, in one step. */
void core_step(struct core *core, uint64_t now_ns, const struct core_event *event);

/* Takes the oldest effect; false if there is none. Take all of them after every core_step. */
bool core_effect_take(struct core *core, struct core_effect *effect);

/* When the core next wants CORE_EVENT_TIMER; CORE_NEVER if it waits only for answers. */
uint64_t core_deadline_ns(const struct core *core);

void core_counts(const struct core *core, struct core_counts *counts);

/* As the last step left it. */
enum core_blocked core_blocked(const struct core *core);

/* One device's time with at least one submission on its lanes, from START until now_ns. */
uint64_t core_device_busy_ns(const struct core *core, uint32_t device, uint64_t now_ns);

enum core_state core_partition_state(const struct core *core, uint32_t partition);
enum core_cause core_partition_cause(const struct core *core, uint32_t partition);
uint32_t core_partition_job(const struct core *core, uint32_t partition);
uint32_t core_job_first_partition(const struct core *core, uint32_t job);

/* Latency of done partitions, from taking a slot to being durable: the value at permille (500: median) of a
 * histogram with a relative error below 2%. 0 if nothing is done. */
uint64_t core_latency_ns(const struct core *core, unsigned permille);

/* When a partition entered a state for the last time; 0 if it never did. For FIN_TIMING and GPU_TIMING lines.
 */
uint64_t core_partition_entered_ns(const struct core *core, uint32_t partition, enum core_state state);

/* Hash of the whole state: equal histories give equal hashes. O(state). */
uint64_t core_hash(const struct core *core);

/* Aborts if any invariant does not hold (counts, slots, memory, lanes, queues); O(state), for tests. */
void core_check(const struct core *core);

const char *core_state_name(enum core_state state);
const char *core_cause_name(enum core_cause cause);

#endif
