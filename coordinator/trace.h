/* trace.h - what happened in a run, as fixed-size events in a file.
 *
 * Format (little-endian, as the machine that wrote it): one struct trace_header, then struct trace_event
 * records of 32 bytes in no particular order of time; readers sort. Numbers in events are CLOCK_MONOTONIC
 * nanoseconds, bytes or counts, as each kind says. A file may end anywhere (a killed run): a partial last
 * record is ignored.
 *
 * A `struct trace` buffers events for one writing thread: a fixed number of buffers, given by the caller.
 * trace_emit never blocks, allocates or calls the system: when every buffer waits to be written, the event is
 * dropped and counted, and the count itself goes into the file. Full buffers are handed to whoever writes
 * them (the coordinator's ring; a plain write in bench/) with trace_full_take and come back with
 * trace_full_done. Cost: some 5 ns an event.
 *
 * Threads have one numbering through all kinds (`lane` of TASK, LOCK and HOLD, `detail` of TRIM, `value` of
 * SUBMIT): 0 is the coordinator's, whatever it does is in the way of everything; others are numbered from 1.
 * The baseline has no coordinator, so no thread 0. */
#ifndef COORDINATOR_TRACE_H
#define COORDINATOR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "uzktrace"

enum { TRACE_VERSION = 1, TRACE_DEVICES_MAX = 16, TRACE_BUFFER_BYTES = 64 * 1024, TRACE_BUFFERS = 16 };

struct trace_device {
    char name[24];
    uint32_t lanes;
    uint32_t first_lane;
};

struct trace_header {
    char magic[8];
    uint32_t version;
    uint32_t event_bytes;
    uint64_t start_ns;     /* CLOCK_MONOTONIC at the start of the run */
    uint64_t start_utc_ns; /* CLOCK_REALTIME at the same moment */
    uint64_t timeline_ns;  /* resolution to show utilization in */
    uint32_t partitions;
    uint32_t devices_count;
    char program[32];   /* "uzk 0.1.0" or the baseline's name */
    char allocator[16]; /* in place during the run */
    char policy[16];    /* trim policy */
    struct trace_device devices[TRACE_DEVICES_MAX];
};

enum {
    TRACE_THREAD_COORDINATOR = 0,
    TRACE_THREAD_NONE = UINT16_MAX /* the kernel's work: a read through the ring */
};

enum trace_kind {
    TRACE_STATE, /* index: partition entered state `detail` (enum core_state) at time_ns; value: slot; value2:
                    how many partitions from index on did (0 and 1: this one), so that an admission is one
                    event */
    TRACE_STAGE, /* index: partition was in device stage `detail` on lane from value until time_ns */
    TRACE_SUBMIT, /* index: partition was handed to lane at time_ns by thread value */
    TRACE_SPAN,   /* the coordinator did `detail` (enum trace_span) from value until time_ns */
    TRACE_TASK,   /* thread `lane` did task `detail` (enum trace_task) for index from value until time_ns;
                     posted at   value2 */
    TRACE_TRIM, /* a trim ran from value until time_ns; value2: bytes handed back; detail: thread it ran on */
    TRACE_RSS,  /* time_ns: resident bytes in value; bytes reserved by the tracker in value2 */
    TRACE_LOCK, /* thread `lane` waited for the tracker's lock from value until time_ns (baseline only);
                   index: the holder's thread when the wait began, detail: what that did (enum trace_span);
                   value2: 1 + the partition it waited for, 0: for none */
    TRACE_HOLD, /* thread `lane` held the tracker's lock from value until time_ns, doing `detail` (enum
                   trace_span) */
    TRACE_CIRCUIT, /* index: circuit loaded (detail 1) or evicted (0), from value until time_ns; value2: its
                      bytes */
    TRACE_DROPPED, /* value: events dropped so far */
    TRACE_END,     /* the run ended in order at time_ns */
    TRACE_BLOCKED, /* queued partitions could not begin because of `detail` (enum trace_blocked) from value
                      until time_ns */
    TRACE_KINDS
};

enum trace_blocked {
    TRACE_BLOCKED_MEMORY,    /* the memory budget or the slots */
    TRACE_BLOCKED_LOOKAHEAD, /* enough others are between reading and a lane already */
    TRACE_BLOCKEDS
};

enum trace_span { /* what the coordinator, or a holder of the baseline's lock, was doing */
                  TRACE_SPAN_OTHER,
                  TRACE_SPAN_TRIM,
                  TRACE_SPAN_FINALIZE,
                  TRACE_SPAN_DISPATCH,
                  TRACE_SPAN_IO,
                  TRACE_SPANS
};

enum trace_task {
    TRACE_TASK_LOAD,
    TRACE_TASK_GENERATE,
    TRACE_TASK_READ,
    TRACE_TASK_SYNTHESIZE,
    TRACE_TASK_FINALIZE,
    TRACE_TASK_WRITE,
    TRACE_TASK_BUNDLE,
    TRACE_TASKS
};

struct trace_event {
    uint64_t time_ns;
    uint64_t value;
    uint64_t value2;
    uint32_t index;
    uint8_t kind;
    uint8_t detail;
    uint16_t lane;
};

struct trace {
    unsigned char *memory; /* TRACE_BUFFERS x TRACE_BUFFER_BYTES */
    uint32_t used[TRACE_BUFFERS];
    uint32_t filling; /* buffers ever begun */
    uint32_t taken;   /* buffers ever handed out for writing, in order */
    uint32_t done;    /* buffers ever written */
    uint64_t dropped;
    uint64_t dropped_told; /* of them, in the file */
    uint64_t emitted;
};

/* memory: TRACE_BUFFERS x TRACE_BUFFER_BYTES, aligned to 64. The header is the first thing to be written. */
void trace_init(struct trace *trace, unsigned char *memory, const struct trace_header *header);

/* Appends one event, or drops and counts it. */
void trace_emit(struct trace *trace, const struct trace_event *event);

/* The oldest full buffer that nobody writes yet; with `partial`, also the one being filled. False if there is
 * none. Buffers are handed out in order and must be given back in order, each written at the end of the file.
 */
bool trace_full_take(struct trace *trace, bool partial, const unsigned char **data, size_t *bytes);

void trace_full_done(struct trace *trace);

#endif
