/* trim_policy.h - when free memory is handed back to the system.
 *
 * A part of the pure core (core_internal.h), with no knowledge of its other tables: it is told what was
 * freed, that a partition ended, that memory is short, that a trim is done, and says when one is to begin.
 * Policies:
 *
 * - off: never.
 * - inline: one trim for each partition that ends, whatever it freed (the fault that uzk was written
 * against).
 * - timer: time is divided in intervals from the start on; at the end of one a trim begins if at least
 *   min_freed_bytes were freed since the last one began. So N partitions that end within an interval cost one
 *   trim.
 * - pressure: when the system says that memory is short, unless nothing was freed since the last trim began.
 *
 * At most one trim runs at a time. With timer at most one begins in each interval, with pressure they begin
 * at least an interval apart. The owner calls it inside core_step; no clock, O(1). All members are words, so
 * that core_hash can read them. */
#ifndef COORDINATOR_TRIM_POLICY_H
#define COORDINATOR_TRIM_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum trim_policy_kind {
    TRIM_POLICY_OFF,
    TRIM_POLICY_INLINE,
    TRIM_POLICY_TIMER,
    TRIM_POLICY_PRESSURE,
    TRIM_POLICY_KINDS
};

struct trim_policy_settings {
    enum trim_policy_kind kind;
    uint64_t interval_ns; /* at least 1, but for off and inline */
    uint64_t min_freed_bytes;
};

struct trim_policy {
    uint64_t interval_ns;
    uint64_t min_freed_bytes;
    uint64_t start_ns;
    uint64_t earliest_ns; /* pressure: no trim begins before */
    uint64_t due_ns;      /* when the next one begins; UINT64_MAX: nothing asks for one */
    uint64_t freed_bytes; /* since the last one began */
    uint64_t wanted;      /* inline: partitions that ended and have not had theirs */
    uint32_t kind;
    uint32_t running;
};

void trim_policy_init(struct trim_policy *policy, const struct trim_policy_settings *settings);

/* The run begins; before it nothing is due. */
void trim_policy_start(struct trim_policy *policy, uint64_t now_ns);

void trim_policy_freed(struct trim_policy *policy, uint64_t now_ns, uint64_t bytes);
void trim_policy_ended(struct trim_policy *policy, uint64_t now_ns);
void trim_policy_pressure(struct trim_policy *policy, uint64_t now_ns);

/* When a trim wants to begin: UINT64_MAX while one runs, or if nothing asks for one. */
uint64_t trim_policy_due_ns(const struct trim_policy *policy);

/* True if a trim begins now: it runs from here until trim_policy_done. */
bool trim_policy_begin(struct trim_policy *policy, uint64_t now_ns);
void trim_policy_done(struct trim_policy *policy, uint64_t now_ns);

/* Nothing asks for one any more. */
void trim_policy_forget(struct trim_policy *policy);

#endif
