/* gaps.h - why each device was idle, to the nanosecond.
 *
 * A gap is a span of the backlog's time (timeline.h) in which a device computes nothing. It ends when the
 * next partition computes there, and that partition's way to the device tells why it lasted: going back from
 * the gap's end it was submitted and not begun, copied in, ready and held up, synthesized, read, queued, or
 * not there at all. Every gap is cut where that changes, each piece has exactly one reason, and the pieces
 * add up to the idle time.
 *
 * Reasons, in the order in which they are looked for at a moment:
 * 1. Submitted to the device: a copy (its own, or another lane's that keeps the device's copy engine), else
 * launch.
 * 2. A thread that carries it waits for the tracker's lock (baseline): lock, with what the holder does just
 * then.
 * 3. Ready: a copy or a launch if every lane of the device is taken; what the coordinator does, if it does
 * something; else nobody sends it.
 * 4. Reading, generating, synthesizing: its task if that runs; before that, what the thread that will run it
 * does instead, or that nobody takes it; after it, what the coordinator does instead of noticing.
 * 5. Queued: the memory budget, a circuit that loads, the look-ahead with what those ahead wait for, the
 * coordinator.
 * 6. Not queued, or nothing follows on this device: no work.
 *
 * Owns its arrays, from malloc; reads the trace and the timeline only while it is opened. Cost: O(n log n) in
 * the trace's events for each device. */
#ifndef COORDINATOR_GAPS_H
#define COORDINATOR_GAPS_H

#include "conf/error.h"
#include "coordinator/timeline.h"
#include "coordinator/trace_read.h"

enum gaps_reason {
    GAPS_LAUNCH,
    GAPS_COPY_IN,
    GAPS_COPY_OUT,
    GAPS_LOCK,                             /* and enum trace_span: what the holder did */
    GAPS_BUSY = GAPS_LOCK + TRACE_SPANS,   /* and enum trace_span: what the coordinator did */
    GAPS_UNSENT = GAPS_BUSY + TRACE_SPANS, /* ready, a lane idle, and nobody submits it */
    GAPS_UNTAKEN,                          /* posted to a thread that does nothing */
    GAPS_BEHIND,                           /* posted to a thread that does something else */
    GAPS_UNNOTICED,                        /* a task is done, and nobody goes on */
    GAPS_SYNTHESIS,                        /* its synthesis runs */
    GAPS_SYNTHESIS_BEHIND,                 /* waits for a thread that synthesizes another one */
    GAPS_SYNTHESIS_AHEAD,                  /* queued behind others that are synthesized */
    GAPS_READ,
    GAPS_GENERATE,
    GAPS_WITNESS_BEHIND,
    GAPS_WITNESS_AHEAD,
    GAPS_CIRCUIT,
    GAPS_MEMORY,
    GAPS_NO_WORK,
    GAPS_REASONS
};

/* What could be mended to make reasons go away. */
enum gaps_suspect {
    GAPS_SUSPECT_LOCK_TRIM,
    GAPS_SUSPECT_LOCK,
    GAPS_SUSPECT_BUSY_TRIM,
    GAPS_SUSPECT_BUSY,
    GAPS_SUSPECT_HANDOVER,
    GAPS_SUSPECT_SYNTHESIS,
    GAPS_SUSPECT_WITNESS,
    GAPS_SUSPECT_CIRCUIT,
    GAPS_SUSPECT_MEMORY,
    GAPS_SUSPECT_COPY,
    GAPS_SUSPECT_LAUNCH,
    GAPS_SUSPECT_NO_WORK,
    GAPS_SUSPECTS
};

struct gaps_piece {
    uint64_t begin_ns, end_ns;
    uint32_t others; /* syntheses running beside, when it began */
    uint8_t reason;
};

struct gaps_gap {
    uint64_t begin_ns, end_ns;
    uint32_t partition; /* that ended it; TRACE_READ_NONE: the backlog's end did */
    uint32_t device;
    size_t first; /* of its pieces, which follow each other without a space */
    size_t pieces;
};

struct gaps {
    struct gaps_gap *gaps; /* by device, then by time */
    size_t count, capacity;
    struct gaps_piece *pieces;
    size_t pieces_count, pieces_capacity;
    uint64_t ns[TRACE_DEVICES_MAX][GAPS_REASONS];
    uint64_t idle_ns; /* over all devices: the sum of everything in ns */
};

/* ERROR_SYSTEM: no memory; then there is nothing to close. */
enum error_code ERROR_MUST_USE gaps_open(struct gaps *gaps, const struct trace_read *read,
                                         const struct timeline *timeline, struct error *error);

void gaps_close(struct gaps *gaps);

enum gaps_suspect gaps_suspect_of(enum gaps_reason reason);

/* Over all devices. */
uint64_t gaps_reason_ns(const struct gaps *gaps, enum gaps_reason reason);
uint64_t gaps_suspect_ns(const struct gaps *gaps, enum gaps_suspect suspect);

/* A clause for people ("lock wait while the holder trims"), and a word for programs ("lock_trim"). */
const char *gaps_reason_text(enum gaps_reason reason);
const char *gaps_suspect_text(enum gaps_suspect suspect);
const char *gaps_suspect_word(enum gaps_suspect suspect);

#endif
