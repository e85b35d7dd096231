/* run.h - a whole batch: from a resolved configuration to proofs on disk.
 *
 * run_batch owns everything that lives while a batch runs: the ring, the devices, the worker threads, the
 * circuits, the journals. It looks at the keys' sizes first, takes all the memory that the coordinator will
 * need, starts the threads, and then turns events into effects until the core has nothing left to do. From
 * sink.loop_started to sink.loop_ended the calling thread, which is the coordinator's, allocates nothing and
 * blocks only in the ring.
 *
 * The functions of a sink are called on that thread, between two events. They must not allocate and must be
 * quick (one write of one line is fine): no partition moves on while they run. Strings that they are given
 * belong to the configuration or to the run; those from the run are valid during the call only.
 *
 * Signals: SIGINT and SIGTERM are taken over for the duration. The first one stops the batch: proofs on a
 * device are finished and kept, the rest is canceled. The second one kills the witness commands and ends the
 * process with exit code 130 at once; a later run resumes behind the last journal record. */
#ifndef COORDINATOR_RUN_H
#define COORDINATOR_RUN_H

#include "alloc/allocator.h"
#include "conf/config.h"
#include "conf/error.h"
#include "coordinator/core.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    RUN_DEVICES_MAX = 16,
    RUN_FAILURES_MAX = 20,
    RUN_REASON_BYTES = ERROR_TEXT_BYTES,
    RUN_EXIT_KILLED = 130
};

struct run_device_status {
    const char *name; /* "cpu", "sim" */
    unsigned lanes;
    bool fallback;    /* only for partitions that must be tried again on the CPU */
    uint64_t busy_ns; /* time with at least one proof on it, since the start of the batch */
};

struct run_status {
    uint64_t elapsed_ns; /* since the start of the batch */
    uint32_t partitions; /* all of them, whatever their state */
    uint32_t done;       /* those resumed included */
    uint32_t resumed;    /* done by an earlier run */
    uint32_t failed;
    uint32_t canceled;
    uint32_t started;      /* have a slot: from generating or reading to writing */
    double rate;           /* proofs a second of this run, over all of it; 0 before the first */
    uint64_t eta_ns;       /* at that rate; UINT64_MAX: unknown */
    uint64_t memory_bytes; /* reserved for circuits and slots */
    uint64_t memory_budget_bytes;
    unsigned devices_count;
    struct run_device_status devices[RUN_DEVICES_MAX];
};

/* How one partition ended. */
struct run_ended {
    const char *job;
    const char *stem;
    const char *input;     /* path of the witness or the witness command's input */
    const char *output;    /* path of the proof if it is done, else the output folder */
    enum core_state state; /* CORE_DONE, CORE_FAILED, CORE_CANCELED */
    enum core_cause cause;
    const char *reason;  /* a sentence; "" if it is done */
    uint64_t latency_ns; /* from taking a slot to durable files; 0 if it isn't done */
};

struct run_job_ended {
    const char *job;
    enum core_state state;
    uint32_t partitions, done;
    const char *bundle; /* path of the bundle if one was written, else NULL */
    const char *reason; /* why the bundle was not written; "" otherwise */
};

/* Any function may be NULL. */
struct run_sink {
    void *context;
    void (*loop_started)(void *context);
    void (*loop_ended)(void *context);
    void (*note)(void *context,
                 const char *text); /* something the user should know: one sentence, no newline */
    void (*timing)(void *context,
                   const char *text); /* a GPU_TIMING or FIN_TIMING line; only with options.timing */
    void (*partition_ended)(void *context, const struct run_ended *ended);
    void (*job_ended)(void *context, const struct run_job_ended *ended);
    void (*tick)(void *context,
                 const struct run_status *status); /* every options.tick_ns, and once at the end */
};

struct device;

struct run_options {
    uint64_t tick_ns; /* 0: no ticks but the last */
    bool timing;
    const struct run_sink *sink; /* may be NULL */

    /* For tests and drills, NULL and 0 otherwise: puts a device of the caller's before each one that the run
     * has opened (cuda/device_fault.h; closing it closes both), and bounds what a submission may take. */
    struct device *(*wrap_device)(void *context, struct device *device);
    void *wrap_context;
    uint64_t lane_limit_ns;
    int pressure_file; /* polled for urgent data instead of the system's pressure; stays open */
};

struct run_failure {
    const char *job, *stem; /* of the configuration; stem NULL: the job's bundle */
    enum core_cause cause;
    char reason[RUN_REASON_BYTES];
};

struct run_result {
    struct run_status status;
    struct core_counts counts;   /* trims among them */
    const char *trim_policy;     /* word of the configuration */
    char allocator[32];          /* in place during the run */
    struct allocator_stats heap; /* at its end, by the allocator's own account */
    uint64_t buffers_released,
        buffers_released_bytes; /* idle ones of the pool whose memory was handed back */
    const char *trace;          /* path of the file; NULL: none was written */
    uint64_t trace_events, trace_dropped;
    bool stopped;                                            /* by a signal */
    uint64_t latency_p50_ns, latency_p95_ns, latency_p99_ns; /* of done partitions, those resumed excepted */
    uint64_t peak_rss_bytes;
    uint64_t late_completions; /* of the ring and the devices, recognised as such */
    uint32_t failures_count; /* all of them: failed partitions and bundles; canceled ones are not failures */
    uint32_t bundles_failed;
    struct run_failure failures[RUN_FAILURES_MAX]; /* the first of them */
};

/* Runs the batch. ERROR_NONE: it ran to its end, and *result says how; every partition is done exactly if
 * result->status.done == result->status.partitions, and all is well if result->bundles_failed is 0 as well.
 * Otherwise the batch could not be started, or not continued, and *error says why: ERROR_INPUT for a key or a
 * setting, ERROR_SYSTEM for what the system refused. */
enum error_code ERROR_MUST_USE run_batch(const struct config *config, const struct run_options *options,
                                         struct run_result *result, struct error *error);

#endif
