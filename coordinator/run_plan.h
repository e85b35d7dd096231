/* run_plan.h - how many of everything a batch gets: lanes, threads, slots, bytes.
 *
 * Pure arithmetic on the configuration, on what the keys take (load_look) and on what the machine has; called
 * once, at start. All numbers are decided here, so that a run can explain them. */
#ifndef COORDINATOR_RUN_PLAN_H
#define COORDINATOR_RUN_PLAN_H

#include "conf/config.h"
#include "conf/error.h"
#include "coordinator/core.h"
#include "coordinator/load.h"
#include "coordinator/run.h"
#include "coordinator/slots.h"

#include <stdint.h>

enum { RUN_PLAN_LANES_MAX = RUN_DEVICES_MAX * DEVICE_LANES_MAX, RUN_PLAN_SLOTS_MAX = 2048 };

struct run_plan_machine {
    unsigned processors;
    uint64_t memory_bytes; /* available */
    unsigned gpus;
    const char *gpus_missing; /* why there are none; a clause */
    uint32_t gpus_refused;    /* bit i: cuda:i is there and cannot be used, so auto leaves it out */
};

struct run_plan_device {
    enum config_device_kind kind;
    unsigned index; /* of a cuda device */
    unsigned lanes;
    bool fallback; /* for what other devices have no room for or fail at */
    uint64_t time_limit_ns;
};

struct run_plan {
    unsigned threads;       /* of the CPU device's team */
    unsigned mains_max;     /* proofs that the team works on at once */
    unsigned short_threads; /* of the crew */
    uint32_t partitions;
    unsigned devices_count, lanes_count;
    struct run_plan_device devices[RUN_DEVICES_MAX];
    uint32_t slots, lookahead, generators_max, attempts_max;
    struct slots_layout layout;
    uint64_t budget_bytes;  /* of the whole run */
    uint64_t scratch_bytes; /* part of it that the CPU device's threads work in */
    uint64_t memory_bytes;  /* part of it for circuits and slots */
    bool simulated_only;    /* no device computes proofs */
    bool cpu_ordinary;      /* the CPU is one of the devices, and not only a fallback */
};

/* loads: one for each circuit, looked at. ERROR_INPUT: settings that cannot be; ERROR_SYSTEM: the machine
 * hasn't enough. */
enum error_code ERROR_MUST_USE run_plan_make(struct run_plan *plan, const struct config *config,
                                             const struct load *loads, const struct run_plan_machine *machine,
                                             struct error *error);

/* What one partition of a circuit needs at least: key, tables, one slot and one proof's scratch. */
uint64_t run_plan_least_bytes(const struct load *load, unsigned threads);

#endif
