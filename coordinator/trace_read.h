/* trace_read.h - a trace file (trace.h) in memory, checked and sorted.
 *
 * A trace may come from anywhere: sizes, kinds and details are checked, and what doesn't hold is left out and
 * counted, so that whoever reads the events need not look again. A partial last record is ignored, as a
 * killed run leaves one. Owns the events, from malloc; a struct is not shared between threads while it is
 * being opened, and read-only afterwards. Opening costs O(n log n) and 32 bytes an event beyond the file's
 * bytes. */
#ifndef COORDINATOR_TRACE_READ_H
#define COORDINATOR_TRACE_READ_H

#include "conf/error.h"
#include "coordinator/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_read {
    struct trace_header header; /* names are terminated and printable, timeline_ns is not 0 */
    struct trace_event *events; /* sound ones, by time_ns */
    size_t count;
    uint64_t unknown; /* records of kinds that this program does not know */
    uint64_t odd;     /* records that can't be true: an end before its begin, a lane that no device has */
    uint64_t dropped; /* events that the run itself had no room for */
    size_t partial;   /* bytes of a last record that is not whole */
    bool ended;       /* the run ended in order */
};

/* Takes the events out of `size` bytes; `name` is for messages. ERROR_INPUT: not a trace, of another version,
 * or its header makes no sense; ERROR_SYSTEM: no memory. Only after ERROR_NONE is there something to close.
 */
enum error_code ERROR_MUST_USE trace_read_parse(struct trace_read *read, const uint8_t *bytes, size_t size,
                                                const char *name, struct error *error);

/* The same from a file. */
enum error_code ERROR_MUST_USE trace_read_open(struct trace_read *read, const char *path,
                                               struct error *error);

void trace_read_close(struct trace_read *read);

/* The device that a lane belongs to. The lane is one of a STAGE or SUBMIT event in events. */
unsigned trace_read_device(const struct trace_read *read, uint16_t lane);

/* Whether an event tells of a span of time: from value to time_ns. */
bool trace_read_is_span(const struct trace_event *event);

/* The partition that an event is about, or TRACE_READ_NONE. */
enum { TRACE_READ_NONE = UINT32_MAX };
uint32_t trace_read_partition(const struct trace_event *event);

/* How many partitions a STATE event is about, from its index on; at least 1. */
uint32_t trace_read_state_count(const struct trace_event *event);

/* Prints one paragraph for `uzk inspect`: what ran, when, how many events. */
void trace_read_print(const struct trace_read *read);

#endif
