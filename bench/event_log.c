#include "bench/event_log.h"

#include "conf/check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST_CAPACITY = 1 << 12 };

void event_log_add(struct event_log *log, const struct trace_event *event)
{
    if (log->count == log->capacity) {
        size_t capacity = log->capacity == 0 ? FIRST_CAPACITY : log->capacity * 2;
        void *memory =
            mmap(NULL, capacity * sizeof *event, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        if (log->events != NULL) {
            memcpy(memory, log->events, log->count * sizeof *event);
            munmap(log->events, log->capacity * sizeof *event);
        }
        log->events = memory;
        log->capacity = capacity;
    }
    log->events[log->count++] = *event;
}

void event_log_free(struct event_log *log)
{
    if (log->events != NULL) {
        munmap(log->events, log->capacity * sizeof *log->events);
    }
    *log = (struct event_log){0};
}

static int compare(const void *a, const void *b)
{
    const struct trace_event *left = a, *right = b;
    return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

enum error_code event_log_write(const char *path, const struct trace_header *header,
                                const struct event_log *logs, size_t count, struct error *error)
{
    struct event_log all = {0};
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < logs[i].count; j++) {
            event_log_add(&all, &logs[i].events[j]);
        }
    }
    if (all.count > 0) {
        qsort(all.events, all.count, sizeof *all.events, compare);
    }
    enum error_code code = ERROR_NONE;
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        code = error_set_errno(error, errno, "%s: creating the trace", path);
    } else {
        bool whole = fwrite(header, sizeof *header, 1, file) == 1 &&
                     fwrite(all.events, sizeof *all.events, all.count, file) == all.count;
        whole = fclose(file) == 0 && whole;
        if (!whole) {
            code = error_set_errno(error, errno, "%s: writing the trace", path);
        }
    }
    event_log_free(&all);
    return code;
}
