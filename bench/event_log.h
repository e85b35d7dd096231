/* event_log.h - trace events of threads that share nothing: each has a log, merged into one file at the end.
 *
 * The baseline's threads cannot share one struct trace (coordinator/trace.h), and must not wait for each
 * other to record what happens. A log grows as needed, in memory of its own (mmap), so that recording neither
 * uses nor disturbs the heap that is being measured. One thread appends to a log; event_log_write comes after
 * all of them have ended. */
#ifndef BENCH_EVENT_LOG_H
#define BENCH_EVENT_LOG_H

#include "conf/error.h"
#include "coordinator/trace.h"

#include <stddef.h>

struct event_log {
    struct trace_event *events;
    size_t count, capacity;
};

/* Appends; aborts if there is no memory left. An all-zero log is empty. */
void event_log_add(struct event_log *log, const struct trace_event *event);

void event_log_free(struct event_log *log);

/* Writes header and all events, by time, to a new file. */
enum error_code ERROR_MUST_USE event_log_write(const char *path, const struct trace_header *header,
                                               const struct event_log *logs, size_t count,
                                               struct error *error);

#endif
