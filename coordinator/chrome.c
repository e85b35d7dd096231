#include "coordinator/chrome.h"

#include "cuda/device.h"

#include <inttypes.h>

/* Process numbers: devices come first. */
enum { PROGRAM = TRACE_DEVICES_MAX + 1, COUNTERS, THREAD_CIRCUITS = UINT16_MAX + 1, THREAD_BLOCKED };

static const char *const stages[DEVICE_STAGES] = {"copy in", "evaluate", "ntt", "msm", "copy out"};
static const char *const spans[TRACE_SPANS] = {"other", "trim", "finalize", "dispatch", "io"};
static const char *const tasks[TRACE_TASKS] = {"load",     "generate", "read",  "synthesize",
                                               "finalize", "write",    "bundle"};

struct chrome {
    FILE *out;
    const struct trace_read *read;
    uint64_t written;
};

static void separate(struct chrome *chrome)
{
    fputs(chrome->written++ > 0 ? ",\n" : "\n", chrome->out);
}

/* Names are printable ASCII (trace_read.c); quotes and backslashes are all that JSON minds. */
static void put_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            putc('\\', out);
        }
        putc(*text, out);
    }
    putc('"', out);
}

static void put_name(struct chrome *chrome, const char *kind, unsigned process, unsigned thread,
                     const char *name)
{
    separate(chrome);
    fprintf(chrome->out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", kind,
            process, thread);
    put_string(chrome->out, name);
    fputs("}}", chrome->out);
}

/* A time before the start of the run, which clocks read by other threads may give, is its start. */
static uint64_t since_start(const struct chrome *chrome, uint64_t time_ns)
{
    uint64_t start = chrome->read->header.start_ns;
    return time_ns > start ? time_ns - start : 0;
}

static void put_time(struct chrome *chrome, const char *name, uint64_t ns)
{
    fprintf(chrome->out, ",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned)(ns % 1000));
}

/* A slice; what follows the name is "args". */
static void put_slice(struct chrome *chrome, const struct trace_event *event, unsigned process,
                      unsigned thread, const char *prefix, const char *name, const char *argument,
                      uint64_t value)
{
    uint64_t begin = since_start(chrome, event->value), end = since_start(chrome, event->time_ns);
    separate(chrome);
    fprintf(chrome->out, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"name\":\"%s%s\"", process, thread, prefix,
            name);
    put_time(chrome, "ts", begin);
    put_time(chrome, "dur", end - begin);
    fprintf(chrome->out, ",\"args\":{\"%s\":%" PRIu64 "}}", argument, value);
}

/* Reads that the kernel does overlap each other, which slices of one track must not. */
static void put_overlapping(struct chrome *chrome, const struct trace_event *event)
{
    for (int end = 0; end < 2; end++) {
        separate(chrome);
        fprintf(chrome->out,
                "{\"ph\":\"%s\",\"cat\":\"kernel\",\"id\":%" PRIu32 ",\"pid\":%d,\"tid\":%d,\"name\":\"%s\"",
                end ? "e" : "b", event->index, PROGRAM, TRACE_THREAD_NONE, tasks[event->detail]);
        put_time(chrome, "ts", since_start(chrome, end ? event->time_ns : event->value));
        putc('}', chrome->out);
    }
}

static void put_event(struct chrome *chrome, const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_STAGE:
        put_slice(chrome, event, 1 + trace_read_device(chrome->read, event->lane), event->lane, "",
                  stages[event->detail], "partition", event->index);
        break;
    case TRACE_SPAN:
        put_slice(chrome, event, PROGRAM, 0, "", spans[event->detail], "span", event->detail);
        break;
    case TRACE_TASK:
        if (event->lane == TRACE_THREAD_NONE) {
            put_overlapping(chrome, event);
            break;
        }
        put_slice(chrome, event, PROGRAM, event->lane, "", tasks[event->detail], "index", event->index);
        break;
    case TRACE_TRIM:
        put_slice(chrome, event, PROGRAM, event->detail, "", "trim", "bytes", event->value2);
        break;
    case TRACE_LOCK:
        put_slice(chrome, event, PROGRAM, event->lane, "wait for lock: ", spans[event->detail], "holder",
                  event->index);
        break;
    case TRACE_HOLD:
        put_slice(chrome, event, PROGRAM, event->lane, "hold lock: ", spans[event->detail], "thread",
                  event->lane);
        break;
    case TRACE_CIRCUIT:
        put_slice(chrome, event, PROGRAM, THREAD_CIRCUITS, "",
                  event->detail == 1 ? "load circuit" : "evict circuit", "circuit", event->index);
        break;
    case TRACE_BLOCKED:
        put_slice(chrome, event, PROGRAM, THREAD_BLOCKED, "",
                  event->detail == TRACE_BLOCKED_MEMORY ? "memory" : "lookahead", "reason", event->detail);
        break;
    case TRACE_RSS:
        separate(chrome);
        fprintf(chrome->out, "{\"ph\":\"C\",\"pid\":%d,\"name\":\"memory\"", COUNTERS);
        put_time(chrome, "ts", since_start(chrome, event->time_ns));
        fprintf(chrome->out, ",\"args\":{\"resident\":%" PRIu64 ",\"reserved\":%" PRIu64 "}}", event->value,
                event->value2);
        break;
    default:
        break;
    }
}

static void put_tracks(struct chrome *chrome)
{
    const struct trace_header *header = &chrome->read->header;
    for (unsigned i = 0; i < header->devices_count; i++) {
        put_name(chrome, "process_name", 1 + i, 0, header->devices[i].name);
        for (uint32_t lane = 0; lane < header->devices[i].lanes && lane < DEVICE_LANES_MAX; lane++) {
            char name[32];
            snprintf(name, sizeof name, "lane %" PRIu32, lane);
            put_name(chrome, "thread_name", 1 + i, header->devices[i].first_lane + lane, name);
        }
    }
    put_name(chrome, "process_name", PROGRAM, 0, header->program);
    put_name(chrome, "thread_name", PROGRAM, TRACE_THREAD_COORDINATOR, "coordinator");
    put_name(chrome, "thread_name", PROGRAM, TRACE_THREAD_NONE, "kernel");
    put_name(chrome, "thread_name", PROGRAM, THREAD_CIRCUITS, "circuits");
    put_name(chrome, "thread_name", PROGRAM, THREAD_BLOCKED, "queue blocked by");
    put_name(chrome, "process_name", COUNTERS, 0, "memory");
}

void chrome_write(FILE *out, const struct trace_read *read)
{
    struct chrome chrome = {.out = out, .read = read};
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    put_tracks(&chrome);
    size_t i = 0;
    for (; i < read->count && chrome.written < CHROME_EVENTS_MAX; i++) {
        put_event(&chrome, &read->events[i]);
    }
    if (i < read->count) {
        char name[80];
        snprintf(name, sizeof name, "the last %zu events were left out", read->count - i);
        put_name(&chrome, "process_labels", PROGRAM, 0, name);
    }
    fputs("\n]}\n", out);
}
