#include "coordinator/trace.h"

#include "conf/check.h"

#include <string.h>

/* Buffers are numbered by when they were begun; `filling` counts those begun, so the one being filled, if
 * any, is filling - 1. Always done <= taken <= filling <= done + TRACE_BUFFERS. */
static unsigned char *buffer_at(const struct trace *trace, uint32_t number)
{
    return trace->memory + (size_t)(number % TRACE_BUFFERS) * TRACE_BUFFER_BYTES;
}

void trace_init(struct trace *trace, unsigned char *memory, const struct trace_header *header)
{
    CHECK((uintptr_t)memory % 64 == 0);
    memset(trace, 0, sizeof *trace);
    trace->memory = memory;
    trace->filling = 1;
    trace->used[0] = sizeof *header;
    memcpy(memory, header, sizeof *header);
}

static void append(struct trace *trace, const struct trace_event *event)
{
    uint32_t place = (trace->filling - 1) % TRACE_BUFFERS;
    memcpy(buffer_at(trace, trace->filling - 1) + trace->used[place], event, sizeof *event);
    trace->used[place] += (uint32_t)sizeof *event;
}

/* False if every buffer waits to be written. What was dropped meanwhile is told first. */
static bool begin_buffer(struct trace *trace, uint64_t now_ns)
{
    if (trace->filling - trace->done == TRACE_BUFFERS) {
        return false;
    }
    trace->used[trace->filling % TRACE_BUFFERS] = 0;
    ++trace->filling;
    if (trace->dropped != trace->dropped_told) {
        const struct trace_event told = {.kind = TRACE_DROPPED, .time_ns = now_ns, .value = trace->dropped};
        append(trace, &told);
        trace->dropped_told = trace->dropped;
    }
    return true;
}

void trace_emit(struct trace *trace, const struct trace_event *event)
{
    CHECK(event->kind < TRACE_KINDS);
    bool open = trace->filling > trace->taken;
    if (!open || trace->used[(trace->filling - 1) % TRACE_BUFFERS] > TRACE_BUFFER_BYTES - sizeof *event) {
        if (!begin_buffer(trace, event->time_ns)) {
            ++trace->dropped;
            return;
        }
    }
    append(trace, event);
    ++trace->emitted;
}

bool trace_full_take(struct trace *trace, bool partial, const unsigned char **data, size_t *bytes)
{
    uint32_t waiting = trace->filling - trace->taken;
    if (waiting == 0 || (waiting == 1 && !partial)) {
        return false;
    }
    *data = buffer_at(trace, trace->taken);
    *bytes = trace->used[trace->taken % TRACE_BUFFERS];
    ++trace->taken;
    return true;
}

void trace_full_done(struct trace *trace)
{
    CHECK(trace->done != trace->taken);
    ++trace->done;
}
