/* run_internal.h - what a running batch is made of; shared by run.c (the loop), run_setup.c (before and after
 * it) and run_report.c (what the sink is told). Everything belongs to the coordinator's thread unless its own
 * header says more. */
#ifndef COORDINATOR_RUN_INTERNAL_H
#define COORDINATOR_RUN_INTERNAL_H

#include "alloc/arena.h"
#include "coordinator/bundle.h"
#include "coordinator/core.h"
#include "coordinator/journal_file.h"
#include "coordinator/load.h"
#include "coordinator/loop.h"
#include "coordinator/run.h"
#include "coordinator/run_plan.h"
#include "coordinator/run_trace.h"
#include "coordinator/slots.h"
#include "coordinator/trim.h"
#include "coordinator/worker.h"
#include "cuda/device_cpu.h"
#include "cuda/device_cuda.h"
#include "cuda/device_sim.h"
#include "cuda/team.h"

#include <signal.h>

/* Kinds of tasks for the crew. */
enum run_task { RUN_LOAD, RUN_EVICT, RUN_SPAWN, RUN_SYNTHESIZE, RUN_FINALIZE, RUN_BUNDLE, RUN_TRIM };

struct run_job {
    struct journal_file *journal;
    int witness_folder; /* -1 without a witness command, or if it could not be made: see reason */
    char *folder_path;  /* absolute, for witness commands */
    struct error reason;
    uint32_t first; /* of its partitions */
    uint32_t done;
    bool simulated; /* at least one of its partitions was */
    struct bundle bundle;
};

struct run_lane {
    uint32_t device;
    unsigned lane; /* within its device */
    uint32_t slot; /* submitted last */
};

struct run_device {
    struct device *device;
    uint32_t first_lane; /* among all lanes */
};

struct run {
    const struct config *config;
    const struct run_options *options;
    struct run_sink sink;
    struct run_result *result;
    struct run_plan plan;
    struct arena arena;

    struct loop loop;
    struct crew crew;
    int signals;
    sigset_t signals_before;
    struct sigaction child_before;
    bool signals_taken;
    uint32_t watch_generation; /* of the doorbells */

    struct team team;
    bool team_open;
    struct device_cpu *cpu;
    struct device_cuda *gpus; /* one for each device of the plan, those that are none unused */
    struct device_sim *sim;
    struct run_device devices[RUN_DEVICES_MAX];
    struct device *device_pointers[RUN_DEVICES_MAX];
    struct load_devices load_devices;
    unsigned devices_open;
    struct run_lane *lanes;

    struct core *core;
    struct load *loads;
    struct journal_file *journals;
    uint32_t journals_count;
    struct run_job *jobs;
    uint32_t *partition_slot; /* the slot that a partition had last; CORE_NONE if none */
    struct slots slots;
    struct trim trim;
    uint64_t freed_bytes; /* that the core has not been told of */
    int pressure;         /* -1: not polled */
    unsigned releasing;   /* slabs whose pages are being advised away */
    bool sweeping;        /* further ones are to follow */
    struct run_trace tracing;

    struct core_event *events; /* waiting to be fed: a ring */
    uint32_t events_first, events_count, events_capacity;

    uint64_t start_ns, tick_ns;
    uint64_t fed_ns; /* the core's time */
    bool looping, drained;
    unsigned stops; /* signals received */
    uint64_t late_completions;
    bool arena_open, loop_open, crew_open, slots_open, trim_open;
};

/* run_setup.c: takes everything that the loop needs; on failure run_close gives back what was taken. */
enum error_code ERROR_MUST_USE run_setup_open(struct run *run, struct error *error);
/* Admits the jobs and says which partitions are done already. Feeds events to the core through run_feed. */
enum error_code ERROR_MUST_USE run_setup_admit(struct run *run, struct error *error);
void run_setup_close(struct run *run);
/* What witness commands have made and nobody has read: as secret as any witness. */
void run_setup_remove_witnesses(struct run *run);

/* run_report.c */
void run_report_note(const struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void run_report_status(const struct run *run, uint64_t now_ns, struct run_status *status);
void run_report_tick(const struct run *run, uint64_t now_ns);
void run_report_ended(struct run *run, uint64_t now_ns, const struct core_effect *effect);
void run_report_job_ended(struct run *run, const struct core_effect *effect);
void run_report_proved(const struct run *run, const struct slot *slot,
                       const struct device_completion *completion);
void run_report_written(const struct run *run, const struct slot *slot, uint64_t now_ns);
void run_report_result(struct run *run, uint64_t now_ns);

/* run_trim.c: trims as effects, slabs handed back beside them, and the system's pressure. */
enum error_code ERROR_MUST_USE run_trim_open(struct run *run, struct error *error);
void run_trim_close(struct run *run);
void run_trim_carry(struct run *run, const struct core_effect *effect);
void run_trim_end(struct run *run, uint32_t thread);
void run_trim_watch(struct run *run);   /* the loop begins */
void run_trim_unwatch(struct run *run); /* it is over */
void run_trim_complete(struct run *run,
                       const struct loop_completion *completion); /* LOOP_ADVISE, LOOP_PRESSURE */
/* Bytes went back to the allocator or the pool. */
void run_trim_freed(struct run *run, uint64_t bytes);

/* run.c: an event that is fed once the effects of the current one are carried out. */
void run_push(struct run *run, const struct core_event *event);

/* run.c: a task for the crew. */
void run_post(struct run *run, enum worker_length length, worker_function *function, void *argument,
              enum run_task kind, uint32_t index);

/* run.c: one event into the core, and its effects carried out. */
void run_feed(struct run *run, uint64_t now_ns, const struct core_event *event);

/* Which input of which job a partition is. */
const struct config_input *run_input(const struct run *run, uint32_t partition);

#endif
