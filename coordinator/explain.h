/* explain.h - what a trace says about a run, as numbers, as a page of text and as JSON.
 *
 * A struct explain owns the trace, its timeline and its gaps, and what is computed from them: suspects ranked
 * by the idle time they account for, what utilization would have been without each, the worst gaps, trims,
 * the lock and latencies. Counterfactual utilization of a suspect is busy time divided by (span minus the
 * suspect's pieces), over all devices together: the work stays, the waiting for that reason goes. That is an
 * estimate, since what waited behind one reason may meet the next, and for the memory budget a low one: with
 * more memory, reading and synthesis would also have been done ahead. tests/unit/test_counterfactual.c
 * compares it with runs.
 *
 * Not shared between threads while it is opened, read-only afterwards. Cost: O(n log n) in the events. */
#ifndef COORDINATOR_EXPLAIN_H
#define COORDINATOR_EXPLAIN_H

#include "conf/error.h"
#include "coordinator/gaps.h"
#include "coordinator/timeline.h"
#include "coordinator/trace_read.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXPLAIN_WORST_MAX = 5 };

/* Of a number of durations. */
struct explain_durations {
    uint64_t *sorted; /* ns, rising */
    size_t count;
    uint64_t total_ns;
};

struct explain {
    struct trace_read read;
    struct timeline timeline;
    struct gaps gaps;
    enum gaps_suspect ranked[GAPS_SUSPECTS]; /* by idle time, most first */
    size_t worst[EXPLAIN_WORST_MAX];         /* indices into gaps.gaps, longest first */
    unsigned worst_count;
    struct explain_durations gap_lengths;
    struct explain_durations trims;
    uint64_t trimmed_bytes;
    struct explain_durations waits; /* for the lock */
    struct explain_durations holds;
    uint64_t holds_ns[TRACE_SPANS];
    uint64_t spans_ns[TRACE_SPANS]; /* of the coordinator; inline trims among the trims */
    struct explain_durations
        latencies; /* of partitions that were done: from reading or generating until then */
    uint64_t rss_first_bytes, rss_peak_bytes, rss_last_bytes;
};

enum error_code ERROR_MUST_USE explain_open(struct explain *explain, const char *path, struct error *error);

/* Takes over `read`, also when it fails. */
enum error_code ERROR_MUST_USE explain_init(struct explain *explain, struct trace_read *read,
                                            struct error *error);

void explain_close(struct explain *explain);

/* The duration that permille of them don't exceed; 0 if there are none. */
uint64_t explain_quantile(const struct explain_durations *durations, unsigned permille);

/* Of 0 to 1. Without any suspect: pass GAPS_SUSPECTS. */
double explain_utilization(const struct explain *explain, enum gaps_suspect without);

/* The reasons of one gap, those that took longest: "lock wait, the holder trimmed (thread 12) 2.30 s > ...";
 * in the order in which they began. O(n) in the events. */
enum { EXPLAIN_CHAIN_BYTES = 320 };
void explain_chain(char text[EXPLAIN_CHAIN_BYTES], const struct explain *explain, const struct gaps_gap *gap);

/* One sentence: what happened, how busy, what for. */
enum { EXPLAIN_HEADLINE_BYTES = 256 };
void explain_headline(char text[EXPLAIN_HEADLINE_BYTES], const struct explain *explain);

/* Writes to out; its errors are the caller's to look for. ERROR_SYSTEM: no memory for the JSON. */
void explain_print(FILE *out, const struct explain *explain, const char *name);
enum error_code ERROR_MUST_USE explain_print_json(FILE *out, const struct explain *explain,
                                                  struct error *error);

#endif
